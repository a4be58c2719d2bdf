"""From a manifest as plain values to the typed object, or to all that is wrong with it. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches

import msgspec

from k8s_source.kinds.core import Secret
from k8s_source.kinds.meta import DEFAULT_NAMESPACE
from k8s_source.kinds.registry import KINDS
from k8s_source.kinds.walk import find_faults
from xds_server.ir.objects import Object, ObjectKey
from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem

_KIND = re.compile(r"[A-Za-z]{1,60}")
_VERSION = re.compile(r"[A-Za-z][A-Za-z0-9./-]{0,79}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}")
"""What these look like where they can be repeated."""

_SLIP = 0.8
"""How much of two kinds must be the same (`difflib`) for one to be a slip of the other: ServiceAccount is no Service."""


def decode_manifest(body: Mapping[str, object], origin: Origin, folder_group: str) -> Object | tuple[Problem, ...]:
    """The object of a manifest, or every fault of it.

    `origin` is where the manifest stands; what object it is, is added here. A field that is null counts as absent, as
    Kubernetes has it; `status` is not read. The object has the version of its kind that the rest of Tidegate knows.
    """
    origin = _identified(origin, body)
    kind = KINDS.get((origin.api_version, origin.kind))
    if kind is None:
        told = _unsupported(origin)
        # A slip in what was right before tells nothing of what is meant: without a kind nothing counts as gone.
        return (Problem(replace(origin, kind="") if _is_slip(origin) else origin, *told),)
    plain = {key: without_nulls(each) for key, each in body.items() if each is not None and key != "status"}
    try:
        value = msgspec.convert(plain, kind)
    except msgspec.ValidationError:
        faults = find_faults(plain, kind, secret=kind is Secret)
        return tuple(Problem(origin, each.reason, each.message, each.path) for each in faults)
    return Object(_key(origin), value.hub(), origin, folder_group)


def _key(origin: Origin) -> ObjectKey:
    api_group = origin.api_version.rpartition("/")[0]
    return ObjectKey(api_group, origin.kind, origin.namespace, origin.name)


def _identified(origin: Origin, body: Mapping[str, object]) -> Origin:
    """The origin with the identity that the manifest tells, as far as it looks like one."""
    given = body.get("metadata")
    metadata: Mapping[str, object] = given if isinstance(given, Mapping) else {}
    generation = metadata.get("generation")
    return replace(
        origin,
        api_version=_word(body.get("apiVersion"), _VERSION),
        kind=_word(body.get("kind"), _KIND),
        namespace=_word(metadata.get("namespace"), _NAME) or DEFAULT_NAMESPACE,
        name=_word(metadata.get("name"), _NAME),
        generation=generation if type(generation) is int else 0,
    )


def _word(value: object, form: re.Pattern[str]) -> str:
    return value if isinstance(value, str) and form.fullmatch(value) else ""


def _is_slip(origin: Origin) -> bool:
    """Whether a kind, or its version, is most likely one of ours that is written wrong."""
    group = origin.api_version.rpartition("/")[0]
    known = [kind for version, kind in KINDS if version.rpartition("/")[0] == group]
    return origin.kind in known or bool(get_close_matches(origin.kind, known, n=1, cutoff=_SLIP))


def _unsupported(origin: Origin) -> tuple[str, str, str]:
    """Reason, message and field of a kind that is none of ours."""
    versions = [version for version, kind in KINDS if kind == origin.kind]
    if versions:
        found = f", found {origin.api_version!r}" if origin.api_version else ""
        return "UnsupportedKind", f"expected {' or '.join(versions)} for kind {origin.kind}{found}", "apiVersion"
    what = f"kind {origin.kind} ({origin.api_version})" if origin.kind and origin.api_version else "this kind"
    names = list(dict.fromkeys(kind for _, kind in KINDS))
    close = get_close_matches(origin.kind, names, n=1)
    clause = f"did you mean {close[0]!r}?" if close else f"Tidegate knows {', '.join(sorted(names))}"
    return "UnsupportedKind", f"manifests of {what} are not supported; {clause}", "kind"


def without_nulls(value: object) -> object:
    """Plain values without the fields that are null, which count as absent."""
    if isinstance(value, Mapping):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value
