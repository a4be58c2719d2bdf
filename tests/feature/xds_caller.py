"""A program that calls a service by gRPC's own xDS client, again and again, and prints each answer on a line.

    python xds_caller.py TARGET SECONDS_BETWEEN_CALLS

`GRPC_XDS_BOOTSTRAP_CONFIG` says where the control plane is. A call that fails prints `failed CODE: DETAILS`.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import grpc

METHOD = "/tests.Echo/Who"


def main(target: str, pause: float) -> None:
    """Call until killed."""
    with grpc.insecure_channel(target) as channel:
        who: Any = channel.unary_unary(METHOD)
        while True:
            try:
                answer: bytes = who(b"", timeout=5, wait_for_ready=False)
            except grpc.RpcError as error:
                print(f"failed {error.code()}: {error.details()}", flush=True)  # noqa: T201 - its answer
            else:
                print(answer.decode(), flush=True)  # noqa: T201 - its answer
            time.sleep(pause)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
