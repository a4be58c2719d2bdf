"""Reads the bytes of one file, guarding against what is no file, too big, or changing under one's hands."""

from __future__ import annotations

import os
from stat import S_ISREG

from xds_server.sources.files.scan import NOT_A_FILE, Signature

BIGGEST = 64 * 1024 * 1024
"""Bytes of a file that are read at most."""


class UnreadableError(Exception):
    """A file that can't be read. `reason` is for programs; `is_passing` says that trying again may help."""

    def __init__(self, reason: str, message: str, *, is_passing: bool = False) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.is_passing = is_passing


class ChangedError(Exception):
    """The file is not the one any more that was seen, or changed while it was read."""


def read(path: str, seen: Signature) -> bytes:
    """The content of a file that has this signature.

    Raises:
        UnreadableError: It is no regular file or too big, or the operating system refuses.
        ChangedError: What is there is not what was seen.
    """
    try:
        # Not to be held up by a pipe that has the name of a file.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise ChangedError from None
    except OSError as error:
        raise _refused(error) from None
    try:
        return _read(descriptor, seen)
    except OSError as error:
        raise _refused(error) from None
    finally:
        os.close(descriptor)


def _read(descriptor: int, seen: Signature) -> bytes:
    status = os.fstat(descriptor)
    if not S_ISREG(status.st_mode):
        raise UnreadableError("NotAFile", NOT_A_FILE)
    if status.st_size > BIGGEST:
        raise UnreadableError("TooBig", f"has {status.st_size} bytes, more than the {BIGGEST} that are read")
    with os.fdopen(os.dup(descriptor), "rb") as file:
        data: bytes | None = file.read(BIGGEST + 1)
    if data is None:  # It calls itself a regular file, and has nothing to read yet: one of the kernel's own.
        raise UnreadableError("NotAFile", NOT_A_FILE)
    for each in (status, os.fstat(descriptor)):
        state = (each.st_dev, each.st_ino, each.st_size, each.st_mtime_ns)
        if state != (seen.device, seen.inode, len(data), seen.mtime_ns):
            raise ChangedError
    return data


def _refused(error: OSError) -> UnreadableError:
    is_lasting = isinstance(error, PermissionError)
    message = (error.strerror or type(error).__name__).lower()
    return UnreadableError("Unreadable", f"can't be read: {message}", is_passing=not is_lasting)
