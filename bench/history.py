"""What it costs to store a change: bytes and CPU, at a small and a large configuration; `python -m bench.history`."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from xds_server.demo.world import assignment, cluster
from xds_server.ir.declared import NativeDocument, Unit
from xds_server.ir.origin import Origin
from xds_server.snapshot.assemble import Assembler, Batch
from xds_server.snapshot.history.last_good import restore_group
from xds_server.snapshot.history.segments import Bounds, GroupFiles
from xds_server.snapshot.history.vault import Vault
from xds_server.snapshot.snapshot import Snapshot
from xds_server.translate.native import decode
from xds_server.translate.prune import prune_routes
from xds_server.translate.secrecy import holds_secrets

SIZES = (100, 10_000)
CHANGES = 200


def snapshots(clusters: int) -> Iterator[Snapshot]:
    """A configuration of so many clusters with an endpoint each, then changes of one endpoint."""
    assembler = Assembler(decode, prune_routes)
    for number in range(CHANGES + 2):
        changed = range(clusters) if number == 0 else (number % clusters,)
        units = {f"{each}.yaml": _unit(each, port=1 + number) for each in changed}
        yield from assembler.apply([Batch(0, "files", units)], float(number))


def _unit(number: int, port: int) -> Unit:
    origin = Origin("files", f"/config/{number}.yaml", 1, 1)
    bodies = (cluster(f"cluster-{number}"), assignment(f"cluster-{number}", [port]))
    return Unit(f"{number}.yaml", tuple(NativeDocument("default", body, origin) for body in bodies))


def measure(clusters: int, folder: Path) -> str:
    """A line of the table."""
    bounds, vault = Bounds(), Vault(holds_secrets)
    files = GroupFiles(folder, bounds, vault)
    made = list(snapshots(clusters))
    begun = time.process_time()
    base = files.add(made[:1], 0.0)
    base_seconds = time.process_time() - begun
    files.add(made[1:2], 0.0)
    begun = time.process_time()
    written = sum(files.add([snapshot], 0.0) for snapshot in made[2:])
    change_seconds = time.process_time() - begun
    begun = time.process_time()
    restored = restore_group(folder, bounds, vault, 0.0)
    restore_seconds = time.process_time() - begun
    assert restored.snapshots[-1].version == made[-1].version
    count = len(made) - 2
    return (
        f"| {clusters:,} | {base / 1e6:.2f} MB, {base_seconds:.2f} s | {written / count:.0f} bytes"
        f" | {change_seconds / count * 1e3:.2f} ms | {restore_seconds:.2f} s |"
    )


def main() -> None:
    """Print the table."""
    print("| clusters | a base | a change of one endpoint | its CPU | reading 100 versions |")
    print("| --- | --- | --- | --- | --- |")
    for clusters in SIZES:
        with tempfile.TemporaryDirectory() as name:
            print(measure(clusters, Path(name, "default")))


if __name__ == "__main__":
    main()
