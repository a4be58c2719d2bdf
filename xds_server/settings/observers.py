"""The section `observers`: what is measured outside, and how often."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from xds_server.settings.base import Section
from xds_server.settings.plugins import plug_ins
from xds_server.settings.units import Count, Interval

GROUP = "tidegate.observers"


def _url(value: str) -> str:
    if value.startswith(("http://", "https://")) and not value.endswith("://"):
        return value
    raise PydanticCustomError("expected", "a URL such as http://prometheus:9090")


class Breaker(Section):
    """When a failing target is left alone for a while."""

    failures: Count = 5
    """Failures in a row after which it is left alone."""
    reset: Interval = 30.0
    """How long it is left alone before it is tried again."""


class Sampling(Section):
    """How a target is asked."""

    interval: Interval = 5.0
    """Time between two samples."""
    timeout: Interval = 3.0
    """A sample that takes longer has failed."""
    ttl: Interval = 15.0
    """An older value is unknown."""
    breaker: Breaker = Breaker()
    """When a failing target is left alone."""


class KafkaCluster(Section):
    """One Kafka cluster."""

    bootstrap: Annotated[str, Field(min_length=1)]
    """Brokers to start from: host:port, several separated by commas."""
    security: dict[str, object] = Field(default_factory=dict, repr=False)
    """How to log in; taken as it is until the observer comes."""


class Kafka(Sampling):
    """Consumer lag from Kafka."""

    clusters: dict[str, KafkaCluster] = Field(default_factory=dict)
    """Clusters by the name that a route uses; a route that names none means `default`."""


class Prometheus(Sampling):
    """Values from Prometheus queries."""

    url: Annotated[str, AfterValidator(_url)]
    """Base URL of the Prometheus API."""


class Observers(Section):
    """The samplers. Further keys are the names of plug-ins (entry points `tidegate.observers`)."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, dict[str, object]]

    kafka: Kafka | None = None
    """Sample Kafka consumer lag."""
    prometheus: Prometheus | None = None
    """Sample Prometheus."""

    @property
    def plug_ins(self) -> dict[str, dict[str, object]]:
        """The settings of plug-ins by name, as they were written."""
        return dict(self.__pydantic_extra__)

    @model_validator(mode="after")
    def _knows_its_plug_ins(self) -> Self:
        known = sorted({*type(self).model_fields, *plug_ins(GROUP)})
        for key in self.__pydantic_extra__:
            if key not in known:
                raise PydanticCustomError("unknown_key", "unknown key", {"key": key, "known": known})
        return self
