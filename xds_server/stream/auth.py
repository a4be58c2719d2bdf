"""Who a caller is, by what it has proved, and which groups it may be given. Pure but for the token files."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from xds_server.credentials.reviewed import ReviewedTokens
from xds_server.credentials.tokens import TokenSet, read_tokens
from xds_server.credentials.watched import Credentials, Watched
from xds_server.settings.xds import Auth, Client


@dataclass(frozen=True, slots=True)
class Proof:
    """What a caller has proved; what it lacks is "". The token is still to be looked at.

    `account` is the user name of the ServiceAccount whose token it is, once an API server has said so.
    """

    spiffe: str = ""
    subject: str = ""
    token: str = field(default="", repr=False)
    account: str = ""


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

    def __init__(self, auth: Auth | None, credentials: Credentials, reviewed: ReviewedTokens | None = None) -> None:
        """Read the token files; `reviewed` are the tokens of ServiceAccounts.

        Raises:
            CredentialError: one can't be used.
        """
        # An empty list that was written down lets nobody in: it may have lost its entries on its way here.
        self._asks = auth is not None and "clients" in auth.model_fields_set
        clients = auth.clients if auth is not None else ()
        self._entries = [_Entry(client, index, credentials) for index, client in enumerate(clients)]
        self._reviewed = reviewed if any(client.account for client in clients) else None
        self.demand = _demand(clients)

    async def reviewed(self, proof: Proof) -> Proof:
        """The same with the ServiceAccount whose token it shows, where that may count.

        Raises:
            UnavailableError: That can't be told now.
        """
        if self._reviewed is None or not proof.token or any(entry.knows(proof.token) for entry in self._entries):
            return proof
        return replace(proof, account=await self._reviewed.account(proof.token) or "")

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

    def knows(self, token: str) -> bool:
        """Whether its file holds that token."""
        return self._tokens is not None and self._tokens.value.holds(token)

    def fits(self, proof: Proof) -> bool:
        client = self._client
        # A certificate can say what it likes, so it never stands for a ServiceAccount.
        subject = proof.account if client.account else proof.subject
        return (
            client.spiffe in (None, proof.spiffe)
            and client.subject in (None, subject)
            and (self._tokens is None or self.knows(proof.token))
        )

    def identity(self, proof: Proof) -> Identity:
        path = self._client.token_file
        name = self._client.account or proof.spiffe or proof.subject or (f"token {path.name}" if path else "")
        return Identity(name, self._client.groups)


def _demand(clients: Sequence[Client]) -> str:
    """What a caller must show, in words for its log."""
    ways = []
    if any(each.names_certificate for each in clients):
        ways.append("with a client certificate")
    if any(each.account for each in clients):
        ways.append("with the token of a ServiceAccount as bearer token in the metadata `authorization`")
    if any(each.token_file for each in clients):
        ways.append("with a bearer token in the metadata `authorization`")
    return (
        f"this server asks who you are; say so {' or '.join(ways)}" if ways else "nobody is let in (xds.auth.clients)"
    )
