"""Java's clients over TLS at our broker, by Kafka's own tools: `make oracle` with MILLSTREAM_KAFKA_CLASSPATH set."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from millstream.testing.node_runner import ThreadNode
from tests.integration.clients.security.certificates import Authority
from tests.patience import LONG_ENOUGH_S, wait_until

CLASSPATH = os.environ.get("MILLSTREAM_KAFKA_CLASSPATH", "")
TOPICS = "org.apache.kafka.tools.TopicCommand"
TOKENS = "org.apache.kafka.tools.DelegationTokenCommand"
CONFIGS = "kafka.admin.ConfigCommand"

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.compat,
    pytest.mark.slow,
    pytest.mark.skipif(
        not CLASSPATH,
        reason="MILLSTREAM_KAFKA_CLASSPATH does not say where the jars of Kafka 4.3 are",
    ),
    pytest.mark.skipif(shutil.which("java") is None, reason="there is no java"),
]


@dataclass
class TlsNode:
    directory: Path
    authority: Authority
    bootstrap: str

    def run(self, *command: str, key: str | None = "client", trust: str = "test-authority") -> str:
        """What a tool says with these stores, errors too."""
        settings = {
            "security.protocol": "SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.directory / f"{trust}.pem"),
        }
        if key is not None:
            settings["ssl.keystore.type"] = "PEM"
            settings["ssl.keystore.location"] = str(self.directory / f"{key}.pem")
        config = self.directory / "client.properties"
        config.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        done = subprocess.run(
            ["java", "-XX:TieredStopAtLevel=1", "-cp", CLASSPATH, *command, "--bootstrap-server", self.bootstrap, "--command-config", str(config)],
            capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip
        return done.stdout + done.stderr

    def serial_number(self) -> str:
        context = ssl.create_default_context(cafile=self.directory / "test-authority.pem")
        context.load_cert_chain(self.directory / "client.pem")
        host, _, port = self.bootstrap.rpartition(":")
        with (
            socket.create_connection((host, int(port)), timeout=LONG_ENOUGH_S) as plain,
            context.wrap_socket(plain, server_hostname=host) as connected,
        ):
            shown = connected.getpeercert()
            assert shown is not None
            return str(shown["serialNumber"])


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsNode]:
    directory = tmp_path_factory.mktemp("certificates")
    authority = Authority(directory)
    for name in ("broker", "client"):
        authority.issue(name)
    Authority(directory, "another authority").issue("stranger")
    running = ThreadNode(
        {
            "listeners": "SSL://127.0.0.1:0",
            "inter.broker.listener.name": "SSL",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(directory / "broker.pem"),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(directory / "test-authority.pem"),
            "ssl.client.auth": "required",
            "delegation.token.secret.key": "master",
            "log.dirs": str(directory / "data"),
        }
    )
    bootstrap = running.start(LONG_ENOUGH_S).bootstrap
    try:
        yield TlsNode(directory, authority, bootstrap)
    finally:
        running.stop()


def test_a_certificate_lets_in(node: TlsNode) -> None:
    assert "Created topic t" in node.run(TOPICS, "--create", "--topic", "t")


def test_without_one_or_with_anothers_nobody_gets_in(node: TlsNode) -> None:
    for key in (None, "stranger"):
        assert "SslAuthenticationException" in node.run(TOPICS, "--list", key=key)
    assert "SslAuthenticationException" in node.run(TOPICS, "--list", trust="another-authority")


def test_a_client_is_the_name_in_its_certificate(node: TlsNode) -> None:
    said = node.run(TOKENS, "--create", "--max-life-time-period", "600000")
    assert "User:CN=client" in said


def test_a_new_certificate_by_kafka_configs(node: TlsNode) -> None:
    before = node.serial_number()
    node.authority.issue("broker")
    change = f"listener.name.ssl.ssl.keystore.location={node.directory / 'broker.pem'}"
    alter = ("--alter", "--entity-type", "brokers", "--entity-name", "1", "--add-config")
    assert "Completed updating config for broker 1" in node.run(CONFIGS, *alter, change)
    wait_until(lambda: node.serial_number() != before)
    wrong = change.replace("broker.pem", "client.pem")
    assert "ssl.allow.dn.changes=true lets it through" in node.run(CONFIGS, *alter, wrong)
