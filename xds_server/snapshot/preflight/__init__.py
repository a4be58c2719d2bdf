"""Preflight: a real Envoy looks at what changed before it is served, and who is to blame is found."""

from xds_server.snapshot.preflight.envoy import EnvoyChecker, UnavailableError
from xds_server.snapshot.preflight.gate import Preflight
from xds_server.snapshot.preflight.search import Refusal, examine

__all__ = ["EnvoyChecker", "Preflight", "Refusal", "UnavailableError", "examine"]
