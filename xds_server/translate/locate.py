"""Where the body of a document names a resource, another or itself: for errors about names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xds_server.ir.declared import NativeDocument
from xds_server.translate.fault import join
from xds_server.wire.types import CLUSTER, ENDPOINT, ROUTE, SECRET

_KEYS = {
    CLUSTER: frozenset({"cluster", "clusters"}),
    ENDPOINT: frozenset({"service_name", "serviceName"}),
    ROUTE: frozenset(
        {"route_config_name", "routeConfigName", "route_configuration_name", "routeConfigurationName"},
    ),
    SECRET: frozenset[str](),
}
"""Keys below which a resource of that type is named."""

_SDS = frozenset({"sds_config", "sdsConfig"})
_EDS = ("eds_cluster_config", "edsClusterConfig", "name")

_NAMES = frozenset({"name", "cluster_name", "clusterName"})

_LEAST = 2
"""Letters of a text that is looked for in Envoy's words: a single one stands there by chance."""


def field_of(document: NativeDocument, type_url: str, name: str) -> str:
    """The path of the first field that names that resource, "" when none is found. It looks at keys only.

    An EDS cluster whose assignment has its own name does not write it down; then it is where EDS is configured.
    """
    path = next(_references(document.body, type_url, name, "", ""), "")
    if not path and type_url == ENDPOINT:
        path = next((key for key in _EDS if key in document.body), "")
    return f"{document.within}.{path}" if document.within and path else path


def field_in(document: NativeDocument, words: str) -> str:
    """The path of the text of a document that words about it mean, "" when none is found.

    That is the longest whose first line stands in the words, else one that holds what the words end with; the
    resource's name only if there is no other.
    """
    texts = list(_texts(document.body, ""))
    end = words.rpartition(": ")[2].strip()
    named = [
        (path not in _NAMES, len(head), path) for path, text in texts if (head := text.partition("\n")[0]) in words
    ]
    path = max(named)[2] if named else ""
    if not path or path in _NAMES:
        path = next((each for each, text in texts if len(end) >= _LEAST and end in text), path)
    return f"{document.within}.{path}" if document.within and path else path


def _texts(value: object, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str) and len(value) >= _LEAST:
        yield path, value
    elif isinstance(value, Mapping):
        for below, each in value.items():
            if below != "@type":
                yield from _texts(each, join(path, below))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _texts(each, f"{path}[{index}]")


def name_of(document: NativeDocument) -> str:
    """The path of the field that names the resource."""
    key = next((key for key in ("cluster_name", "clusterName") if key in document.body), "name")
    return f"{document.within}.{key}" if document.within else key


def _references(value: object, type_url: str, name: str, path: str, key: str) -> Iterator[str]:
    """Paths below a value that stands under `key` (that of the list, for an item of one)."""
    if isinstance(value, Mapping):
        if value.get("name") == name and _is_named_here(value, type_url, key):
            yield join(path, "name")
        for below, each in value.items():
            yield from _references(each, type_url, name, join(path, below), below)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _references(each, type_url, name, f"{path}[{index}]", key)
    elif value == name and key in _KEYS[type_url]:
        yield path


def _is_named_here(value: Mapping[str, object], type_url: str, key: str) -> bool:
    """Whether the `name` of a mapping refers: that of a weighted cluster, or of a secret beside its source."""
    return not _SDS.isdisjoint(value) if type_url == SECRET else type_url == CLUSTER and key == "clusters"
