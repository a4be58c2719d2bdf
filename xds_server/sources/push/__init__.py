"""The push source: sets of resources that outside programs own, over HTTP and gRPC (docs/design/008-push.md)."""

from xds_server.sources.push.desk import PushSource

__all__ = ["PushSource"]
