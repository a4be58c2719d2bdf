"""Any sequence of changes gives the same bytes as a derivation from scratch, and whole messages in canonical form."""

from __future__ import annotations

from hypothesis import given, settings, strategies as st

from tests.support.gateways import (
    HTTP,
    Derivation,
    backend,
    backend_key,
    certificate,
    contents,
    gateway,
    https,
    route,
    watch,
)
from xds_server.derive.collection import Edit
from xds_server.derive.facts import Remembered
from xds_server.ir.backend import Endpoint, Locality
from xds_server.ir.decision import Choice
from xds_server.ir.facts import RouteKey, Verdict
from xds_server.ir.gateway import Gateway, GatewayKey, Listener, PathKind, Route, SecretKey
from xds_server.translate.messages import parse
from xds_server.translate.references import refs_of

NAMES = ("one", "two", "three")
SERVICES = ("orders", "carts", "lite")
HOSTS = ("*", "a.com", "*.a.com")
LISTENERS = (HTTP, https(), https("other"), Listener("free", "127.0.0.1", 0), https(port=8080))

services = st.sampled_from(SERVICES)
addresses = st.lists(st.sampled_from(["10.0.0.1", "10.0.0.2"]), unique=True, max_size=2)
maybe_services = st.one_of(st.none(), services)


@st.composite
def routes(draw: st.DrawFn, name: str) -> Route:
    """One of few routes of a gateway, so that they meet."""
    return route(
        draw(st.sampled_from(["r1", "r2", "r3"])),
        draw(st.sampled_from(["/", "/a", "/a/b"])),
        gateway=name,
        kind=draw(st.sampled_from(PathKind)),
        hosts=draw(st.lists(st.sampled_from(HOSTS), min_size=1, max_size=2, unique=True)),
        primary=draw(maybe_services),
        degrade=draw(maybe_services),
        watch=draw(st.sampled_from([None, watch()])),
        max_qps=draw(st.sampled_from([None, 5.0])),
    )


@st.composite
def gateways(draw: st.DrawFn) -> Gateway:
    """A gateway, one of a few."""
    name = draw(st.sampled_from(NAMES))
    return gateway(
        *draw(st.lists(routes(name), max_size=3, unique_by=lambda each: each.key)),
        name=name,
        group=draw(st.sampled_from(["default", "edge"])),
        created=draw(st.sampled_from(["2025", "2026"])),
        listeners=draw(st.lists(st.sampled_from(LISTENERS), max_size=2, unique_by=lambda each: each.port)),
        fail_open=draw(st.booleans()),
    )


_Edit = tuple[str, object, object]
keys = st.builds(lambda name, each: RouteKey("shop", name, each), st.sampled_from(NAMES), st.sampled_from(["r1", "r2"]))
localities = st.just((Locality("", (Endpoint("10.9.9.9", 1),)),))
edits: st.SearchStrategy[_Edit] = st.one_of(
    st.builds(lambda each: ("gateways", each.key, each), gateways()),
    st.builds(lambda name: ("gateways", GatewayKey("shop", name), None), st.sampled_from(NAMES)),
    st.builds(lambda name, found: ("backends", backend_key(name), backend(name, *found)), services, addresses),
    st.builds(lambda name: ("backends", backend_key(name), None), services),
    st.builds(
        lambda name, chain: ("certificates", SecretKey("shop", name), certificate(name, chain) if chain else None),
        st.sampled_from(["certificate", "other"]),
        st.sampled_from(["A", "B", ""]),
    ),
    st.builds(lambda key, value: ("verdicts", key, value), keys, st.one_of(st.none(), st.sampled_from(Verdict))),
    st.builds(lambda group, size: ("fleets", group, size), st.sampled_from(["default", "edge"]), st.integers(1, 3)),
    st.builds(lambda key, name: ("decided", key, Remembered(Choice.PRIMARY, backend_key(name))), keys, services),
    st.builds(lambda name, value: ("endpoints", backend_key(name), value), services, localities),
    st.builds(lambda name, value: ("drained", backend_key(name), value), services, st.sampled_from([None, True])),
)


def edit_of(derivation: Derivation, edit: _Edit) -> Edit:
    """The edit of that derivation's input."""
    name, key, value = edit
    holder = derivation.facts if name in {"verdicts", "fleets", "decided", "endpoints", "drained"} else derivation
    made: Edit = getattr(holder, name).edit({key: value})
    return made


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(edits, min_size=1, max_size=4), max_size=10))
def test_step_by_step_equals_from_scratch(rounds: list[list[_Edit]]) -> None:
    stepped, scratch = Derivation(), Derivation()
    for each in rounds:
        stepped.update(*(edit_of(stepped, edit) for edit in each))
    scratch.update(*(edit_of(scratch, edit) for each in rounds for edit in each))
    assert contents(stepped.ends.resources) == contents(scratch.ends.resources)
    for name in ("reports", "watches", "decisions", "lingering"):
        assert dict(getattr(stepped.ends, name).values) == dict(getattr(scratch.ends, name).values)
    closed(stepped)


def closed(found: Derivation) -> None:
    """Whatever is referred to is there, and what is joined from parts is as if it were made whole."""
    there = found.ends.resources.values
    for (group, url, name), resource in there.items():
        message = parse(url, resource.body)
        assert message is not None
        assert message.SerializeToString(deterministic=True) == resource.body
        assert refs_of(message) == resource.refs
        assert resource.origins, name
        for kind, names in (
            ("Cluster", resource.refs.clusters),
            ("ClusterLoadAssignment", resource.refs.assignments),
            ("RouteConfiguration", resource.refs.routes),
            ("Secret", resource.refs.secrets),
        ):
            known = {each for where, other, each in there if where == group and other.endswith(f".{kind}")}
            assert names <= known, (name, kind)
