"""Claims: what a client says on a new stream that it holds from before, as a typeset to start from.

A node that was sent something by an earlier process, or by another replica, is treated as what it says it holds
(xDS spec, "ACK/NACK and resource type instance version"; for delta `initial_resource_versions`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from xds_server.snapshot.typeset import Typeset, differing
from xds_server.stream.doubt import Doubtful
from xds_server.stream.state import TypeState
from xds_server.wire.request import DeltaRequest, SotwRequest
from xds_server.wire.resource import Held, Resource
from xds_server.wire.types import WHOLE_STATE

Lookup = Callable[[str, str], Typeset | None]
"""(type URL, version) → the typeset that was served under that version, None if it is not known any more."""


def is_new_process(request: SotwRequest | DeltaRequest, known: Sequence[Typeset]) -> bool:
    """Whether a client that was known before has started anew: it had accepted something, and claims nothing.

    Only a version tells: the resources of a delta client may all have gone meanwhile.
    """
    return isinstance(request, SotwRequest) and not request.version_info and bool(known and known[-1].resources)


def is_unclaimed(known: Sequence[Typeset]) -> bool:
    """Whether a client has nothing to claim and may have something: it has never accepted a whole response."""
    return bool(known) and not known[-1].resources and any(typeset.resources for typeset in known)


def adopt_sotw(
    state: TypeState, request: SotwRequest, current: Typeset, known: Sequence[Typeset], lookup: Lookup
) -> None:
    """Start from the version that the request claims.

    A wildcard client of a whole-state type has all of a version that is known, so it needs no answer but for what
    differs from it; unless it was sent something after that version, of which it may have applied a part. For types
    asked for by name the version does not tell which names are held, so what is asked for is sent.
    """
    if not request.version_info and not any(typeset.resources for typeset in known):
        return
    base = claimed = _by_version(request.version_info, [current, *known])
    if base is None:
        base = claimed = lookup(state.type_url, request.version_info)
    everything = state.sub.wildcard and not state.sub.names and state.type_url in WHOLE_STATE
    is_exact = _is_settled(request.version_info, [typeset.version for typeset in known])
    state.answered = everything and base is not None and is_exact
    state.guessed = base is None
    if base is None or not is_exact:
        base = known[-2:][0] if known else current.nothing()
    state.start(base)
    # The guess is not what the client will claim on its next stream.
    state.confirmed = claimed or current.nothing()


def adopt_delta(state: TypeState, request: DeltaRequest, current: Typeset, known: Sequence[Typeset]) -> None:
    """Start from the resources that the request says the client holds, where it can't have others by now."""
    claims = request.initial_versions
    base = _claimed(state, claims, current, known) if claims else state.held
    doubts = _doubts(state, claims, base, known)
    if not claims and not doubts:
        return
    state.start(base)
    state.acked = state.held = base.overlay(doubts)
    # A wildcard client is answered even when it has everything, if only with nothing: clients wait for it.
    state.answered = not state.sub.wildcard


def _claimed(state: TypeState, claims: Mapping[str, str], current: Typeset, known: Sequence[Typeset]) -> Typeset:
    differing: dict[str, Resource | None] = {
        name: _find(name, version, known) or Held(name, state.type_url, version)
        for name, version in claims.items()
        if current.version_of(name) != version
    }
    asked = current.resources.keys() if state.sub.wildcard else state.sub.names & current.resources.keys()
    differing.update(dict.fromkeys(asked - claims.keys()))
    return current.overlay(differing)


def _doubts(
    state: TypeState, claims: Mapping[str, str], base: Typeset, known: Sequence[Typeset]
) -> dict[str, Resource | None]:
    """What a client may have in a newer content than it claims, since it was sent that and did not accept it as a whole.

    Envoy claims a content once it has accepted all of its response, and applies parts of what it refuses
    (source/extensions/config_subscription/grpc/delta_subscription_state.cc, `handleGoodResponse`).
    """
    names = {name for newer in known[:-1] for name in differing(newer, known[-1]) if state.sub.covers(name)}
    doubts: dict[str, Resource | None] = {}
    for name in names:
        if _is_settled(claims.get(name), [typeset.version_of(name) for typeset in known]):
            continue
        doubt = base.get(name)
        for content in [typeset.get(name) for typeset in reversed(known)]:
            if (content and content.version) != (doubt and doubt.version):
                doubt = Doubtful(name, state.type_url, doubt, content, is_sure=True)
        doubts[name] = doubt
    return doubts


def _is_settled(claim: str | None, known: Sequence[str | None]) -> bool:
    """Whether a client that claims this has it for sure: of the versions it was sent, the last first, none came later."""
    return claim not in known[1:] or set(known) == {claim}


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
