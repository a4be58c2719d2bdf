"""The section `replicas`: other control planes that serve the same, whose Envoys count as well."""

from __future__ import annotations

import re
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from xds_server.settings.base import Section
from xds_server.settings.kubernetes import Namespace, ObjectName
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


def _account(text: str) -> str:
    if not re.fullmatch(r"system:serviceaccount:[a-z0-9-]+:[a-z0-9.-]+", text):
        raise PydanticCustomError("expected", "a ServiceAccount as system:serviceaccount:NAMESPACE:NAME")
    return text


class Replicas(Section):
    """Who else serves the same Envoys, and how to ask them what theirs have accepted."""

    name: Annotated[str, Field(min_length=1)] | None = None
    """What this replica is called; none: its host name (in Kubernetes that of the pod)."""
    urls: tuple[Annotated[str, AfterValidator(_url)], ...] = ()
    """The admin APIs of all replicas; the own one may be among them."""
    service: ObjectName | None = None
    """In Kubernetes, instead of `urls`: the headless Service of all replicas; its port `admin` leads to the admin API."""
    namespace: Namespace | None = None
    """Namespace of the Service; none: that of the pod."""
    token_file: Filename | None = None
    """File with the token that the others want to see: that of a reader, or that of our ServiceAccount (`audience`)."""
    audience: Annotated[str, Field(min_length=1)] | None = None
    """Take the tokens of replicas' ServiceAccounts that are meant for this audience, and have the API server check them."""
    accounts: tuple[Annotated[str, AfterValidator(_account)], ...] = ()
    """ServiceAccounts of replicas, as system:serviceaccount:NAMESPACE:NAME; none: the one whose token is in `token_file`."""
    ca: Filename | None = None
    """PEM file with the authorities of the others' certificates; none: the system's."""
    cert: Filename | None = None
    """PEM file with the certificate to show, where the others have `admin.tls.client_ca`."""
    key: Filename | None = None
    """PEM file with its private key."""
    server_name: Annotated[str, Field(min_length=1)] | None = None
    """Name in the others' certificates, where these are asked by address; none: the host of the URL."""

    @model_validator(mode="after")
    def _is_one_way(self) -> Self:
        if self.urls and self.service:
            raise PydanticCustomError("expected", "one of urls and service")
        if (self.cert is None) is not (self.key is None):
            raise PydanticCustomError("expected", "both cert and key, or none")
        if self.audience and not (self.accounts or self.token_file):
            raise PydanticCustomError("expected", "token_file or accounts, since there is audience")
        return self
