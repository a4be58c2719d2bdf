"""`/v1/audit`: who changed what, when and why."""

from __future__ import annotations

from aiohttp import web

from xds_server.admin import present
from xds_server.admin.answers import answer, encoded, number
from xds_server.admin.deps import DEPS

MOST_ENTRIES = 1000
"""Entries of one answer."""

MOST_ID = 2**53 - 1
"""What JSON numbers hold for sure (RFC 8259, section 6)."""

_USUAL = 100


async def list_entries(request: web.Request) -> web.Response:
    """A page of the audit log."""
    after = number(request, "after", MOST_ID)
    limit = number(request, "limit", MOST_ENTRIES, least=1)
    entries, more = request.app[DEPS].audit.page(after, limit or _USUAL)
    return answer({"entries": await encoded(entries, present.entry), "next": more})
