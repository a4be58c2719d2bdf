"""Identities: which entry fits which proof, and which groups it opens."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tests.support.tokens import jwt
from xds_server.credentials.reviewed import ReviewedTokens
from xds_server.credentials.watched import Credentials
from xds_server.settings.xds import Auth, Client
from xds_server.status.audit import Audit
from xds_server.status.events import EventBus
from xds_server.stream.admission import DeniedError, admit
from xds_server.stream.auth import Authenticator, Identity, Proof
from xds_server.stream.turned_away import TurnedAway
from xds_server.telemetry import names
from xds_server.telemetry.metrics import Metrics
from xds_server.wire.grouping import Grouping, Rule
from xds_server.wire.node import NodeInfo

SPIFFE = "spiffe://example.org/a"


def _authenticator(*clients: Client) -> Authenticator:
    return Authenticator(Auth(clients=clients), Credentials())


@pytest.fixture
def token(tmp_path: Path) -> Path:
    path = tmp_path / "a.token"
    path.write_text("right\n")
    return path


def test_without_clients_everybody_is_let_in_and_shown_as_what_it_proved() -> None:
    for auth in (None, Auth(), Auth.model_validate({"token_review": {"audience": "x"}})):
        found = Authenticator(auth, Credentials())
        assert found.identify(Proof()) == Identity("")
        assert found.identify(Proof(SPIFFE, "CN=a")) == Identity(SPIFFE)
        assert found.identify(Proof("", "CN=a")) == Identity("CN=a")


def test_a_list_without_entries_lets_nobody_in() -> None:
    assert _authenticator().identify(Proof(SPIFFE, "CN=a", "right")) is None


def test_each_way_to_be_known(token: Path) -> None:
    asks = _authenticator(
        Client(spiffe=SPIFFE, groups=("a",)), Client(subject="CN=b", groups=("b",)), Client(token_file=token)
    )
    assert asks.identify(Proof(SPIFFE, "CN=x")) == Identity(SPIFFE, ("a",))
    assert asks.identify(Proof("", "CN=b")) == Identity("CN=b", ("b",))
    assert asks.identify(Proof(token="right")) == Identity("token a.token", ())
    for wrong in (Proof(), Proof(SPIFFE + "/b"), Proof("", "CN=bb"), Proof(token="wrong"), Proof(token="right\n")):
        assert asks.identify(wrong) is None


def test_all_that_an_entry_names_must_fit(token: Path) -> None:
    both = _authenticator(Client(spiffe=SPIFFE, token_file=token, groups=("a",)))
    assert both.identify(Proof(SPIFFE, "", "right")) == Identity(SPIFFE, ("a",))
    assert both.identify(Proof(SPIFFE)) is None
    assert both.identify(Proof("", "", "right")) is None


def test_the_first_entry_that_fits_counts() -> None:
    asks = _authenticator(Client(spiffe=SPIFFE, groups=("a",)), Client(spiffe=SPIFFE, groups=("b",)))
    assert asks.identify(Proof(SPIFFE)) == Identity(SPIFFE, ("a",))


def test_groups_are_names_or_patterns() -> None:
    caller = Identity("x", ("a", "team-*"))
    assert [caller.may_have(group) for group in ("a", "team-1", "b", "A", "aa", "")] == [True, True, *[False] * 4]
    assert not Identity("x", ()).may_have("default")
    assert Identity("x").may_have("anything")


def test_a_node_is_admitted_by_the_group_that_the_rules_give_it() -> None:
    raw = b"\x0a\x03b-1\x12\x01b"  # id b-1, cluster b
    caller = Identity("token t", ("a",))
    with pytest.raises(DeniedError, match=r"node 'b-1' is of group 'b'; token t may be given: a \(xds.auth.clients\)"):
        admit(raw, Grouping(), caller)
    assert admit(raw, Grouping([Rule("a", id="b-*")]), caller).group == "a"


def test_a_proof_does_not_show_its_token() -> None:
    assert "right" not in repr(Proof(token="right"))


def test_who_is_turned_away_again_and_again_is_counted_each_time_and_told_once() -> None:
    metrics = Metrics()
    audit = Audit(EventBus(time.time), time.time)
    told = TurnedAway(metrics, audit)
    error = DeniedError(NodeInfo("b-1", "b", "b" * 10_000, ""), Identity("token t", ("a",)))
    with capture_logs() as logs:
        for port in range(5):
            told.denied(f"ipv4:127.0.0.1:{port}", error)
            told.unknown(f"ipv4:127.0.0.1:{port}")
        told.unknown("ipv4:127.0.0.2:1")
    assert [line["event"] for line in logs] == ["xds_denied", "xds_unauthenticated", "xds_unauthenticated"]
    (entry,) = audit.page(None, 10)[0]
    assert (entry.action, entry.actor, entry.target) == ("denied", "token t", "b" * 200)
    assert "may be given: a" in entry.reason
    assert len(entry.reason) < 400
    counted = dict(metrics._counters[names.REQUESTS_REJECTED].read())
    assert counted == {("denied",): 5, ("unauthenticated",): 6}


ACCOUNT = "system:serviceaccount:edge:a"


def test_the_subject_of_a_certificate_is_no_account_and_an_account_is_no_certificate() -> None:
    auth = Auth.model_validate(
        {
            "clients": [{"subject": ACCOUNT, "groups": ["a"]}, {"subject": "CN=b", "groups": ["b"]}],
            "token_review": {"audience": "tidegate"},
        }
    )
    asks = Authenticator(auth, Credentials())
    assert asks.identify(Proof(subject=ACCOUNT, token="t")) is None
    assert asks.identify(Proof(account="CN=b")) is None
    assert asks.identify(Proof(account=ACCOUNT)) == Identity(ACCOUNT, ("a",))
    assert asks.identify(Proof(subject="CN=b", account=ACCOUNT)) == Identity(ACCOUNT, ("a",)), "the first that fits"
    assert "ServiceAccount" in asks.demand


async def test_tokens_that_a_file_holds_are_not_asked_about(token: Path) -> None:
    asked: list[str] = []

    async def review(shown: str, _audience: str) -> str | None:
        asked.append(shown)
        return ACCOUNT

    clients = ({"token_file": str(token), "groups": ["f"]}, {"subject": ACCOUNT, "groups": ["a"]})
    auth = Auth.model_validate({"clients": clients, "token_review": {"audience": "tidegate"}})
    asks = Authenticator(auth, Credentials(), ReviewedTokens(review, "tidegate"))
    assert await asks.reviewed(Proof(token="right")) == Proof(token="right")
    assert await asks.reviewed(Proof()) == Proof()
    assert asked == []
    shown = jwt(audience="tidegate")
    assert await asks.reviewed(Proof(token=shown)) == Proof(token=shown, account=ACCOUNT)
    assert asked == [shown]
    without = Authenticator(
        Auth.model_validate({"clients": clients[:1], "token_review": {"audience": "tidegate"}}),
        Credentials(),
        ReviewedTokens(review, "tidegate"),
    )
    assert await without.reviewed(Proof(token=shown)) == Proof(token=shown), "nobody could be known by it"
