"""What the fields of a DynamicGateway demand of each other, in CEL, so that the API server itself refuses what is wrong.

They say what the kinds say (`__post_init__`), as far as CEL can. What it can't is the validating webhook's.
"""

from __future__ import annotations

from typing import Any

Rule = dict[str, Any]

_LARGEST = "9223372036854775807.0"


def _rule(rule: str, message: str, path: str = "", *, missing: bool = False) -> Rule:
    reason = "FieldValueRequired" if missing else "FieldValueInvalid"
    found: Rule = {"rule": rule, "message": message, "reason": reason}
    return found | {"fieldPath": path} if path else found


def _no_more_than(limit: str) -> Rule:
    rule = f"!has(self.recoverThreshold) || !has(self.{limit}) || double(self.recoverThreshold) <= double(self.{limit})"
    return _rule(rule, f"expected at most {limit}", ".recoverThreshold")


ROUTE = (
    _rule(
        "(has(self.pathType) && self.pathType == 'Regex') || self.path.startsWith('/')",
        "expected a path that begins with /, unless pathType is Regex",
        ".path",
    ),
    _rule(
        "(has(self.pathType) && self.pathType == 'Regex') || self.path.size() <= 1024",
        "expected at most 1024 letters, unless pathType is Regex",
        ".path",
    ),
    _rule(
        "!has(self.degradeService) || self.degradeService != self.backendService",
        "expected another Service than backendService",
        ".degradeService",
    ),
)
ALPHA_ROUTE = (
    _rule(
        "!has(self.kafkaConsumerGroup) || has(self.kafkaLagThreshold)",
        "kafkaLagThreshold is needed with kafkaConsumerGroup",
        missing=True,
    ),
    _rule(
        "!has(self.kafkaLagThreshold) || has(self.kafkaConsumerGroup)",
        "kafkaConsumerGroup is needed with kafkaLagThreshold",
        missing=True,
    ),
    _rule(
        "!has(self.prometheusQuery) || has(self.threshold)", "threshold is needed with prometheusQuery", missing=True
    ),
    _rule(
        "!has(self.threshold) || has(self.prometheusQuery)", "prometheusQuery is needed with threshold", missing=True
    ),
    _rule(
        "!(has(self.kafkaConsumerGroup) && has(self.prometheusQuery))",
        "kafkaConsumerGroup and prometheusQuery exclude each other",
        ".prometheusQuery",
    ),
    _rule(
        "!has(self.kafkaTopics) || self.kafkaTopics.size() == 0 || has(self.kafkaConsumerGroup)",
        "kafkaConsumerGroup is needed with kafkaTopics",
        missing=True,
    ),
    _rule(
        "!(has(self.kafkaLagThreshold) || has(self.threshold)) || has(self.degradeService)",
        "degradeService is needed with a threshold",
        missing=True,
    ),
    _rule(
        "!has(self.recoverThreshold) || has(self.kafkaLagThreshold) || has(self.threshold)",
        "recoverThreshold needs a threshold (kafkaLagThreshold or threshold)",
        missing=True,
    ),
    _no_more_than("kafkaLagThreshold"),
    _no_more_than("threshold"),
)
BETA_ROUTE = (
    _rule(
        "!has(self.lag) || !has(self.lag.threshold) || has(self.degradeService)",
        "degradeService is needed with lag.threshold",
        missing=True,
    ),
)
LAG = (
    _rule(
        "!(has(self.consumerGroup) || has(self.prometheusQuery)) || has(self.threshold)",
        "threshold is needed with consumerGroup or prometheusQuery",
        missing=True,
    ),
    _rule(
        "!has(self.threshold) || has(self.consumerGroup) || has(self.prometheusQuery)",
        "consumerGroup or prometheusQuery is needed with threshold",
        missing=True,
    ),
    _rule(
        "!(has(self.consumerGroup) && has(self.prometheusQuery))",
        "consumerGroup and prometheusQuery exclude each other",
        ".prometheusQuery",
    ),
    _rule(
        "!has(self.topics) || self.topics.size() == 0 || has(self.consumerGroup)",
        "consumerGroup is needed with topics",
        missing=True,
    ),
    _rule(
        "!has(self.recoverThreshold) || has(self.threshold)",
        "recoverThreshold needs a threshold",
        missing=True,
    ),
    _rule(
        f"!has(self.consumerGroup) || !has(self.threshold) || (self.threshold < {_LARGEST}"
        " && double(int(self.threshold)) == self.threshold)",
        "expected a whole number of messages",
        ".threshold",
    ),
    _no_more_than("threshold"),
)
LISTENER = (
    _rule(
        "!has(self.protocol) || self.protocol != 'HTTPS' || has(self.tls)",
        "a listener of protocol HTTPS needs tls.secretName",
        missing=True,
    ),
    _rule(
        "(has(self.protocol) && self.protocol == 'HTTPS') || !has(self.tls)",
        "tls is for protocol HTTPS",
        ".tls",
    ),
)
ADDRESS = (_rule("isIP(self)", "expected an IP address such as 127.0.0.1 or ::1"),)
NOT_ZERO = (_rule("self.matches('[1-9]')", "expected a duration of more than 0"),)
