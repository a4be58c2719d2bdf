"""Runs the commands of `tidegate` as processes."""

from __future__ import annotations

import asyncio
import sys


async def run(*arguments: str) -> tuple[int | None, str, str]:
    """Exit code, standard output and standard error of a command."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "xds_server", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, errors = await process.communicate()
    return process.returncode, output.decode(), errors.decode()


async def tidegate(*arguments: str, code: int = 0) -> str:
    """The output of a command that must end with this code."""
    found, output, errors = await run(*arguments)
    assert found == code, errors
    return output
