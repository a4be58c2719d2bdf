"""Logins, certificates and rights: what works, and what is said where it does not."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from observers.kafka_lag.options import ClusterOptions, Security
from tests.kafka.broker import USERS, Kafka
from tests.support.certificates import Authority
from tests.support.kafka_data import commit, produce
from tests.support.lag_watch import FAST, watching
from xds_server.ir.facts import LagQuery, Observation

ORDERS = LagQuery("default", "orders-consumer", ("orders",))
EVERY = LagQuery("default", "orders-consumer")
CALM = replace(FAST, timeout=3.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certificates: `ca.pem` has signed the broker's; `other.pem` has not."""
    folder = tmp_path_factory.mktemp("tls")
    authority = Authority()
    pair = authority.issue("localhost", ips=["127.0.0.1"])
    (folder / "broker.pem").write_text(pair.key + pair.certificate)
    (folder / "ca.pem").write_text(authority.certificate)
    (folder / "other.pem").write_text(Authority("other").certificate)
    (folder / "password").write_text(USERS["sampler"] + "\n")
    return folder


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> Iterator[Kafka]:
    """A broker with logins, and a lag of 600."""
    broker = Kafka(tmp_path_factory.mktemp("secure"), secure=True, tls=folder / "broker.pem")
    broker.start()
    asyncio.run(seed(broker))
    yield broker
    broker.stop()


async def seed(kafka: Kafka) -> None:
    client = AIOKafkaAdminClient(bootstrap_servers=kafka.address())
    await client.start()
    await client.create_topics([NewTopic("orders", 3, 1)])
    await client.close()
    await asyncio.sleep(1)
    await produce(kafka.address(), {("orders", 0): 400, ("orders", 1): 300, ("orders", 2): 300})
    await commit(kafka.address(), "orders-consumer", {("orders", 0): 400, ("orders", 1): 0, ("orders", 2): 0})


def cluster(kafka: Kafka, listener: str, login: Security) -> ClusterOptions:
    return ClusterOptions((("127.0.0.1", kafka.ports[listener]),), login)


async def first(kafka: Kafka, listener: str, login: Security, query: LagQuery = ORDERS) -> Observation:
    async with watching({"default": cluster(kafka, listener, login)}, [query], CALM) as watcher:
        return await watcher.until(query, lambda each: each.state not in ("not sampled yet", "refused"))


@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
async def test_every_mechanism_with_and_without_tls(kafka: Kafka, folder: Path, protocol: str, mechanism: str) -> None:
    ca = folder / "ca.pem" if protocol == "SASL_SSL" else None
    login = Security(protocol, mechanism, "sampler", password_file=folder / "password", ca=ca)
    found = await first(kafka, protocol, login)
    assert (found.value, found.state) == (600, "ok")


async def test_tls_alone(kafka: Kafka, folder: Path) -> None:
    found = await first(kafka, "SSL", Security("SSL", ca=folder / "ca.pem"))
    assert (found.value, found.state) == (600, "ok")


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
async def test_wrong_password_is_told_as_such(kafka: Kafka, folder: Path, mechanism: str) -> None:
    login = Security("SASL_SSL", mechanism, "sampler", "wrong", ca=folder / "ca.pem")
    found = await first(kafka, "SASL_SSL", login)
    assert found.value is None
    assert found.state == "login"
    assert "uthentication failed" in str(found.unknown)
    assert "wrong" not in str(found.unknown)


async def test_certificate_of_an_unknown_authority_is_told_as_such(kafka: Kafka, folder: Path) -> None:
    found = await first(kafka, "SSL", Security("SSL", ca=folder / "other.pem"))
    assert (found.value, found.state) == (None, "login")
    assert "the broker's certificate is refused: " in str(found.unknown)


@pytest.mark.parametrize(
    ("listener", "login"),
    [
        ("SSL", Security()),
        ("SASL_PLAINTEXT", Security()),
        ("PLAINTEXT", Security("SSL")),
    ],
    ids=["plain to TLS", "plain to SASL", "TLS to plain"],
)
async def test_wrong_protocol_for_the_port(kafka: Kafka, listener: str, login: Security) -> None:
    found = await first(kafka, listener, login)
    assert found.value is None
    assert "is the protocol right for this port?" in str(found.unknown)


async def test_a_password_file_that_is_not_there_is_named(kafka: Kafka, folder: Path) -> None:
    login = Security("SASL_PLAINTEXT", "PLAIN", "sampler", password_file=folder / "nowhere")
    found = await first(kafka, "SASL_PLAINTEXT", login)
    assert (found.value, found.state) == (None, "security")
    assert found.unknown == f"security: No such file or directory ({folder / 'nowhere'})"


async def test_a_password_that_is_exchanged_is_used_at_the_next_connection(kafka: Kafka, tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("old")
    login = Security("SASL_PLAINTEXT", "SCRAM-SHA-512", "sampler", password_file=file)
    async with watching({"default": cluster(kafka, "SASL_PLAINTEXT", login)}, [ORDERS], CALM) as watcher:
        await watcher.until(ORDERS, lambda each: each.state == "login")
        file.write_text(USERS["sampler"])
        assert (await watcher.until(ORDERS, lambda each: each.value == 600)).state == "ok"


async def test_no_rights_at_all(kafka: Kafka, folder: Path) -> None:
    found = await first(kafka, "SASL_PLAINTEXT", stranger())
    assert (found.value, found.state) == (None, "denied")
    assert "topic orders" in str(found.unknown)
    found = await first(kafka, "SASL_PLAINTEXT", stranger(), EVERY)
    assert (found.value, found.state) == (None, "denied")
    assert "group orders-consumer" in str(found.unknown)


async def test_rights_on_the_group_and_not_on_the_topic(kafka: Kafka) -> None:
    """A topic that is named is denied; the commits to it are left out of an answer for all, as if there were none."""
    await allow(kafka, ResourceType.GROUP, "orders-consumer")
    found = await first(kafka, "SASL_PLAINTEXT", stranger())
    assert (found.value, found.state) == (None, "denied")
    assert "topic orders" in str(found.unknown)
    assert (await first(kafka, "SASL_PLAINTEXT", stranger(), EVERY)).value is None


async def test_the_rights_that_are_needed_are_enough(kafka: Kafka) -> None:
    """Describe on the group and on the topics."""
    await allow(kafka, ResourceType.GROUP, "orders-consumer")
    await allow(kafka, ResourceType.TOPIC, "orders")
    for query in (ORDERS, EVERY):
        found = await first(kafka, "SASL_PLAINTEXT", stranger(), query)
        assert (found.value, found.state) == (600, "ok")


def stranger() -> Security:
    """Who has no rights but those that a test gives."""
    return Security("SASL_PLAINTEXT", "SCRAM-SHA-512", "stranger", USERS["stranger"])


async def allow(kafka: Kafka, kind: ResourceType, name: str) -> None:
    rule = AclBinding(
        kind,
        name,
        ResourcePatternType.LITERAL,
        "User:stranger",
        "*",
        AclOperation.DESCRIBE,
        AclPermissionType.ALLOW,
    )

    def create() -> None:
        client = AdminClient({"bootstrap.servers": kafka.address()})
        client.create_acls([rule])[rule].result(20)

    await asyncio.to_thread(create)
    await asyncio.sleep(0.5)  # until the broker has read it from its log
