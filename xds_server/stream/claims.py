"""Claims: what a client says on a new stream that it holds from before, as a typeset to start from.

A node that was sent something by an earlier process, or by another replica, is treated as what it says it holds
(xDS spec, "ACK/NACK and resource type instance version"; for delta `initial_resource_versions`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from xds_server.snapshot.typeset import Typeset
from xds_server.stream.doubt import Doubtful
from xds_server.stream.state import TypeState
from xds_server.wire.request import DeltaRequest, SotwRequest
from xds_server.wire.resource import Held, Resource
from xds_server.wire.types import WHOLE_STATE

Lookup = Callable[[str, str], Typeset | None]
"""(type URL, version) → the typeset that was served under that version, None if it is not known any more."""


def adopt_sotw(
    state: TypeState, request: SotwRequest, current: Typeset, known: Sequence[Typeset], lookup: Lookup
) -> None:
    """Start from the version that the request claims.

    A wildcard client of a whole-state type has all of a version that is known, so it needs no answer but for what
    differs from it; unless it was sent something after that version, of which it may have applied a part. For types
    asked for by name the version does not tell which names are held, so what is asked for is sent.
    """
    if not request.version_info and not known:
        return
    base = _by_version(request.version_info, [current, *known])
    if base is None:
        base = lookup(state.type_url, request.version_info)
    everything = state.sub.wildcard and not state.sub.names and state.type_url in WHOLE_STATE
    versions = [typeset.version for typeset in known]
    is_exact = request.version_info not in versions[1:] or set(versions) == {request.version_info}
    state.answered = everything and base is not None and is_exact
    state.guessed = base is None
    if base is None or not is_exact:
        base = known[-2:][0] if known else current.nothing()
    state.start(base)


def adopt_delta(state: TypeState, request: DeltaRequest, current: Typeset, known: Iterable[Typeset]) -> None:
    """Start from the resources that the request says the client holds."""
    claims = request.initial_versions
    if not claims:
        return
    differing: dict[str, Resource | None] = {
        name: _find(name, version, known) or Held(name, state.type_url, version)
        for name, version in claims.items()
        if current.version_of(name) != version
    }
    asked = current.resources.keys() if state.sub.wildcard else state.sub.names & current.resources.keys()
    differing.update(dict.fromkeys(asked - claims.keys()))
    state.start(current.overlay(differing))
    # A wildcard client is answered even when it has everything, if only with nothing: clients wait for it.
    state.answered = not state.sub.wildcard


def _by_version(version: str, typesets: Iterable[Typeset]) -> Typeset | None:
    return next((typeset for typeset in typesets if typeset.version == version), None)


def _find(name: str, version: str, typesets: Iterable[Typeset]) -> Resource | None:
    for typeset in typesets:
        resource = typeset.get(name)
        if isinstance(resource, Doubtful):
            resource = resource.old
        if resource is not None and resource.version == version:
            return resource
    return None
