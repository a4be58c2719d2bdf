"""Asks the admin API and looks at each answer's form."""

from __future__ import annotations

import gzip
from typing import Any

import aiohttp
from aiohttp import web
from aiohttp.test_utils import TestClient

Http = TestClient[web.Request, web.Application]


class Client:
    """Asks, and checks what holds for all answers."""

    def __init__(self, http: Http) -> None:
        self.http = http

    async def get(self, path: str) -> Any:
        """A JSON answer of status 200."""
        async with self.http.get(path) as response:
            assert response.status == 200, await response.text()
            assert response.content_type == "application/json"
            return await response.json()

    async def problem(self, path: str, status: int, method: str = "GET") -> Any:
        """A problem document of that status."""
        async with self.http.request(method, path) as response:
            return await problem_of(response, status)


async def text_of(response: aiohttp.ClientResponse) -> str:
    """The text of an answer, an archive's unpacked."""
    body = await response.read()
    return (gzip.decompress(body) if response.content_type == "application/gzip" else body).decode()


async def problem_of(response: aiohttp.ClientResponse, status: int) -> Any:
    """The problem document that a response must be."""
    assert response.status == status
    assert response.content_type == "application/problem+json"
    document = await response.json(content_type="application/problem+json")
    assert document.keys() == {"type", "title", "status", "detail", "instance", "errors"}
    assert document["status"] == status
    return document
