"""Secrets: the certificates that listeners name."""

from __future__ import annotations

from k8s_source.kinds.core import CERTIFICATE_KEY, PRIVATE_KEY_KEY, TLS_SECRET, Secret
from xds_server.derive.collection import Collection, Read
from xds_server.derive.engine import Engine
from xds_server.ir.gateway import Certificate, Gateway, GatewayKey, SecretKey
from xds_server.ir.objects import ObjectKey, Standing


def certificates_of(
    engine: Engine, gateways: Collection[GatewayKey, Gateway], standings: Collection[ObjectKey, Standing]
) -> Collection[SecretKey, Certificate]:
    """The certificates that listeners of gateways name, as far as there is a TLS Secret of that name."""

    def make(read: Read, key: SecretKey, _: tuple[GatewayKey, ...]) -> Certificate | None:
        standing = read(standings, ObjectKey("", "Secret", key.namespace, key.name))
        declared = None if standing is None else standing.object
        if declared is None or not isinstance(declared.value, Secret) or declared.value.type != TLS_SECRET:
            return None
        chain, private_key = (declared.value.value(each) or b"" for each in (CERTIFICATE_KEY, PRIVATE_KEY_KEY))
        return Certificate(key, chain.decode(), private_key.decode(), declared.origin)

    wanted = engine.index(
        "secrets by need",
        gateways,
        lambda _, gateway: (each.secret for each in gateway.listeners if each.secret is not None),
    )
    return engine.each("certificates", wanted, make)
