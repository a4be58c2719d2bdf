"""Puts the application together."""

from __future__ import annotations

from collections.abc import Iterable

from aiohttp import web

from xds_server.admin import describe, events
from xds_server.admin.deps import DEPS, WORKER, AdminDeps
from xds_server.admin.guard import MAX_BODY, add_headers, only_hosts, same_origin, whole_body
from xds_server.admin.operations import OPERATIONS
from xds_server.admin.pages import INDEX, OPENAPI
from xds_server.admin.problems import answer_problems
from xds_server.admin.rights import Rights, ask_rights
from xds_server.admin.worker import Worker


def create_app(
    deps: AdminDeps, hosts: Iterable[str] = (), rights: Rights | None = None, *, any_host: bool = False
) -> web.Application:
    """The admin API as an aiohttp application.

    Args:
        deps: What it reads.
        hosts: Answer to these names, `localhost` and IP addresses only.
        rights: Who may do what; None: as without tokens.
        any_host: Clients of other machines may use any name.
    """
    rights = rights or Rights()
    guards = [only_hosts(hosts, everywhere=not any_host), same_origin, ask_rights(rights), whole_body]
    app = web.Application(middlewares=[answer_problems, *guards], client_max_size=MAX_BODY)
    app.on_response_prepare.append(add_headers)
    app[DEPS] = deps
    app[WORKER] = Worker()
    app[INDEX] = describe.index(OPERATIONS)
    app[OPENAPI] = describe.openapi(OPERATIONS, rights.asks)
    app[events.STREAMS] = set()
    for operation in OPERATIONS:
        if operation.method == "GET":
            app.router.add_get(operation.path, operation.handler)
        else:
            app.router.add_route(operation.method, operation.path, operation.handler)
    app.on_shutdown.append(_stop)
    return app


async def _stop(app: web.Application) -> None:
    await events.end_all(app)
    app[WORKER].stop()
