"""Credentials that rotate: when they are read again, and what lives on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from kubernetes_asyncio.client import Configuration

from k8s_source.client.credentials import FORCED, LOOK, Credentials, Reading
from k8s_source.client.errors import ApiError
from tests.support.certificates import Authority


@dataclass
class Reader:
    """A token in a file, and a clock."""

    file: Path
    now: float = 1000.0
    expires: float | None = None
    readings: list[str] = field(default_factory=list)

    async def read(self) -> Reading:
        try:
            token = self.file.read_text()
        except OSError as error:
            raise ApiError(0, "Credentials", str(error)) from error
        self.readings.append(token)
        configuration = Configuration(host="http://127.0.0.1:1", api_key={"BearerToken": f"Bearer {token}\n"})
        return Reading(configuration, (self.file,), self.expires)

    def write(self, token: str) -> None:
        """Replace the file, as the kubelet does."""
        new = self.file.with_suffix(".new")
        new.write_text(token)
        new.replace(self.file)


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    made = Reader(tmp_path / "token")
    made.write("one")
    return made


@pytest.fixture
async def credentials(reader: Reader) -> AsyncIterator[Credentials]:
    made = Credentials(reader.read, lambda: reader.now)
    yield made
    await made.close()


async def token_of(credentials: Credentials) -> str:
    async with credentials.session() as session:
        return session.authorization


async def test_a_new_file_is_used_after_the_next_look(reader: Reader, credentials: Credentials) -> None:
    assert await token_of(credentials) == "Bearer one"
    reader.write("two")
    reader.now += LOOK - 1
    assert await token_of(credentials) == "Bearer one"
    reader.now += 1
    assert await token_of(credentials) == "Bearer two"


async def test_files_that_stay_as_they_are_are_not_read_again(reader: Reader, credentials: Credentials) -> None:
    for _ in range(5):
        await token_of(credentials)
        reader.now += LOOK
    assert reader.readings == ["one"]


async def test_a_refusal_has_them_read_at_once_but_not_all_the_time(reader: Reader, credentials: Credentials) -> None:
    async with credentials.session() as session:
        reader.now += FORCED
        assert not await credentials.refused(session)
        reader.write("two")
        assert not await credentials.refused(session)
        reader.now += FORCED
        assert await credentials.refused(session)
        assert not session.rest.pool_manager.closed  # its request still runs
    assert session.rest.pool_manager.closed
    assert await token_of(credentials) == "Bearer two"
    assert reader.readings == ["one", "one", "two"]


async def test_what_cannot_be_read_leaves_the_last_ones_in_use(reader: Reader, credentials: Credentials) -> None:
    await token_of(credentials)
    reader.file.unlink()
    reader.now += LOOK
    assert await token_of(credentials) == "Bearer one"
    reader.write("two")
    reader.now += LOOK
    assert await token_of(credentials) == "Bearer two"


async def test_without_any_the_error_is_told_and_the_next_request_tries_again(
    reader: Reader, credentials: Credentials
) -> None:
    reader.file.unlink()
    with pytest.raises(ApiError):
        await token_of(credentials)
    reader.write("two")
    assert await token_of(credentials) == "Bearer two"


async def test_a_plug_in_is_asked_again_before_its_credential_ends(reader: Reader, credentials: Credentials) -> None:
    reader.expires = reader.now + 100
    await token_of(credentials)
    reader.now += 99
    await token_of(credentials)
    assert len(reader.readings) == 1
    reader.now += LOOK
    await token_of(credentials)
    assert len(reader.readings) == 2


async def test_a_plug_in_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("k8s_source.client.credentials.READ_TIMEOUT", 0.01)

    async def hang() -> Reading:
        await asyncio.Event().wait()
        raise AssertionError

    with pytest.raises(ApiError, match="does a plug-in hang"):
        await token_of(Credentials(hang))


async def test_a_certificate_that_is_half_written_leaves_the_last_one_in_use(tmp_path: Path) -> None:
    now = [1000.0]
    authority = tmp_path / "ca.crt"
    authority.write_text(Authority().certificate)

    async def read() -> Reading:
        configuration = Configuration(host="https://127.0.0.1:1", ssl_ca_cert=str(authority))
        return Reading(configuration, (authority,))

    credentials = Credentials(read, lambda: now[0])
    async with credentials.session() as first:
        pass
    for content in (Authority().certificate[:200], None, Authority().certificate):
        authority.write_text(content) if content else authority.unlink()
        now[0] += LOOK
        async with credentials.session() as later:
            assert (later is first) == (content is None or len(content) == 200)
    await credentials.close()
