"""The admin API: what operators and programs ask over HTTP."""

from xds_server.admin.app import create_app
from xds_server.admin.deps import AdminDeps, Evidence
from xds_server.admin.server import AdminServer

__all__ = ["AdminDeps", "AdminServer", "Evidence", "create_app"]
