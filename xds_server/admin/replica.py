"""`/v1/replica`: what this replica tells the others of its Envoys, as a long poll that answers with what has changed."""

from __future__ import annotations

from aiohttp import web

from xds_server.admin.answers import answer, encoded, number
from xds_server.admin.deps import DEPS
from xds_server.admin.replica_shapes import group_of, head_of, opinion_of

MOST_WAIT = 60
"""Seconds for which an answer is put off at most."""

MOST_SEQ = 2**53 - 1
"""What JSON numbers hold for sure (RFC 8259, section 6)."""


async def tell(request: web.Request) -> web.Response:
    """What has changed since `after`; without a change, after `wait` seconds, nothing. Everything to who knows nothing."""
    instance, after = request.query.get("instance", ""), number(request, "after", MOST_SEQ)
    wait = number(request, "wait", MOST_WAIT)
    bulletin = request.app[DEPS].bulletin
    report = await bulletin.report(instance, after or 0, float(wait or 0))
    groups = await encoded(report.shares.items(), lambda each: group_of(*each))
    opinions = await encoded(report.opinions.items(), lambda each: opinion_of(*each))
    return answer({**head_of(report), "groups": groups, "opinions": opinions})
