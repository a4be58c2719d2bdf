"""What `validate` and `render` print never holds a piece of a secret, however its document is broken."""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from xds_server.cli.checking import report
from xds_server.cli.inputs import read
from xds_server.translate.render import to_json

KEY = "q7W3e9R1t5Y8u2I4o6P0"
"""Every five letters of it have digits and letters, and stand nowhere else."""

PIECES = [KEY[start : start + 5] for start in range(len(KEY) - 4)]
SECRET = '"@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret'
CLUSTER = '"@type": type.googleapis.com/envoy.config.cluster.v3.Cluster'

DOCUMENTS = {
    "block": f"{SECRET}\nname: a\ntls_certificate:\n  private_key:\n    inline_string: |\n"
    f"      -----BEGIN PRIVATE KEY-----\n      {KEY}\n      -----END PRIVATE KEY-----\n",
    "quoted": f'{SECRET}\nname: a\ngeneric_secret: {{secret: {{inline_string: "{KEY}"}}}}\n',
    "plain": f"{SECRET}\nname: a\ngeneric_secret:\n  secret:\n    inline_string: {KEY}\n",
    "tickets": f"{SECRET}\nname: a\nsession_ticket_keys: {{keys: [{{inline_bytes: {KEY}}}]}}\n",
    "listed": f"resources:\n- {SECRET}\n  name: a\n  generic_secret: {{secret: {{inline_string: '{KEY}'}}}}\n",
    "header": f"{CLUSTER}\nname: a\nhealth_checks:\n- http_health_check:\n    path: /\n    request_headers_to_add:\n"
    f"    - header: {{key: authorization, value: Bearer {KEY}}}\n",
    "bare": f"{KEY}\n",
    "manifest": f"apiVersion: v1\nkind: Secret\nmetadata: {{name: a}}\ndata: {{tls.key: {KEY}}}\n",
    "a.json": json.dumps({"@type": SECRET[9:], "name": "a", "generic_secret": {"secret": {"inline_string": KEY}}}),
}
LETTERS = "\t\n :{}[]\"'|>!*&%@-#,\\?x€\x01"


def printed(name: str, text: str) -> str:
    """All that the two commands have to say about a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name if name.endswith(".json") else f"{name}.yaml")
        path.write_text(text)
        inputs = read([path])
        out = io.StringIO()
        report(inputs, out)
    resources = [each for group in inputs.groups.values() for found in group.types.values() for each in found]
    left_out = [(each.name, each.message) for group in inputs.groups.values() for each in group.left_out]
    problems = [str(problem) for problem in inputs.problems]
    return "\n".join([out.getvalue(), *problems, json.dumps([to_json(each) for each in resources]), str(left_out)])


def leaks(name: str, text: str) -> list[str]:
    """Pieces of the key that are printed."""
    shown = printed(name, text)
    return [piece for piece in PIECES if piece in shown]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_whole_documents(name: str) -> None:
    assert leaks(name, DOCUMENTS[name]) == []


@pytest.mark.parametrize(
    "value",
    [
        *(f"!{KEY}", f"!{KEY} x", f"!<{KEY}> x", f"!!{KEY} x", f"!a!{KEY} x", f"*{KEY}", f"&{KEY}", f"&{KEY} *{KEY}"),
        *(f"@{KEY}", f"%{KEY}", f"`{KEY}", f"{KEY}: {KEY}", f"{{{KEY}: 1}}", f"{{? {KEY}}}", f"[{KEY}]", f'"{KEY}\\q"'),
        *(f'"{KEY}', f"'{KEY}", f"{{a: {KEY}, a: {KEY}}}", f"{{{KEY}: 1, {KEY}: 2}}", f"!!int {KEY}", f"!!null {KEY}"),
        *(f"{{inline_string: {{a: {KEY}}}}}", f"{{inline_string: [{KEY}]}}", f"{{inline_strin: {KEY}}}", f"{KEY}"),
        *(f"{{inline_bytes: {KEY}€}}", f"{{inline_string: {KEY}, filename: {KEY}}}", f"{{filename: {KEY}, {KEY}: 1}}"),
    ],
)
@pytest.mark.parametrize("where", ["private_key", "password", "pkcs12", "private_key_provider"])
def test_wrong_values(value: str, where: str) -> None:
    assert leaks("a", f"{SECRET}\nname: a\ntls_certificate:\n  {where}: {value}\n") == []
    assert leaks("a", f"{SECRET}\nname: a\ngeneric_secret: {value}\n") == []
    assert leaks("a", f"{SECRET}\nname: a\ngeneric_secret: {{secrets: {value}}}\n") == []
    assert leaks("a", f"{SECRET}\nname: a\n{value}\n") == []
    assert leaks("a", f"resources: {value}\n") == []
    assert leaks("a", f"{value}\n") == []


@pytest.mark.parametrize(
    "field",
    ["type", "lb_policy", "connect_timeout", "per_connection_buffer_limit_bytes", "respect_dns_ttl", "metadata"],
)
def test_values_of_other_fields(field: str) -> None:
    """Whoever misplaces a secret should not find it in a log."""
    assert leaks("a", f"{CLUSTER}\nname: a\n{field}: {KEY}\n# {SECRET}") == []
    assert leaks("a", f'"@type": {KEY}\nname: a\n# secret') == []
    assert leaks("a", f"apiVersion: v1\nkind: {KEY}\nmetadata: {{name: a}}\n") == []


@settings(max_examples=300)
@given(st.sampled_from(sorted(DOCUMENTS)), st.integers(0, 400), st.sampled_from(["", *LETTERS]), st.integers(0, 1))
def test_documents_with_one_slip(name: str, at: int, letter: str, replaced: int) -> None:
    text = DOCUMENTS[name]
    start = max(text.find(KEY) - 60, text.find("name") + 8, 0)
    at = start + at % (len(text) - start + 1)
    assert leaks(name, text[:at] + letter + text[at + replaced :]) == []


@pytest.mark.parametrize("spaces", range(8))
def test_a_line_of_a_block_that_is_indented_wrongly(spaces: int) -> None:
    assert leaks("block", DOCUMENTS["block"].replace(f"      {KEY}", f"{' ' * spaces}{KEY}")) == []


def test_documents_without_secrets_show_their_lines_beside_one_with(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(f"{CLUSTER}\nname: a\nnmae: b\n---\n{DOCUMENTS['block']}nmae: c\n")
    out = io.StringIO()
    report(read([path]), out)
    assert "    nmae: b" in out.getvalue()
    assert "    nmae: c" not in out.getvalue()
