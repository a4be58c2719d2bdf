"""Errors as RFC 9457 problem documents, whatever went wrong."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

import structlog
from aiohttp import web

from xds_server.admin.shapes import FieldError, Problem, encode
from xds_server.admin.worker import WorkStoppedError

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

log = structlog.get_logger(__name__)


class RefusedError(Exception):
    """Raised by a handler that answers with a problem; `errors` names the parameters that are wrong."""

    def __init__(
        self,
        status: HTTPStatus,
        detail: str,
        errors: Sequence[FieldError] = (),
        more: Mapping[str, object] | None = None,
    ) -> None:
        """`more` has further fields of `Problem`."""
        super().__init__(detail)
        self.more = more or {}
        self.status = status
        self.detail = detail
        self.errors = list(errors)


def not_found(what: str, name: str) -> RefusedError:
    """The problem of something that is not there, by name."""
    return RefusedError(HTTPStatus.NOT_FOUND, f"there is no {what} {name!r}")


def bad_request(*errors: FieldError) -> RefusedError:
    """The problem of wrong parameters."""
    detail = "; ".join(f"{error.field}: {error.message}" if error.field else error.message for error in errors)
    return RefusedError(HTTPStatus.BAD_REQUEST, detail, errors)


def problem(
    request: web.Request,
    status: HTTPStatus,
    detail: str,
    errors: Sequence[FieldError] = (),
    more: Mapping[str, Any] | None = None,
) -> web.Response:
    """A problem document. Its `type` is about:blank: the status says all that a program needs."""
    document = Problem(
        "about:blank", status.phrase, status, detail, request.rel_url.raw_path, list(errors), **(more or {})
    )
    return web.Response(
        body=encode(document),
        status=status,
        content_type="application/problem+json",
        headers={"Cache-Control": "no-store"},
    )


@web.middleware
async def answer_problems(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turn every error into a problem document; what nobody foresaw is logged and told without its inside."""
    try:
        return await handler(request)
    except RefusedError as error:
        return problem(request, error.status, error.detail, error.errors, error.more)
    except web.HTTPException as error:
        return _from_aiohttp(request, error)
    except WorkStoppedError:
        return problem(request, HTTPStatus.SERVICE_UNAVAILABLE, "the server stops")
    except ConnectionError:
        raise
    except Exception:  # a request is a task's boundary
        log.exception("admin_request_failed", method=request.method, path=request.path)
        detail = "the server failed to make the answer; its log has the reason"
        return problem(request, HTTPStatus.INTERNAL_SERVER_ERROR, detail)


def _from_aiohttp(request: web.Request, error: web.HTTPException) -> web.Response:
    status = HTTPStatus(error.status)
    detail = error.text or status.phrase
    if isinstance(error, web.HTTPNotFound):
        detail = f"there is nothing at {request.path}"
    elif isinstance(error, web.HTTPRequestEntityTooLarge):
        detail = "the body is too large"
    elif isinstance(error, web.HTTPMethodNotAllowed):
        detail = f"{request.method} is not possible here, only {', '.join(sorted(error.allowed_methods))}"
    response = problem(request, status, detail)
    if isinstance(error, web.HTTPMethodNotAllowed):
        response.headers["Allow"] = ", ".join(sorted(error.allowed_methods))
    return response
