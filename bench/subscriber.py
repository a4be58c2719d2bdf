"""A client of the synthetic world without I/O: it asks in Envoy's order, and accepts everything.

Clusters, then their assignments by name, then listeners, then the route configuration by name. Bytes in, bytes out:
the load generator in Python binds it to gRPC, the in-process benchmarks to a session.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.core.v3 import base_pb2
from envoy.service.discovery.v3 import discovery_pb2
from google.protobuf.message import Message

from bench.world import ROUTES_NAME
from xds_server.wire.encode import field
from xds_server.wire.types import CLUSTER, ENDPOINT, LISTENER, ROUTE

_REMEMBERED = 64
_NODE_FIELD = {"sotw": 2, "delta": 1}

Names = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Received:
    """What a response says: `names` of its resources, which are known for clusters, and in delta for all."""

    type_url: str
    version: str
    nonce: str
    count: int
    names: Names


class Phrasebook:
    """Reads responses and writes requests, for a whole fleet: equal bytes are read, and written, once."""

    def __init__(self, mode: str) -> None:
        """For `sotw` or `delta`."""
        self.mode = mode
        self.read = lru_cache(_REMEMBERED)(_read_sotw if mode == "sotw" else _read_delta)
        self._phrase = lru_cache(_REMEMBERED)(_phrase_sotw if mode == "sotw" else _phrase_delta)

    def write(self, type_url: str, answered: Received | None, names: Names, node: bytes) -> bytes:
        """A request: the first of a type, or the answer to a response; the node stands where Envoy puts it."""
        head, tail = self._phrase(type_url, answered, names)
        return head + field(_NODE_FIELD[self.mode], node) + tail


class Subscriber:
    """One stream. `full` tells whether it has everything."""

    def __init__(self, book: Phrasebook, node: bytes, *, node_always: bool = False) -> None:
        self.full = False
        self._book = book
        self._node = node
        self._node_always = node_always
        self._names: dict[str, Names] = {}
        self._got: Counter[str] = Counter()

    def start(self) -> list[bytes]:
        """The first request."""
        return [self._ask(CLUSTER, ())]

    def receive(self, raw: bytes) -> tuple[Received, list[bytes]]:
        """Take a response in; what it says, and the requests that follow from it."""
        said = self._book.read(raw)
        url = said.type_url
        self._got[url] += said.count
        requests = [self._write(url, said, self._names[url] if self._book.mode == "sotw" else ())]
        if url == CLUSTER and ENDPOINT not in self._names:
            requests.append(self._ask(ENDPOINT, said.names))
        elif url == ENDPOINT and LISTENER not in self._names and self._has(ENDPOINT):
            requests.append(self._ask(LISTENER, ()))
        elif url == LISTENER and ROUTE not in self._names:
            requests.append(self._ask(ROUTE, (ROUTES_NAME,)))
        self.full = self.full or (url == ROUTE and self._has(ROUTE))
        return said, requests

    def _has(self, url: str) -> bool:
        return self._got[url] >= len(self._names[url])

    def _ask(self, url: str, names: Names) -> bytes:
        self._names[url] = names
        return self._write(url, None, names)

    def _write(self, url: str, answered: Received | None, names: Names) -> bytes:
        node, self._node = self._node, self._node if self._node_always else b""
        return self._book.write(url, answered, names, node)


def make_node(number: int, cluster: str, extensions: int) -> bytes:
    """A Node message, as big as Envoy's when `extensions` are listed in it."""
    node = base_pb2.Node(id=f"node-{number}", cluster=cluster, user_agent_name="envoy", user_agent_version="1.40.0")
    for index in range(extensions):
        extension = node.extensions.add(category="envoy.filters.http", name=f"envoy.filters.http.synthetic_{index:04d}")
        extension.type_urls.append(f"envoy.extensions.filters.http.synthetic.v3.Synthetic{index:04d}")
    return _bytes(node)


def _read_sotw(raw: bytes) -> Received:
    message = discovery_pb2.DiscoveryResponse.FromString(raw)
    names: Names = ()
    if message.type_url == CLUSTER:
        names = tuple(cluster_pb2.Cluster.FromString(each.value).name for each in message.resources)
    return Received(message.type_url, message.version_info, message.nonce, len(message.resources), names)


def _read_delta(raw: bytes) -> Received:
    message = discovery_pb2.DeltaDiscoveryResponse.FromString(raw)
    names = tuple(each.name for each in message.resources)
    return Received(message.type_url, message.system_version_info, message.nonce, len(names), names)


def _phrase_sotw(url: str, answered: Received | None, names: Names) -> tuple[bytes, bytes]:
    head = discovery_pb2.DiscoveryRequest(version_info=answered.version if answered else "")
    nonce = answered.nonce if answered else ""
    tail = discovery_pb2.DiscoveryRequest(resource_names=names, type_url=url, response_nonce=nonce)
    return _bytes(head), _bytes(tail)


def _phrase_delta(url: str, answered: Received | None, names: Names) -> tuple[bytes, bytes]:
    nonce = answered.nonce if answered else ""
    tail = discovery_pb2.DeltaDiscoveryRequest(type_url=url, resource_names_subscribe=names, response_nonce=nonce)
    return b"", _bytes(tail)


def _bytes(message: Message) -> bytes:
    return message.SerializeToString()
