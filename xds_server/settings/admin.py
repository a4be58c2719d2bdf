"""The section `admin`: the HTTP address for people and programs that operate Tidegate."""

from __future__ import annotations

from xds_server.settings.address import Address
from xds_server.settings.base import Section, Tls
from xds_server.settings.units import Filename


class Tokens(Section):
    """Files with the bearer tokens of the two rights."""

    reader: Filename | None = None
    """File with the token that reads need; none: reads are open."""
    operator: Filename | None = None
    """File with the token that writes need; none: writes are served to loopback clients only."""


class Admin(Section):
    """The admin API and the page."""

    address: Address = Address("127.0.0.1:19000")
    """Where to listen for HTTP; port 0 means any free port."""
    tls: Tls | None = None
    """Serve HTTPS; without it, HTTP."""
    tokens: Tokens = Tokens()
    """Bearer tokens."""
    hosts: tuple[str, ...] = ()
    """Host names, besides the address itself, under which the API answers (a guard against DNS rebinding)."""
