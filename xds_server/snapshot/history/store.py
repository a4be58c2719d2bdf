"""The store: one directory that holds what every group was served, for one process at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path
from shutil import rmtree
from urllib.parse import quote

import structlog

from xds_server.settings.root import Settings
from xds_server.snapshot.history.decisions import DecisionFile
from xds_server.snapshot.history.last_good import Fault, restore_group
from xds_server.snapshot.history.objects import ObjectFile
from xds_server.snapshot.history.pushed import PushedFile
from xds_server.snapshot.history.segments import Bounds, GroupFiles
from xds_server.snapshot.history.switches import SwitchFile
from xds_server.snapshot.history.vault import Vault, read_key
from xds_server.snapshot.history.writer import Writer
from xds_server.snapshot.snapshot import Hold, Snapshot
from xds_server.sources.base import DecodeObject
from xds_server.wire.resource import Resource

_log = structlog.get_logger()

_LONGEST_NAME = 200
"""Letters of a folder's name; file systems allow 255."""


_OTHER_KEY = (
    "history.key_file has not the key that they were encrypted with; they are served once their source has been read"
)


class Store:
    """Opens a state directory, gives what is in it, and takes what is served from then on."""

    def __init__(
        self, root: Path, bounds: Bounds, vault: Vault, clock: Callable[[], float], decode_object: DecodeObject
    ) -> None:
        """Lock the directory, which is made if it is not there, and read it. Blocks.

        Raises:
            OSError: It can't be used, or another process uses it.
        """
        self.restored: dict[str, list[Snapshot]] = {}
        self.faults: list[Fault] = []
        self.is_failing = False
        self.flushed_seq: dict[str, int] = {}
        self.flushed_hold: dict[str, Hold | None] = {}
        self._clock = clock
        self._bounds = bounds
        self._vault = vault
        self._files: dict[str, GroupFiles] = {}
        self._groups = root / "groups"
        self._lock = _lock(root)
        for folder in sorted(self._groups.iterdir()):
            if folder.is_dir():
                self._restore(folder)
        self.writer = Writer(self._write, self.failed, self._groups)
        self.pushed = PushedFile(root / "push" / "sets.changes", vault, self.failed)
        self.decisions = DecisionFile(root / "gateways" / "decisions.json", self.failed)
        self.objects = ObjectFile(root / "objects" / "objects.changes", vault, decode_object, self.failed)
        self.switches = SwitchFile(root / "gateways" / "switches.json", self.failed)
        for fault in (*self.pushed.faults, *self.decisions.faults, *self.objects.faults, *self.switches.faults):
            _tell(fault)
            self.faults.append(fault)
        if vault.unopened:
            _log.warning("stored_secrets_not_opened", resources=len(vault.unopened), hint=_OTHER_KEY)

    @property
    def audit_folder(self) -> Path:
        """Where the audit log lies."""
        return self._groups.parent / "audit"

    def save(self, snapshot: Snapshot) -> None:
        """Store a snapshot some time soon."""
        self.writer.add(snapshot)

    def close(self) -> None:
        """Let go of the directory."""
        os.close(self._lock)

    def _restore(self, folder: Path) -> None:
        now = self._clock()
        found = restore_group(folder, self._bounds, self._vault, now)
        for fault in found.faults:
            _tell(fault)
        self.faults += found.faults
        if not found.snapshots:
            return
        newest = found.snapshots[-1]
        if not any(len(typeset) for typeset in newest.types.values()) and newest.created < now - self._bounds.age:
            rmtree(folder, ignore_errors=True)  # a group that is long gone
            return
        self._files[newest.group] = GroupFiles(folder, self._bounds, self._vault, found.segments)
        self.restored[newest.group] = found.snapshots
        self.flushed_seq[newest.group], self.flushed_hold[newest.group] = newest.seq, newest.held
        _log.info("last_good_restored", group=newest.group, version=newest.version, seq=newest.seq)

    def _write(self, snapshots: Sequence[Snapshot]) -> None:
        by_group: dict[str, list[Snapshot]] = {}
        for snapshot in snapshots:
            by_group.setdefault(snapshot.group, []).append(snapshot)
        for group, newer in by_group.items():
            files = self._files.get(group)
            if files is None:
                folder = self._groups / _folder_name(group)
                files = self._files[group] = GroupFiles(folder, self._bounds, self._vault)
            files.add(newer, self._clock())
            self.flushed_seq[group], self.flushed_hold[group] = newer[-1].seq, newer[-1].held
        self.is_failing = False

    def failed(self, _: OSError) -> None:
        """Note that something could not be written; whoever writes logs it."""
        self.is_failing = True


def open_store(
    settings: Settings,
    holds_secrets: Callable[[Resource], bool],
    clock: Callable[[], float],
    decode_object: DecodeObject,
) -> Store | None:
    """The store that the settings ask for; None where they name no `state_dir`. Blocks.

    Raises:
        OSError: The directory can't be used, another process uses it, or the key can't be read.
    """
    if settings.state_dir is None:
        return None
    history = settings.history
    key = None
    if history.secrets == "encrypt":
        if history.key_file is None:
            raise OSError("history.key_file: expected a file with the key, since history.secrets is encrypt")
        key = read_key(history.key_file)
    return Store(
        settings.state_dir, Bounds(history.count, history.age), Vault(holds_secrets, key), clock, decode_object
    )


def _tell(fault: Fault) -> None:
    tell = _log.error if fault.set_aside else _log.warning
    tell("state_file_damaged", path=fault.path, reason=fault.message, set_aside=fault.set_aside)


def _lock(root: Path) -> int:
    try:
        for folder in (root, root / "groups"):  # `parents` would make the first with the rights of the umask.
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(root / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise OSError(f"state_dir: can't use {root}: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise OSError(f"state_dir: {root} is in use by another process") from error
    return descriptor


def _folder_name(group: str) -> str:
    """A name for a group's folder that any file system takes; the group's own name is in the records."""
    name = quote(group, safe="").replace(".", "%2E")
    if 0 < len(name) <= _LONGEST_NAME:
        return name
    return f"{name[:100]}~{blake2b(group.encode(), digest_size=16).hexdigest()}"
