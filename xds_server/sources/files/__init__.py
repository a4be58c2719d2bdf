"""The files source: native xDS documents and manifests from a directory, reloaded as it changes."""

from xds_server.sources.files.positions import locate, locate_all, places
from xds_server.sources.files.reader import load
from xds_server.sources.files.source import FilesSource

__all__ = ["FilesSource", "load", "locate", "locate_all", "places"]
