"""A broker of Apache Kafka whose controller is ours: `make oracle` with MILLSTREAM_KAFKA_CLASSPATH set."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.patience import LONG_ENOUGH_S
from tests.support.kafka_node import CLASSPATH, NEEDS_KAFKA, free_port

LOG4J = """rootLogger.level=info
rootLogger.appenderRef.o.ref=out
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%p %m (%c)%n
"""

pytestmark = NEEDS_KAFKA


class OurController:
    """A node of ours that is a controller alone."""

    def __init__(self, directory: Path, started: list[subprocess.Popen[bytes]]) -> None:
        self._started = started
        self.address = f"127.0.0.1:{free_port()}"
        self._data = directory / "controller"
        self._log = directory / "controller.log"
        self.cluster_id = ""

    def start(self) -> subprocess.Popen[bytes]:
        settings = {
            "process.roles": "controller",
            "node.id": "100",
            "listeners": f"CONTROLLER://{self.address}",
            "log.dirs": str(self._data),
        }
        overrides = [f"--override={key}={value}" for key, value in settings.items()]
        with self._log.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "millstream.cli.main", "server", *overrides],
                stdout=log,
                stderr=log,
            )
        self._started.append(process)
        until_said(self._log, "millstream ready", process)
        self.cluster_id = re.findall(r"cluster=(\S+)", self._log.read_text())[-1]
        return process


class KafkaBroker:
    """A broker of Apache Kafka, formatted for a cluster."""

    def __init__(
        self,
        directory: Path,
        controller: OurController,
        started: list[subprocess.Popen[bytes]],
    ) -> None:
        self._started = started
        self.bootstrap = f"127.0.0.1:{free_port()}"
        self._log = directory / "kafka.log"
        self._properties = directory / "kafka.properties"
        self._log4j = directory / "log4j2.properties"
        self._log4j.write_text(LOG4J)
        self._properties.write_text(
            f"""process.roles=broker
node.id=2
controller.quorum.bootstrap.servers={controller.address}
listeners=PLAINTEXT://{self.bootstrap}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={directory / "kafka"}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
"""
        )
        subprocess.run(
            [*self._java("kafka.tools.StorageTool"), "format", "-t", controller.cluster_id, "-c", str(self._properties), "--no-initial-controllers"],
            check=True, capture_output=True, timeout=LONG_ENOUGH_S,
        )  # fmt: skip

    def _java(self, main: str) -> list[str]:
        return ["java", "-Xmx512m", f"-Dlog4j2.configurationFile={self._log4j}", "-cp", CLASSPATH, main]  # fmt: skip

    def start(self) -> subprocess.Popen[bytes]:
        with self._log.open("wb") as log:
            process = subprocess.Popen(
                [*self._java("kafka.Kafka"), str(self._properties)], stdout=log, stderr=log
            )
        self._started.append(process)
        until_said(self._log, "Kafka Server started", process)
        return process

    def errors(self) -> list[str]:
        return [line for line in self._log.read_text().splitlines() if line.startswith("ERROR")]


def until_said(log: Path, what: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + LONG_ENOUGH_S
    while what not in log.read_text(errors="replace"):
        assert process.poll() is None, log.read_text(errors="replace")[-2_000:]
        assert time.monotonic() < deadline, log.read_text(errors="replace")[-2_000:]
        time.sleep(0.1)


def end(process: subprocess.Popen[bytes]) -> int:
    """Ends a process as an operator does."""
    process.terminate()
    return process.wait(LONG_ENOUGH_S)


def kill(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()


def produced(bootstrap: str, transactional_id: str, values: list[str]) -> None:
    producer = Producer(
        {"bootstrap.servers": bootstrap, "transactional.id": transactional_id, "log_level": 0}
    )
    producer.init_transactions(LONG_ENOUGH_S)
    producer.begin_transaction()
    for number, value in enumerate(values):
        producer.produce("t", value, partition=number % 3)
    producer.commit_transaction(LONG_ENOUGH_S)


def consumed(bootstrap: str, group: str, count: int) -> list[str]:
    """Whatever a group has not committed yet; it commits that."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False, "log_level": 0}
    )  # fmt: skip
    consumer.subscribe(["t"])
    found: list[str] = []
    deadline = time.monotonic() + LONG_ENOUGH_S
    while len(found) < count and time.monotonic() < deadline:
        found += [m.value().decode() for m in consumer.consume(1_000, 1) if not m.error()]
    consumer.commit(asynchronous=False)
    consumer.close()
    return sorted(found)


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that do not outlive the test."""
    processes: list[subprocess.Popen[bytes]] = []
    yield processes
    for process in processes:
        if process.poll() is None:
            kill(process)


def test_a_broker_of_kafka_lives_under_our_controller(
    tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    """It registers, passes requests on, is given producer ids, is told what is decided; and goes on when either is killed."""
    controller = OurController(tmp_path, started)
    controlling = controller.start()
    broker = KafkaBroker(tmp_path, controller, started)
    running = broker.start()
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    create(admin, NewTopic("t", 3, 1))
    first = sorted(f"first {number}" for number in range(300))
    produced(broker.bootstrap, "x", first)
    assert consumed(broker.bootstrap, "g", 300) == first

    kill(controlling)
    second = sorted(f"second {number}" for number in range(300))
    produced(broker.bootstrap, "x", second)  # nothing of it needs a controller
    controlling = controller.start()
    create(admin, NewTopic("later", 1, 1))
    assert broker.errors() == []

    kill(running)
    running = broker.start()  # refused until its session is over, then unfenced
    assert consumed(broker.bootstrap, "g", 300) == second
    topics = admin.list_topics(timeout=LONG_ENOUGH_S).topics
    assert {"t", "later"} <= topics.keys()
    assert end(running) == 143
    assert broker.errors() == []
    assert end(controlling) == 0


def create(admin: AdminClient, topic: NewTopic) -> None:
    for creation in admin.create_topics([topic]).values():
        creation.result(LONG_ENOUGH_S)
