"""K98: a first request of 10 MB, which names everything that the client holds, is taken and answered soon.

The 2 s of the case are counted as CPU of the server and the client together: how long it takes depends on who else runs.
"""

from __future__ import annotations

import time
from contextlib import AsyncExitStack

from tests.conformance.documents import marked
from tests.conformance.wire import URLS, Variant, delta_request
from tests.feature.inprocess import Inside, inside
from tests.scale.scaling import scaled
from tests.support.fleet import SLACK
from xds_server.demo.world import assignment

CLAIMS = 60_000
NEW, CHANGED = range(5), range(5, 12)
"""The numbers of resources that the client does not have, and that it has in another version."""


def _name(number: int) -> str:
    return f"{number:06}".ljust(64, "x")


def _publish(server: Inside, count: int) -> dict[str, str]:
    """Serve `count` assignments; name → version."""
    server.publish(assignment(_name(number), [1]) for number in range(count))
    current = server.groups.obtain("default").current
    assert current is not None
    return {each.name: each.version for each in current.typeset(URLS["eds"])}


@scaled("count", 6_000, CLAIMS + 5)
async def test_k98_sixty_thousand_versions(count: int) -> None:
    """`count` resources are there; the client claims all but the new ones, and others that are gone by now."""
    async with inside() as server, AsyncExitStack() as stack:
        there = _publish(server, count)
        claims = {_name(number): there.get(_name(number), "0" * 32) for number in range(len(NEW), CLAIMS + len(NEW))}
        claims |= {_name(number): "f" * 32 for number in CHANGED}
        request = delta_request("eds", there.keys() | claims.keys(), initial=claims)
        size = sum(len(name) + len(version) for name, version in claims.items())
        assert 5 * 2**20 < size < 6 * 2**20
        assert len(claims) == CLAIMS
        stream = await server.clients(stack).stream(Variant.DELTA)
        before = time.process_time()
        stream.send(request)
        answer = await stream.next("eds", within=10 * SLACK)
        assert time.process_time() - before < 2
        assert answer.names == {_name(number) for number in (*NEW, *CHANGED)}
        assert answer.removed == claims.keys() - there.keys()
        await stream.quiet()


async def test_k98_claims_of_a_wildcard() -> None:
    """Nearly all that the client holds is gone, and it asks for everything."""
    names = [_name(number) for number in range(CLAIMS)]
    async with inside() as server, AsyncExitStack() as stack:
        server.publish([marked("cds", "new", 1), marked("cds", names[0], 1)])
        stream = await server.clients(stack).stream(Variant.DELTA)
        stream.ask("cds", initial=dict.fromkeys(names, "0" * 32))
        before = time.process_time()
        answer = await stream.next("cds", within=10 * SLACK)
        assert time.process_time() - before < 2
        assert answer.names == {"new", names[0]}
        assert answer.removed == set(names[1:])
