"""What operators have decided, on disk: switches, the routes that are frozen, and what the breaker holds; one file of JSON."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from xds_server.ir.backend import BackendKey
from xds_server.ir.decision import Decision
from xds_server.ir.facts import RouteKey, Verdict
from xds_server.ir.gateway import Path as RoutePath, Route
from xds_server.ir.switches import Frozen, FrozenRoutes, Switches
from xds_server.snapshot.history.last_good import Fault, set_aside
from xds_server.snapshot.history.segments import write_whole
from xds_server.snapshot.history.writer import Writer

_FORM = 1


@dataclass(frozen=True, slots=True)
class Governed:
    """All that is remembered.

    `tripped` is since when (POSIX seconds) the breaker holds the verdicts `held`, None if it does not, and `turned` has the
    routes that had come to be over before.
    """

    switches: Switches = field(default_factory=Switches)
    frozen: FrozenRoutes = field(default_factory=dict)
    tripped: float | None = None
    held: Mapping[RouteKey, Verdict] = field(default_factory=dict)
    turned: Mapping[RouteKey, float] = field(default_factory=dict)


class _Route(msgspec.Struct, frozen=True):
    """A route without what it watches, and what it lacks (see `Frozen`)."""

    key: RouteKey
    hosts: tuple[str, ...]
    path: RoutePath
    primary: BackendKey | None
    degrade: BackendKey | None
    timeout: float | None
    retries: int
    max_qps: float | None


class _Frozen(msgspec.Struct, frozen=True):
    route: _Route
    decision: Decision


class _Content(msgspec.Struct, frozen=True):
    form: int
    switches: Switches
    frozen: list[_Frozen]
    tripped: float | None
    held: list[tuple[RouteKey, Verdict]]
    turned: list[tuple[RouteKey, float]]


class SwitchFile:
    """Holds what is remembered, and has it written soon after each change."""

    def __init__(self, path: Path, failed: Callable[[OSError], None]) -> None:
        """Read what is there. Blocks.

        Raises:
            OSError: It can't be read.
        """
        self.faults: list[Fault] = []
        self._path = path
        self._lock = threading.Lock()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.restored = self._kept = self._read()
        self.writer: Writer[None] = Writer(self._write, failed, path)

    def keep(self, governed: Governed) -> None:
        """Remember this; to be called on the event loop."""
        with self._lock:
            if self._kept == governed:
                return
            self._kept = governed
        self.writer.add(None)

    def _write(self, _changes: Sequence[None]) -> None:
        with self._lock:
            kept = self._kept
        frozen = [_encoded(each) for each in kept.frozen.values()]
        held, turned = list(kept.held.items()), list(kept.turned.items())
        content = _Content(_FORM, kept.switches, frozen, kept.tripped, held, turned)
        write_whole(self._path, msgspec.json.encode(content))

    def _read(self) -> Governed:
        try:
            content = msgspec.json.decode(self._path.read_bytes(), type=_Content)
        except FileNotFoundError:
            return Governed()
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            self.faults.append(set_aside(self._path, f"{error}; no switch is set"))
            return Governed()
        if content.form != _FORM:
            self.faults.append(set_aside(self._path, f"its form is {content.form}, not {_FORM}; no switch is set"))
            return Governed()
        frozen = {each.route.key: _decoded(each) for each in content.frozen}
        return Governed(content.switches, frozen, content.tripped, dict(content.held), dict(content.turned))


def _encoded(frozen: Frozen) -> _Frozen:
    fields = {name: getattr(frozen.route, name) for name in _Route.__struct_fields__}
    return _Frozen(_Route(**fields), frozen.decision)


def _decoded(stored: _Frozen) -> Frozen:
    return Frozen(Route(**msgspec.structs.asdict(stored.route)), stored.decision)
