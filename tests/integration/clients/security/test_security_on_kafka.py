"""TLS and SASL against Apache Kafka 4.3 with listeners of every kind: `make oracle` with MILLSTREAM_KAFKA_CLASSPATH set."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import uvloop

from millstream.clients import Admin, Consumer, NewTopic, Producer
from millstream.errors import IllegalSaslState, KafkaError, SaslAuthenticationFailed
from millstream.net.client.tls import SslAuthenticationFailed
from tests.integration.clients.security.certificates import Authority
from tests.patience import LONG_ENOUGH_MS, LONG_ENOUGH_S, WAITS_FOR_CLUSTER

CLASSPATH = os.environ.get("MILLSTREAM_KAFKA_CLASSPATH", "")
LISTENERS = ("PLAINTEXT", "SSL", "SASL_SSL", "SASL_PLAINTEXT", "MUTUAL", "CONTROLLER")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
JAAS = "org.apache.kafka.common.security"
OAUTH = f'{JAAS}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="alice";'
RUNNERS: list[Callable[[Coroutine[Any, Any, None]], None]] = [asyncio.run, uvloop.run]

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(
        not CLASSPATH,
        reason="MILLSTREAM_KAFKA_CLASSPATH does not say where the jars of Kafka 4.3 are",
    ),
    pytest.mark.skipif(shutil.which("java") is None, reason="there is no java"),
]


@dataclass
class SecureKafka:
    directory: Path
    ports: dict[str, int]

    def settings(self, listener: str, **more: Any) -> dict[str, Any]:
        settings = {
            "bootstrap_servers": f"127.0.0.1:{self.ports[listener]}",
            "security_protocol": listener.replace("MUTUAL", "SSL"),
            "ssl_ca_location": str(self.directory / "test-authority.pem"),
        }
        if listener == "MUTUAL":
            settings["ssl_keystore_location"] = str(self.directory / "client.pem")
            settings["ssl_key_password"] = "sesame"
        return {**settings, **more}

    def sasl(self, listener: str, mechanism: str) -> dict[str, Any]:
        if mechanism == "OAUTHBEARER":
            return self.settings(listener, sasl_mechanism=mechanism, sasl_jaas_config=OAUTH)
        return self.settings(
            listener, sasl_mechanism=mechanism, sasl_username="alice", sasl_password="wonder"
        )


def properties(directory: Path, ports: dict[str, int]) -> str:
    listeners = ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items())
    protocols = {"MUTUAL": "SSL", "CONTROLLER": "PLAINTEXT"}
    modules = {
        "PLAIN": f'{JAAS}.plain.PlainLoginModule required user_alice="wonder";',
        "OAUTHBEARER": OAUTH,
    }
    lines = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{ports['CONTROLLER']}",
        "listeners": listeners,
        "listener.security.protocol.map": ",".join(f"{n}:{protocols.get(n, n)}" for n in ports),
        "inter.broker.listener.name": "PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": str(directory / "data"),
        "offsets.topic.replication.factor": "1",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(directory / "broker.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(directory / "test-authority.pem"),
        "listener.name.mutual.ssl.client.auth": "required",
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "connections.max.reauth.ms": "2000",
    }
    for listener in ("sasl_ssl", "sasl_plaintext"):
        for mechanism in MECHANISMS:
            module = modules.get(mechanism, f"{JAAS}.scram.ScramLoginModule required;")
            lines[f"listener.name.{listener}.{mechanism.lower()}.sasl.jaas.config"] = module
    return "".join(f"{key}={value}\n" for key, value in lines.items())


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureKafka]:
    directory = tmp_path_factory.mktemp("kafka")
    authority = Authority(directory)
    authority.issue("broker")
    authority.issue("client", password="sesame")
    running = SecureKafka(directory, free_ports())
    config = directory / "server.properties"
    config.write_text(properties(directory, running.ports))
    java = ["java", "-Xmx512m", "-cp", CLASSPATH]
    users = [
        part
        for name in ("256", "512")
        for part in ("--add-scram", f"SCRAM-SHA-{name}=[name=alice,password=wonder]")
    ]
    subprocess.run(
        [*java, "kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAw", "-c", str(config), *users],
        check=True,
        capture_output=True,
        timeout=LONG_ENOUGH_S,
    )  # fmt: skip
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(
            [*java, "kafka.Kafka", str(config)], stdout=log, stderr=subprocess.STDOUT
        )
    try:
        asyncio.run(until_it_answers(running))
        yield running
    finally:
        process.terminate()
        process.wait(LONG_ENOUGH_S)


def free_ports() -> dict[str, int]:
    sockets = []
    for _ in LISTENERS:
        sock = socket.socket()
        sock.bind(("127.0.0.1", 0))
        sockets.append(sock)
    ports = {}
    for name, sock in zip(LISTENERS, sockets, strict=True):
        with closing(sock):
            ports[name] = sock.getsockname()[1]
    return ports


async def until_it_answers(kafka: SecureKafka) -> None:
    patient = kafka.settings("PLAINTEXT", default_api_timeout_ms=LONG_ENOUGH_MS)
    async with Admin(**WAITS_FOR_CLUSTER, **patient) as admin:
        (await admin.create_topics([NewTopic("t", 1, 1)])).raise_errors()
    async with Producer(**kafka.settings("PLAINTEXT")) as producer:
        await (await producer.send("t", b"x" * 300_000))


def cases() -> list[Any]:
    plain = [pytest.param(listener, None, id=listener) for listener in ("SSL", "MUTUAL")]
    return plain + [
        pytest.param(listener, mechanism, id=f"{listener}-{mechanism}")
        for listener in ("SASL_SSL", "SASL_PLAINTEXT")
        for mechanism in MECHANISMS
    ]


@pytest.mark.parametrize("run", RUNNERS, ids=["asyncio", "uvloop"])
@pytest.mark.parametrize(("listener", "mechanism"), cases())
def test_records_are_written_and_read(
    kafka: SecureKafka,
    listener: str,
    mechanism: str | None,
    run: Callable[[Coroutine[Any, Any, None]], None],
) -> None:
    settings = kafka.settings(listener) if mechanism is None else kafka.sasl(listener, mechanism)

    async def main() -> None:
        async with Producer(**settings) as producer:
            metadata = await (await producer.send("t", b"y" * 300_000))
        async with Consumer(**settings) as consumer:
            consumer.assign([("t", 0)])
            consumer.seek(("t", 0), metadata.offset)
            async with asyncio.timeout(LONG_ENOUGH_S):
                while not (records := await consumer.poll(timeout_ms=LONG_ENOUGH_MS)):
                    pass
        assert records[0].value == b"y" * 300_000

    run(main())


@pytest.mark.parametrize("mechanism", MECHANISMS[:3])
async def test_wrong_passwords_are_told_at_once(kafka: SecureKafka, mechanism: str) -> None:
    settings = {**kafka.sasl("SASL_SSL", mechanism), "sasl_password": "guess"}
    async with Producer(**settings) as producer:
        with pytest.raises(
            SaslAuthenticationFailed, match=rf"refused the login of user 'alice' \({mechanism}\)"
        ):
            await producer.send("t", b"x")


@pytest.mark.parametrize(
    ("listener", "settings", "error", "sentence"),
    [
        ("SSL", {"ssl_ca_location": None}, SslAuthenticationFailed, "nobody we trust"),
        ("SSL", {"security_protocol": "PLAINTEXT"}, KafkaError, "answered in TLS"),
        ("PLAINTEXT", {"security_protocol": "SSL"}, KafkaError, "try security_protocol=PLAINTEXT"),
        (
            "SASL_PLAINTEXT",
            {"security_protocol": "PLAINTEXT"},
            KafkaError,
            "try security_protocol=SASL_PLAINTEXT",
        ),
        ("MUTUAL", {"ssl_keystore_location": None}, SslAuthenticationFailed, "certificate of ours"),
        (
            "PLAINTEXT",
            {
                "security_protocol": "SASL_PLAINTEXT",
                "sasl_mechanism": "PLAIN",
                "sasl_username": "a",
                "sasl_password": "b",
            },
            IllegalSaslState,
            "is a listener without SASL",
        ),
    ],
)
async def test_what_does_not_fit_the_listener_says_so(
    kafka: SecureKafka,
    listener: str,
    settings: dict[str, Any],
    error: type[KafkaError],
    sentence: str,
) -> None:
    given = kafka.settings(listener, max_block_ms=1000)
    async with Producer(**{**given, **settings}) as producer:
        with pytest.raises(error, match=sentence):
            await producer.send("t", b"x")


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512", "OAUTHBEARER"])
async def test_a_connection_outlives_its_session(
    kafka: SecureKafka, mechanism: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KIP-368: connections.max.reauth.ms is two seconds, and the broker ends connections that do not follow."""
    from millstream.net.client.connection import Connection
    from millstream.net.client.dialer import Dialer

    dialed: list[Connection] = []
    dial = Dialer.dial

    async def counted(self: Dialer, *arguments: Any) -> Connection:
        connection = await dial(self, *arguments)
        dialed.append(connection)
        return connection

    monkeypatch.setattr(Dialer, "dial", counted)
    async with Producer(**kafka.sasl("SASL_SSL", mechanism)) as producer:
        end = asyncio.get_running_loop().time() + 5
        while asyncio.get_running_loop().time() < end:
            await (await producer.send("t", b"x"))
    assert len(dialed) == 1
