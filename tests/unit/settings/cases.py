"""What several tests of the settings use: the whole documented schema, and the types of the fixtures."""

from __future__ import annotations

from collections.abc import Callable

from xds_server.settings import Settings

Load = Callable[..., Settings]
Faults = Callable[..., list[str]]

WHOLE = """
xds:
  address: "127.0.0.1:18000"
  tls: {cert: c.pem, key: k.pem, client_ca: ca.pem}
  max_streams: 20000
  advertise: "xds.example.org:18000"
  max_connection_age: 0s
  max_request_bytes: 16MiB
  max_names: 100000
  coalesce: {quiet: 10ms, max: 100ms}
  order_timeout: 5s
  removal_timeout: 15s
  auth:
    clients: [{spiffe: "spiffe://a/b", subject: "CN=a", token_file: t, groups: ["a"]}]
    token_review: {audience: tidegate}
admin: {address: "127.0.0.1:19000", tokens: {reader: r, operator: o}, hosts: ["a.example"], tls: {cert: c, key: k}}
state_dir: /var/lib/tidegate
sources:
  - {kind: files, path: ./config, watch: true}
  - {kind: kubernetes, kubeconfig: k, context: c, namespaces: [a], label_selector: a in (b),
     gateway_class_controller: tidegate.dev/gateway-controller}
  - {kind: push}
observers:
  kafka:
    clusters:
      default:
        bootstrap: "k:9092,[::1]:9093"
        security: {protocol: SASL_SSL, mechanism: PLAIN, username: u, password_file: p, ca: c, cert: c, key: k}
        isolation: read_committed
    interval: 5s
    timeout: 3s
    ttl: 15s
    breaker: {failures: 5, reset: 30s}
  prometheus:
    url: "https://prometheus:9090"
    security: {username: u, password_file: p, ca: c, cert: c, key: k}
    max_age: 1m
    concurrency: 4
provision: {enabled: true, image: "envoyproxy/envoy:v1.40.0"}
rollout: {strategy: canary, canary: {nodes: "10%", soak: 10s, ack_timeout: 30s}}
groups: [{match: {id: "edge-*", cluster: c, metadata: {a: [1]}, locality: {region: r}}, group: edge}]
history: {count: 100, age: 168h, secrets: encrypt, key_file: k}
preflight: {enabled: false, envoy: envoy, timeout: 10s}
files: {settle: 500ms}
degradation: {breaker: {percent: 50, window: 60s, minimum: 4}}
kubernetes:
  watch_timeout: 5m
  leader_election: {enabled: true, name: tidegate, namespace: a, lease_duration: 15s, renew_deadline: 10s, retry_period: 2s}
  max_concurrent_reconciles: 4
  deprogram_timeout: 30s
  status: {lag_interval: 30s}
log: {level: debug, format: json}
"""
