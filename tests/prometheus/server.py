"""A real Prometheus on this machine, and what it scrapes: an exporter of the tests' own.

The command is what the environment's `PROMETHEUS` names, else the `prometheus` on the path.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.support.kafka_process import BrokerProcess
from tests.support.lag_watch import SLACK

SCRAPES = "200ms"
USER = "tidegate"
PASSWORDS = {
    "first-password": "$2b$04$TFZLEwtsg2guckcvL2EAxem1ehHKzUMx4o5CMCAr3tBZdJA8L5dbq",
    "second-password": "$2b$04$Hc/9/yd6QGuj0EybkI9u6u/hbcxLAIo3ZwtfoZv5WN45VU7beb5PW",
}
"""Passwords and their hashes (bcrypt), as a `--web.config.file` has them."""


def command() -> str | None:
    """The command, if there is one."""
    return shutil.which(os.environ.get("PROMETHEUS") or "prometheus")


def missing() -> str:
    """Why none can be started here; "" when one can."""
    named = os.environ.get("PROMETHEUS")
    return "" if command() else f"there is no {named or 'prometheus on the path, and PROMETHEUS is not set'}"


class Exporter:
    """What is scraped: a text for each series; without one there is nothing."""

    def __init__(self) -> None:
        self.samples: dict[str, str] = {}
        self.address = ""

    async def metrics(self, _: web.Request) -> web.Response:
        """Serve a scrape."""
        return web.Response(text="".join(f"{series} {value}\n" for series, value in self.samples.items()))


@asynccontextmanager
async def exporter() -> AsyncIterator[Exporter]:
    """Serve one on a port of its own."""
    found, app = Exporter(), web.Application()
    app.router.add_get("/metrics", found.metrics)
    server = TestServer(app)
    await server.start_server()
    found.address = f"{server.host}:{server.port}"
    try:
        yield found
    finally:
        await server.close()


class Prometheus:
    """One server, which keeps its data and its port when it is killed and started again."""

    def __init__(self, folder: Path, scraped: str, web_config: Mapping[str, Any] | None = None) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.scheme = "https" if web_config and "tls_server_config" in web_config else "http"
        (folder / "prometheus.yml").write_text(
            f"global: {{scrape_interval: {SCRAPES}, scrape_timeout: {SCRAPES}}}\n"
            f"scrape_configs: [{{job_name: tests, static_configs: [{{targets: ['{scraped}']}}]}}]\n"
        )
        self.configure(web_config or {})
        self.process: BrokerProcess | None = None

    @property
    def url(self) -> str:
        """Its base URL."""
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def configure(self, web_config: Mapping[str, Any]) -> None:
        """Write the file that says how it is served; it is read at each connection."""
        (self.folder / "web.yml").write_text("".join(f"{key}: {value}\n" for key, value in web_config.items()))

    async def start(self) -> None:
        """Start it, and wait until it answers, if only that it lets nobody in."""
        named = command()
        assert named is not None
        options = {
            "config.file": "prometheus.yml",
            "web.config.file": "web.yml",
            "web.listen-address": f"127.0.0.1:{self.port}",
            "storage.tsdb.path": "data",
            "log.level": "warn",
        }
        given = [
            f"--{key}={self.folder / value if 'file' in key or 'path' in key else value}"
            for key, value in options.items()
        ]
        self.process = BrokerProcess([named, *given], self.folder / "log")
        untrusting = ssl._create_unverified_context() if self.scheme == "https" else True  # noqa: S323 - only to wait
        async with aiohttp.ClientSession() as session, asyncio.timeout(30 * SLACK):
            while True:
                assert self.process.running, self.process.printed
                try:
                    async with session.get(f"{self.url}/-/ready", ssl=untrusting) as answer:
                        if answer.status in (200, 401):
                            return
                except aiohttp.ClientError:
                    pass
                await asyncio.sleep(0.1)

    def stop(self) -> None:
        """End it."""
        if self.process is not None:
            self.process.stop()
            self.process = None


@asynccontextmanager
async def prometheus(
    folder: Path, scraped: str, web_config: Mapping[str, Any] | None = None
) -> AsyncIterator[Prometheus]:
    """Run one."""
    server = Prometheus(folder, scraped, web_config)
    try:
        await server.start()
        yield server
    finally:
        server.stop()
