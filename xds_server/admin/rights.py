"""Who may read and who may change: bearer tokens of readers and operators (RFC 6750), and this machine."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from ipaddress import ip_address
from pathlib import Path
from typing import Protocol

import structlog
from aiohttp import web
from aiohttp.typedefs import Middleware

from xds_server.admin.problems import Handler, problem
from xds_server.credentials.reviewed import UnavailableError
from xds_server.credentials.tokens import TokenSet, bearer, read_tokens
from xds_server.credentials.watched import Credentials, Watched
from xds_server.settings.admin import Tokens

OPEN = frozenset({"/healthz", "/readyz", "/metrics"})
"""What everybody may read: what machines ask."""

FOR_PEERS = frozenset({"/v1/replica"})
"""What other replicas may read."""

READS = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing."""

_FORWARDED = ("Forwarded", "X-Forwarded-For")

log = structlog.get_logger(__name__)


class PeerTokens(Protocol):
    """Knows the tokens of other replicas."""

    async def holds(self, token: str) -> bool:
        """Whether it is one of them.

        Raises:
            UnavailableError: That can't be told now.
        """


class Role(StrEnum):
    """What a caller has proved to be."""

    ANYBODY = "anybody"
    PEER = "peer"
    READER = "reader"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sends a request; `name` is for the audit log: the role of the token, or else the client's address."""

    role: Role
    name: str


CALLER = web.RequestKey("caller", Caller)
"""Where a handler finds its caller."""


@dataclass(frozen=True, slots=True)
class Rights:
    """The tokens that are set. Without a reader's, reads are open; without an operator's, this machine may write.

    `peers` knows other replicas by the tokens of their ServiceAccounts.
    """

    reader: Watched[TokenSet] | None = None
    operator: Watched[TokenSet] | None = None
    peers: PeerTokens | None = None

    async def role_for(self, method: str, path: str, token: str) -> Role:
        """Whose token it is; whether it is a replica's is looked at only where that would make a difference.

        Raises:
            UnavailableError: That can't be told now.
        """
        role = self.role(token)
        may_be = path in FOR_PEERS and method in READS and self.asks(method, path)
        if role is Role.ANYBODY and token and may_be and self.peers is not None and await self.peers.holds(token):
            return Role.PEER
        return role

    def role(self, token: str) -> Role:
        """Whose token it is."""
        if self.operator is not None and self.operator.value.holds(token):
            return Role.OPERATOR
        return Role.READER if self.reader is not None and self.reader.value.holds(token) else Role.ANYBODY

    def asks(self, method: str, path: str) -> bool:
        """Whether a request needs a token."""
        needed = self.reader if method in READS else self.operator
        return needed is not None and path not in OPEN


def rights_of(tokens: Tokens, credentials: Credentials, peers: PeerTokens | None = None) -> Rights:
    """The token files of the settings, under watch, and those who know the tokens of other replicas.

    Raises:
        CredentialError: One can't be used.
    """

    def watch(name: str, path: Path | None) -> Watched[TokenSet] | None:
        if path is None:
            return None
        return credentials.watch(f"admin.tokens.{name}", [path], lambda: read_tokens(path))

    return Rights(watch("reader", tokens.reader), watch("operator", tokens.operator), peers)


def ask_rights(rights: Rights) -> Middleware:
    """A middleware that lets through who may do what is asked, and notes who it is."""

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        headers = request.headers.getall("Authorization", [])
        token = bearer(headers[0]) if len(headers) == 1 else ""
        try:
            role = await rights.role_for(request.method, request.path, token)
        except UnavailableError as error:
            log.warning("peer_not_reviewed", error=str(error), remote=request.remote)
            return problem(
                request, HTTPStatus.SERVICE_UNAVAILABLE, f"nobody can be asked about this token now: {error}"
            )
        refused = _refusal(request, rights, role)
        if refused is not None:
            log.info("admin_refused", status=refused.status, method=request.method, path=request.path, role=role)
            return refused
        request[CALLER] = Caller(role, str(request.remote) if role is Role.ANYBODY else role)
        return await handler(request)

    return check


def _refusal(request: web.Request, rights: Rights, role: Role) -> web.Response | None:
    """The answer to who may not do what is asked. Nothing can be changed at what is open."""
    if request.path in OPEN:
        return None
    if request.method in READS:
        if role is not Role.ANYBODY or not rights.asks(request.method, request.path):
            return None
        return _unauthorized(request, "a reader's or an operator's token")
    if rights.operator is None:
        if is_here(request):
            return None
        detail = "changes are taken from this machine only (loopback) unless admin.tokens.operator is set"
        return problem(request, HTTPStatus.FORBIDDEN, detail)
    if role is Role.ANYBODY:
        return _unauthorized(request, "an operator's token")
    if role is not Role.OPERATOR:
        refused = problem(request, HTTPStatus.FORBIDDEN, "this token may read; changes need an operator's token")
        refused.headers["WWW-Authenticate"] = 'Bearer realm="tidegate", error="insufficient_scope"'
        return refused
    return None


def _unauthorized(request: web.Request, needed: str) -> web.Response:
    refused = problem(request, HTTPStatus.UNAUTHORIZED, f"this needs {needed}: Authorization: Bearer TOKEN")
    was_wrong = ', error="invalid_token"' if "Authorization" in request.headers else ""
    refused.headers["WWW-Authenticate"] = f'Bearer realm="tidegate"{was_wrong}'
    return refused


def is_here(request: web.Request) -> bool:
    """Whether a request comes from this machine, and from no proxy on it."""
    try:
        address = ip_address(request.remote or "")
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback and not any(name in request.headers for name in _FORWARDED)
