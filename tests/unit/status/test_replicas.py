"""What other replicas tell: what counts, what does not, and of whom nothing is known."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given, strategies as st

from xds_server.ir.facts import Conclusion, RouteKey, Verdict
from xds_server.status.replicas import Opinions, Replicas, Report, Standing
from xds_server.status.share import NOTHING, Refusal, Share

OURS = "ours"
A, B = "http://a", "http://b"
GROUP = "g"


def share(version: str = "v1", connected: int = 3, acked: int = 3, **more: object) -> Share:
    fields: dict[str, object] = {"envoys": connected, **more}
    return Share(version, connected, acked, **fields)  # type: ignore[arg-type]


def report(
    found: Share | None = None, *, instance: str = "a1", whole: bool = True, seq: int = 1, **more: object
) -> Report:
    shares = {GROUP: found} if found is not None else {}
    return Report(f"replica-{instance[0]}", instance, 1.0, seq, whole, shares, **more)  # type: ignore[arg-type]


class World:
    def __init__(self, *addresses: str) -> None:
        self.replicas = Replicas(OURS)
        self.told: list[frozenset[str] | None] = []
        self.losses = 0
        self.replicas.expect({address: address for address in addresses})
        self.replicas.follow(lambda groups: self.told.append(None if groups is None else frozenset(groups)))
        self.replicas.follow_losses(self.lose)

    def lose(self) -> None:
        self.losses += 1

    def counts(self, version: str = "v1") -> tuple[int, int, int]:
        found = self.replicas.elsewhere(GROUP, version)
        return found.replicas, found.connected, found.acked

    def silent(self) -> list[str]:
        return [name for name, _ in self.replicas.unheard]


def test_who_was_never_heard_is_unheard_and_counts_nothing() -> None:
    world = World(A)
    assert world.silent() == [A]
    assert world.counts() == (0, 0, 0)
    assert world.replicas.is_guess
    world.replicas.take(A, report(share()))
    assert world.silent() == []
    assert world.counts() == (1, 3, 3)
    assert not world.replicas.is_guess


def test_of_another_version_nodes_are_connected_and_have_not_accepted() -> None:
    world = World(A, B)
    world.replicas.take(A, report(share("v1", refusal=Refusal("n", "rds", "r", "no"))))
    world.replicas.take(B, report(share("v2", 2, 1), instance="b1"))
    assert world.counts("v2") == (2, 5, 1)
    found = world.replicas.elsewhere(GROUP, "v2")
    assert found.lagging == ("replica-a",)
    assert found.refusal is None, "what is refused of another version says nothing about this one"
    refused = world.replicas.elsewhere(GROUP, "v1").refusal
    assert refused is not None
    assert str(refused[1]) == "n: rds 'r': no"


def test_what_is_not_heard_any_more_counts_for_quotas_only() -> None:
    world = World(A)
    world.replicas.take(A, report(share()))
    world.replicas.lost(A, "gone")
    assert world.replicas.unheard == (("replica-a", "gone"),)
    assert world.counts() == (0, 0, 0)
    assert world.replicas.envoys(GROUP) == 3
    assert world.losses == 0
    world.replicas.expect({})
    assert world.silent() == []
    assert world.replicas.envoys(GROUP) == 0
    assert world.losses == 1, "its Envoys are on their way"


def test_a_new_process_begins_with_nothing() -> None:
    world = World(A)
    world.replicas.take(A, report(share()))
    world.replicas.take(A, report(None, instance="a2"))
    assert world.counts() == (1, 0, 0)
    assert world.losses == 1


def test_changes_are_told_by_group_and_the_rest_stays() -> None:
    world = World(A)
    world.replicas.take(A, Report("replica-a", "a1", 1.0, 1, whole=True, shares={GROUP: share(), "h": share()}))
    world.told.clear()
    world.replicas.take(A, report(share("v1", 3, 2), whole=False, seq=2))
    assert world.told == [frozenset({GROUP})]
    assert world.counts() == (1, 3, 2)
    assert world.replicas.elsewhere("h", "v1").acked == 3
    world.replicas.take(A, report(NOTHING, whole=False, seq=3))
    assert world.counts() == (1, 0, 0)
    world.replicas.take(A, report(None, whole=False, seq=3))
    assert world.told[2:] == [frozenset()], "an answer without news tells nobody anything"


def test_who_leaves_in_order_is_not_missed() -> None:
    world = World(A)
    world.replicas.take(A, report(share()))
    world.replicas.take(A, report(None, leaving=True, seq=2))
    world.replicas.lost(A, "gone")
    assert world.silent() == []
    assert world.counts() == (0, 0, 0)
    assert world.replicas.envoys(GROUP) == 0
    assert world.losses == 1
    world.replicas.take(A, report(share(), instance="a2"))
    assert world.counts() == (1, 3, 3)


def test_ourselves_and_the_same_process_twice() -> None:
    world = World(A, B, "http://c")
    world.replicas.take(A, report(share(), instance=OURS))
    world.replicas.take(B, report(share(), instance="b1", seq=4))
    world.replicas.take("http://c", report(share("v1", 5, 5), instance="b1", seq=5))
    assert world.counts() == (1, 5, 5)
    assert world.replicas.peers[A].standing is Standing.OURSELVES
    assert world.replicas.names == ["replica-b"]
    assert world.silent() == []


def test_while_it_is_not_known_who_there_is_nothing_is_known() -> None:
    world = World()
    assert world.replicas.is_alone
    world.replicas.unlisted("the API server does not answer")
    assert world.replicas.unheard == (("", "the API server does not answer"),)
    assert world.replicas.is_guess
    assert not world.replicas.is_alone
    world.replicas.unlisted("")
    assert world.silent() == []


def test_who_starts_for_the_first_time_has_no_envoys() -> None:
    world = World(A)
    world.replicas.take(A, report(share()))
    world.told.clear()
    world.replicas.expect({A: A, B: B}, starting=[B])
    assert world.silent() == [], "it has joined, and is not ready"
    world.replicas.lost(B, "refused", is_down=True)
    assert world.silent() == []
    assert not world.replicas.is_guess
    world.replicas.lost(B, "silence")
    assert world.silent() == [B], "something is there"
    world.replicas.lost(B, "refused", is_down=True)
    world.replicas.expect({A: A, B: B})
    assert world.silent() == [B], "it is said to be ready"
    world.replicas.take(B, report(share(), instance="b1"))
    world.replicas.expect({A: A, B: B}, starting=[B])
    world.replicas.lost(B, "refused", is_down=True)
    assert world.silent() == ["replica-b"], "it was there, and its Envoys may be"


def test_at_our_own_start_nobody_is_taken_for_starting() -> None:
    world = World()
    replicas = Replicas(OURS)
    replicas.expect({A: A}, starting=[A])
    assert replicas.unheard
    replicas.lost(A, "refused", is_down=True)
    assert not replicas.unheard
    assert world.silent() == []


def test_an_address_that_is_another_ones_by_now_is_another_one() -> None:
    world = World()
    world.replicas.expect({A: "pod-0"})
    world.replicas.take(A, report(share()))
    world.replicas.expect({A: "pod-0"})
    assert world.counts() == (1, 3, 3)
    world.replicas.expect({A: "pod-7"}, starting=[A])
    world.replicas.lost(A, "refused", is_down=True)
    assert world.counts() == (0, 0, 0)
    assert world.silent() == [], "it starts for the first time"
    assert world.losses == 1
    world.replicas.take(A, report(share(), instance=OURS))
    world.replicas.expect({A: "pod-7"})
    assert world.replicas.peers[A].standing is Standing.OURSELVES


STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("take"), st.sampled_from([A, B]), st.sampled_from(["a1", "a2", "b1", OURS]), st.integers(0, 3)
        ),
        st.tuples(st.just("lost"), st.sampled_from([A, B])),
        st.tuples(st.just("expect"), st.sets(st.sampled_from([A, B]))),
    ),
    max_size=20,
)


@given(STEPS)
def test_each_address_is_heard_unheard_left_or_our_own(steps: list[tuple[object, ...]]) -> None:
    world = World(A)
    for step in steps:
        match step:
            case ("take", str(address), str(instance), int(nodes)):
                world.replicas.take(address, report(share("v1", nodes, nodes), instance=instance))
            case ("lost", str(address)):
                world.replicas.lost(address, "gone")
            case ("expect", set(addresses)):
                world.replicas.expect({str(each): str(each) for each in addresses})
        heard, connected, acked = world.counts()
        standing = [peer.standing for peer in world.replicas.peers.values()]
        assert len(world.silent()) == standing.count(Standing.UNHEARD)
        assert heard <= standing.count(Standing.HEARD)
        assert connected == acked <= world.replicas.envoys(GROUP)


ROUTE, OTHER = RouteKey("shop", "edge", "orders"), RouteKey("shop", "edge", "other")
OVER, NORMAL = Conclusion(Verdict.OVER, 5.0, was_over=True), Conclusion(Verdict.NORMAL, 0.0, was_over=False)


class Guided(World):
    """One that began at 10.0 and goes by others."""

    def __init__(self, *addresses: str) -> None:
        super().__init__()
        self.replicas = Replicas(OURS, 10.0)
        self.knows = True
        self.goes_by: list[dict[RouteKey, Conclusion | None]] = []
        self.replicas.guide(lambda changes: self.goes_by.append(dict(changes)), lambda _route: self.knows)
        self.replicas.expect({address: address for address in addresses})

    def says(self, address: str, started: float, seq: int = 1, **opinions: Conclusion | None) -> None:
        found = {RouteKey("shop", "edge", name): each for name, each in opinions.items()}
        instance = f"{address[-1]}1"
        self.replicas.take(address, Report(instance, instance, started, seq, seq == 1, {}, found))


def test_all_go_by_the_one_that_has_run_longest() -> None:
    world = Guided(A, B)
    world.says(B, 11.0, orders=OVER)
    assert world.goes_by == [], "it is younger"
    world.says(A, 9.0, orders=NORMAL, other=OVER)
    assert world.goes_by == [{ROUTE: NORMAL, OTHER: OVER}]
    world.says(A, 9.0, 2, orders=OVER)
    assert world.goes_by[1:] == [{ROUTE: OVER}]
    world.says(A, 9.0, 3, other=None)
    assert world.goes_by[2:] == [{OTHER: None}]
    world.replicas.lost(A, "gone")
    assert world.goes_by[3:] == [{ROUTE: None}]


def test_who_does_not_know_goes_by_a_younger_one_that_does() -> None:
    world = Guided(A, B)
    world.knows = False
    world.says(B, 11.0, orders=OVER)
    assert world.goes_by == [{ROUTE: OVER}]
    world.knows = True
    world.replicas.reconsider([ROUTE])
    assert world.goes_by[1:] == [{ROUTE: None}]


def test_of_a_new_process_nothing_of_the_one_before_is_gone_by() -> None:
    world = Guided(A)
    world.says(A, 9.0, orders=OVER)
    world.replicas.take(A, Report("a2", "a2", 12.0, 1, whole=True, shares={}))
    assert world.goes_by == [{ROUTE: OVER}, {ROUTE: None}]


def _opined(age: int, seq: int, told: Opinions) -> Report:
    return Report(str(age), f"i{age}", float(age), seq, whole=True, shares={}, opinions=told)


@given(st.lists(st.integers(0, 3), min_size=2, max_size=4, unique=True), st.data())
def test_all_come_to_the_same(ages: list[int], data: st.DataObject) -> None:
    """Whoever knows the value says what it goes by; told often enough, all go by one of those who know it."""
    own = {age: data.draw(st.sampled_from([OVER, NORMAL, None]), f"seen by {age}") for age in ages}
    now: dict[int, Conclusion | None] = dict(own)

    def take(age: int) -> Callable[[Opinions], None]:
        return lambda changes: now.update({age: changes[ROUTE] or own[age]})

    made = {age: Replicas(f"i{age}", float(age)) for age in ages}
    for age, replicas in made.items():
        replicas.guide(take(age), lambda _route, age=age: own[age] is not None)  # type: ignore[misc]
        replicas.expect({f"http://{other}": str(other) for other in ages if other != age})
    for seq in range(1, len(ages) + 3):
        for age in ages:
            told = {ROUTE: now[age]} if own[age] is not None else {}
            for other in ages:
                if other != age:
                    made[other].take(f"http://{age}", _opined(age, seq, told))
    knowing = [age for age in ages if own[age] is not None]
    expected = own[min(knowing)] if knowing else None
    assert set(now.values()) == {expected}
