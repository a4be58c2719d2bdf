"""Secrets: what makes a TLS Secret right, and that nothing of any Secret is ever repeated."""

from __future__ import annotations

from base64 import b64encode

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed448, rsa
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat

from k8s_source.kinds.core import Secret
from tests.unit.k8s_source.manifests import Body, certificate, decoded, pair, pem, refused, tls_secret

CHAIN, KEY = pair()
WEAK = rsa.generate_private_key(65537, 1024)  # noqa: S505 - it is to be refused
CURVE = ec.generate_private_key(ec.SECP256K1())
EDWARDS = ed448.Ed448PrivateKey.generate()
LOCKED = (
    ec.generate_private_key(ec.SECP256R1())
    .private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"x"))
    .decode()
)


def base64_secret(chain: str, key: str) -> Body:
    data = {"tls.crt": b64encode(chain.encode()).decode(), "tls.key": b64encode(key.encode()).decode()}
    return {**tls_secret("", ""), "stringData": None, "data": data}


def test_data_and_string_data() -> None:
    for body in (tls_secret(CHAIN, KEY), base64_secret(CHAIN, KEY)):
        value = decoded(body).value
        assert isinstance(value, Secret)
        assert value.value("tls.crt") == CHAIN.encode()
        assert value.value("tls.key") == KEY.encode()
        assert value.value("ca.crt") is None


def test_string_data_goes_first() -> None:
    body = {**base64_secret("", "x"), "stringData": {"tls.crt": CHAIN, "tls.key": KEY}}
    value = decoded(body).value
    assert isinstance(value, Secret)
    assert value.value("tls.key") == KEY.encode()


def test_line_breaks_in_base64_do_not_count() -> None:
    body = base64_secret(CHAIN, KEY)
    text = body["data"]["tls.crt"]  # type: ignore[index]
    body["data"]["tls.crt"] = "\r\n".join(text[at : at + 64] for at in range(0, len(text), 64))  # type: ignore[index]
    decoded(body)


@pytest.mark.parametrize(
    ("body", "field", "reason", "words"),
    [
        (tls_secret("", KEY), 'stringData["tls.crt"]', "MissingField", "kubernetes.io/tls needs it"),
        ({**tls_secret(CHAIN, KEY), "stringData": {"tls.crt": CHAIN}}, 'data["tls.key"]', "MissingField", "needs it"),
        (
            {**base64_secret(CHAIN, KEY), "stringData": {"tls.key": KEY[:-40]}},
            'stringData["tls.key"]',
            "InvalidValue",
            "in PEM",
        ),
        (
            {**tls_secret(CHAIN, KEY), "stringData": {"tls.key": KEY}, "data": {"tls.crt": "!"}},
            'data["tls.crt"]',
            "InvalidValue",
            "base64",
        ),
        (tls_secret("x", KEY), 'stringData["tls.crt"]', "InvalidValue", "expected certificates in PEM"),
        (tls_secret(CHAIN, LOCKED), 'stringData["tls.key"]', "InvalidValue", "without a password"),
        (
            tls_secret(CHAIN, pair("other")[1]),
            'stringData["tls.key"]',
            "Mismatch",
            'in stringData["tls.crt"], found another',
        ),
        (tls_secret(certificate(WEAK, "a"), pem(WEAK)), 'stringData["tls.key"]', "InvalidValue", "2048 bits or more"),
        (
            tls_secret(certificate(CURVE, "a"), pem(CURVE)),
            'stringData["tls.key"]',
            "InvalidValue",
            "P-256, P-384 or P-521",
        ),
        (tls_secret(CHAIN, pem(EDWARDS)), 'stringData["tls.key"]', "InvalidValue", "Envoy takes no other"),
    ],
)
def test_what_is_wrong(body: Body, field: str, reason: str, words: str) -> None:
    (problem,) = refused(body)
    assert (problem.field, problem.reason) == (field, reason)
    assert words in problem.message


@pytest.mark.parametrize("key", ["tls.crt", "tls.key"])
def test_bytes_around_a_block_are_text(key: str) -> None:
    body = base64_secret(CHAIN, KEY)
    text = CHAIN if key == "tls.crt" else KEY
    data: Body = {**body["data"], key: b64encode(b"\xff\n" + text.encode()).decode()}  # type: ignore[dict-item]
    (problem,) = refused({**body, "data": data})
    assert problem.field == f'data["{key}"]'
    data[key] = b64encode("ÿ\n".encode() + text.encode()).decode()
    decoded({**body, "data": data})


def test_both_are_told() -> None:
    assert [problem.field for problem in refused(tls_secret("x", "y"))] == [
        'stringData["tls.crt"]',
        'stringData["tls.key"]',
    ]


def test_other_types_are_not_looked_into() -> None:
    decoded({**tls_secret("x", "y"), "type": "Opaque"})


@pytest.mark.parametrize(
    "wrong",
    [
        {"data": "hunter2"},
        {"data": ["hunter2"]},
        {"data": {"password": 2222222}},
        {"data": {"hunter2": 5}},
        {"type": ["hunter2"]},
        {"stringData": {"tls.crt": "hunter2", "tls.key": "hunter2"}},
        {"data": {"tls.crt": "hunter2", "tls.key": "hunter2"}, "stringData": None},
        {"metadata": {"name": "hunter2!"}},
    ],
)
def test_nothing_of_a_secret_is_repeated(wrong: Body) -> None:
    problems = refused({**tls_secret(CHAIN, KEY), **wrong})
    told = "".join(str(problem) + repr(problem) for problem in problems)
    assert "hunter2" not in told
    assert "2222222" not in told


def test_a_secret_is_not_shown() -> None:
    assert repr(decoded(tls_secret(CHAIN, KEY)).value) == "Secret(default/shop-tls)"
