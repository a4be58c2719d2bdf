"""What is said of manifests that do not fit their kind: each fault, with its field, what was found and expected."""

from __future__ import annotations

import pytest

from tests.unit.k8s_source.manifests import Body, endpoint_slice, gateway, refused, route, service, watching

ROUTE = "spec.routes[0]"
LISTENER = "spec.listeners[0]"

ROUTES: dict[str, tuple[Body, str, str, str]] = {
    "unknown field": (
        watching(kafkaLagTreshold=1),
        "kafkaLagTreshold",
        "UnknownField",
        "did you mean 'kafkaLagThreshold'?",
    ),
    "wrong type": (
        watching(kafkaLagThreshold="100"),
        "kafkaLagThreshold",
        "InvalidValue",
        'expected a whole number of messages, 0 or more, found "100" (a string)',
    ),
    "not whole": (watching(kafkaLagThreshold=1.5), "kafkaLagThreshold", "InvalidValue", "found 1.5 (a number)"),
    "no number": (watching(kafkaLagThreshold=True), "kafkaLagThreshold", "InvalidValue", "found true (a boolean)"),
    "negative": (watching(kafkaLagThreshold=-1), "kafkaLagThreshold", "InvalidValue", "found -1 (a number)"),
    "too large": (watching(kafkaLagThreshold=2**63), "kafkaLagThreshold", "InvalidValue", "found 9223372036854775808"),
    "recover over it": (
        watching(recoverThreshold=101),
        "recoverThreshold",
        "InvalidValue",
        "expected at most the threshold, 100, found 101",
    ),
    "degraded to itself": (
        watching(degradeService="cart"),
        "degradeService",
        "Conflict",
        "expected another Service than backendService",
    ),
    "recover without": (route(recoverThreshold=1), "kafkaLagThreshold", "MissingField", "recoverThreshold needs a"),
    "group alone": (
        route(kafkaConsumerGroup="x", degradeService="y"),
        "kafkaLagThreshold",
        "MissingField",
        "a route with kafkaConsumerGroup needs it",
    ),
    "threshold alone": (
        route(kafkaLagThreshold=1, degradeService="y"),
        "kafkaConsumerGroup",
        "MissingField",
        "a route with kafkaLagThreshold needs it",
    ),
    "topics alone": (route(kafkaTopics=["a"]), "kafkaConsumerGroup", "MissingField", "kafkaTopics are those of a"),
    "query alone": (route(prometheusQuery="up", degradeService="y"), "threshold", "MissingField", "needs it"),
    "value alone": (route(threshold=1, degradeService="y"), "prometheusQuery", "MissingField", "needs it"),
    "both": (watching(prometheusQuery="up", threshold=1), "prometheusQuery", "Conflict", "exclude each other"),
    "nowhere to go": (
        route(kafkaConsumerGroup="x", kafkaLagThreshold=1),
        "degradeService",
        "MissingField",
        "needs the Service that it leads to above it",
    ),
    "no name": ({"path": "/", "backendService": "a"}, "name", "MissingField", "missing; expected a name of letters"),
    "no path": ({"name": "a", "backendService": "a"}, "path", "MissingField", "missing; expected a string"),
    "no backend": ({"name": "a", "path": "/"}, "backendService", "MissingField", "missing; expected the name of a"),
    "slash in a name": (route(name="a/b"), "name", "InvalidValue", 'found "a/b" (a string)'),
    "other namespace": (route(backendService="a/b"), "backendService", "InvalidValue", "in the gateway's namespace"),
    "no slash": (route(path="cart"), "path", "InvalidValue", 'begins with / (pathType Prefix), found "cart"'),
    "query in a path": (route(path="/a?b"), "path", "InvalidValue", "without ?, #, spaces"),
    "no letters": (route(path="/a\nb", pathType="Exact"), "path", "InvalidValue", "control characters"),
    "half a letter": (route(path="/\ud800"), "path", "InvalidValue", "control characters"),
    "half a letter in a regex": (route(path="/\ud800", pathType="Regex"), "path", "InvalidValue", "control characters"),
    "long path": (route(path="/" + "a" * 1024), "path", "InvalidValue", "expected at most 1024 letters, found 1025"),
    "no regex": (route(path="/(a", pathType="Regex"), "path", "InvalidValue", "syntax of RE2: missing ): /(a"),
    "of another sort": (route(path="/(?=a)", pathType="Regex"), "path", "InvalidValue", "invalid perl operator: (?="),
    "empty regex": (route(path="", pathType="Regex"), "path", "InvalidValue", "of 1 to 4096 letters, found 0"),
    "large regex": (route(path="/a{200}", pathType="Regex"), "path", "InvalidValue", "and Envoy takes 100"),
    "path type": (route(pathType="prefix"), "pathType", "InvalidValue", "did you mean 'Prefix'?"),
    "no commit": (
        watching(noCommit="last"),
        "noCommit",
        "InvalidValue",
        "expected one of earliest, latest, found \"last\" (a string); did you mean 'latest'?",
    ),
    "port in a host": (route(hosts=["a.example:80"]), "hosts[0]", "InvalidValue", "a domain without a port"),
    "star in a host": (route(hosts=["a", "b.*"]), "hosts[1]", "InvalidValue", "a domain without a port"),
    "hosts as text": (route(hosts="a"), "hosts", "InvalidValue", 'expected a list, found "a" (a string)'),
    "topic": (watching(kafkaTopics=["a b"]), "kafkaTopics[0]", "InvalidValue", "the name of a Kafka topic"),
    "dwell": (watching(minDwell=30), "minDwell", "InvalidValue", "such as 500ms, 30s or 1m30s, found 30 (a number)"),
    "timeout": (route(timeout="-1s"), "timeout", "InvalidValue", 'found "-1s" (a string)'),
    "port": (route(port=0), "port", "InvalidValue", "a port from 1 to 65535, or the name of a port"),
    "port in quotes": (route(port="80"), "port", "InvalidValue", 'found "80" (a string)'),
    "no requests": (route(maxQps=0), "maxQps", "InvalidValue", "more than 0"),
    "no end": (route(maxQps=float("inf")), "maxQps", "InvalidValue", "at most 1000000000"),
    "samples": (watching(enterSamples=0), "enterSamples", "InvalidValue", "a whole number from 1 to 1000"),
    "retries": (route(retries=-1), "retries", "InvalidValue", "a whole number from 0 to 100"),
}

