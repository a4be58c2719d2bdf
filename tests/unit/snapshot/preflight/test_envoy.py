"""What is made of an `envoy` that answers, refuses, crashes, hangs or is not there; scripts stand in its place."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from xds_server.snapshot.preflight import EnvoyChecker, UnavailableError

REFUSAL = "error initializing configuration '/tmp/x/bootstrap.pb': missing ]: [a"


def checker(folder: Path, script: str) -> EnvoyChecker:
    path = folder / "envoy"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return EnvoyChecker(str(path))


def test_it_accepts(tmp_path: Path) -> None:
    assert checker(tmp_path, "exit 0").ask(b"", 10) is None


def test_it_refuses_with_its_words(tmp_path: Path) -> None:
    assert checker(tmp_path, f'echo "{REFUSAL}" >&2; exit 1').ask(b"", 10) == "missing ]: [a"


@pytest.mark.parametrize("signal", ["SEGV", "ABRT"])
def test_a_crash_is_a_refusal(tmp_path: Path, signal: str) -> None:
    assert checker(tmp_path, f"ulimit -c 0; kill -{signal} $$").ask(b"", 10) == f"Envoy crashed (SIG{signal})"


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        ("exec sleep 60", "timeout"),
        ("kill -KILL $$", "unavailable"),
        ("echo unknown flag >&2; exit 1", "unavailable"),
        ("exit 126", "unavailable"),
    ],
)
def test_without_a_verdict(tmp_path: Path, script: str, outcome: str) -> None:
    with pytest.raises(UnavailableError) as caught:
        checker(tmp_path, script).ask(b"", 0.5)
    assert caught.value.outcome == outcome


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo no such; echo flag >&2; exit 3", "its --version ended with exit code 3, and said flag$"),
        ("exit 1", "its --version ended with exit code 1, and said nothing$"),
        ("kill -KILL $$", "its --version ended with exit code -9, and said nothing$"),
    ],
)
def test_without_a_version(tmp_path: Path, script: str, words: str) -> None:
    with pytest.raises(UnavailableError, match=words):
        checker(tmp_path, script).version()


def test_no_such_command() -> None:
    with pytest.raises(UnavailableError, match="there is no command '/nowhere/envoy'"):
        EnvoyChecker("/nowhere/envoy").ask(b"", 1)


def test_no_time_left(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="no time left"):
        checker(tmp_path, "exit 0").ask(b"", 0)


def test_closing_ends_what_runs_and_lets_nothing_begin(tmp_path: Path) -> None:
    envoy = checker(tmp_path, "exec sleep 60")
    threading.Timer(0.5, envoy.close).start()
    started = time.monotonic()
    with pytest.raises(UnavailableError):
        envoy.ask(b"", 60)
    assert time.monotonic() - started < 30
    with pytest.raises(UnavailableError, match="the process is ending"):
        envoy.ask(b"", 60)
