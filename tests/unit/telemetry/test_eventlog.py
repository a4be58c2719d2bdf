"""Events as log lines: everything that is new is written, and written once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from xds_server.ir.decision import Choice, Decision
from xds_server.ir.events import Event, EventKind
from xds_server.ir.facts import LagQuery, Reading, RouteKey, Rule, Verdict, Watch
from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem
from xds_server.status.transitions import Transition
from xds_server.telemetry.eventlog import MOST, EventLog

VERSION = Event(1, 0.0, EventKind.VERSION, {"group": "g", "version": "v", "seq": 1})
SOURCE = Event(2, 0.0, EventKind.SOURCE, {"source": "s", "synced": True, "error": None})


@dataclass(frozen=True)
class Out:
    name: str
    type_url: str = "type.googleapis.com/a.b.Cluster"
    reason: str = "NoAssignment"
    message: str = "m"


class World:
    """What stands now, and the log of it."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.left_out: list[Out] = []
        self.log = EventLog(lambda _: self.problems, lambda _: self.left_out)

    def write(self, event: Event, named: str) -> list[Any]:
        """The lines of that name that an event makes."""
        with capture_logs() as lines:
            self.log.write(event)
        return [line for line in lines if line["event"] == named]


@pytest.fixture
def world() -> World:
    return World()


def problem(path: str) -> Problem:
    return Problem(Origin("s", path, 2, 7), "InvalidValue", "expected", "a.b")


def test_left_out_is_told_when_it_is_new(world: World) -> None:
    assert world.write(VERSION, "left_out") == []
    world.left_out = [Out("x"), Out("y")]
    assert [line["name"] for line in world.write(VERSION, "left_out")] == ["x", "y"]
    assert world.write(VERSION, "left_out") == []
    world.left_out = [Out("x"), replace(Out("y"), message="another")]
    (line,) = world.write(VERSION, "left_out")
    assert line == {
        "event": "left_out",
        "log_level": "warning",
        "group": "g",
        "type": "Cluster",
        "name": "y",
        "reason": "NoAssignment",
        "message": "another",
    }
    world.left_out = []
    assert world.write(VERSION, "left_out") == []
    world.left_out = [Out("x")]
    assert len(world.write(VERSION, "left_out")) == 1


def test_every_problem_of_a_source_is_told(world: World) -> None:
    world.problems = [problem("a.yaml"), problem("b.yaml")]
    first, second = world.write(SOURCE, "source_problem")
    assert (first["path"], second["path"]) == ("a.yaml", "b.yaml")
    assert (first["document"], first["line"], first["field"], first["log_level"]) == (2, 7, "a.b", "error")
    world.problems.append(problem("c.yaml"))
    assert [line["path"] for line in world.write(SOURCE, "source_problem")] == ["c.yaml"]
    assert world.write(SOURCE, "source")[0]["errors"] == 3


def test_very_many_are_counted(world: World) -> None:
    world.problems = [problem(f"{number}.yaml") for number in range(MOST + 7)]
    lines = world.write(SOURCE, "source_problem")
    assert len(lines) == MOST + 1
    assert lines[-1]["more"] == 7


def test_refusals_and_the_rest(world: World) -> None:
    nack = Event(3, 0.0, EventKind.NACK, {"node": "n"})
    assert world.write(nack, "refused")[0]["log_level"] == "warning"
    assert world.write(Event(4, 0.0, EventKind.ACK, {"node": "n"}), "ack")[0]["log_level"] == "debug"


@pytest.mark.parametrize(
    ("decision", "named", "level"),
    [
        ("degraded", "degradation", "warning"),
        ("fail_open", "degradation", "warning"),
        ("rejected", "degradation", "warning"),
        ("primary", "recovered", "info"),
    ],
)
def test_a_return_is_called_so(world: World, decision: str, named: str, level: str) -> None:
    after = Decision(Choice(decision), None, "why")
    reading = Reading(Watch(LagQuery("default", "g"), Rule(10, 8)), 0, None, 0, 1.0, "no such group", Verdict.NORMAL)
    told = Transition(RouteKey("shop", "edge", "a"), "default", None, after, reading, "v")
    (line,) = world.write(Event(3, 0.0, EventKind.DEGRADATION, told.as_json()), named)
    assert (line["log_level"], line["decision"], line["state"]) == (level, decision, "no such group")
