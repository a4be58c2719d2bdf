"""Real Kafka brokers on this machine (KRaft), for tests: plain or with logins, alone or two in a cluster.

`KAFKA_HOME` is a folder whose `libs/` holds Kafka's jars, as a download of Apache Kafka does; `java` (17 or newer) comes
from `JAVA_HOME` or the path.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.kafka_process import BrokerProcess

CLUSTER_ID = "dGlkZWdhdGUtdGVzdHMtMQ"
SECURE = ("SASL_PLAINTEXT", "SASL_SSL", "SSL")
"""The listeners of a secure broker beside the plain one, on which anybody may do everything."""

USERS = {"sampler": "sampler-secret", "stranger": "stranger-secret"}
"""The first may do everything, the other nothing that an ACL does not allow."""

QUIET = """\
status = error
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = [%d] %p %m (%c)%n
rootLogger.level = WARN
rootLogger.appenderRef.out.ref = out
logger.started.name = kafka.server.KafkaRaftServer
logger.started.level = INFO
"""


def missing() -> str:
    """Why no broker can be started here; "" when one can."""
    home = os.environ.get("KAFKA_HOME")
    if not home:
        return "KAFKA_HOME is not set: it names a folder whose libs/ holds the jars of Apache Kafka"
    if not list(Path(home, "libs").glob("kafka*.jar")):
        return f"KAFKA_HOME={home} has no libs/kafka*.jar"
    return "" if shutil.which(_java()) else "java is neither in JAVA_HOME nor on the path"


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


@dataclass
class Kafka:
    """One broker. `voter` is the port of the cluster's controller: its own unless it joins another broker.

    `host` is an address of this machine at which clients reach it.
    """

    folder: Path
    node: int = 1
    voter: int = 0
    secure: bool = False
    host: str = "127.0.0.1"
    tls: Path | None = None
    extra: Mapping[str, object] = field(default_factory=dict)
    _process: BrokerProcess | None = None

    def __post_init__(self) -> None:
        """Choose ports."""
        self.folder.mkdir(parents=True, exist_ok=True)
        names = ["PLAINTEXT", *(SECURE if self.secure else ())]
        own = [] if self.voter else ["CONTROLLER"]
        self.ports = dict(zip(names + own, free_ports(len(names + own)), strict=True))
        self.voter = self.voter or self.ports["CONTROLLER"]

    def address(self, listener: str = "PLAINTEXT") -> str:
        """Where a listener is."""
        return f"{self.host}:{self.ports[listener]}"

    @property
    def process(self) -> BrokerProcess:
        """The process that runs."""
        assert self._process is not None
        return self._process

    def start(self, *, wait: bool = True) -> None:
        """Start it, on the data of an earlier start."""
        config = self.folder / "server.properties"
        if not config.exists():
            config.write_text("".join(f"{key}={value}\n" for key, value in self._properties().items()))
            (self.folder / "log4j2.properties").write_text(QUIET)
            self._format(config)
        log = self.folder / "kafka.log"
        log.unlink(missing_ok=True)
        self._process = BrokerProcess([*self._command(), "kafka.Kafka", str(config)], log)
        if wait:
            self.wait()

    def wait(self) -> None:
        """Until it serves."""
        deadline = time.monotonic() + 60
        while "Kafka Server started" not in self.process.printed:
            assert self.process.running, self.process.printed[-3000:]
            assert time.monotonic() < deadline, self.process.printed[-3000:]
            time.sleep(0.1)

    def stop(self) -> None:
        """End it as it is asked to."""
        if self._process is not None:
            self._process.stop()

    def _format(self, config: Path) -> None:
        scram = [
            part
            for user, password in USERS.items()
            for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512")
            for part in ("--add-scram", f"{mechanism}=[name={user},password={password}]")
        ]
        tool = ["kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(config)]
        command = [*self._command(), *tool, *(scram if self.secure else ())]
        subprocess.run(command, check=True, capture_output=True, timeout=60)

    def _command(self) -> Sequence[str]:
        libs = Path(os.environ["KAFKA_HOME"], "libs")
        quick = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Xmx256m")
        logging = f"-Dlog4j2.configurationFile={self.folder / 'log4j2.properties'}"
        return [_java(), *quick, logging, "-cp", f"{libs}/*"]

    def _properties(self) -> dict[str, object]:
        own = "CONTROLLER" in self.ports
        listeners = {name: f"{name}://{self.host}:{port}" for name, port in self.ports.items()}
        return {
            "process.roles": "broker,controller" if own else "broker",
            "node.id": self.node,
            "controller.quorum.voters": f"1@{self.host}:{self.voter}",
            "controller.listener.names": "CONTROLLER",
            "listeners": ",".join(listeners.values()),
            "advertised.listeners": ",".join(url for name, url in listeners.items() if name != "CONTROLLER"),
            "listener.security.protocol.map": ",".join(
                ["CONTROLLER:PLAINTEXT", *(f"{name}:{name}" for name in listeners if name != "CONTROLLER")]
            ),
            "inter.broker.listener.name": "PLAINTEXT",
            "log.dirs": self.folder / "data",
            "auto.create.topics.enable": "true",
            "offsets.topic.replication.factor": 1,
            "offsets.topic.num.partitions": 4,
            "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1,
            "transaction.state.log.num.partitions": 1,
            "share.coordinator.state.topic.replication.factor": 1,
            "share.coordinator.state.topic.min.isr": 1,
            "group.initial.rebalance.delay.ms": 0,
            "num.network.threads": 2,
            "num.io.threads": 4,
            "log.cleaner.dedupe.buffer.size": 4194304,
            **(self._secure() if self.secure else {}),
            **self.extra,
        }

    def _secure(self) -> dict[str, object]:
        plain = " ".join(f'user_{user}="{password}"' for user, password in USERS.items())
        modules = "org.apache.kafka.common.security"
        logins = {
            "plain": f"{modules}.plain.PlainLoginModule required {plain};",
            "scram-sha-256": f"{modules}.scram.ScramLoginModule required;",
            "scram-sha-512": f"{modules}.scram.ScramLoginModule required;",
        }
        return {
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS;User:sampler",
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": self.tls,
            **{
                f"listener.name.{listener}.{mechanism}.sasl.jaas.config": login
                for listener in ("sasl_plaintext", "sasl_ssl")
                for mechanism, login in logins.items()
            },
        }


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    return str(Path(home, "bin", "java")) if home else "java"
