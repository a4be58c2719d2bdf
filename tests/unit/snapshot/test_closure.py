"""The closure: what is served resolves, nothing good is lost, one bad object holds back nobody."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

import pytest
from hypothesis import given, settings, strategies as st

from xds_server.ir.refs import Refs
from xds_server.snapshot.closure import Closure, Key, targets
from xds_server.wire.resource import Resource
from xds_server.wire.types import CLUSTER, ENDPOINT, LISTENER, ROUTE, SECRET


def resource(key: Key, content: str = "", **refs: str) -> Resource:
    """A resource whose references are given as words: `clusters="a b"`."""
    named = {kind: frozenset(names.split()) for kind, names in refs.items()}
    return Resource(key[1], key[0], f"{content}{sorted(named.items())}".encode(), Refs(**named))


def prune(route: Resource, missing: AbstractSet[str]) -> tuple[Resource | None, list[str]]:
    """As the real one: what is left of a route configuration without the missing clusters."""
    left = route.refs.clusters - missing
    if not left:
        return None, ["nothing is left"]
    return resource((ROUTE, route.name), "pruned", clusters=" ".join(sorted(left))), [f"without {sorted(missing)}"]


def cluster(name: str, content: str = "") -> tuple[Key, Resource]:
    """A cluster with an assignment of its own name."""
    return (CLUSTER, name), resource((CLUSTER, name), content, assignments=name)


def endpoints(name: str) -> tuple[Key, Resource]:
    """The assignment of that name."""
    return (ENDPOINT, name), resource((ENDPOINT, name))


def route(name: str, clusters: str) -> tuple[Key, Resource]:
    """A route configuration to these clusters."""
    return (ROUTE, name), resource((ROUTE, name), clusters=clusters)


def listener(name: str, routes: str, secrets: str = "") -> tuple[Key, Resource]:
    """A listener of these route configurations and secrets."""
    return (LISTENER, name), resource((LISTENER, name), routes=routes, secrets=secrets)


class World:
    """A closure and what is served of it so far."""

    def __init__(self) -> None:
        self.closure = Closure(prune)
        self.served: dict[Key, Resource] = {}

    def declare(self, *pairs: tuple[Key, Resource | None]) -> set[str]:
        """Declare and return the names served after it, as `kind:name`."""
        for key, new in self.closure.update(dict(pairs)).items():
            if new is None:
                del self.served[key]
            else:
                self.served[key] = new
        for key, served in self.served.items():
            for target in targets(served):
                assert target in self.served, f"{key} refers to {target}, which is not served"
        return {f"{url.rpartition('.')[2]}:{name}" for url, name in self.served}

    def reasons(self) -> dict[str, str]:
        """The reasons of what is left out, by name."""
        return {key[1]: each.reason for key, each in self.closure.left_out.items()}


def test_everything_that_resolves_is_served() -> None:
    world = World()
    served = world.declare(listener("l", "r"), route("r", "a"), cluster("a"), endpoints("a"))
    assert served == {"Listener:l", "RouteConfiguration:r", "Cluster:a", "ClusterLoadAssignment:a"}
    assert not world.reasons()


def test_a_cluster_without_assignment_is_withheld_and_its_siblings_served() -> None:
    world = World()
    served = world.declare(cluster("a"), cluster("ghost"), endpoints("a"))
    assert served == {"Cluster:a", "ClusterLoadAssignment:a"}
    assert world.reasons() == {"ghost": "NoAssignment"}
    assert "Cluster:ghost" in world.declare(endpoints("ghost"))
    assert not world.reasons()


def test_a_route_to_a_withheld_cluster_keeps_its_other_routes() -> None:
    world = World()
    served = world.declare(listener("l", "r"), route("r", "a ghost"), cluster("a"), endpoints("a"), cluster("ghost"))
    assert {"Listener:l", "RouteConfiguration:r"} <= served
    assert world.served[ROUTE, "r"].refs.clusters == {"a"}
    assert world.reasons() == {"ghost": "NoAssignment", "r": "NoCluster"}
    world.declare(endpoints("ghost"))
    assert world.served[ROUTE, "r"].refs.clusters == {"a", "ghost"}
    assert not world.reasons()


def test_a_route_configuration_without_any_resolving_route_is_left_out_with_its_listener() -> None:
    world = World()
    assert world.declare(listener("l", "r"), route("r", "ghost")) == set()
    assert world.reasons() == {"r": "NoCluster", "l": "NoRoute"}


def test_the_last_good_content_stays_when_the_next_does_not_resolve() -> None:
    world = World()
    good = route("r", "a")
    world.declare(listener("l", "r"), good, cluster("a"), endpoints("a"))
    world.declare(route("r", "a ghost"))
    assert world.served[ROUTE, "r"] is good[1]
    assert world.reasons() == {"r": "NoCluster"}


def test_what_is_declared_no_more_stays_while_somebody_refers_to_it() -> None:
    world = World()
    before = world.declare(listener("l", "r"), route("r", "a"), cluster("a"), endpoints("a"))
    gone: list[tuple[Key, Resource | None]] = [((CLUSTER, "a"), None), ((ENDPOINT, "a"), None)]
    assert world.declare(*gone) == before
    assert world.reasons() == {"a": "StillReferenced"}
    assert world.declare(route("r", "b"), cluster("b"), endpoints("b")) == {
        "Listener:l",
        "RouteConfiguration:r",
        "Cluster:b",
        "ClusterLoadAssignment:b",
    }
    assert not world.reasons()


def test_the_last_good_content_brings_back_what_it_needs() -> None:
    world = World()
    world.declare(route("r", "a"), cluster("a"), endpoints("a"))
    served = world.declare(((CLUSTER, "a"), None), ((ENDPOINT, "a"), None), route("r", "ghost"))
    assert served == {"RouteConfiguration:r", "Cluster:a", "ClusterLoadAssignment:a"}
    assert world.served[ROUTE, "r"].refs.clusters == {"a"}
    assert world.reasons() == {"r": "NoCluster", "a": "StillReferenced"}


def test_a_kept_content_is_protected_against_the_next_deletion() -> None:
    """The references of a last good content count, not only those of the declared one."""
    world = World()
    world.declare(route("r", "a"), cluster("a"), endpoints("a"))
    world.declare(route("r", "ghost"))
    assert "Cluster:a" in world.declare(((CLUSTER, "a"), None))


def test_a_missing_secret_holds_back_its_listener_only() -> None:
    world = World()
    world.declare(route("r", "a"), cluster("a"), endpoints("a"), listener("tls", "r", "cert"), listener("plain", "r"))
    assert (LISTENER, "plain") in world.served
    assert world.reasons() == {"tls": "NoSecret"}
    assert "Listener:tls" in world.declare(((SECRET, "cert"), resource((SECRET, "cert"))))


def test_the_messages_name_the_true_cause_and_follow_it() -> None:
    world = World()
    world.declare(listener("l", "r"), route("r", "a"), cluster("a"), endpoints("a"))
    world.declare(route("r", "b"))
    assert "cluster 'b', which is not declared" in world.closure.left_out[ROUTE, "r"].message
    world.declare(((CLUSTER, "b"), resource((CLUSTER, "b"), assignments="b", secrets="none")), endpoints("b"))
    assert "cluster 'b', which is left out (NoSecret)" in world.closure.left_out[ROUTE, "r"].message
    world.declare(((CLUSTER, "a"), None), ((ENDPOINT, "a"), None))
    assert "but route configuration 'r' still refers" in world.closure.left_out[CLUSTER, "a"].message
    assert "but cluster 'a' still refers" in world.closure.left_out[ENDPOINT, "a"].message


NAMES = st.sampled_from("abc")
CHANGES = st.one_of(
    st.builds(lambda name: ((SECRET, name), resource((SECRET, name))), NAMES),
    st.builds(endpoints, NAMES),
    st.builds(cluster, NAMES, st.sampled_from(["", "other"])),
    st.builds(lambda name, to: route(name, " ".join(to)), NAMES, st.sets(NAMES)),
    st.builds(listener, NAMES, NAMES, st.sampled_from(["", "a"])),
    st.tuples(st.tuples(st.sampled_from([SECRET, ENDPOINT, CLUSTER, ROUTE, LISTENER]), NAMES), st.none()),
)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.lists(CHANGES, max_size=6), max_size=8))
def test_any_history_leaves_a_closed_set_and_misses_nothing(history: list[list[tuple[Key, Resource | None]]]) -> None:
    world = World()
    declared: dict[Key, Resource | None] = {}
    for step in history:
        declared.update(step)
        world.declare(*step)
    for key, wanted in declared.items():
        served = world.served.get(key)
        if wanted is not None and all(target in world.served for target in targets(wanted)):
            assert served is wanted, f"{key} resolves but is not served as declared"
        if served is not wanted:
            assert key in world.closure.left_out, f"{key} is not served as declared, and nobody is told"
    for key in world.closure.left_out:
        assert declared.get(key) is not world.served.get(key) or declared.get(key) is None, f"{key} is served"


@pytest.mark.parametrize("size", [10, 1000])
def test_the_work_of_an_update_does_not_grow_with_what_exists(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.declare(*(pair for number in range(size) for pair in (cluster(f"c{number}"), endpoints(f"c{number}"))))
    decided: list[Key] = []
    decide = Closure._decide

    def note(closure: Closure, key: Key) -> None:
        decided.append(key)
        decide(closure, key)

    monkeypatch.setattr(Closure, "_decide", note)
    world.closure.update({(ENDPOINT, "c1"): resource((ENDPOINT, "c1"), "moved")})
    assert decided == [(ENDPOINT, "c1")]
