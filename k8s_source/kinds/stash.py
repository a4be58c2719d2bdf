"""What a conversion could not place, kept in an annotation until the object comes back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256

STASH = "tidegate.dev/converted-from"
"""The annotation.

`{"version": …, "routes": {"INDEX": {"is": HASH, "set": {…}, "unset": […]}}}`: of the object in `version` the route at that
index had these fields set and those unset, which became a route with that hash.
"""

LARGEST_ANNOTATIONS = 256 * 1024
"""Bytes that the keys and values of all annotations may have (Kubernetes, TotalAnnotationSizeLimitB)."""

Route = dict[str, object]


@dataclass(frozen=True, slots=True)
class Stash:
    """What routes of `version` were before they were converted from it, by index."""

    version: str
    routes: dict[str, object] = field(default_factory=dict)

    @classmethod
    def of(cls, body: Mapping[str, object], version: str) -> Stash:
        """The stash that an object brings along, for the way to `version`; empty where there is none for that."""
        try:
            text = body["metadata"]["annotations"][STASH]  # type: ignore[index]
            found = json.loads(text)
            is_meant = found["version"] == version and isinstance(found["routes"], dict)
        except (LookupError, TypeError, ValueError, RecursionError):
            return cls(version)
        return cls(version, found["routes"] if is_meant else {})

    def note(self, index: int, route: Route, returned: Route, converted: Route) -> None:
        """Keep what would differ: `route` was `converted`, and would come back as `returned`."""
        changed = {key: value for key, value in route.items() if not _holds(returned, key, value)}
        unset = sorted(key for key in returned if key not in route)
        if changed or unset:
            self.routes[str(index)] = {"is": _hash(converted), "set": changed, "unset": unset}

    def restored(self, index: int, before: Route, route: Route) -> Route:
        """The route `before` was made of, as it was; `route` itself where nothing was kept, or `before` was edited."""
        kept = self.routes.get(str(index))
        if not isinstance(kept, dict) or kept.get("is") != _hash(before):
            return route
        changed, unset = kept.get("set"), kept.get("unset")
        if not isinstance(changed, dict) or not isinstance(unset, list):
            return route
        return {key: value for key, value in route.items() if key not in unset} | changed

    def on(self, metadata: Mapping[str, object]) -> dict[str, object]:
        """The metadata with this stash as its only one.

        Where the annotations have no room for it there is none: an object that Kubernetes refuses could not be read.
        """
        given = metadata.get("annotations") or {}
        if not isinstance(given, Mapping):
            return dict(metadata)
        annotations = {key: value for key, value in given.items() if key != STASH}
        if self.routes:
            kept = _whole({"version": self.version, "routes": self.routes})
            text = json.dumps(kept, separators=(",", ":"), sort_keys=True)
            if _size(annotations) + _size({STASH: text}) <= LARGEST_ANNOTATIONS:
                annotations[STASH] = text
        rest = {key: value for key, value in metadata.items() if key != "annotations"}
        if annotations:
            return rest | {"annotations": annotations}
        return rest if STASH in given else dict(metadata)


def _holds(route: Route, key: str, value: object) -> bool:
    """Whether a route has that value under that key; 1 and true are not the same."""
    return key in route and (route[key] is value or _canonical(route[key]) == _canonical(value))


def _hash(route: Route) -> str:
    return sha256(_canonical(route).encode()).hexdigest()[:16]


def _canonical(value: object) -> str:
    return json.dumps(_whole(value), sort_keys=True)


def _whole(value: object) -> object:
    """The value with 5.0 as 5: Kubernetes writes it so."""
    if isinstance(value, dict):
        return {key: _whole(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_whole(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _size(annotations: Mapping[str, object]) -> int:
    return sum(len(f"{key}{value}".encode(errors="replace")) for key, value in annotations.items())