LAGS: dict[str, tuple[Body, str, str, str]] = {
    "field of v1alpha1": ({"kafkaTopics": ["a"]}, "lag.kafkaTopics", "UnknownField", "spec.routes[0].lag has no field"),
    "threshold alone": ({"threshold": 1}, "lag.consumerGroup", "MissingField", "a threshold is one of a consumerGroup"),
    "group alone": ({"consumerGroup": "x"}, "lag.threshold", "MissingField", "a route with consumerGroup needs it"),
    "query alone": (
        {"prometheusQuery": "up"},
        "lag.threshold",
        "MissingField",
        "a route with prometheusQuery needs it",
    ),
    "topics alone": ({"topics": ["a"]}, "lag.consumerGroup", "MissingField", "topics are those of a consumer group"),
    "recover without": ({"recoverThreshold": 1}, "lag.threshold", "MissingField", "recoverThreshold needs a threshold"),
    "both": (
        {"consumerGroup": "x", "prometheusQuery": "up", "threshold": 1},
        "lag.prometheusQuery",
        "Conflict",
        "exclude each other",
    ),
    "half a message": (
        {"consumerGroup": "x", "threshold": 1.5},
        "lag.threshold",
        "InvalidValue",
        "expected a whole number of messages, 0 or more, found 1.5 (a number)",
    ),
    "too many messages": ({"consumerGroup": "x", "threshold": 1e19}, "lag.threshold", "InvalidValue", "whole number"),
    "negative": (
        {"prometheusQuery": "up", "threshold": -0.5},
        "lag.threshold",
        "InvalidValue",
        "expected a whole number of messages, or of a query any number; 0 or more, found -0.5 (a number)",
    ),
    "recover over it": (
        {"consumerGroup": "x", "threshold": 1, "recoverThreshold": 2},
        "lag.recoverThreshold",
        "InvalidValue",
        "expected at most the threshold, 1, found 2",
    ),
}

LISTENERS: dict[str, tuple[Body, str, str, str]] = {
    "no port": ({}, "port", "MissingField", "missing; expected a port from 1 to 65535, or 0"),
    "port": ({"port": 65536}, "port", "InvalidValue", "found 65536 (a number)"),
    "protocol": ({"port": 1, "protocol": "TCP"}, "protocol", "InvalidValue", "expected one of HTTP, HTTPS"),
    "no secret": ({"port": 1, "protocol": "HTTPS"}, "tls.secretName", "MissingField", "HTTPS needs a Secret"),
    "tls for nothing": ({"port": 1, "tls": {"secretName": "a"}}, "tls", "Conflict", "this listener has protocol HTTP"),
    "address": ({"port": 1, "address": "localhost"}, "address", "InvalidValue", 'found "localhost" (a string)'),
    "field": ({"port": 1, "prot": "HTTP"}, "prot", "UnknownField", "has no field 'prot'; did you mean"),
}

