"""docker-compose.yaml and what lies beside it fit together; whether it runs is asked in `tests/compose`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[3]


def read(name: str) -> list[Any]:
    """The documents of a YAML file of the checkout, with `<<` merged."""
    return list(YAML(typ="safe").load_all(ROOT / name))


(COMPOSE,) = read("docker-compose.yaml")
SERVICES: dict[str, Any] = COMPOSE["services"]
PINS = re.compile(r"^([a-z0-9-]+)==(\S+)", re.MULTILINE)


def test_the_manifests_name_the_addresses_that_the_backends_have() -> None:
    named = {
        document["metadata"]["labels"]["kubernetes.io/service-name"]: document["endpoints"][0]["addresses"][0]
        for document in read("compose/manifests/services.yaml")
        if document["kind"] == "EndpointSlice"
    }
    given = {name: SERVICES[name]["networks"]["shop"]["ipv4_address"] for name in named}
    assert named == given
    assert len(set(given.values())) == 2


@pytest.mark.parametrize("protocol", ["sotw", "delta"])
def test_the_address_that_the_containers_replace_stands_in_the_bootstrap_once(protocol: str) -> None:
    service = SERVICES[f"envoy-{protocol}"]
    assert any(f"bootstrap-{protocol}.yaml:" in volume for volume in service["volumes"])
    replaced = re.search("sed 's/(.*?)/control-plane", service["command"][-1])
    assert replaced is not None
    assert (ROOT / "envoy" / f"bootstrap-{protocol}.yaml").read_text().count(replaced[1]) == 1


def test_every_service_has_a_health_check_and_publishes_on_loopback_only() -> None:
    assert {name for name, service in SERVICES.items() if "healthcheck" not in service} == set()
    ports = [port for service in SERVICES.values() for port in service.get("ports", ())]
    assert len(ports) == 3
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_no_two_services_build_an_image_of_one_name() -> None:
    names = [service.get("image", name) for name, service in SERVICES.items() if "build" in service]
    assert len(names) == len(set(names)) == 3


def test_what_the_image_holds_is_what_is_tested() -> None:
    """The versions of the image's lock file are those of development, and none has come without its hashes."""
    developed = dict(PINS.findall((ROOT / "requirements" / "dev.lock").read_text()))
    for name in ("serve", "build"):
        text = (ROOT / "requirements" / f"{name}.lock").read_text()
        pins = dict(PINS.findall(text))
        assert pins.items() <= developed.items()
        blocks = PINS.split(text)[3::3]
        assert all("--hash=sha256:" in block for block in blocks)
        assert len(blocks) == len(pins) > 3
