"""What can be configured: the whole schema as frozen models, and how file, environment and flags become one."""

from xds_server.settings.address import Address
from xds_server.settings.errors import SettingsError
from xds_server.settings.later import without_effect
from xds_server.settings.load import load
from xds_server.settings.root import Settings

__all__ = ["Address", "Settings", "SettingsError", "load", "without_effect"]
