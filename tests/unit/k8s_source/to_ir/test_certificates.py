"""Certificates in the model: those that listeners name, in their last good form."""

from __future__ import annotations

from tests.unit.k8s_source.manifests import gateway, pair, tls_secret
from tests.unit.k8s_source.world import World
from xds_server.ir.gateway import Certificate, SecretKey

KEY = SecretKey("default", "shop-tls")
HTTPS = {"port": 8443, "protocol": "HTTPS", "tls": {"secretName": "shop-tls"}}


def certificate(world: World) -> Certificate | None:
    return world.model.certificates.values.get(KEY)


def test_only_what_listeners_name() -> None:
    world = World(tls_secret(*pair()))
    assert not world.model.certificates.values
    world.put(gateway(listeners=[HTTPS]))
    found = certificate(world)
    assert found is not None
    assert (found.chain, found.private_key) == pair()
    assert (found.origin.kind, found.origin.name) == ("Secret", "shop-tls")
    assert pair()[1] not in repr(found)
    world.put(gateway())
    assert not world.model.certificates.values


def test_it_comes_and_is_renewed_and_goes() -> None:
    world = World(gateway(listeners=[HTTPS]))
    assert certificate(world) is None
    world.put(tls_secret(*pair()))
    world.put(tls_secret(*pair("renewed")))
    found = certificate(world)
    assert found is not None
    assert (found.chain, found.private_key) == pair("renewed")
    world.remove(tls_secret(*pair()))
    assert certificate(world) is None


def test_what_is_refused_leaves_the_last_good_one() -> None:
    world = World(gateway(listeners=[HTTPS]), tls_secret(*pair()))
    world.put(tls_secret(pair()[0], pair("other")[1]))
    found = certificate(world)
    assert found is not None
    assert (found.chain, found.private_key) == pair()


def test_a_secret_of_another_type_is_none() -> None:
    assert certificate(World(gateway(listeners=[HTTPS]), {**tls_secret(*pair()), "type": "Opaque"})) is None
