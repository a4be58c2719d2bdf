"""A hold: a group goes back to a version and stays there. Pure.

Everything is of the version that is held but assignments and secrets, which go on flowing: endpoints move and
certificates are renewed whatever the routes are. What the held clusters and listeners need is there in any case.
"""

from __future__ import annotations

from collections.abc import Mapping

from xds_server.ir.refs import NO_NAMES, Refs
from xds_server.snapshot.typeset import Typeset, empty
from xds_server.wire.resource import Resource
from xds_server.wire.types import CLUSTER, ENDPOINT, LISTENER, SECRET

Types = Mapping[str, Typeset]

FLOWING = frozenset({ENDPOINT, SECRET})
"""The types of which a hold does not hold back what is declared."""


def pin(wanted: Types, held: Types) -> dict[str, Typeset]:
    """What is served of `wanted` while a group is held at the version that `held` is of."""
    urls = sorted(wanted.keys() | held.keys() | FLOWING)
    return {url: (_flowing if url in FLOWING else _pinned)(url, wanted, held) for url in urls}


def _pinned(url: str, wanted: Types, held: Types) -> Typeset:
    former = held.get(url)
    if former is None:
        return wanted[url].nothing()
    # What was stored without its content may be known again.
    declared = wanted.get(url) or former
    known = {name: declared.resources[name] for name in former.unknown if _has_content(declared, name, former)}
    return former.overlay(known)


def _has_content(declared: Typeset, name: str, former: Typeset) -> bool:
    return name not in declared.unknown and declared.version_of(name) == former.version_of(name)


def _flowing(url: str, wanted: Types, held: Types) -> Typeset:
    """What is declared, without what only what is not served needs, and with what the held version needs."""
    declared, former = wanted.get(url) or empty(url), held.get(url) or empty(url)
    needed, unneeded = _needed(url, held), _needed(url, wanted)
    changes: dict[str, Resource | None] = {
        name: former.resources[name] for name in needed if name not in declared and name in former
    }
    changes.update((name, None) for name in unneeded - needed if name in declared and name not in former)
    return declared.overlay(changes)


def _needed(url: str, types: Types) -> frozenset[str]:
    if url == ENDPOINT:
        return _uses(types, CLUSTER).assignments
    return _uses(types, CLUSTER).secrets | _uses(types, LISTENER).secrets


def _uses(types: Types, url: str) -> Refs:
    typeset = types.get(url)
    return typeset.uses if typeset is not None else Refs(NO_NAMES)
