"""The section `replicas`: other control planes that serve the same, whose Envoys count as well."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from xds_server.settings.base import Section
from xds_server.settings.units import Filename


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        is_fine = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_fine = False
    else:
        is_fine = is_fine and parts.path in ("", "/") and not (parts.query or parts.fragment or "@" in parts.netloc)
    if not is_fine:
        raise PydanticCustomError("expected", "the URL of an admin API, such as https://tidegate-1.example.org:19000")
    return text.rstrip("/")


class Replicas(Section):
    """Who else serves the same Envoys, and how to ask them what theirs have accepted."""

    name: Annotated[str, Field(min_length=1)] | None = None
    """What this replica is called; none: its host name (in Kubernetes that of the pod)."""
    urls: tuple[Annotated[str, AfterValidator(_url)], ...] = ()
    """The admin APIs of all replicas; the own one may be among them."""
    token_file: Filename | None = None
    """File with the token that the others want to see: that of a reader."""
    ca: Filename | None = None
    """PEM file with the authorities of the others' certificates; none: the system's."""
