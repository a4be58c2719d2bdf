"""What is done to a message, and to all below it, so that nothing in it comes from elsewhere.

What Envoy would look for on its own machine is taken out, or its resource is not checked: this one may be another.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any as Anything

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from xds_server.translate.inline.local import is_local
from xds_server.translate.inline.stand_ins import MADE, as_by_rds, new
from xds_server.translate.messages import parse
from xds_server.translate.references import is_ours
from xds_server.wire.resource import Resource
from xds_server.wire.types import ENDPOINT, EXTENSION, ROUTE, SECRET

Find = Callable[[str, str], Resource | None]
"""(type URL, name) → the resource, None where there is none."""

ALONE = MADE
"""Name of the cluster that stands for the control plane; nothing ever connects to it."""

_CLUSTER_NAME = re.compile(r"(?:^|_)cluster(?:_name)?$")
"""Fields that name clusters; for one that names something else an empty cluster too many does no harm."""

_V3 = 2
"""`envoy.config.core.v3.ApiVersion.V3`."""

_ELSEWHERE = "comes from elsewhere than this control plane"
_BY_FILE = "names a file or variable of the machine where Envoy runs"


class LocalError(Exception):
    """A resource that can't be checked here; the text says why."""


class Inlining:
    """The edits of one resource, and what was met while they were made.

    `used` are the resources that were put in, `clusters` names of clusters, `secrets` are messages by name, `notes`
    say what Envoy will not look at.
    """

    def __init__(self, find: Find) -> None:
        self.used: set[tuple[str, str]] = set()
        self.clusters: set[str] = set()
        self.secrets: dict[str, Anything] = {}
        self.notes: set[str] = set()
        self._find = find
        self._rules: dict[str, Callable[[Anything], None]] = {
            "envoy.config.cluster.v3.Cluster": self._cluster,
            "envoy.config.core.v3.ConfigSource": self._config_source,
            "envoy.config.core.v3.DataSource": self._data_source,
            "envoy.config.route.v3.RouteConfiguration": self._routes,
            "envoy.extensions.access_loggers.file.v3.FileAccessLog": _to_nowhere,
            "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager": self._manager,
            "envoy.extensions.transport_sockets.tls.v3.CommonTlsContext": self._tls,
            "envoy.extensions.transport_sockets.tls.v3.SdsSecretConfig": self._sds,
        }

    def edit(self, message: Message) -> None:
        """Edit one message, those below it apart.

        Raises:
            LocalError: It can't be checked.
        """
        anything: Anything = message
        rule = self._rules.get(message.DESCRIPTOR.full_name)
        if rule is not None:
            rule(anything)
        if "config_discovery" in message.DESCRIPTOR.fields_by_name and anything.HasField("config_discovery"):
            self._extension(anything)
        for field, value in message.ListFields():
            if field.type == FieldDescriptor.TYPE_STRING and _CLUSTER_NAME.search(field.name):
                self.clusters.update(value if field.is_repeated else (value,))

    def _message(self, url: str, name: str) -> Anything:
        """The message of a resource that is put in; None where there is none."""
        resource = self._find(url, name)
        if resource is None:
            return None
        self.used.add((url, name))
        return parse(url, resource.body)

    def _from(self, source: Anything, url: str, name: str, what: str) -> Anything:
        """As above, for one that a config source of ours gives; None for one of others."""
        if is_ours(source):
            return self._message(url, name)
        self._from_elsewhere(what)
        return None

    def _cluster(self, cluster: Anything) -> None:
        cluster.ClearField("lrs_server")
        if cluster.WhichOneof("cluster_discovery_type") != "type" or cluster.type != cluster.EDS:
            return
        source, name = cluster.eds_cluster_config.eds_config, cluster.eds_cluster_config.service_name or cluster.name
        found = self._from(source, ENDPOINT, name, "its load assignment")
        cluster.ClearField("eds_cluster_config")
        cluster.type = cluster.STATIC
        if found is not None:
            cluster.load_assignment.CopyFrom(found)
        cluster.load_assignment.cluster_name = cluster.name
        for each in cluster.load_assignment.endpoints:
            if each.HasField("leds_cluster_locality_config"):
                each.ClearField("leds_cluster_locality_config")
                self._from_elsewhere("what LEDS gives it")

    def _manager(self, manager: Anything) -> None:
        kind = manager.WhichOneof("route_specifier")
        if kind == "rds":
            name, source = manager.rds.route_config_name, manager.rds.config_source
            found = self._from(source, ROUTE, name, "its route configuration")
            manager.route_config.name = name
            if found is not None:
                manager.route_config.CopyFrom(found)
            as_by_rds(manager.route_config)
        elif kind == "scoped_routes":
            self._scopes(manager.scoped_routes)

    def _scopes(self, scoped: Anything) -> None:
        if scoped.HasField("scoped_rds"):
            scopes = self._by_srds(scoped.scoped_rds.scoped_rds_config_source)
            scoped.scoped_route_configurations_list.scoped_route_configurations.extend(scopes)
        for scope in scoped.scoped_route_configurations_list.scoped_route_configurations:
            self._scope(scope)

    def _by_srds(self, source: Anything) -> list[Anything]:
        """A scope with one made-up route: which scopes there are is not known by name, each is checked alone."""
        if not is_ours(source):
            self._from_elsewhere("what SRDS gives it")
        scope = new("envoy.config.route.v3.ScopedRouteConfiguration")
        scope.name = scope.route_configuration.name = MADE
        scope.key.fragments.add(string_key=MADE)
        return [scope]

    def _scope(self, scope: Anything) -> None:
        name = scope.route_configuration_name
        if not name or scope.HasField("route_configuration"):
            return
        found = self._message(ROUTE, name)
        scope.route_configuration.name = name
        if found is not None:
            scope.route_configuration.CopyFrom(found)
        as_by_rds(scope.route_configuration)
        scope.ClearField("route_configuration_name")

    def _routes(self, routes: Anything) -> None:
        if routes.HasField("vhds"):
            routes.ClearField("vhds")
            self._from_elsewhere("what VHDS gives it")

    def _sds(self, config: Anything) -> None:
        if config.name == MADE or not is_ours(config.sds_config):
            return
        found = self._message(SECRET, config.name)
        if found is None or is_local(found):
            self.notes.add(f"secret {config.name!r} is not there, or {_BY_FILE}")
            return
        self.secrets[config.name] = found
        config.ClearField("sds_config")

    def _tls(self, tls: Anything) -> None:
        """Have certificates from files come from elsewhere, which Envoy does not wait for in this mode."""
        tls.ClearField("key_log")
        local = [each for each in tls.tls_certificates if is_local(each)]
        if local:
            kept = [each for each in tls.tls_certificates if not is_local(each)]
            del tls.tls_certificates[:]
            tls.tls_certificates.extend(kept)
            _by_sds(tls.tls_certificate_sds_secret_configs.add())
        if is_local(tls.validation_context):
            _by_sds(tls.validation_context_sds_secret_config)
            local.append(tls)
        default = tls.combined_validation_context.default_validation_context
        if is_local(default):
            default.Clear()
            local.append(tls)
        if local:
            self.notes.add(f"its TLS {_BY_FILE}")

    def _extension(self, message: Anything) -> None:
        """A filter by ECDS: its configuration in place, else its default, else it is passed by."""
        source = message.config_discovery
        found = self._message(EXTENSION, message.name) if is_ours(source.config_source) else None
        if found is not None:
            message.typed_config.CopyFrom(found.typed_config)
        elif source.HasField("default_config"):
            message.typed_config.CopyFrom(source.default_config)
            self.notes.add(f"of extension {message.name!r} only the default")
        else:
            self._from_elsewhere(f"extension {message.name!r}")

    def _config_source(self, source: Anything) -> None:
        """Whatever is not inlined comes from a made-up server: Envoy follows no config source here.

        It would look whether files exist, though, and crashes (1.40) where a static cluster has its secrets by ADS.
        """
        source.Clear()
        source.resource_api_version = _V3
        api = source.api_config_source
        api.api_type, api.transport_api_version = api.GRPC, _V3
        api.grpc_services.add().envoy_grpc.cluster_name = ALONE

    def _data_source(self, source: Anything) -> None:
        if is_local(source):
            raise LocalError(f"it {_BY_FILE}")

    def _from_elsewhere(self, what: str) -> None:
        self.notes.add(f"{what} {_ELSEWHERE}")


def _by_sds(config: Anything) -> None:
    config.name = MADE
    config.sds_config.ads.SetInParent()


def _to_nowhere(log: Anything) -> None:
    log.path = "/dev/null"
