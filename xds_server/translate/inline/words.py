"""Envoy's words about resources, fit to be told: no secret in them, and where it is about one, not the whole object."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from google.protobuf import json_format

from xds_server.translate.messages import parse
from xds_server.translate.present import REDACTED
from xds_server.translate.render import to_json
from xds_server.translate.sensitive import is_secret_text
from xds_server.wire.resource import Resource

_CONSTRAINT = re.compile(r"Proto constraint validation failed \((.*)\)", re.DOTALL)
"""Before this or after it Envoy prints the whole message; in it, the way from the bootstrap to the field."""

_LONGEST = 1000
_LEAST = 4
"""Letters of a secret that is looked for in a text: fewer occur by chance."""


_LOOKED_AT = 20
"""Resources of one refusal whose secrets are looked for in its words; Envoy prints one, with its name."""

_NAMED_IN = 16 * 1024
"""Letters in which these names are looked for: a response may have thousands."""


def told(words: str, resource: Resource) -> str:
    """The words in one line, bounded, without what is a secret of the resource."""
    text = without_secrets(" ".join(meant(words).split()), (resource,))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def without_secrets(words: str, resources: Iterable[Resource]) -> str:
    """The words of a client that refused these resources, without what is a secret of theirs."""
    known, beginning = [each for each in resources if each.is_known], words[:_NAMED_IN]
    named = [each for each in known if each.name in beginning] or known
    secrets = {secret for each in named[:_LOOKED_AT] for secret in secrets_of(each)}
    for secret in sorted(secrets, key=len, reverse=True):
        words = words.replace(secret, REDACTED)
    return "the words are not repeated, since they may hold a secret" if is_secret_text(words) else words


def meant(words: str) -> str:
    """The words without the whole message that stands beside some of them."""
    found = _CONSTRAINT.search(words)
    return words if found is None else found[1].rpartition("caused by ")[2]


@lru_cache(maxsize=_LOOKED_AT)  # A fleet refuses the same resources.
def secrets_of(resource: Resource) -> frozenset[str]:
    """The texts in a resource that are secrets, as they are and as a dump shows them, and their lines if they are long."""
    message = parse(resource.type_url, resource.body)
    if message is None:
        return frozenset()
    try:
        plain = json_format.MessageToDict(message, preserving_proto_field_name=True)
    except (json_format.SerializeToJsonError, TypeError, ValueError, RecursionError):
        return frozenset()
    found = {text for text in _hidden(plain, to_json(resource)) if len(text) >= _LEAST}
    shown = {form for text in found for form in (" ".join(text.split()), json.dumps(text)[1:-1])}
    return frozenset(found | shown | {part for text in found for part in _parts(text)})


def _hidden(plain: object, shown: object) -> Iterator[str]:
    """The texts that stand where the shown form has nothing but `[redacted]`."""
    if isinstance(plain, str) and shown == REDACTED:
        yield plain
        try:
            yield base64.b64decode(plain, validate=True).decode(errors="replace")
        except binascii.Error:
            return
    elif isinstance(plain, Mapping) and isinstance(shown, Mapping):
        for key, value in plain.items():
            yield from _hidden(value, shown.get(key))
    elif isinstance(plain, list) and isinstance(shown, list):
        for value, other in zip(plain, shown, strict=False):
            yield from _hidden(value, other)


def _parts(text: str) -> Iterator[str]:
    """The lines of a long secret, since Envoy may quote one of them."""
    yield from (line for line in text.split("\n") if len(line) >= 4 * _LEAST)
