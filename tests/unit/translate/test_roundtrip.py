"""Properties over random messages: JSON and back is the same; a spoilt field is found where it is."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.unit.translate.documents import CLUSTER, ENDPOINT, LISTENER, ORIGIN, ROUTE
from tests.unit.translate.messages import messages
from xds_server.ir.declared import NativeDocument
from xds_server.ir.problem import ProblemError
from xds_server.translate.messages import name_field, pack
from xds_server.translate.native import decode
from xds_server.translate.protos import type_of
from xds_server.translate.render import to_json
from xds_server.wire.resource import Resource

TYPES = (
    CLUSTER,
    ENDPOINT,
    LISTENER,
    ROUTE,
    "envoy.config.core.v3.TypedExtensionConfig",
    "envoy.config.route.v3.ScopedRouteConfiguration",
    "envoy.service.runtime.v3.Runtime",
)

slow = settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None, max_examples=40
)


@st.composite
def resources(draw: st.DrawFn, type_name: str) -> Resource:
    message = draw(messages(type_name))
    setattr(message, str(name_field(type_of(message))), "name")
    return pack(message, "name", (ORIGIN,))


@pytest.mark.parametrize("type_name", TYPES)
@given(st.data())
@slow
def test_json_and_back(type_name: str, data: st.DataObject) -> None:
    resource = data.draw(resources(type_name))
    again = decode(NativeDocument("default", to_json(resource), ORIGIN))
    assert (again.name, again.type_url, again.body) == (resource.name, resource.type_url, resource.body)
    assert (again.version, again.refs, again.origins) == (resource.version, resource.refs, resource.origins)


@pytest.mark.parametrize("type_name", TYPES)
@given(st.data(), st.randoms(use_true_random=False))
@slow
def test_a_spoilt_field_is_found_where_it_is(type_name: str, data: st.DataObject, rng: random.Random) -> None:
    body: Any = copy.deepcopy(to_json(data.draw(resources(type_name))))
    places = list(_places(body, ""))
    container, key, path = rng.choice(places)
    container[key] = object() if rng.random() < 0.5 else [[object()]]
    with pytest.raises(ProblemError) as caught:
        decode(NativeDocument("default", body, ORIGIN))
    found = caught.value.problem.field
    assert found, caught.value.problem.message
    assert path.startswith(found) or found.startswith(path)


def _places(value: Any, path: str) -> Iterator[tuple[Any, Any, str]]:
    """Every value of a JSON body by its container and path."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        if isinstance(key, int):
            here = f"{path}[{key}]"
        elif key.isidentifier() and key.isascii():
            here = f"{path}.{key}" if path else key
        else:
            continue
        yield value, key, here
        yield from _places(each, here)
