"""Puts the application together."""

from __future__ import annotations

from collections.abc import Iterable

from aiohttp import web

from xds_server.admin import describe, events
from xds_server.admin.deps import DEPS, WORKER, AdminDeps
from xds_server.admin.guard import only_hosts
from xds_server.admin.operations import OPERATIONS
from xds_server.admin.pages import INDEX, OPENAPI
from xds_server.admin.problems import answer_problems
from xds_server.admin.worker import Worker


def create_app(deps: AdminDeps, hosts: Iterable[str] | None = None) -> web.Application:
    """The admin API as an aiohttp application.

    Args:
        deps: What it reads.
        hosts: Answer to these names, `localhost` and IP addresses only; None: to every name.
    """
    guards = [] if hosts is None else [only_hosts(hosts)]
    app = web.Application(middlewares=[answer_problems, *guards])
    app[DEPS] = deps
    app[WORKER] = Worker()
    app[INDEX] = describe.index(OPERATIONS)
    app[OPENAPI] = describe.openapi(OPERATIONS)
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
