"""K06 without I/O: on reconnect a delta client is told what changed and what vanished, and nothing else."""

from __future__ import annotations

import pytest

from tests.unit.stream.talk import KEYS, URLS, Talk
from xds_server.stream.session import Variant
from xds_server.wire.request import DeltaRequest

WHOLE = ("cds", "lds")


@pytest.mark.parametrize("key", KEYS)
def test_k06_what_vanished_and_what_changed(key: str) -> None:
    talk = Talk(Variant.DELTA, **{key: "a=1 b=1"})
    a = talk.snapshot.types[URLS[key]].version_of("a")
    names = frozenset() if key in WHOLE else frozenset({"a", "b", "gone"})
    claims = {"a": str(a), "b": "old", "gone": "x1"}
    # A first answer for clusters that takes away what nobody knows waits until the client has asked for the rest.
    said = talk.send(DeltaRequest(URLS[key], names, initial_versions=claims)) or talk.wait(1)
    assert said == [f"{key} b=1 -gone"]
    assert talk.settle() == talk.wait(100) == []


@pytest.mark.parametrize("key", KEYS)
def test_k06_after_a_restart_of_the_server_with_equal_content(key: str) -> None:
    names = "" if key in WHOLE else "a b"
    first = key if key in WHOLE else ""
    Talk(Variant.DELTA, **{key: "a=1 b=1"}).play(f"""
        ask {key} {names}       -> {key} a=1 b=1
        ack {key}               ->
        restart                 ->
        ask {key} {names}       -> {first}
        {f"ack {key} ->" if first else ""}
        wait 100                ->
        declare {key} a=2 b=1   -> {key} a=2
    """)
