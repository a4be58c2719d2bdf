"""Doubt: what is known of a content that a client refused together with others."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from xds_server.ir.refs import merged
from xds_server.wire.resource import Held, Resource, identity_digest

_MOST_TOLD = 8
"""So many contents are told apart by name in a version; those between the first and the last ones by a hash."""


class Doubtful(Resource):
    """What a client may have in its old or in its new content, either of which may be "not at all" (None).

    A client that refuses a response may have applied a part of it: Envoy updates the watchers of routes,
    endpoints and secrets one after the other, and stops at the first that throws
    (source/extensions/config_subscription/grpc/watch_map.cc); gRPC keeps what is valid. So its version is that
    of no real content, it refers to what either content refers to, and its bytes are those of the old one.

    Doubts come on top of doubts when a client goes and comes back again and again without an answer: what it may have
    is a set of contents, each of which counts once, so that this does not grow with the number of its visits.
    """

    is_known = False

    __slots__ = ("certain", "contents", "is_sure", "old")

    def __init__(self, name: str, type_url: str, old: Resource | None, new: Resource | None, *, is_sure: bool) -> None:
        """Be in doubt between two contents; `is_sure` tells that the client had the old one."""
        refs = merged(*(each.refs for each in (old, new) if each is not None))
        super().__init__(name, type_url, old.body if old else b"", refs)
        known = old.old if isinstance(old, Doubtful) else old
        self.old: Resource | None = None if isinstance(known, Held) else known
        """The old content, if this process knows it."""
        self.is_sure: bool = is_sure and (not isinstance(old, Doubtful) or old.is_sure)
        had_it = old is not None and (not isinstance(old, Doubtful) or old.certain)
        self.certain: bool = (
            self.is_sure and had_it and new is not None and (not isinstance(new, Doubtful) or new.certain)
        )
        """Whether the client has it in some content."""
        self.contents: tuple[str, ...] = _told(dict.fromkeys((*_contents(old), *_contents(new))))
        """The versions of what it may have, "" for nothing at all; the first one first."""
        known_old = self.old.version if self.old is not None else ""
        self.version = f"{'?'.join(self.contents)}?{known_old}{'+' * self.is_sure}{'!' * self.certain}"
        self.digest = identity_digest(name, self.version)


def _contents(resource: Resource | None) -> tuple[str, ...]:
    if isinstance(resource, Doubtful):
        return resource.contents
    return ("" if resource is None else resource.version,)


def _told(contents: Iterable[str]) -> tuple[str, ...]:
    first, *others = contents
    if len(others) < _MOST_TOLD:
        return (first, *others)
    cut = len(others) - _MOST_TOLD + 2
    return (first, blake2b("?".join(others[:cut]).encode(), digest_size=16).hexdigest(), *others[cut:])
