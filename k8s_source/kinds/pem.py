"""Certificates and private keys in PEM: whether Envoy would take a pair. What is said repeats nothing of either."""

from __future__ import annotations

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

_CURVES = (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1)
_LEAST_BITS = 2048
_ALGORITHMS = f"expected a key of RSA with {_LEAST_BITS} bits or more, of ECDSA on P-256, P-384 or P-521, or of Ed25519"


def certificate_error(chain: bytes) -> str:
    """What is wrong with a chain of certificates, "" for nothing."""
    try:
        chain.decode()  # what stands around the blocks goes to Envoy too
        x509.load_pem_x509_certificates(chain)
    except ValueError:
        return "expected certificates in PEM, the server's own first, found none"
    return ""


def key_error(key: bytes) -> str:
    """What is wrong with a private key, "" for nothing."""
    try:
        key.decode()
        loaded = load_pem_private_key(key, password=None)
    except TypeError:
        return "expected a private key without a password, found one with"
    except (ValueError, UnsupportedAlgorithm):
        return "expected a private key in PEM, found none"
    if isinstance(loaded, rsa.RSAPrivateKey) and loaded.key_size >= _LEAST_BITS:
        return ""
    if isinstance(loaded, ed25519.Ed25519PrivateKey):
        return ""
    if isinstance(loaded, ec.EllipticCurvePrivateKey) and isinstance(loaded.curve, _CURVES):
        return ""
    return _ALGORITHMS + ", since Envoy takes no other"


def belong_together(chain: bytes, key: bytes) -> bool:
    """Whether a right key is that of the first of right certificates."""
    public = x509.load_pem_x509_certificates(chain)[0].public_key()
    form = Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    return public.public_bytes(*form) == load_pem_private_key(key, password=None).public_key().public_bytes(*form)
