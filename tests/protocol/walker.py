"""The seeded walker: many random steps through the protocol core. `python -m tests.protocol.walker --help`."""

from __future__ import annotations

import argparse
import sys
import time
from random import Random

from tests.protocol.envoy_model import EnvoyModel
from tests.protocol.fleet import Fleet
from tests.protocol.grpc_model import GrpcModel
from tests.protocol.model import Client
from xds_server.stream import portions
from xds_server.stream.session import Variant

KINDS: tuple[tuple[type[Client], Variant], ...] = (
    (EnvoyModel, Variant.SOTW),
    (EnvoyModel, Variant.DELTA),
    (GrpcModel, Variant.SOTW),
    (GrpcModel, Variant.DELTA),
)

ROUNDS = 6
STEPS_PER_ROUND = 80


class WalkError(AssertionError):
    """A walk has found a fault; the text has what it takes to repeat it."""


def walk(seed: str) -> int:
    """Take one walk: rounds of random steps, everybody must have arrived at the end of each. Its number of steps.

    Raises:
        WalkError: a rule was broken.
    """
    random = Random(seed)
    kinds = [random.choice(KINDS) for _ in range(random.choice((1, 2, 3)))]
    prompt, ordered = random.random() < 0.6, random.random() < 0.6
    fleet = Fleet(random, kinds, prompt=prompt, ordered=ordered, bad=random.choice((0.0, 0.06, 0.2)))
    usual = portions.PORTION
    try:
        portions.PORTION = random.choice((usual, usual, 300))
        for _ in range(ROUNDS):
            for _ in range(STEPS_PER_ROUND):
                fleet.step()
            fleet.drain()
    except Exception as error:  # Whatever goes wrong, the trace is wanted.
        lines = "\n".join(fleet.trace)
        raise WalkError(f"{lines}\nwalk {seed}: {type(error).__name__}: {error}") from error
    finally:
        portions.PORTION = usual
    return ROUNDS * STEPS_PER_ROUND


def run(steps: int, seed: str) -> int:
    """Take walks until that many steps are done; the number of walks."""
    done = walks = 0
    while done < steps:
        done += walk(f"{seed}/{walks}")
        walks += 1
    return walks


def main() -> int:
    """Walk as the command line says; 1 when something was found."""
    parser = argparse.ArgumentParser(description="Walk through the protocol core at random.")
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--seed", default="0", help="a seed; walk n of it is SEED/n")
    parser.add_argument("--walk", help="repeat this one walk, such as 0/17")
    options = parser.parse_args()
    began = time.perf_counter()
    try:
        if options.walk:
            walk(options.walk)
            return 0
        walks = run(options.steps, options.seed)
    except WalkError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    took = time.perf_counter() - began
    sys.stdout.write(f"seed {options.seed}: {walks} walks, {options.steps / took:.0f} steps/s\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
