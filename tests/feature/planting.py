"""Secrets that a test plants, each with a marker of its own, and the search for them in whatever comes out."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any

from tests.conformance.wire import URLS
from xds_server.demo.world import (
    Document,
    assignment,
    certificate_secret,
    cluster,
    listener,
    route,
    routes,
    secret_reference,
)

PREFIX = "type.googleapis.com/envoy."


@dataclass
class Planted:
    """Makes secrets, and remembers their markers: what must come out nowhere."""

    markers: list[str] = field(default_factory=list)

    def word(self, place: str) -> str:
        """A password or a token."""
        self.markers.append(f"planted-{place}-0123456789")
        return self.markers[-1]

    def awkward(self, place: str) -> str:
        """A password that has to be escaped wherever it is quoted."""
        return f'x"\\\t{self.word(place)}\\"é'

    def key(self, place: str) -> str:
        """A private key (PEM); its last line is short, as last lines are."""
        lines = [f"planted+{place}+{number}+".ljust(64, "A") for number in range(3)]
        tail = f"tail+{place}="
        self.markers += [*(line[:40] for line in lines), tail]
        return "\n".join(["-----BEGIN PRIVATE KEY-----", *lines, tail, "-----END PRIVATE KEY-----", ""])

    def found_in(self, text: bytes) -> set[str]:
        """The markers in a text, as they are or in base64."""
        return {marker for marker in self.markers if any(form in text for form in _forms(marker))}


def _forms(marker: str) -> list[bytes]:
    """A marker as it is, and as base64 has it at each of the three places where it may begin."""
    raw = marker.encode()
    encoded = [base64.b64encode(b"\0" * shift + raw)[2 * shift : -4] for shift in range(3)]
    return [raw, *encoded]


def files(planted: Planted) -> dict[str, list[Document]]:
    """Documents by file, with a secret in each place where one can be."""
    tls = {
        "common_tls_context": {
            "tls_certificates": [
                {
                    "certificate_chain": {"inline_string": "chain"},
                    "private_key": {"inline_string": planted.key("listener")},
                }
            ]
        }
    }
    table = routes("table", [route("one")])
    table["request_headers_to_add"] = [
        {"header": {"key": "authorization", "value": f"Bearer {planted.word('bearer')}"}},
        {"header": {"key": "x-api-key", "value": planted.awkward("header")}},
    ]
    return {
        "secrets": [
            certificate_secret("pair", "chain", planted.key("files")),
            _secret("ticket", session_ticket_keys={"keys": [{"inline_bytes": _bytes(planted.word("ticket"))}]}),
            _secret("generic", generic_secret={"secret": {"inline_string": planted.awkward("generic")}}),
        ],
        "world": [
            cluster("one", metadata={"filter_metadata": {"mine": {"password": planted.word("metadata"), "n": 1}}}),
            assignment("one", [80]),
            listener("edge", "table", tls=secret_reference("pair")),
            {**listener("inline", "table", tls=tls), "listener_filters": []},
            table,
            _basic_auth(planted),
        ],
    }


def _secret(name: str, **fields: Any) -> Document:
    return {"@type": URLS["sds"], "name": name, **fields}


def _bytes(word: str) -> str:
    return base64.b64encode(word.ljust(80, "x").encode()).decode()


def _basic_auth(planted: Planted) -> Document:
    """A filter for ECDS whose users are secrets."""
    kind = f"{PREFIX}extensions.filters.http.basic_auth.v3.BasicAuth"
    users = {"inline_string": f"me:{{SHA}}{planted.word('basic')}"}
    return {"@type": URLS["ecds"], "name": "basic", "typed_config": {"@type": kind, "users": users}}


def broken_files(planted: Planted) -> dict[str, str]:
    """Files that are wrong right at a secret: in their syntax, in a field, in a type."""
    key = planted.key("syntax").replace("\n", "\n      ")
    kind = f'"@type": {URLS["sds"]}\n'
    tls = "tls_certificate:\n  private_key:\n    inline_string: "
    return {
        "z-syntax.yaml": f"{kind}name: z1\n{tls}|\n      {key}\n   wrong: [indentation\n",
        "z-quotes.yaml": f'{kind}name: z2\n{tls}"{planted.word("quotes")}\n',
        "z-json.json": f'{{"@type": "{URLS["sds"]}", "name": "z3", "generic_secret": {{"secret": {{"inline_string": '
        f'"{planted.word("json")}" "{planted.word("json-next")}"}}}}}}',
        "z-type.yaml": f"{kind}name: z4\ntls_certificate:\n  private_key: {planted.word('type')}\n",
        "z-field.yaml": f"{kind}name: z5\n{tls.replace('inline_string', 'inline_strin')}{planted.word('field')}\n",
        "z-bytes.yaml": f"{kind}name: z6\n{tls.replace('inline_string', 'inline_bytes')}{planted.word('bytes')}!\n",
        "z-enum.yaml": f'"@type": {URLS["cds"]}\nname: z7\nlb_policy: "Bearer {planted.word("enum")}"\n',
        "z-twice.yaml": f"{kind}name: z8\ngeneric_secret: {{secret: {{inline_string: {planted.word('twice')}, "
        f"inline_string: {planted.word('twice-next')}}}}}\n",
    }
