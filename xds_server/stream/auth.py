"""Who a caller is, by what it has proved, and which groups it may be given. Pure but for the token files."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from xds_server.credentials.tokens import TokenSet, read_tokens
from xds_server.credentials.watched import Credentials, Watched
from xds_server.settings.xds import Auth, Client


@dataclass(frozen=True, slots=True)
class Proof:
    """What the transport has proved of a caller; what it lacks is "". The token is still to be looked at."""

    spiffe: str = ""
    subject: str = ""
    token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Identity:
    """A caller that is known; `groups` are names or patterns, None stands for all. `name` is fit to be shown."""

    name: str
    groups: tuple[str, ...] | None = None

    def may_have(self, group: str) -> bool:
        """Whether it may be given the configuration of a group."""
        return self.groups is None or any(fnmatchcase(group, pattern) for pattern in self.groups)


CALLER: ContextVar[Identity] = ContextVar("caller")
"""The identity of the call that is being handled; set before any handler runs."""


class Authenticator:
    """The entries of `xds.auth.clients` in their order; without any entry configured everybody is let in."""

    def __init__(self, auth: Auth | None, credentials: Credentials) -> None:
        """Read the token files.

        Raises:
            CredentialError: one can't be used.
        """
        # An empty list that was written down lets nobody in: it may have lost its entries on its way here.
        self._asks = auth is not None and "clients" in auth.model_fields_set
        clients = auth.clients if auth is not None else ()
        self._entries = [_Entry(client, index, credentials) for index, client in enumerate(clients)]
        self.demand = _demand(clients)

    def identify(self, proof: Proof) -> Identity | None:
        """Who it is; None when no entry fits. Where nobody is asked, it is what its certificate says."""
        if not self._asks:
            return Identity(proof.spiffe or proof.subject)
        return next((entry.identity(proof) for entry in self._entries if entry.fits(proof)), None)


class _Entry:
    """One entry: all that it names must fit."""

    def __init__(self, client: Client, index: int, credentials: Credentials) -> None:
        self._client = client
        self._tokens: Watched[TokenSet] | None = None
        if (path := client.token_file) is not None:
            self._tokens = credentials.watch(f"xds.auth.clients[{index}].token_file", [path], lambda: read_tokens(path))

    def fits(self, proof: Proof) -> bool:
        client = self._client
        return (
            client.spiffe in (None, proof.spiffe)
            and client.subject in (None, proof.subject)
            and (self._tokens is None or self._tokens.value.holds(proof.token))
        )

    def identity(self, proof: Proof) -> Identity:
        path = self._client.token_file
        return Identity(proof.spiffe or proof.subject or (f"token {path.name}" if path else ""), self._client.groups)


def _demand(clients: Sequence[Client]) -> str:
    """What a caller must show, in words for its log."""
    ways = []
    if any(each.spiffe or each.subject for each in clients):
        ways.append("with a client certificate")
    if any(each.token_file for each in clients):
        ways.append("with a bearer token in the metadata `authorization`")
    return (
        f"this server asks who you are; say so {' or '.join(ways)}" if ways else "nobody is let in (xds.auth.clients)"
    )
