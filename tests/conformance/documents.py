"""Native documents of each type that need nothing else, each with a mark that shows in the bytes that arrive."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.conformance.wire import URLS
from xds_server.demo.world import Document, assignment, cluster, listener, route, routes
from xds_server.demo.yaml_files import write_documents


def marked(key: str, name: str, mark: object = 0) -> Document:
    """A resource of a type that refers to nothing and holds `mark`."""
    made: Document = {"@type": URLS[key], **_FIELDS[key](f"mark-{mark};")}
    made["cluster_name" if key == "eds" else "name"] = name
    return made


def service(name: str, mark: object = 0, *, endpoints: tuple[int, ...] = (1,), **fields: Any) -> list[Document]:
    """A cluster whose endpoints come over ADS, and its endpoints; the cluster has the mark."""
    marked_too = {"alt_stat_name": f"mark-{mark};", **fields}
    return [cluster(name, **marked_too), assignment(name, endpoints)]


def edge(name: str, *clusters: str) -> list[Document]:
    """A listener, and its route configuration (`name`-routes) with a route `/CLUSTER/` to each cluster."""
    return [
        listener(name, f"{name}-routes"),
        routes(f"{name}-routes", [route(to, prefix=f"/{to}/") for to in clusters]),
    ]


class World:
    """The files of one group."""

    def __init__(self, files: Path, group: str) -> None:
        self.group = group
        self.folder = files / f"group={group}"
        self.folder.mkdir(parents=True, exist_ok=True)

    def write(self, file: str, *documents: Document) -> None:
        """Replace a file by these documents, all at once."""
        write_documents(self.folder / f"{file}.yaml", documents)

    def remove(self, file: str) -> None:
        """Delete a file."""
        (self.folder / f"{file}.yaml").unlink()


def _direct_response(mark: str) -> Document:
    entry = {"match": {"prefix": "/"}, "direct_response": {"status": 200, "body": {"inline_string": mark}}}
    return {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [entry]}]}


def _endpoint(mark: str) -> Document:
    address = {"socket_address": {"address": "127.0.0.1", "port_value": 1}}
    return {"endpoints": [{"lb_endpoints": [{"endpoint": {"hostname": mark, "address": address}}]}]}


def _listener(mark: str) -> Document:
    address = {"socket_address": {"address": "127.0.0.1", "port_value": 0}}
    proxy = {
        "@type": "type.googleapis.com/envoy.extensions.filters.network.direct_response.v3.Config",
        "response": {"inline_string": mark},
    }
    return {"address": address, "filter_chains": [{"filters": [{"name": "answer", "typed_config": proxy}]}]}


def _scope(mark: str) -> Document:
    return {"route_configuration": _direct_response(mark), "key": {"fragments": [{"string_key": mark}]}}


_FIELDS: dict[str, Callable[[str], Document]] = {
    "cds": lambda mark: {"type": "STATIC", "connect_timeout": "1s", "alt_stat_name": mark},
    "eds": _endpoint,
    "lds": _listener,
    "rds": _direct_response,
    "sds": lambda mark: {"generic_secret": {"secret": {"inline_string": mark}}},
    "srds": _scope,
    "vhds": lambda mark: {**_direct_response(mark)["virtual_hosts"][0]},
    "rtds": lambda mark: {"layer": {"some.key": mark}},
    "ecds": lambda mark: {
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router",
            "strict_check_headers": [mark],
        }
    },
}
