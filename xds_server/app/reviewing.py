"""Has an API server of Kubernetes judge the tokens that callers show: of Envoys, and of other replicas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xds_server.credentials.reviewed import AccountTokens, Review, ReviewedTokens, UnavailableError, claims_of
from xds_server.credentials.watched import CredentialError, Watched
from xds_server.settings.root import Settings

if TYPE_CHECKING:
    from k8s_source.client.api import Api


def envoys_tokens(settings: Settings, api: Api | None) -> ReviewedTokens | None:
    """The tokens of Envoys' ServiceAccounts, where they are asked for."""
    auth = settings.xds.auth
    if auth is None or auth.token_review is None or api is None:
        return None
    return ReviewedTokens(_review(api), auth.token_review.audience)


def replicas_tokens(settings: Settings, shown: Watched[str] | None, api: Api | None) -> AccountTokens | None:
    """The tokens of replicas' ServiceAccounts, where they are asked for; `shown` is our own.

    Raises:
        CredentialError: our own token does not say whose it is, and nobody is named.
    """
    section = settings.replicas
    if section.audience is None or api is None:
        return None
    reviewed = ReviewedTokens(_review(api), section.audience)
    if section.accounts or shown is None:
        return AccountTokens(reviewed, lambda: section.accounts)
    if not _account(shown.value):
        raise CredentialError(f"{shown.name} is no token of a ServiceAccount; name replicas.accounts")
    return AccountTokens(reviewed, lambda: (_account(shown.value),))


def _account(token: str) -> str:
    """Whose token our own is: who gave it to us is believed."""
    claims = claims_of(token)
    return claims.subject if claims is not None else ""


def _review(api: Api) -> Review:
    from k8s_source.client.errors import ApiError  # noqa: PLC0415 - only with a cluster, see `app.cluster`
    from k8s_source.token_review import TokenReviews  # noqa: PLC0415

    reviews = TokenReviews(api)

    async def review(token: str, audience: str) -> str | None:
        try:
            return await reviews.review(token, audience)
        except ApiError as error:
            raise UnavailableError(str(error)) from error

    return review
