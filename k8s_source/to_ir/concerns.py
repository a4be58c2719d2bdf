"""What is wrong with objects that gateways depend on, where an older form of these, another one, or none is in force."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from k8s_source.to_ir.services import service_key
from k8s_source.to_ir.slices import Slice
from xds_server.derive.collection import Collection, Read
from xds_server.derive.engine import Engine
from xds_server.ir.gateway import Gateway, GatewayKey
from xds_server.ir.objects import ObjectKey, Standing
from xds_server.ir.problem import Problem


@dataclass(frozen=True, slots=True)
class _Concern:
    """What is wrong with one object, and under which identity gateways depend on it: of a slice, that of its Service."""

    about: ObjectKey
    problems: tuple[Problem, ...]


def concerns_of(
    engine: Engine,
    gateways: Collection[GatewayKey, Gateway],
    standings: Collection[ObjectKey, Standing],
    slices: Collection[ObjectKey, Slice],
) -> Collection[GatewayKey, tuple[Problem, ...]]:
    """By gateway what is wrong with Services, EndpointSlices and Secrets that it depends on, and its other declarations.

    Objects of which there never was a good form are told by whoever misses them, too; here is why they are missing.
    """

    def note(read: Read, key: ObjectKey, standing: Standing) -> _Concern | None:
        problems = tuple(_problems(key, standing))
        if not problems:
            return None
        found = read(slices, key)
        return _Concern(key if found is None else found.service, problems)

    concerns = engine.each("concerns", standings, note)
    by_object = engine.index("concerns by object", concerns, lambda _, concern: (concern.about,))

    def gather(read: Read, _: GatewayKey, gateway: Gateway) -> tuple[Problem, ...] | None:
        members = (member for each in _named(gateway) for member in read(by_object, each) or ())
        found = (concern for member in members if (concern := read(concerns, member)) is not None)
        return tuple(dict.fromkeys(problem for concern in found for problem in concern.problems)) or None

    return engine.each("concerns of gateways", gateways, gather)


def _problems(key: ObjectKey, standing: Standing) -> Iterator[Problem]:
    """The problems as a sentence that names the object. What makes a gateway itself invalid is told as that."""
    if key.kind in {"Service", "EndpointSlice", "Secret"}:
        for each in standing.problems:
            field = f"{each.field}: " if each.field else ""
            # A file that can't be read at all is told once, whatever it declares.
            what = f"{key}{each.origin.in_file}" if each.origin.kind else f"{each.origin}"
            rest = "its last good form is in force" if standing.object is not None else "it has no good form"
            message = f"{what}: {field}{each.message}; {rest}"
            yield replace(each, message=message, field="")
    for each in standing.duplicates:
        yield replace(each, message=f"{each.message}; the one in {each.origin} is not in force", field="")


def _named(gateway: Gateway) -> dict[ObjectKey, None]:
    """The gateway's own identity, and those of all that it names, each once."""
    origin = gateway.origin
    names = [ObjectKey.of(origin)] if origin.kind else []
    for route in gateway.routes:
        names += [service_key(each.namespace, each.service) for each in (route.primary, route.degrade) if each]
    secrets = (each.secret for each in gateway.listeners if each.secret is not None)
    names += [ObjectKey("", "Secret", each.namespace, each.name) for each in secrets]
    return dict.fromkeys(names)
