"""Where a body names another resource."""

from __future__ import annotations

import pytest

from tests.unit.translate.documents import ADS, CLUSTER, DOWNSTREAM_TLS, HCM, LISTENER, ROUTE, any_of, document, sds
from xds_server.translate.locate import field_of
from xds_server.translate.native import decode
from xds_server.wire import types


def table(action: dict[str, object], **fields: object) -> dict[str, object]:
    host = {"name": "gone", "domains": ["*"], "routes": [{"match": {"prefix": "/"}, "route": action}], **fields}
    return {"name": "gone", "virtual_hosts": [host]}


RDS = any_of(HCM, stat_prefix="x", rds={"route_config_name": "gone", "config_source": ADS})
TLS = any_of(DOWNSTREAM_TLS, common_tls_context={"tls_certificate_sds_secret_configs": [sds("gone")]})
CERTIFICATES = "common_tls_context.tls_certificate_sds_secret_configs"
ROUTES = "virtual_hosts[0].routes[0].route."


@pytest.mark.parametrize(
    ("type_name", "fields", "wanted", "path"),
    [
        (ROUTE, table({"cluster": "gone"}), types.CLUSTER, f"{ROUTES}cluster"),
        (
            ROUTE,
            table({"weightedClusters": {"clusters": [{"name": "a", "weight": 1}, {"name": "gone", "weight": 1}]}}),
            types.CLUSTER,
            f"{ROUTES}weightedClusters.clusters[1].name",
        ),
        (
            ROUTE,
            table({"cluster": "a"}, request_mirror_policies=[{"cluster": "gone"}]),
            types.CLUSTER,
            "virtual_hosts[0].request_mirror_policies[0].cluster",
        ),
        (
            CLUSTER,
            {
                "name": "x",
                "cluster_type": {
                    "name": "gone",
                    "typed_config": any_of("envoy.extensions.clusters.aggregate.v3.ClusterConfig", clusters=["gone"]),
                },
            },
            types.CLUSTER,
            "cluster_type.typed_config.clusters[0]",
        ),
        (
            CLUSTER,
            {"name": "x", "type": "EDS", "edsClusterConfig": {"serviceName": "gone", "eds_config": ADS}},
            types.ENDPOINT,
            "edsClusterConfig.serviceName",
        ),
        (
            CLUSTER,
            {"name": "gone", "type": "EDS", "eds_cluster_config": {"eds_config": ADS}},
            types.ENDPOINT,
            "eds_cluster_config",
        ),
        (
            LISTENER,
            {"name": "gone", "filter_chains": [{"filters": [{"name": "gone", "typed_config": RDS}]}]},
            types.ROUTE,
            "filter_chains[0].filters[0].typed_config.rds.route_config_name",
        ),
        (
            LISTENER,
            {"name": "gone", "filter_chains": [{"transport_socket": {"name": "gone", "typed_config": TLS}}]},
            types.SECRET,
            f"filter_chains[0].transport_socket.typed_config.{CERTIFICATES}[0].name",
        ),
    ],
)
def test_the_field_is_found(type_name: str, fields: dict[str, object], wanted: str, path: str) -> None:
    declared = document(type_name, **fields)
    refs = decode(declared).refs
    named = refs.clusters | refs.assignments | refs.routes | refs.secrets
    assert "gone" in named
    assert field_of(declared, wanted, "gone") == path
    assert field_of(document(type_name, "resources[2]", **fields), wanted, "gone") == f"resources[2].{path}"


def test_what_is_not_there_is_nowhere() -> None:
    declared = document(ROUTE, "resources[0]", **table({"cluster": "a"}))
    assert field_of(declared, types.CLUSTER, "gone") == ""
