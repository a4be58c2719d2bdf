"""`python -m bench`: measures Tidegate against other servers and against itself, and prints tables with ratios.

With Go on PATH, and the sources of the Go peer where `TIDEGATE_BENCH_PEER` says, the others are go-control-plane's
two caches, and the targets are judged. Without, it is a naive server of our own, with smaller loads, in some minutes.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

from bench import page, plan, results, table
from bench.gobuild import SOURCES, BuildError, build
from bench.machine import raise_file_limit
from bench.processes import StartError
from bench.results import Results
from bench.shapes import ALL
from bench.targets import judge
from bench.trial import LoadError


def main() -> None:
    """Measure what is asked for, print it, and with --write put it into the page."""
    args = _arguments()
    raise_file_limit()
    stored = results.load()
    if not args.page:
        try:
            measured = _measure(args)
        except (BuildError, StartError, LoadError) as error:
            sys.exit(f"bench: {error}")
        print(_shown(measured))
        stored.update(measured)
    if args.write:
        results.store(stored)
    if args.write or args.page:
        page.write(stored)


def _measure(args: argparse.Namespace) -> Results:
    tools = build()
    if tools is None:
        print(f"no Go, or no {SOURCES}: the peer is a naive server", file=sys.stderr)
    sizes = plan.QUICK if args.quick else plan.FULL if tools else plan.WITHOUT_GO
    patience = args.patience if args.patience is not None else (60.0 if tools else 3.0)
    wanted = plan.make(tools, sizes, patience, args.only)
    if args.rounds:
        wanted = replace(wanted, sizes=replace(sizes, rounds=args.rounds, growth_rounds=args.rounds))
    return wanted.run()


def _shown(measured: Results) -> str:
    """All tables that there is something for."""
    verdicts = judge(measured.shapes, measured.kept, measured.probe)
    found = [
        f"Machine: {measured.machine}",
        table.comparison(measured.shapes) if measured.shapes else "",
        table.verdicts(verdicts) if verdicts else "",
        table.costs(measured.flat) if measured.flat else "",
        table.derivations(measured.derived) if measured.derived else "",
        table.samplings(measured.lag) if measured.lag else "",
        table.followers(measured.kubernetes) if measured.kubernetes else "",
        table.keeps(measured.kept) if measured.kept else "",
        table.holds(measured.probe) if measured.probe else "",
        table.churns(measured.churn) if measured.churn else "",
    ]
    return "\n\n".join(each for each in found if each)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    keys = ", ".join([*(shape.key for shape in ALL), *plan.PARTS])
    parser.add_argument("--rounds", type=int, default=0, metavar="N", help="rounds of each load")
    parser.add_argument("--quick", action="store_true", help="small and once: to see whether it works, not for figures")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="KEY", help=f"measure only these, or what begins with it: {keys}"
    )
    parser.add_argument(
        "--patience", type=float, metavar="SECONDS", help="how long to wait for a calm machine, each time"
    )
    parser.add_argument("--write", action="store_true", help="store the results and write docs/performance.md anew")
    parser.add_argument("--page", action="store_true", help="write docs/performance.md anew from the stored results")
    args = parser.parse_args()
    if args.quick and args.write:
        parser.error("--quick is not for figures: it can't go with --write")
    return args


if __name__ == "__main__":
    main()