OBJECTS: dict[str, tuple[Body, str, str, str]] = {
    "no spec": ({**gateway(), "spec": None}, "spec", "MissingField", "missing; expected a mapping"),
    "field of spec": (gateway(route=[]), "spec.route", "UnknownField", "did you mean 'routes'?"),
    "field": ({**gateway(), "specs": {}}, "specs", "UnknownField", "the manifest has no field 'specs'; did you mean"),
    "policy": (gateway(policy={"failOpen": 1}), "spec.policy.failOpen", "InvalidValue", "true or false without quotes"),
    "interval": (
        gateway(policy={"fullResyncInterval": "0s"}),
        "spec.policy.fullResyncInterval",
        "InvalidValue",
        "more than 0",
    ),
    "name": (gateway(name="Shop"), "metadata.name", "InvalidValue", "a DNS subdomain"),
    "line break": (gateway(name="shop\n"), "metadata.name", "InvalidValue", "a DNS subdomain"),
    "namespace": (gateway(metadata={"namespace": "a.b"}), "metadata.namespace", "InvalidValue", "a DNS label"),
    "annotation": (
        gateway(metadata={"annotations": {"a/b": 1}}),
        'metadata.annotations["a/b"]',
        "InvalidValue",
        "string",
    ),
    "name of a service": (service("a.b"), "metadata.name", "InvalidValue", "a DNS label"),
    "port of a service": (service("a", {"port": "x"}), "spec.ports[0].port", "InvalidValue", "a port from 1 to 65535"),
    "address": (
        endpoint_slice("a", "a", "10.0.0.1", "::1"),
        "endpoints[1].addresses[0]",
        "InvalidValue",
        'IPv4 address, found "::1"',
    ),
    "odd address": (endpoint_slice("a", "a", "10.0.0.01"), "endpoints[0].addresses[0]", "InvalidValue", "IPv4 address"),
    "address type": (
        endpoint_slice("a", "a", addressType="IP"),
        "addressType",
        "InvalidValue",
        "one of IPv4, IPv6, FQDN",
    ),
    "kind": ({"apiVersion": "v1", "kind": "Services"}, "kind", "UnsupportedKind", "did you mean 'Service'?"),
    "version": (
        {"apiVersion": "v2", "kind": "Service"},
        "apiVersion",
        "UnsupportedKind",
        "expected v1 for kind Service",
    ),
}


@pytest.mark.parametrize("case", ROUTES)
def test_route(case: str) -> None:
    body, field, reason, words = ROUTES[case]
    one(gateway(body), f"{ROUTE}.{field}", reason, words)


@pytest.mark.parametrize("case", LAGS)
def test_lag(case: str) -> None:
    lag, field, reason, words = LAGS[case]
    body = gateway(route(degradeService="basket", lag=lag))
    one({**body, "apiVersion": "gateway.tidegate.dev/v1beta1"}, f"{ROUTE}.{field}", reason, words)


def test_what_routes_have_in_both_versions_is_judged_alike() -> None:
    bad = gateway(route(path="x", degradeService="cart"), route(lag={"consumerGroup": "x", "threshold": 1}))
    told = [(each.field, each.reason) for each in refused({**bad, "apiVersion": "gateway.tidegate.dev/v1beta1"})]
    assert told == [
        (f"{ROUTE}.path", "InvalidValue"),
        (f"{ROUTE}.degradeService", "Conflict"),
        ("spec.routes[1].degradeService", "MissingField"),
    ]


@pytest.mark.parametrize("case", LISTENERS)
def test_listener(case: str) -> None:
    body, field, reason, words = LISTENERS[case]
    one(gateway(listeners=[body]), f"{LISTENER}.{field}", reason, words)


@pytest.mark.parametrize("case", OBJECTS)
def test_object(case: str) -> None:
    one(*OBJECTS[case])


def one(body: Body, field: str, reason: str, words: str) -> None:
    """There is this one fault, and no other."""
    (problem,) = refused(body)
    assert (problem.field, problem.reason) == (field, reason)
    assert words in problem.message


def test_every_fault_is_told() -> None:
    body = gateway(
        watching(kafkaLagThreshold=-1, retry=2), 5, route(path="x"), listeners=[{"port": -1}], policy={"failOpen": "no"}
    )
    fields = [problem.field for problem in refused(body)]
    assert fields == [
        f"{ROUTE}.kafkaLagThreshold",
        f"{ROUTE}.retry",
        "spec.routes[1]",
        "spec.routes[2].path",
        f"{LISTENER}.port",
        "spec.policy.failOpen",
    ]


def test_a_problem_names_its_object() -> None:
    body = gateway(5, metadata={"namespace": "eu", "generation": 7})
    (problem,) = refused(body)
    origin = problem.origin
    assert (origin.path, origin.document, origin.line) == ("in.yaml", 1, 1)
    assert (origin.api_version, origin.kind) == ("gateway.tidegate.dev/v1alpha1", "DynamicGateway")
    assert (origin.namespace, origin.name, origin.generation) == ("eu", "shop", 7)


def test_what_is_no_name_is_not_repeated() -> None:
    (problem,) = refused({"apiVersion": "-----BEGIN", "kind": "hunter 2", "metadata": {"name": "a b\n"}})
    assert "hunter" not in str(problem) + repr(problem)
    assert "BEGIN" not in str(problem) + repr(problem)
    assert problem.origin.name == ""
    assert "Tidegate knows DynamicGateway, EndpointSlice, Secret, Service" in problem.message
