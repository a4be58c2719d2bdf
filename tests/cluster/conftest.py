"""Every test here needs a cluster whose pods run, and which it may change; without one it is skipped, and says so.

`TIDEGATE_TEST_CLUSTER` is its kubeconfig. Its nodes run this checkout as `tidegate:VERSION`, and the tests run where the
addresses of pods and Services are reached, and their names known.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster import page
from tests.cluster.cluster import SHOP, SYSTEM, Cluster, missing
from tests.cluster.kafka import broker
from tests.kafka.broker import Kafka
from tests.support.kustomize import DEPLOY
from tests.support.tiers import mark_tier

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what lies here."""
    mark_tier(items, HERE, timeout=600, missing=missing())


@pytest.fixture(scope="session")
def cluster() -> Cluster:
    """The cluster."""
    return Cluster()


@pytest.fixture(scope="session")
def kafka(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka | None]:
    """A broker that pods reach; none where there is no Kafka."""
    with broker(cluster, tmp_path_factory.mktemp("kafka")) as found:
        yield found


@pytest.fixture(scope="session")
def shop(
    cluster: Cluster, kafka: Kafka | None, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Path]:
    """The shop of the page runs: two Tidegates, two Envoys, and the page's overlay where there is a Kafka."""
    folder = tmp_path_factory.mktemp("newcomer") / "tidegate"
    shutil.copytree(DEPLOY, folder / "deploy")
    failed = request.session.testsfailed
    try:
        cluster.type_in(page.commands("Install it"), folder)
        cluster.type_in(page.commands("A first gateway"), folder)
        if kafka is not None:
            page.overlay(folder.parent / "mine", kafka.address())
            cluster.type_in(page.commands("Let it follow lag"), folder)
        yield folder
    finally:
        if request.session.testsfailed > failed or sys.exc_info()[0]:
            with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
                sys.stderr.write(cluster.story(SYSTEM) + cluster.story(SHOP))
        cluster.type_in(page.commands("Take it away"), folder)
