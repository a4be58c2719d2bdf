"""Descriptions of the fields of a DynamicGateway, as `kubectl explain` shows them. docs/dynamic-gateway.md tells more."""

from __future__ import annotations

from collections.abc import Mapping

ROOT: Mapping[str, str] = {
    "apiVersion": "The version of this representation of the object.",
    "kind": "The kind of the object.",
    "spec": "What is wanted.",
    "status": "What is, as Tidegate sees it.",
}
SPEC: Mapping[str, str] = {
    "routes": "Where requests lead. Without routes every request is answered with 404. Of several routes that match the"
    " most precise one takes a request: the order says nothing.",
    "listeners": "Where requests come in. Without listeners there is one, HTTP on port 8080.",
    "policy": "What holds for the whole gateway.",
}
ROUTE: Mapping[str, str] = {
    "name": "Names the route in the status, in switches and in Envoy. Unique in the gateway.",
    "path": "What to match; see pathType. Written as Envoy compares it: normalized, and without a query.",
    "pathType": "How path is matched: by whole segments from the start, whole, or whole by a regular expression (RE2).",
    "hosts": "The domains that the route is for, without a port, such as shop.example.com or *.example.com. All where"
    " none is named.",
    "backendService": "The Service where the route leads when all is well, in the gateway's namespace.",
    "degradeService": "The Service where the route leads while it is degraded. Needed with a threshold.",
    "port": "A port of the Service, by its number or its name. May be left out where the Service has only one.",
    "maxQps": "Requests a second that all Envoys of the group together let through. No limit where it is left out.",
    "timeout": "How long the whole answer may take; 0s is no limit. Envoy's default is 15s.",
    "retries": "How often a failed request is tried again, at another endpoint if there is one.",
}
WATCHED: Mapping[str, str] = {
    "noCommit": "How a partition counts for which the group has committed nothing: all that is still stored there"
    " (earliest, the default), or 0 (latest).",
    "prometheusQuery": "The query whose value is watched instead of lag.",
    "recoverThreshold": "The route comes back when the value is at most this. 80 % of the threshold where it is left out.",
    "enterSamples": "So many samples in a row have to be over the threshold. 1 where it is left out.",
    "minDwell": "How long the route stays degraded at least, and stays back at least. 30s where it is left out.",
}
ALPHA_WATCHED: Mapping[str, str] = {
    **WATCHED,
    "kafkaConsumerGroup": "The consumer group whose lag is watched. Goes with kafkaLagThreshold.",
    "kafkaLagThreshold": "Messages. The route is degraded while the lag is over it.",
    "kafkaTopics": "The topics whose lag is added up. All for which the group has committed offsets, where none is named.",
    "kafkaCluster": "Which of Tidegate's Kafka clusters to ask (observers.kafka.clusters). default where it is left out.",
    "threshold": "The value of prometheusQuery over which the route is degraded.",
}
BETA_WATCHED: Mapping[str, str] = {
    **WATCHED,
    "consumerGroup": "The consumer group whose lag is watched.",
    "topics": "The topics whose lag is added up. All for which the group has committed offsets, where none is named.",
    "cluster": "Which of Tidegate's Kafka clusters to ask (observers.kafka.clusters). default where it is left out.",
    "threshold": "The route is degraded while the value is over it: messages of lag, or the value of prometheusQuery.",
}
LISTENER: Mapping[str, str] = {
    "name": "Unique in the gateway. http-PORT or https-PORT where it is left out.",
    "port": "Gateways of a group share a port. 0: each Envoy takes one that is free.",
    "protocol": "What is spoken with clients.",
    "address": "The IP address where it listens. 0.0.0.0 where it is left out.",
    "tls": "The certificate. Needed for HTTPS.",
}
TLS: Mapping[str, str] = {"secretName": "A Secret of type kubernetes.io/tls in the gateway's namespace."}
POLICY: Mapping[str, str] = {
    "fullResyncInterval": "How often everything of the gateway is looked at anew, changed or not.",
    "failOpen": "What happens when no backend is healthy: true keeps the last good one, false answers 503.",
    "requireEnvoyAck": "Whether Programmed waits until every Envoy of the group has accepted the configuration.",
}
STATUS: Mapping[str, str] = {
    "observedGeneration": "The generation of the object that the status is about.",
    "phase": "The gateway in one word.",
    "envoys": "How many of the Envoys that are connected have accepted all of it.",
    "conditions": "Accepted, Resolved, Degraded, Programmed and Ready.",
    "lastAppliedHash": "A hash of all that is made of the gateway.",
    "routes": "Where each route leads, why, and since when.",
    "kafkaLag": "The lag of each consumer group; null where it is unknown.",
    "lastAckedVersion": "The last version of its group that every connected Envoy had accepted.",
    "lastError": "The first thing that is wrong with the object, else what Envoy refuses.",
}
CONDITION: Mapping[str, str] = {
    "type": "The type of the condition.",
    "status": "Whether it holds.",
    "observedGeneration": "The generation of the object that the condition is about.",
    "lastTransitionTime": "When status changed last.",
    "reason": "Why, as a word for programs.",
    "message": "Why, as a sentence for people.",
}
ROUTE_STATUS: Mapping[str, str] = {
    "name": "The route.",
    "decision": "Where it leads: to its primary or its degrade backend, to the endpoints that were known last, or nowhere.",
    "reason": "Why.",
    "since": "Since when.",
    "backend": "The backend, as NAMESPACE/SERVICE:PORT.",
}
