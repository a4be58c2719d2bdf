"""The file of switches: what is kept of them comes back, and damage is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import msgspec
import pytest

from tests.support.gateways import route, watch
from xds_server.ir.decision import Choice, Decision
from xds_server.ir.facts import RouteKey, Verdict
from xds_server.ir.gateway import Route
from xds_server.ir.switches import Frozen, Switch, Switches, Value
from xds_server.snapshot.history import switches as stored
from xds_server.snapshot.history.switches import Governed, SwitchFile

SWITCH = Switch("*", Value.ON, "because", "operator", 1.5, 2.5)
ROUTE = route("orders", "/orders", degrade="lite", timeout=1.5, retries=2, max_qps=7.0, hosts=("a", "b"))
FROZEN = Frozen(ROUTE, Decision(Choice.PRIMARY, ROUTE.primary, "healthy"))
GOVERNED = Governed(
    Switches(SWITCH, (SWITCH,), (replace(SWITCH, value=Value.FORCED, expires=None),)),
    {ROUTE.key: FROZEN},
    7.5,
    {RouteKey("shop", "web", "mail"): Verdict.OVER},
    {RouteKey("shop", "web", "orders"): 6.5},
)


def fail(error: OSError) -> None:
    raise error


async def written(path: Path, governed: Governed) -> None:
    file = SwitchFile(path, fail)
    running = asyncio.create_task(file.writer.run())
    file.keep(governed)
    await file.writer.close()
    await running


@pytest.mark.parametrize("governed", [GOVERNED, Governed()])
async def test_what_is_kept_comes_back(tmp_path: Path, governed: Governed) -> None:
    await written(tmp_path / "a" / "switches.json", governed)
    file = SwitchFile(tmp_path / "a" / "switches.json", fail)
    assert (file.restored, file.faults) == (governed, [])


async def test_of_a_route_all_is_kept_but_what_it_watches_and_lacks(tmp_path: Path) -> None:
    kept = {each.name for each in fields(Route)} - {"watch", "missing"}
    assert set(stored._Route.__struct_fields__) == kept
    watched = replace(FROZEN, route=replace(ROUTE, watch=watch()))
    await written(tmp_path / "switches.json", replace(GOVERNED, frozen={ROUTE.key: watched}))
    assert SwitchFile(tmp_path / "switches.json", fail).restored == GOVERNED


DAMAGES: list[Callable[[bytes], bytes]] = [
    lambda data: data[:-20],
    lambda _: b"",
    lambda _: b"\xff",
    lambda data: msgspec.json.encode({**msgspec.json.decode(data), "form": 9}),
]


@pytest.mark.parametrize("damage", DAMAGES, ids=["torn", "empty", "no text", "another form"])
async def test_damage_is_set_aside_and_told(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "switches.json"
    await written(path, GOVERNED)
    path.write_bytes(damage(path.read_bytes()))
    file = SwitchFile(path, fail)
    assert file.restored == Governed()
    (fault,) = file.faults
    assert "no switch is set" in fault.message
    assert fault.set_aside
    assert not path.exists()
