"""A hold: everything of the version held but endpoints and secrets, and every reference still resolves."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given, settings, strategies as st

from tests.unit.snapshot.test_closure import cluster, endpoints, listener, prune, resource, route
from xds_server.ir.declared import Declared
from xds_server.snapshot.assemble import Assembler
from xds_server.snapshot.closure import Closure, Key, targets
from xds_server.snapshot.hold import pin
from xds_server.snapshot.snapshot import Change, Hold, Snapshot
from xds_server.snapshot.typeset import Typeset
from xds_server.wire.resource import Held, Resource
from xds_server.wire.types import CLUSTER, ENDPOINT, EXTENSION, LISTENER, ROUTE, SECRET

NAMES = st.sampled_from("abc")
PAIRS = st.one_of(
    st.builds(lambda name, content: ((SECRET, name), resource((SECRET, name), content)), NAMES, st.sampled_from("12")),
    st.builds(
        lambda name, content: ((ENDPOINT, name), resource((ENDPOINT, name), content)), NAMES, st.sampled_from("12")
    ),
    st.builds(cluster, NAMES, st.sampled_from(["", "other"])),
    st.builds(lambda name, to: route(name, " ".join(to)), NAMES, st.sets(NAMES)),
    st.builds(listener, NAMES, NAMES, st.sampled_from(["", "a"])),
)


def served(pairs: list[tuple[Key, Resource]]) -> dict[str, Typeset]:
    """What is served of these declarations."""
    closure = Closure(prune)
    found: dict[str, dict[str, Resource]] = {url: {} for url in (CLUSTER, ENDPOINT, LISTENER, ROUTE, SECRET)}
    for (url, name), each in closure.update(dict(pairs)).items():
        if each is not None:
            found[url][name] = each
    return {url: Typeset(url, resources) for url, resources in found.items()}


def version(types: Mapping[str, Typeset]) -> str:
    return Snapshot("g", 1, 0.0, types).version


@settings(max_examples=300, deadline=None)
@given(st.lists(PAIRS, max_size=12), st.lists(PAIRS, max_size=12))
def test_what_is_served_under_a_hold_resolves(
    former: list[tuple[Key, Resource]], later: list[tuple[Key, Resource]]
) -> None:
    held, wanted = served(former), served(later)
    types = pin(wanted, held)
    for url in (CLUSTER, LISTENER, ROUTE):
        assert types[url].version == held[url].version
    for typeset in types.values():
        for each in typeset:
            for target_url, name in targets(each):
                assert name in types[target_url], f"{each} refers to {name}"
    for url in (ENDPOINT, SECRET):
        for each in types[url]:
            assert each is (wanted[url].get(each.name) or held[url].get(each.name))
    assert version(pin(held, held)) == version(held)


def test_with_unchanged_endpoints_the_version_is_the_one_held() -> None:
    former = [listener("l", "r", "cert"), route("r", "a"), cluster("a"), endpoints("a"), secret("cert")]
    moved = [listener("l", "r", "new"), route("r", "b"), cluster("b"), endpoints("b"), secret("new"), secret("cert")]
    assert version(pin(served([*moved, endpoints("a")]), served(former))) == version(served(former))


def test_endpoints_move_and_secrets_are_renewed() -> None:
    former = served([listener("l", "r", "cert"), route("r", "a"), cluster("a"), endpoints("a"), secret("cert")])
    renewed = resource((SECRET, "cert"), "renewed")
    moved = resource((ENDPOINT, "a"), "moved")
    wanted = served([listener("l", "r", "cert"), route("r", "a"), cluster("a", "other")])
    wanted[SECRET] = Typeset(SECRET, {"cert": renewed})
    wanted[ENDPOINT] = Typeset(ENDPOINT, {"a": moved, "alone": resource((ENDPOINT, "alone"))})
    types = pin(wanted, former)
    assert types[SECRET].get("cert") is renewed
    assert types[ENDPOINT].get("a") is moved
    assert "alone" in types[ENDPOINT], "what no cluster needs flows, too"
    assert types[CLUSTER].get("a") is former[CLUSTER].get("a")


def test_other_types_are_held_too_and_new_ones_do_not_appear() -> None:
    types = pin({EXTENSION: Typeset(EXTENSION, {"x": resource((EXTENSION, "x"))})}, served([]))
    assert len(types[EXTENSION]) == 0
    held = {EXTENSION: Typeset(EXTENSION, {"x": resource((EXTENSION, "x"))})}
    assert "x" in pin(served([]), held)[EXTENSION]


def test_a_held_content_that_was_not_stored_comes_back_with_its_source() -> None:
    known = resource((LISTENER, "l"), "key inside")
    held = {LISTENER: Typeset(LISTENER, {"l": Held("l", LISTENER, known.version)})}
    assert pin({}, held)[LISTENER].unknown == {"l"}
    assert pin({LISTENER: Typeset(LISTENER, {"l": resource((LISTENER, "l"), "new")})}, held)[LISTENER].unknown == {"l"}
    assert pin({LISTENER: Typeset(LISTENER, {"l": known})}, held)[LISTENER].get("l") is known


def test_a_hold_and_its_release_are_publishes_of_their_own() -> None:
    def no_decoder(_document: Declared) -> Resource:
        raise AssertionError

    assembler = Assembler(no_decoder, prune)
    first = Snapshot("g", 1, 0.0, served([cluster("a"), endpoints("a")]))
    second = Snapshot("g", 2, 0.0, served([cluster("b"), endpoints("b")]))
    assembler.restore([second], {})
    hold = Hold(first.version, 1, "op", "why", 5.0)
    held = assembler.hold("g", hold, first, Change("rollback"), 5.0)
    assert (held.seq, held.version, held.held) == (3, first.version, hold)
    released = assembler.hold("g", None, None, Change("release"), 6.0)
    assert (released.seq, released.version, released.held) == (4, second.version, None)


def secret(name: str) -> tuple[Key, Resource]:
    """A secret."""
    return (SECRET, name), resource((SECRET, name))
