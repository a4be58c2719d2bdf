"""How large a case is tried: a tenth in `make test`, the whole in `make soak`."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

_LONGEST = 1200


def scaled(
    names: str | Sequence[str], tenth: object, *wholes: object, timeout: float = _LONGEST
) -> pytest.MarkDecorator:
    """Run a test with `tenth` always, and with each of `wholes` under the marker `soak`, for `timeout` seconds at most.

    With several names each of them is a tuple.
    """
    marks = [pytest.mark.soak, pytest.mark.timeout(timeout)]
    parameters = [pytest.param(*_values(names, tenth), id="tenth")]
    parameters += [pytest.param(*_values(names, whole), id="whole", marks=marks) for whole in wholes]
    return pytest.mark.parametrize(names, parameters)


def _values(names: str | Sequence[str], values: object) -> Sequence[object]:
    return values if isinstance(values, tuple) and not isinstance(names, str) else (values,)
