"""When a changed file may be read: single rules, and a random writer against a random observer."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hypothesis import given, settings, strategies as st

from xds_server.sources.files.scan import Signature
from xds_server.sources.files.settle import Heard, Settle, Step

QUIET = 0.5
WALL = 1_000_000.0
"""Files are dated by another clock than the one that runs here."""


def file(
    inode: int = 1, *, at: float = -100.0, size: int = 10, link: str = "", touched: float | None = None, mode: int = 0
) -> Signature:
    """A file written last at a time of the test's clock."""
    ctime = at if touched is None else touched
    return Signature(1, inode, size, _ns(at), mode, 0, link, _ns(ctime))


def _ns(at: float) -> int:
    return round((WALL + at) * 1e9)


@dataclass
class Watched:
    """A settle with one file that has been read at time 0."""

    settle: Settle = field(default_factory=lambda: Settle(QUIET))

    def __post_init__(self) -> None:
        assert self.look(0.0, file()).read == ("a",)

    def look(
        self, now: float, seen: Signature | None, heard: Heard | None = None, closed: tuple[str, ...] = ()
    ) -> Step:
        return self.settle.look(now, WALL + now, {} if seen is None else {"a": seen}, heard, closed)


def test_what_is_old_at_the_start_is_read_at_once_and_what_is_young_waits() -> None:
    settle = Settle(QUIET)
    step = settle.look(0.0, WALL, {"old": file(1), "young": file(2, at=-0.1), "future": file(3, at=9.0)})
    assert step == Step(("old",), (), QUIET)
    files = {"old": file(1), "young": file(2, at=-0.1), "future": file(3, at=9.0)}
    assert settle.look(0.3, WALL + 0.3, files).read == ()
    assert settle.look(0.4, WALL + 0.4, files).read == ("young",)
    assert settle.look(0.5, WALL + 0.5, files) == Step(("future",), (), None)


def test_nothing_happens_when_nothing_changes() -> None:
    watched = Watched()
    assert watched.look(1.0, file()) == Step()
    assert watched.look(2.0, replace(file(), ctime_ns=5)) == Step()


def test_a_write_in_place_waits_for_quiet_counted_from_the_last_change() -> None:
    watched = Watched()
    assert watched.look(1.0, file(at=1.0, size=1)) == Step((), (), 0.5)
    assert watched.look(1.4, file(at=1.4, size=2)) == Step((), (), 0.5)
    assert watched.look(1.8, file(at=1.4, size=2)).read == ()
    assert watched.look(1.9, file(at=1.4, size=2)).read == ("a",)


def test_a_write_in_place_waits_even_when_its_times_are_old() -> None:
    assert Watched().look(1.0, file(at=-50.0, size=1)).read == ()


def test_a_file_that_is_as_it_was_waits_no_more() -> None:
    watched = Watched()
    assert watched.look(1.0, file(at=1.0)).wait == QUIET
    assert watched.look(1.1, file()) == Step()


def test_a_rename_that_was_heard_is_read_at_once() -> None:
    assert Watched().look(1.0, file(2, at=1.0), Heard(frozenset("a"))).read == ("a",)


def test_a_rename_that_is_heard_later_is_read_then() -> None:
    watched = Watched()
    assert watched.look(1.0, file(2, at=1.0)).read == ()
    assert watched.look(1.1, file(2, at=1.0), Heard(frozenset("a"))).read == ("a",)


def test_a_file_created_again_waits_whatever_is_heard_when() -> None:
    watched = Watched()
    assert watched.look(1.0, file(2, at=1.0), Heard(frozenset("a"), frozenset("a"))).read == ()
    watched = Watched()
    assert watched.look(1.0, file(2, at=1.0), Heard(deleted=frozenset("a"))).read == ()
    assert watched.look(1.1, file(2, at=1.0), Heard(added=frozenset("a"))).read == ()
    watched = Watched()
    assert watched.look(1.0, None) == Step((), (), QUIET)
    assert watched.look(1.1, file(2, at=1.1), Heard(added=frozenset("a"))).read == ()
    assert watched.look(1.6, file(2, at=1.1)).read == ("a",)


