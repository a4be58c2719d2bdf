"""Envoy's words about resources, fit to be told: no secret in them, and where it is about one, not the whole object."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from google.protobuf import json_format, text_encoding

from xds_server.translate.messages import parse
from xds_server.translate.present import REDACTED
from xds_server.translate.render import to_json
from xds_server.translate.sensitive import is_secret_text
from xds_server.wire.resource import Resource

_CONSTRAINT = re.compile(r"Proto constraint validation failed \((.*)\)", re.DOTALL)
"""Before this or after it Envoy prints the whole message; in it, the way from the bootstrap to the field."""

_KEY = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)", re.DOTALL)
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\Z)', re.DOTALL)

_RUN = re.compile(r"[\w+/=.-]{12,}", re.ASCII)
"""What looks the same however it is quoted, and is too long to occur by chance."""

_LONGEST = 1000
_READ = 16_000
"""Letters of a client's words that are looked at, and kept."""

_LOOKED_AT = 100
"""Resources of one refusal whose secrets are looked for in its words; Envoy prints one, with its name."""

_REMEMBERED = 256

_LEAST = 4
"""Letters of a secret that is looked for in a text: fewer occur by chance."""


def told(words: str, resource: Resource) -> str:
    """The words in one line, bounded, without what is a secret of the resource."""
    text = without_secrets(" ".join(meant(words).split()), (resource,))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def without_secrets(words: str, resources: Iterable[Resource]) -> str:
    """The words of a client that refused these resources, without what is a secret of theirs, and bounded.

    Where they are too many to look into each, and the words do not name a few, no text in double quotes is repeated.
    """
    text = words[:_READ]
    known = [each for each in resources if each.is_known]
    if len(known) > _LOOKED_AT:
        known = [each for each in known if each.name in text] or known
    if len(known) > _LOOKED_AT:
        text, known = _QUOTED.sub(f'"{REDACTED}"', text), []
    text = _KEY.sub(REDACTED, text)
    for secret in sorted({secret for each in known for secret in secrets_of(each)}, key=len, reverse=True):
        text = text.replace(secret, REDACTED)
    return "the words are not repeated, since they may hold a secret" if is_secret_text(text) else text


def meant(words: str) -> str:
    """The words without the whole message that stands beside some of them."""
    found = _CONSTRAINT.search(words)
    return words if found is None else found[1].rpartition("caused by ")[2]


@lru_cache(_REMEMBERED)  # A fleet refuses the same resources.
def secrets_of(resource: Resource) -> frozenset[str]:
    """The texts in a resource that are secrets, as they are and as they may be quoted, and their longer parts."""
    message = parse(resource.type_url, resource.body)
    if message is None:
        return frozenset()
    try:
        plain = json_format.MessageToDict(message, preserving_proto_field_name=True)
    except (json_format.SerializeToJsonError, TypeError, ValueError, RecursionError):
        return frozenset()
    found = {text for text in _hidden(plain, to_json(resource)) if len(text) >= _LEAST}
    found |= {part for text in found for part in _parts(text)}
    return frozenset(found | {form for text in found for form in _quoted(text)})


def _hidden(plain: object, shown: object) -> Iterator[str]:
    """The texts that stand where the shown form has nothing but `[redacted]`."""
    if isinstance(plain, str) and shown == REDACTED:
        yield plain
        try:
            raw = base64.b64decode(plain, validate=True)
        except ValueError:  # no base64, or not even ASCII
            return
        yield from (raw.decode(errors="replace"), text_encoding.CEscape(raw, as_utf8=False))
    elif isinstance(plain, Mapping) and isinstance(shown, Mapping):
        for key, value in plain.items():
            yield from _hidden(value, shown.get(key))
    elif isinstance(plain, list) and isinstance(shown, list):
        for value, other in zip(plain, shown, strict=False):
            yield from _hidden(value, other)


def _parts(text: str) -> Iterator[str]:
    """What may be quoted by itself, or stand between characters that are quoted in another way."""
    yield from (line for line in text.split("\n") if len(line) >= 4 * _LEAST)
    yield from _RUN.findall(text)
    scheme, _, credential = text.strip().partition(" ")
    if scheme.lower() in ("basic", "bearer") and len(credential) >= _LEAST:
        yield credential


def _quoted(text: str) -> Iterator[str]:
    """A text as it may be quoted: in one line, in protobuf's text form, in JSON."""
    yield " ".join(text.split())
    raw = text.encode(errors="replace")
    yield from (text_encoding.CEscape(raw, as_utf8=True), text_encoding.CEscape(raw, as_utf8=False))
    yield from (json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])
