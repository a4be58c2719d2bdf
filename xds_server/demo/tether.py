"""Run a command that dies with its parent: `python tether.py PARENT_PID COMMAND…` (Linux; elsewhere it just runs).

A program of its own, because the wish has to be made in the child between fork and exec, and Python code in
that gap (`preexec_fn`) can deadlock in a process that has threads.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
"""`prctl(2)`; the setting survives the exec."""


def tether(parent: int) -> None:
    """Have the kernel kill this process when `parent` is gone; exit at once when it already is."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("the parent is gone")


if __name__ == "__main__":
    tether(int(sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])  # noqa: S606 - the command is its caller's