def test_another_inode_touched_after_its_last_write_is_read_at_once() -> None:
    assert Watched().look(1.0, file(2, at=0.9, touched=1.0)).read == ("a",)


def test_another_inode_that_is_old_is_read_at_once() -> None:
    assert Watched().look(1.0, file(2, at=-5.0)).read == ("a",)


def test_a_new_file_whose_draft_vanished_as_it_appeared_is_read_at_once() -> None:
    for draft in (".sub/a.tmp", "sub/.a.yaml.Xy12", "sub/a.yaml.new", "sub/a.yaml~", "sub/.a.yaml.swp"):
        settle = Settle(QUIET)
        settle.look(0.0, WALL, {})
        heard = Heard(frozenset({"sub/a.yaml"}), frozenset({draft}))
        is_draft = draft.startswith("sub/")
        read = settle.look(1.0, WALL + 1.0, {"sub/a.yaml": file(at=1.0)}, heard).read
        assert read == (("sub/a.yaml",) if is_draft else ()), draft


def test_what_vanished_elsewhere_or_is_called_otherwise_was_no_draft() -> None:
    for other in ("sub/b.yaml", "sub/data.yaml", "sub/.data.yaml.tmp", "a.yaml.tmp", "sub/x/.a.yaml.tmp", "sub/a.yaml"):
        settle = Settle(QUIET)
        settle.look(0.0, WALL, {})
        heard = Heard(frozenset({"sub/a.yaml"}), frozenset({other}))
        assert settle.look(1.0, WALL + 1.0, {"sub/a.yaml": file(at=1.0)}, heard).read == (), other


def test_a_new_file_that_is_replaced_again_and_again_is_read() -> None:
    settle = Settle(QUIET)
    settle.look(0.0, WALL, {})
    added = Heard(frozenset("a"))
    assert settle.look(1.0, WALL + 1.0, {"a": file(1, at=1.0)}, added).read == ()
    for step in range(2, 9):
        now = 1.0 + step * 0.3
        assert settle.look(now, WALL + now, {"a": file(step, at=now)}, added).read == ("a",)


def test_a_new_file_that_is_created_anew_waits() -> None:
    settle = Settle(QUIET)
    settle.look(0.0, WALL, {})
    assert settle.look(1.0, WALL + 1.0, {"a": file(1, at=1.0)}, Heard(frozenset("a"))).read == ()
    again = Heard(frozenset("a"), frozenset("a"))
    assert settle.look(1.1, WALL + 1.1, {"a": file(2, at=1.1)}, again).read == ()


def test_what_is_heard_of_names_that_are_not_there_is_not_kept() -> None:
    watched = Watched()
    for number in range(100):
        names = frozenset({f".draft{number}", f"gone{number}"})
        watched.look(1.0 + number, file(), Heard(names, names))
    kept = watched.settle._added | watched.settle._deleted | set(watched.settle._drafts)
    assert len(kept) <= 2


def test_an_empty_file_never_counts_as_whole() -> None:
    watched = Watched()
    assert watched.look(1.0, file(2, at=0.9, touched=1.0, size=0), Heard(frozenset("a"))).read == ()
    assert watched.look(1.5, file(2, at=0.9, touched=1.0, size=0)).read == ("a",)


def test_links_that_lead_elsewhere_are_read_at_once() -> None:
    watched = Watched()
    assert watched.look(1.0, file(2, at=1.0, link="/1/a")).read == ("a",)
    assert watched.look(1.1, file(3, at=1.1, link="/2/a")).read == ("a",)
    assert watched.look(1.2, file(3, at=1.2, link="/2/a")).read == ()


def test_changed_rights_are_read_at_once() -> None:
    assert Watched().look(1.0, file(mode=0o600)).read == ("a",)


def test_a_deleted_file_is_forgotten_after_quiet() -> None:
    watched = Watched()
    assert watched.look(1.0, None) == Step((), (), QUIET)
    assert watched.look(1.5, None) == Step((), ("a",), None)
    assert watched.look(1.6, None) == Step()


