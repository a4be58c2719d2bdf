"""How to reach the API server: from a pod's service account or a kubeconfig to an `Api`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import yaml
from kubernetes_asyncio.client import Configuration
from kubernetes_asyncio.config import ConfigException
from kubernetes_asyncio.config.incluster_config import (
    SERVICE_CERT_FILENAME,
    SERVICE_HOST_ENV_NAME,
    SERVICE_TOKEN_FILENAME,
    InClusterConfigLoader,
)
from kubernetes_asyncio.config.kube_config import ConfigNode, KubeConfigLoader, KubeConfigMerger

from k8s_source.client.api import Api, nobody
from k8s_source.client.credentials import Credentials, Reading
from k8s_source.client.errors import ApiError

_DEFAULT = "~/.kube/config"
_LIFE_USED = 0.8
"""The part of a plug-in's credential's life after which the next one is asked for."""

_NAMESPACE = "default"

_NOT_READABLE = (
    ConfigException,
    OSError,
    yaml.YAMLError,
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    AssertionError,
)
"""What the library's loaders raise for files that are missing, not YAML, or not a kubeconfig, and for failing plug-ins."""


@dataclass(frozen=True)
class Connection:
    """Where the API server is, and who we are.

    `kubeconfig` None is the pod's service account, outside a pod the user's default kubeconfig (`KUBECONFIG`, else
    `~/.kube/config`); `context` "" is its current one. `token` and `authority` are the files of a service account.
    """

    kubeconfig: Path | None = None
    context: str = ""
    user_agent: str = "tidegate"
    token: Path = Path(SERVICE_TOKEN_FILENAME)
    authority: Path = Path(SERVICE_CERT_FILENAME)


def connect(
    options: Connection,
    environ: Mapping[str, str] = os.environ,
    requested: Callable[[str, int, float], None] = nobody,
) -> Api:
    """An API server to talk to. Nothing is read or asked yet; what cannot be read is told as an ApiError by requests.

    `requested` is told each request's method, status (0: no answer) and seconds.
    """
    in_pod = options.kubeconfig is None and environ.get(SERVICE_HOST_ENV_NAME)

    async def read() -> Reading:
        try:
            return _in_pod(options, environ) if in_pod else await _from_kubeconfig(options, environ)
        except _NOT_READABLE as error:
            where = options.token.parent if in_pod else _paths(options, environ)
            raise ApiError(0, "Credentials", f"{where}: {error}") from error

    return Api(Credentials(read), options.user_agent, requested)


def own_namespace(options: Connection, environ: Mapping[str, str] = os.environ) -> str:
    """The namespace that is ours: the pod's, outside a pod that of the kubeconfig's context; `default` where none is told."""
    try:
        if options.kubeconfig is None and environ.get(SERVICE_HOST_ENV_NAME):
            return options.token.with_name("namespace").read_text(encoding="utf-8").strip() or _NAMESPACE
        merged = KubeConfigMerger(_paths(options, environ))
        loader = KubeConfigLoader(merged.config, options.context or None, config_base_path=None)
        return str((loader.current_context or {}).get("context", {}).get("namespace") or _NAMESPACE)
    except _NOT_READABLE:
        return _NAMESPACE


def _in_pod(options: Connection, environ: Mapping[str, str]) -> Reading:
    configuration = _configuration()
    found = InClusterConfigLoader(
        str(options.token), str(options.authority), try_refresh_token=False, environ=dict(environ)
    )
    found.load_and_set(configuration)
    return Reading(configuration, (options.token, options.authority))


async def _from_kubeconfig(options: Connection, environ: Mapping[str, str]) -> Reading:
    configuration = _configuration()
    merged = KubeConfigMerger(_paths(options, environ))
    if merged.config is None:
        raise ConfigException("there is no such file")
    loader = KubeConfigLoader(merged.config, options.context or None, config_base_path=None)
    await loader.load_and_set(configuration)
    files = (*map(Path, merged.paths), *_named(merged.config, loader))
    return Reading(configuration, files, _expires(loader))


def _configuration() -> Configuration:
    configuration = Configuration()
    # Each watch holds a connection: a limit would make requests wait for watches to end.
    configuration.connection_pool_maxsize = 0
    return configuration


def _paths(options: Connection, environ: Mapping[str, str]) -> str:
    return str(options.kubeconfig) if options.kubeconfig else environ.get("KUBECONFIG") or _DEFAULT


def _named(merged: ConfigNode, loader: KubeConfigLoader) -> Iterator[Path]:
    """The files that the context's cluster and user name."""
    context = (loader.current_context or {}).get("context", {})
    for section, part, keys in (
        ("clusters", "cluster", ("certificate-authority",)),
        ("users", "user", ("tokenFile", "client-certificate", "client-key")),
    ):
        entry = merged[section].get_with_name(context.get(part), safe=True)
        node = entry[part] if entry is not None else None
        if isinstance(node, ConfigNode):
            folder = Path(node.path or "").parent
            yield from (folder / name for key in keys if (name := node.safe_get(key)))


def _expires(loader: KubeConfigLoader) -> float | None:
    """When (`time.monotonic`) to ask a plug-in again; None where it says nothing of an end."""
    end: datetime | None = getattr(loader, "exec_plugin_expiry", None)
    return None if end is None else time.monotonic() + _LIFE_USED * (end - datetime.now(UTC)).total_seconds()
