"""`/v1/push/{owner}/{group}`: what outside programs say of the sets that they own."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from http import HTTPStatus

from aiohttp import web

from xds_server.admin import present, shapes
from xds_server.admin.answers import answer
from xds_server.admin.deps import DEPS
from xds_server.admin.problems import RefusedError, bad_request
from xds_server.admin.push_shapes import PushAnswer, PushChange, PushRequest, PushSnapshot, as_text
from xds_server.admin.shapes import FieldError
from xds_server.admin.writes import actor_of, body_of
from xds_server.ir.problem import Problem
from xds_server.sources.push import PushSource
from xds_server.sources.push.intake import MOST_PROBLEMS
from xds_server.sources.push.model import (
    BaseError,
    ConflictError,
    InvalidError,
    LimitError,
    NoSetError,
    Outcome,
    Place,
    PushError,
    Said,
)
from xds_server.status.stamps import stamp
from xds_server.wire.types import KEY_BY_URL, key_of

_NO_OBJECT = 'expected an object with "@type"'


async def put_set(request: web.Request) -> web.Response:
    """Replace an owner's set of a group whole."""
    source, actor = _source(request), actor_of(request)
    return await _answer(source.put(_place(request), await _said(request, PushRequest), actor))


async def patch_set(request: web.Request) -> web.Response:
    """Change an owner's set of a group."""
    source, actor = _source(request), actor_of(request)
    return await _answer(source.patch(_place(request), await _said(request, PushChange), actor))


async def delete_set(request: web.Request) -> web.Response:
    """Drop an owner's set of a group."""
    source, actor = _source(request), actor_of(request)
    return await _answer(source.delete(_place(request), actor))


def _source(request: web.Request) -> PushSource:
    source = request.app[DEPS].push
    if source is None:
        raise RefusedError(HTTPStatus.NOT_FOUND, "no source of kind push is configured")
    return source


def _place(request: web.Request) -> Place:
    return Place(request.match_info["owner"], request.match_info["group"])


async def _said(request: web.Request, shape: type[PushRequest | PushChange]) -> Said:
    body = await body_of(request, shape)
    try:
        resources = [as_text(each) for each in body.resources]
    except UnicodeDecodeError:
        raise bad_request(FieldError("resources", "the body is no valid JSON")) from None
    _only_objects(resources)
    remove = [(each.type, each.name) for each in body.remove]
    base = None if body.base is None else str(body.base)
    return Said(str(body.version), resources, remove, body.lease_s, base)


def _only_objects(resources: Iterable[str]) -> None:
    """Refuse what can be no resource even where the source need not look, as the version is in force already."""
    wrong = [index for index, each in enumerate(resources) if not each.startswith("{")]
    if wrong:
        errors = [FieldError(f"resources[{index}]", _NO_OBJECT) for index in wrong[:MOST_PROBLEMS]]
        detail = f"{errors[0].field}: {_NO_OBJECT}"
        raise RefusedError(HTTPStatus.UNPROCESSABLE_ENTITY, detail, errors)


async def _answer(asked: Awaitable[Outcome]) -> web.Response:
    try:
        outcome = await asked
    except PushError as error:
        raise _refused(error) from None
    return answer(_shown(outcome))


def _shown(outcome: Outcome) -> PushAnswer:
    changed = outcome.changed
    counts = dict.fromkeys(KEY_BY_URL.values(), 0) | {key_of(url): count for url, count in outcome.counts.items()}
    return PushAnswer(
        changed.place.owner,
        changed.place.group,
        None if changed.pushed is None else changed.pushed.version,
        changed.is_new,
        counts,
        outcome.lease,
        None if outcome.expires is None else stamp(outcome.expires),
        None if outcome.snapshot is None else PushSnapshot(*outcome.snapshot),
        outcome.stored,
        [present.source_error(each) for each in outcome.problems[: present.MOST_ERRORS]],
    )


def _refused(error: PushError) -> RefusedError:
    """The problem document that says why a request is refused."""
    detail = str(error)
    match error:
        case InvalidError():
            status = HTTPStatus.UNPROCESSABLE_ENTITY if error.in_resources else HTTPStatus.BAD_REQUEST
            return RefusedError(status, detail, [_field(each) for each in error.problems])
        case ConflictError():
            conflicts = [
                shapes.NameConflict(key_of(each.name[0]), each.name[1], each.holder) for each in error.conflicts
            ]
            errors = [
                FieldError(
                    f"resources[{each.index}]", f"{key_of(each.name[0])} {each.name[1]!r} is held by {each.holder!r}"
                )
                for each in error.conflicts
            ]
            return RefusedError(HTTPStatus.CONFLICT, detail, errors, {"conflicts": conflicts})
        case BaseError():
            errors = [FieldError("base", detail)]
            return RefusedError(HTTPStatus.CONFLICT, detail, errors, {"current": error.current})
        case LimitError():
            return RefusedError(HTTPStatus.TOO_MANY_REQUESTS, detail)
        case NoSetError():
            return RefusedError(HTTPStatus.NOT_FOUND, detail)
        case _:
            raise error


def _field(problem: Problem) -> FieldError:
    return FieldError(problem.field, problem.message)
