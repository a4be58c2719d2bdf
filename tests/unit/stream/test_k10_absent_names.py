"""K10, K14 and K16 without I/O: names that do not exist, yet or any more, and types that nobody has."""

from __future__ import annotations

import pytest

from tests.unit.stream.talk import KEYS, Talk
from tests.unit.stream.test_shared_steps import BOTH, first
from xds_server.stream.session import Variant


@pytest.mark.parametrize("key", KEYS)
def test_k10_absent_then_born_then_gone_then_born(key: str) -> None:
    Talk(Variant.DELTA, **{key: "bar=1"}).play(f"""
        ask {key} foo bar         -> {key} bar=1 -foo
        ack {key}                 ->
        declare {key} bar=1 foo=1 -> {key} foo=1
        ack {key}                 ->
        declare {key} bar=1       -> {key} -foo
        ack {key}                 ->
        declare {key} bar=1 foo=1 -> {key} foo=1
        ack {key}                 ->
        wait 100                  ->
    """)


@pytest.mark.parametrize("key", KEYS)
def test_k14_an_absent_name_holds_back_nobody(key: str) -> None:
    x = "x=2 " if key in {"cds", "lds"} else ""
    Talk(Variant.SOTW, **{key: "x=1"}).play(f"""
        ask {key} x y         -> {key} x=1
        ack {key}             ->
        declare {key} x=2     -> {key} x=2
        ack {key}             ->
        declare {key} x=2 y=1 -> {key} {x}y=1
        ack {key}             ->
        wait 100              ->
    """)


@BOTH
def test_k16_dead_names_are_ignored_or_told(variant: Variant) -> None:
    told = " -dead" if variant is Variant.DELTA else ""
    Talk(variant, rds="live=1 dead=1").play(f"""
        ask rds live dead   -> rds dead=1 live=1
        ack rds             ->
        declare rds live=1  -> {"rds -dead" if told else ""}
        restart             ->
        ask rds live dead   -> rds {"" if told else "live=1"}{"-dead" if told else ""}
    """)
    Talk(variant, rds="live=1").play(f"ask rds live dead -> rds live=1{told}")


@BOTH
def test_k16_unknown_types_disturb_nobody(variant: Variant) -> None:
    talk = Talk(variant, cds="a=1")
    for url in ("type.googleapis.com/example.v1.Nothing", "type.googleapis.com/envoy.api.v2.Cluster"):
        said = talk.send(first(variant, url, "something"))
        assert said == ([f"{url} -something"] if variant is Variant.DELTA else [])
    talk.play("""
        ask cds         -> cds a=1
        ack cds         ->
        declare cds a=2 -> cds a=2
    """)
