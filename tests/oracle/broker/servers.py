"""The two brokers that answer the cases: Apache Kafka from the jars of a class path, and ours. Both with `SETTINGS`."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

SETTINGS: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "100",
    "group.consumer.assignment.interval.ms": "0",
    "group.consumer.min.session.timeout.ms": "500",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.share.assignment.interval.ms": "0",
    "group.share.min.session.timeout.ms": "500",
    "group.share.min.heartbeat.interval.ms": "100",
    "group.share.min.record.lock.duration.ms": "1000",
    "group.streams.assignment.interval.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "3",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "3",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
    "share.coordinator.state.topic.num.partitions": "3",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "num.partitions": "2",
    "log.initial.task.delay.ms": "86400000",
    "node.id": "1",
    "delegation.token.secret.key": "secret",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
"""Few partitions and short times, so that cases need not wait; no retention, because records of cases are years old. Access control is on, and who does not log in may do everything."""
USERS: Final = ("alice", "bob")
PASSWORD: Final = "secret"
_LOGIN: Final = "SASL_PLAINTEXT"
_PLAIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule required " + " ".join(
    f'user_{name}="{PASSWORD}"' for name in USERS
)
_SCRAM: Final = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
"""For who has a token: no user of it is made."""
login_addresses: Final[dict[str, str]] = {}
"""Where clients of a broker log in, by its bootstrap address."""


def _with_login(address: str, login_address: str) -> dict[str, str]:
    """A listener where everybody is served, and another for users."""
    return {
        "listeners": f"PLAINTEXT://{address},{_LOGIN}://{login_address}",
        "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,{_LOGIN}:{_LOGIN},CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.name.sasl_plaintext.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": f"{_PLAIN};",
        "listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config": _SCRAM,
    }


@contextlib.contextmanager
def ours() -> Iterator[str]:
    # only here: a broker that does not start must not stop Kafka's side
    from millstream.testing.broker import TEST_SETTINGS
    from millstream.testing.node_runner import ThreadNode

    address, login_address = (f"127.0.0.1:{_free_port()}" for _ in range(2))
    login_addresses[address] = login_address
    with tempfile.TemporaryDirectory(prefix="ours-") as directory:
        node = ThreadNode(
            {
                **TEST_SETTINGS,
                **SETTINGS,
                **_with_login(address, login_address),
                "controller.quorum.voters": "1@127.0.0.1:1",
                "log.dirs": directory,
            }
        )
        node.start(60)
        try:
            yield address
        finally:
            node.stop()


@contextlib.contextmanager
def ours_apart() -> Iterator[str]:
    """A broker of ours with three controllers apart from it."""
    from tests.oracle.cluster.nodes import Kind, Node, Nodes

    login_address = f"127.0.0.1:{_free_port()}"
    members = [
        *(Node(number, Kind.OURS, "controller") for number in (101, 102, 103)),
        Node(1, Kind.OURS, "broker", _with_login("{client}", login_address)),
    ]
    settings = {key: value for key, value in SETTINGS.items() if key != "node.id"}
    with (
        tempfile.TemporaryDirectory(prefix="apart-") as directory,
        Nodes(Path(directory), members, settings=settings) as nodes,
    ):
        login_addresses[nodes.bootstrap_servers] = login_address
        yield nodes.bootstrap_servers


@contextlib.contextmanager
def kafka(classpath: str, more_settings: Mapping[str, str] | None = None) -> Iterator[str]:
    """A freshly formatted Apache Kafka of one node; its bootstrap servers."""
    directory = Path(tempfile.mkdtemp(prefix="kafka-"))
    port, controller_port, login_port = _free_port(), _free_port(), _free_port()
    listeners = _with_login(f"127.0.0.1:{port}", f"127.0.0.1:{login_port}")
    login_addresses[f"127.0.0.1:{port}"] = f"127.0.0.1:{login_port}"
    properties = directory / "server.properties"
    lines = {
        **SETTINGS,
        **(more_settings or {}),
        **listeners,
        "process.roles": "broker,controller",
        "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
        "listeners": f"{listeners['listeners']},CONTROLLER://127.0.0.1:{controller_port}",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": str(directory / "data"),
    }
    properties.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
    java = ["java", "-Xmx512m", "-cp", classpath]
    subprocess.run(
        [*java, "kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAw", "-c", str(properties)],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    with (directory / "output").open("wb") as output:
        process = subprocess.Popen(
            [*java, "kafka.Kafka", str(properties)], stdout=output, stderr=output
        )
        try:
            _wait_for(port, process, directory / "output")
            yield f"127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(60)
            shutil.rmtree(directory, ignore_errors=True)


def _wait_for(port: int, process: subprocess.Popen[bytes], output: Path) -> None:
    """Until an ApiVersions request is answered."""
    deadline = time.monotonic() + 60
    request = b"\x00\x00\x00\x0b\x00\x12\x00\x00\x00\x00\x00\x01\x00\x01x"
    while time.monotonic() < deadline:
        assert process.poll() is None, output.read_text()[-4000:]
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1) as s:
            s.settimeout(5)
            s.sendall(request)
            if s.recv(4):
                return
        time.sleep(0.1)
    raise TimeoutError(f"Kafka does not answer: {output.read_text()[-4000:]}")


def _free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])
