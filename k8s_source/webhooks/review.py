"""What both webhooks share: how a review comes in, and what is said of one that is none."""

from __future__ import annotations

from typing import TypeVar

import msgspec

T = TypeVar("T", bound=msgspec.Struct)


class ReviewError(ValueError):
    """A request that is no review: its message says what was expected."""


class Named(msgspec.Struct, rename="camel"):
    """What tells one review from another."""

    api_version: str
    kind: str


def read(body: bytes, api_version: str, kind: str, shape: type[T]) -> T:
    """A review.

    Raises:
        ReviewError: The body is not JSON, or no such review.
    """
    try:
        named = msgspec.json.decode(body, type=Named)
        if (named.api_version, named.kind) != (api_version, kind):
            found = f"{named.kind[:60]} of {named.api_version[:60]}"
            raise ReviewError(f"expected one {kind} of {api_version}, found {found}")
        return msgspec.json.decode(body, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ReviewError(f"expected one {kind} of {api_version}: {error}") from error
    except RecursionError as error:
        raise ReviewError(f"expected one {kind} of {api_version}, found one that is nested too deeply") from error
