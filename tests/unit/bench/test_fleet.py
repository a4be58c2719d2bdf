"""The clients of the benchmarks behave: they get everything from a real session, and accept every change."""

from __future__ import annotations

import pytest

from bench.flat import Setting
from bench.fleet import Fleet


@pytest.mark.parametrize("mode", ["delta", "sotw"])
def test_a_fleet_gets_everything(mode: str) -> None:
    fleet = Fleet(Setting(5).group(), mode, 3)
    assert all(member.client.full and member.session.in_sync() for member in fleet.members)


@pytest.mark.parametrize("mode", ["delta", "sotw"])
def test_a_fleet_follows_a_change(mode: str) -> None:
    setting = Setting(5)
    group = setting.group()
    fleet = Fleet(group, mode, 3)
    setting.change()
    setting.publish(group)
    assert not any(member.session.in_sync() for member in fleet.members)
    assert fleet.answer() == 3
    assert all(member.session.in_sync() for member in fleet.members)
