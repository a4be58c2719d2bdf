"""How resources that are made here name others: all of them come over ADS."""

from __future__ import annotations

from envoy.config.core.v3.config_source_pb2 import AggregatedConfigSource, ApiVersion, ConfigSource


def over_ads() -> ConfigSource:
    """The config source that is the ADS stream."""
    return ConfigSource(resource_api_version=ApiVersion.V3, ads=AggregatedConfigSource())
