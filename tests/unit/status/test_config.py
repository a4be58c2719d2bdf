"""The rows of a node's configuration: each status, and one row for each resource that matters to it."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, strategies as st

from xds_server.snapshot.typeset import Typeset
from xds_server.status.config import ClientStatus, ConfigStatus, OnItsWay, Row, Said, TypeView, newest, rows
from xds_server.wire.resource import Held, Resource
from xds_server.wire.types import CLUSTER, LISTENER


def typeset(**contents: str) -> Typeset:
    return Typeset(CLUSTER, {name: resource(name, mark) for name, mark in contents.items()})


def resource(name: str, mark: str) -> Resource:
    return Resource(name, CLUSTER, mark.encode())


def view(wanted: Typeset, accepted: Typeset, *, names: str = "", wildcard: bool = True) -> TypeView:
    asked = frozenset(names.split())
    return TypeView(
        CLUSTER, lambda name: wildcard or name in asked, wildcard, asked, wanted, accepted, (), {}, None, 5.0
    )


def only(seen: TypeView) -> Row:
    (row,) = rows(seen)
    return row


def statuses(row: Row) -> tuple[ConfigStatus, ClientStatus]:
    return row.status, row.client


def test_what_is_accepted_and_wanted_is_synced() -> None:
    row = only(view(typeset(a="1"), typeset(a="1")))
    assert statuses(row) == (ConfigStatus.SYNCED, ClientStatus.ACKED)
    assert row.sent == row.accepted == resource("a", "1").version
    assert (row.updated, row.said) == (5.0, None)


def test_what_is_wanted_and_not_offered_is_not_sent() -> None:
    assert statuses(only(view(typeset(a="1"), typeset()))) == (ConfigStatus.NOT_SENT, ClientStatus.REQUESTED)
    row = only(view(typeset(a="2"), typeset(a="1")))
    assert statuses(row) == (ConfigStatus.NOT_SENT, ClientStatus.ACKED)
    assert row.sent == row.accepted == resource("a", "1").version


def test_what_is_on_its_way_is_stale() -> None:
    new = resource("a", "2").version
    row = only(replace(view(typeset(a="2"), typeset(a="1")), pending=(OnItsWay({"a": new}),)))
    assert (*statuses(row), row.sent) == (ConfigStatus.STALE, ClientStatus.ACKED, new)
    gone = only(replace(view(typeset(), typeset(a="1")), pending=(OnItsWay({"a": None}),)))
    assert (gone.status, gone.sent) == (ConfigStatus.STALE, None)


def test_what_is_refused_is_an_error_in_the_nodes_words() -> None:
    bad = resource("a", "2").version
    seen = replace(view(typeset(a="2"), typeset(a="1")), refused={"a": bad}, said=Said("no", 7.0))
    row = only(seen)
    assert (*statuses(row), row.sent) == (ConfigStatus.ERROR, ClientStatus.NACKED, bad)
    assert row.said == Said("no", 7.0)
    assert row.refused is not None
    assert row.has is not None


def test_a_name_that_does_not_exist_is_unknown() -> None:
    row = only(view(typeset(), typeset(), names="ghost", wildcard=False))
    assert statuses(row) == (ConfigStatus.UNKNOWN, ClientStatus.DOES_NOT_EXIST)
    assert (row.sent, row.accepted) == (None, None)


def test_a_content_that_only_the_client_knows_has_a_version_and_no_content() -> None:
    held = Typeset(CLUSTER, {"a": Held("a", CLUSTER, "v")})
    assert (only(view(typeset(), held)).accepted, only(view(typeset(), held)).has) == ("v", None)


def test_what_is_not_asked_for_is_not_shown() -> None:
    assert [row.name for row in rows(view(typeset(a="1", b="1"), typeset(a="1"), names="b", wildcard=False))] == ["b"]


def test_of_several_streams_the_last_one_counts_for_each_type() -> None:
    old, new = view(typeset(a="1"), typeset()), view(typeset(a="2"), typeset())
    other = replace(old, type_url=LISTENER)
    assert newest([[old, other], [new]]) == [new, other]


CONTENTS = st.dictionaries(st.sampled_from("abc"), st.sampled_from("12"))


@given(CONTENTS, CONTENTS, st.none() | st.sets(st.sampled_from("abcd")))
def test_a_node_is_in_sync_when_every_row_is(
    wanted: dict[str, str], accepted: dict[str, str], names: set[str] | None
) -> None:
    asked = " ".join(sorted(names or ()))
    seen = view(typeset(**wanted), typeset(**accepted), names=asked, wildcard=names is None)
    found = list(rows(seen))
    assert len({row.name for row in found}) == len(found)
    shown = {name: mark for name, mark in wanted.items() if seen.covers(name)}
    has = {name: mark for name, mark in accepted.items() if seen.covers(name)}
    calm = all(row.status in (ConfigStatus.SYNCED, ConfigStatus.UNKNOWN) for row in found)
    assert calm == (shown == has)
