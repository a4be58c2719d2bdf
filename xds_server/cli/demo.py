"""`tidegate demo`: from arguments to the demo, whose packages are an extra."""

from __future__ import annotations

import sys

EXTRA = "confluent_kafka"
"""The import name of the package that brings the demo's Kafka; only the extra `demo` installs it."""


def demo(*, once: bool, by_hand: bool, admin_port: int) -> int:
    """Run the demo and give its exit code; 1 without its packages, 2 with arguments that contradict each other."""
    if once and by_hand:
        print("tidegate: --once plays by itself: leave out --by-hand", file=sys.stderr)
        return 2
    try:
        from xds_server.demo.run import Plot, run_demo  # noqa: PLC0415 - may be missing
    except ModuleNotFoundError as error:
        if error.name != EXTRA:
            raise
        print("tidegate: the demo has a Kafka broker of its own: pip install tidegate[demo]", file=sys.stderr)
        return 1
    plot = Plot.ONCE if once else Plot.BY_HAND if by_hand else Plot.ROUNDS
    return run_demo(plot, admin_port=admin_port)