def test_a_renamed_file_is_forgotten_with_its_new_name() -> None:
    watched = Watched()
    step = watched.settle.look(1.0, WALL + 1.0, {"b": replace(file(), ctime_ns=_ns(1.0))})
    assert step == Step(("b",), ("a",), None)


def test_what_lies_in_a_closed_directory_stays() -> None:
    settle = Settle(QUIET)
    settle.look(0.0, WALL, {"sub/a": file()})
    assert settle.look(9.0, WALL + 9.0, {}, closed=("sub",)) == Step()
    assert settle.look(19.0, WALL + 19.0, {}, closed=("su",)).wait == QUIET


def test_a_file_that_could_not_be_read_is_due_again() -> None:
    watched = Watched()
    seen = file(2, at=1.0, touched=1.1)
    assert watched.look(1.1, seen).read == ("a",)
    watched.settle.again("a")
    assert watched.look(1.2, seen).read == ("a",)
    assert watched.look(1.3, seen).read == ()


ACTIONS = st.lists(
    st.tuples(st.sampled_from(["piece", "rename", "delete", "create", "look", "hear"]), st.floats(0.0, 0.7)),
    max_size=40,
)


@given(ACTIONS, st.booleans())
@settings(max_examples=500)
def test_a_half_written_file_is_never_read(actions: list[tuple[str, float]], may_hear: bool) -> None:  # noqa: FBT001
    """Pieces of one text come less than the quiet apart; whatever is read must be whole."""
    world = _World(may_hear=may_hear)
    for action, pause in actions:
        world.step(action, pause)
    world.finish()


@dataclass
class _World:
    """One file, its writers, and a settle that looks now and then; notifications come in order but late."""

    may_hear: bool
    now: float = 0.0
    written: float = 0.0
    inode: int = 1
    seen: Signature | None = None
    is_whole: bool = True
    heard: list[tuple[str, str]] = field(default_factory=list)
    watched: Watched = field(default_factory=Watched)
    read: Signature | None = None

    def __post_init__(self) -> None:
        self.seen = self.read = file()

    def step(self, action: str, pause: float) -> None:
        # A writer that pauses for as long as the time to settle is done, for all that anyone can tell.
        self.now = self.now + pause if self.is_whole else min(self.now + pause, self.written + QUIET * 0.9)
        if action == "look":
            self.look()
        elif action == "hear":
            self.look(self.take(1))
        elif action == "rename":
            self.rename()
        elif action == "delete":
            self.delete()
        elif action == "piece" and self.seen is not None:
            if self.is_whole and self.read != self.seen:
                return  # nobody can tell a rename from a rename that is written into before anyone looks
            self.write(self.seen.inode, self.seen.size + 1, is_whole=not self.is_whole)
        elif self.seen is None:
            self.heard.append(("added", "a"))
            self.inode += 1
            self.write(self.inode, 0, is_whole=False)

    def rename(self) -> None:
        self.inode += 1
        self.heard += [("deleted", ".a.tmp"), ("added", "a")]
        self.write(self.inode, 7, is_whole=True)

    def delete(self) -> None:
        if self.seen is not None:
            self.heard.append(("deleted", "a"))
            self.seen, self.is_whole = None, True

    def write(self, inode: int, size: int, *, is_whole: bool) -> None:
        self.seen, self.is_whole, self.written = file(inode, at=self.now, size=size), is_whole, self.now
        if not is_whole:
            self.look()

    def take(self, count: int) -> Heard | None:
        if not self.may_hear:
            return None
        told, self.heard = self.heard[:count], self.heard[count:]
        names = {kind: frozenset(name for each, name in told if each == kind) for kind in ("added", "deleted")}
        return Heard(**names)

    def look(self, heard: Heard | None = None) -> None:
        step = self.watched.look(self.now, self.seen, heard)
        if step.read:
            assert self.is_whole
            self.read = self.seen
        if step.removed:
            assert self.seen is None
            self.read = None

    def finish(self) -> None:
        self.is_whole = True
        for _ in range(2):
            self.now += QUIET * 1.01
            self.look()
        assert self.read == self.seen
