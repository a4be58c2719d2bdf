"""Speech: how a client says things in the two variants of the protocol, in real bytes, for one stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from envoy.service.discovery.v3 import discovery_pb2
from google.protobuf.message import Message

from tests.protocol.contents import Content, read
from xds_server.stream.session import Variant
from xds_server.stream.subscription import WILDCARD


@dataclass(frozen=True, slots=True)
class Received:
    """A response as the client reads it; `versions` has the version of each content where the protocol tells it."""

    type_url: str
    version: str
    nonce: str
    contents: tuple[Content, ...]
    removed: tuple[str, ...] = ()
    versions: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Claims:
    """What a client says that it holds: the version of a type (SotW), the versions of resources (delta)."""

    version: str = ""
    versions: Mapping[str, str] | None = None


def serialized(message: Message) -> bytes:
    """The bytes of a message, whose generated class has no types."""
    return bytes(message.SerializeToString())


class Speech(Protocol):
    """One variant; `names` are those that the client has last asked for, None for all."""

    names: dict[str, frozenset[str] | None]

    def open(self, url: str, names: frozenset[str] | None, claims: Claims, *, star: bool) -> bytes:
        """The first request of a type; with `star` the wildcard is asked for by its name."""

    def ask(self, url: str, names: frozenset[str], claims: Claims) -> bytes:
        """A change of the subscription."""

    def answer(self, received: Received, claims: Claims, error: str | None) -> bytes:
        """An ACK, or a NACK in these words."""

    def read(self, raw: bytes) -> Received:
        """A response's bytes."""


def speech(variant: Variant) -> Speech:
    """A new stream's speech."""
    return SotwSpeech() if variant is Variant.SOTW else DeltaSpeech()


class SotwSpeech:
    """State of the world: each request repeats the names, the last accepted version and the last answered nonce."""

    def __init__(self) -> None:
        self.names: dict[str, frozenset[str] | None] = {}
        self._nonces: dict[str, str] = {}
        self._stars: set[str] = set()

    def open(self, url: str, names: frozenset[str] | None, claims: Claims, *, star: bool) -> bytes:
        self.names[url] = names
        if star and names is None:
            self._stars.add(url)
        return serialized(self._request(url, claims))

    def ask(self, url: str, names: frozenset[str], claims: Claims) -> bytes:
        self.names[url] = names
        return serialized(self._request(url, claims))

    def answer(self, received: Received, claims: Claims, error: str | None) -> bytes:
        self._nonces[received.type_url] = received.nonce
        request = self._request(received.type_url, claims)
        if error is not None:
            request.error_detail.code = 3
            request.error_detail.message = error
        return serialized(request)

    def read(self, raw: bytes) -> Received:
        response = discovery_pb2.DiscoveryResponse.FromString(raw)
        contents = tuple(read(response.type_url, each.value) for each in response.resources)
        return Received(response.type_url, response.version_info, response.nonce, contents)

    def _request(self, url: str, claims: Claims) -> discovery_pb2.DiscoveryRequest:
        names = self.names[url]
        listed = sorted(names) if names is not None else [WILDCARD] if url in self._stars else []
        return discovery_pb2.DiscoveryRequest(
            type_url=url, version_info=claims.version, resource_names=listed, response_nonce=self._nonces.get(url, "")
        )


class DeltaSpeech:
    """Incremental: requests tell changes of the subscription, only answers carry a nonce."""

    def __init__(self) -> None:
        self.names: dict[str, frozenset[str] | None] = {}

    def open(self, url: str, names: frozenset[str] | None, claims: Claims, *, star: bool) -> bytes:
        self.names[url] = names
        listed = sorted(names) if names is not None else [WILDCARD] if star else []
        request = discovery_pb2.DeltaDiscoveryRequest(
            type_url=url, resource_names_subscribe=listed, initial_resource_versions=dict(claims.versions or {})
        )
        return serialized(request)

    def ask(self, url: str, names: frozenset[str], claims: Claims) -> bytes:
        before = self.names[url] or frozenset()
        self.names[url] = names
        request = discovery_pb2.DeltaDiscoveryRequest(
            type_url=url,
            resource_names_subscribe=sorted(names - before),
            resource_names_unsubscribe=sorted(before - names),
        )
        return serialized(request)

    def answer(self, received: Received, claims: Claims, error: str | None) -> bytes:
        request = discovery_pb2.DeltaDiscoveryRequest(type_url=received.type_url, response_nonce=received.nonce)
        if error is not None:
            request.error_detail.code = 3
            request.error_detail.message = error
        return serialized(request)

    def read(self, raw: bytes) -> Received:
        response = discovery_pb2.DeltaDiscoveryResponse.FromString(raw)
        contents = tuple(read(response.type_url, each.resource.value) for each in response.resources)
        versions = {each.name: each.version for each in response.resources}
        removed = tuple(response.removed_resources)
        return Received(response.type_url, response.system_version_info, response.nonce, contents, removed, versions)
