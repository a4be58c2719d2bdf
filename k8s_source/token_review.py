"""Asks the API server whose token a token is (TokenReview)."""

from __future__ import annotations

import msgspec

from k8s_source.client.api import Api
from k8s_source.client.resource import TOKEN_REVIEWS

ACCOUNT = "system:serviceaccount:"
"""How the name of a ServiceAccount begins: `system:serviceaccount:NAMESPACE:NAME`."""

_WITHIN = 5.0
"""Seconds for an answer: a client waits meanwhile."""


class _User(msgspec.Struct):
    username: str = ""


class _Status(msgspec.Struct):
    authenticated: bool = False
    user: _User = msgspec.field(default_factory=_User)
    audiences: list[str] = []
    error: str = ""


class _TokenReview(msgspec.Struct):
    status: _Status


class TokenReviews:
    """What an API server says of tokens."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def review(self, token: str, audience: str) -> str | None:
        """The ServiceAccount whose token it is, as its user name; None where it is no good, or somebody else's.

        Raises:
            ApiError: the API server could not be asked, or says neither yes nor no.
        """
        body = msgspec.json.encode(
            {
                "apiVersion": TOKEN_REVIEWS.api_version,
                "kind": TOKEN_REVIEWS.kind,
                "spec": {"token": token, "audiences": [audience]},
            }
        )
        answer = await self._api.request("POST", TOKEN_REVIEWS.path(), body=body, timeout=_WITHIN)
        status = msgspec.json.decode(answer, type=_TokenReview).status
        # An authenticator that knows nothing of audiences says yes for the wrong one, too, and names none.
        is_good = status.authenticated and audience in status.audiences and status.user.username.startswith(ACCOUNT)
        return status.user.username if is_good else None
