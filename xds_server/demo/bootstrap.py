"""Fill in the bootstrap files of the checkout's `envoy/` folder for one Envoy of the demo or of a test."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

import xds_server


class Mode(StrEnum):
    """The bootstrap files there are: how an Envoy talks to its control plane."""

    SOTW = "sotw"
    DELTA = "delta"
    MTLS = "mtls"


class BootstrapMissingError(Exception):
    """The `envoy/` folder is not there: an installed package instead of a checkout."""


def bootstrap_folder() -> Path:
    """The checkout's `envoy/` folder. Raises BootstrapMissingError when there is none."""
    folder = Path(xds_server.__file__).resolve().parent.parent / "envoy"
    if not (folder / "bootstrap-sotw.yaml").exists():
        raise BootstrapMissingError(f"no bootstrap files in {folder}: run the demo from a checkout of Tidegate")
    return folder


def render_bootstrap(mode: Mode, *, node: str, cluster: str, xds: str, certificates: Path | None = None) -> str:
    """Return the bootstrap of `mode` as JSON, for a control plane at `xds` (`host:port`), on a free admin port.

    `certificates` is a folder with `client-certificate.yaml` and `control-plane-ca.yaml`, for `Mode.MTLS`.
    Raises BootstrapMissingError.
    """
    document = _read(bootstrap_folder() / f"bootstrap-{mode}.yaml")
    document["node"].update(id=node, cluster=cluster)
    document["admin"]["address"]["socket_address"]["port_value"] = 0
    control_plane = document["static_resources"]["clusters"][0]
    host, _, port = xds.rpartition(":")
    endpoint = control_plane["load_assignment"]["endpoints"][0]["lb_endpoints"][0]["endpoint"]
    endpoint["address"]["socket_address"] = {"address": host, "port_value": int(port)}
    if certificates is not None:
        _point_to(control_plane["transport_socket"]["typed_config"]["common_tls_context"], certificates)
    # JSON, since Envoy reads YAML 1.1, where an id such as `n` or `1_2` would be no string.
    return json.dumps(document, indent=2)


def _point_to(context: dict[str, Any], certificates: Path) -> None:
    pair = context["tls_certificate_sds_secret_configs"][0]["sds_config"]
    pair["path_config_source"]["path"] = str(certificates / "client-certificate.yaml")
    authority = context["validation_context_sds_secret_config"]["sds_config"]
    authority["path_config_source"]["path"] = str(certificates / "control-plane-ca.yaml")


def _read(path: Path) -> dict[str, Any]:
    with path.open() as file:
        document: dict[str, Any] = YAML(typ="safe").load(file)
    return document
