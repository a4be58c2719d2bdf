"""From resources to a bootstrap that holds them all, so that Envoy's `--mode validate` looks at each. Pure."""

from xds_server.translate.inline.bootstrap import Find, Static, Unchecked, inline
from xds_server.translate.inline.words import meant, secrets_of, told, without_secrets

__all__ = ["Find", "Static", "Unchecked", "inline", "meant", "secrets_of", "told", "without_secrets"]
