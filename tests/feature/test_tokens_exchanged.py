"""A file of tokens is replaced while streams are open."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import grpc
import pytest

from tests.conformance.client import SLACK
from tests.conformance.documents import World, marked
from tests.conformance.server import restartable
from tests.conformance.wire import BOTH, Variant, node_of
from tests.support.callers import Caller
from xds_server.demo.polling import until

OLD, NEW = "planted-old-0123456789", "planted-new-0123456789"


@pytest.mark.parametrize("variant", BOTH)
async def test_a_token_that_is_replaced_counts_for_new_calls_and_open_streams_go_on(
    tmp_path: Path, variant: Variant
) -> None:
    file = tmp_path / "token"
    file.write_text(OLD)
    xds = {"auth": {"clients": [{"token_file": str(file), "groups": ["default"]}]}}
    async with restartable(tmp_path, {"xds": xds}) as server, AsyncExitStack() as stack:
        world = World(server.files, "default")
        world.write("all", marked("cds", "a", 1))
        old, new = [Caller(server.xds, token=token) for token in (OLD, NEW)]
        stream = await old.stream(stack, variant, node_of("n"))
        stream.ask("cds")
        await stream.holding("cds", {"a": 1})
        file.write_text(NEW)

        async def is_refused() -> bool:
            again = await old.stream(stack, variant, node_of("n"))
            again.ask("cds")
            await again.until(lambda: again.ended or again.received)
            return again.ended is not None and again.ended[0] is grpc.StatusCode.UNAUTHENTICATED

        await until(is_refused, within=10 * SLACK, what="the old token is refused", interval=0.3)
        fresh = await new.stream(stack, variant, node_of("m"))
        fresh.ask("cds")
        world.write("all", marked("cds", "a", 2))
        await stream.holding("cds", {"a": 2})
        await fresh.holding("cds", {"a": 2})
