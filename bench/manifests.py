"""A world of gateways as objects, the way sources hand it over decoded: one place for each."""

from __future__ import annotations

from k8s_source.kinds.decode import decode_manifest
from xds_server.ir.declared import Unit
from xds_server.ir.facts import RouteKey
from xds_server.ir.objects import Object
from xds_server.ir.origin import Origin

NAMESPACE = "bench"
ROUTES_OF_A_GATEWAY = 50

Body = dict[str, object]


def unit(key: str, body: Body) -> Unit:
    """A place with one object."""
    found = decode_manifest(body, Origin("bench", key, 1, 1), "bench")
    if not isinstance(found, Object):
        raise TypeError(f"{key}: {found}")
    return Unit(key, objects=(found,))


def service(number: int) -> Unit:
    """A service of port 80."""
    spec = {"ports": [{"name": "http", "port": 80, "targetPort": 8080}]}
    return unit(f"services/{number}", _body("v1", "Service", f"service-{number}", spec=spec))


def endpoint_slice(number: int, endpoints: int, generation: int = 0) -> Unit:
    """The slice of a service; the generation is in the address of its last endpoint."""
    rest = f"{number // 250}.{number % 250}"
    addresses = [f"10.{rest}.{index + 1}" for index in range(endpoints - 1)] + [f"11.{rest}.{generation % 250 + 1}"]
    body = _body("discovery.k8s.io/v1", "EndpointSlice", f"service-{number}-1")
    body |= {"addressType": "IPv4", "ports": [{"name": "http", "port": 8080}]}
    body |= {"endpoints": [{"addresses": [address]} for address in addresses]}
    body["metadata"] = {**_metadata(body), "labels": {"kubernetes.io/service-name": f"service-{number}"}}
    return unit(f"slices/{number}", body)


def gateway(number: int, routes: int, port: int, generation: int = 0) -> Unit:
    """A gateway with a host of its own; the generation is in the path of its first route."""
    first = number * ROUTES_OF_A_GATEWAY
    spec = {
        "listeners": [{"name": "http", "port": port}],
        "routes": [
            {
                "name": f"route-{index}",
                "path": f"/{index}/{generation if index == first else 0}",
                "hosts": [f"gateway-{number}.example"],
                "backendService": f"service-{2 * index}",
                "degradeService": f"service-{2 * index + 1}",
                "kafkaConsumerGroup": f"group-{index % 200}",
                "kafkaLagThreshold": 1000,
            }
            for index in range(first, min(first + ROUTES_OF_A_GATEWAY, routes))
        ],
    }
    version = "gateway.tidegate.dev/v1alpha1"
    return unit(f"gateways/{number}", _body(version, "DynamicGateway", f"gateway-{number}", spec=spec))


def route_key(number: int) -> RouteKey:
    """A route by its number."""
    return RouteKey(NAMESPACE, f"gateway-{number // ROUTES_OF_A_GATEWAY}", f"route-{number}")


def _body(version: str, kind: str, name: str, **rest: object) -> Body:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}, **rest}


def _metadata(body: Body) -> Body:
    found = body["metadata"]
    return found if isinstance(found, dict) else {}
