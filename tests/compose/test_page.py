"""docs/compose.md: its commands run in their order, and show what the page says."""

from __future__ import annotations

import asyncio
import re
import shlex
from functools import partial

from tests.compose.stack import CONTROL_PLANE, ROOT, Stack
from tests.support.fleet import SLACK
from xds_server.demo.polling import until

PAGE = ROOT / "docs" / "compose.md"
COMMANDS = re.findall(r"^ {4}((?:docker|curl) .*)$", PAGE.read_text(), re.MULTILINE)

NOT_HERE = (
    "docker compose up --build --detach --wait",  # has run
    "docker compose down --volumes",  # comes at the end
    "docker compose exec control-plane tidegate events --follow",  # goes on until it is ended
    "docker build --tag tidegate .",  # `up` does it
)

PUBLISHED = {"19000": CONTROL_PLANE, "8081": "envoy-sotw", "8082": "envoy-delta"}


def test_the_page_has_the_commands_that_are_left_out() -> None:
    assert set(NOT_HERE) < set(COMMANDS)


async def test_the_commands_of_the_page(stack: Stack) -> None:
    printed = []
    for command in COMMANDS:
        if command not in NOT_HERE:
            ask = partial(run, stack, command)
            printed.append((command, await until(ask, within=20 * SLACK, what=command, interval=1)))
    assert await stack.programmed()
    gateways = [output for command, output in printed if "tidegate gateways" in command]
    assert all("kafka:default/orders/orders" in output for output in gateways)
    assert any("held" in output for command, output in printed if "tidegate status" in command)


async def run(stack: Stack, command: str) -> str | None:
    """What a command of the page prints; None while what it asks is still starting."""
    words = shlex.split(command)
    if words[:2] == ["docker", "compose"]:
        return await stack.run(*words[2:]) or " "
    url = re.sub(r":(\d+)/", lambda port: f":{stack.ports[PUBLISHED[port[1]]]}/", words[1])
    process = await asyncio.create_subprocess_exec(
        *("curl", "--fail", "--silent", "--show-error", url),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    return output.decode() if process.returncode == 0 else None
