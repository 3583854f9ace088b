"""Brokers that are started again whenever somebody kills them: ours, or Apache Kafka on one node or three."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from millstream.protocol.api import ApiKey
from millstream.protocol.generated.find_coordinator import FindCoordinatorRequest
from millstream.testing.broker import Broker
from tests.oracle.clients.kafka_cluster import KafkaCluster
from tests.support.clients.raw_client import RawClient
from tests.support.kills.orders import is_running

NODES: Final = 3


@contextmanager
def watched_broker(
    pid_file: Path, *, is_kafka: bool = False, settings: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Gives its address. `pid_file` always has its process id."""
    if is_kafka:
        with (
            KafkaCluster(1, settings) as kafka,
            _watched(pid_file, lambda: kafka.pid(1), lambda: _again(kafka, 1)),
        ):
            yield kafka.bootstrap_servers
    else:
        with (
            Broker(in_process=False, settings=settings) as broker,
            _watched(pid_file, lambda: _pid(broker), lambda: _restart(broker)),
        ):
            yield broker.bootstrap_servers


@contextmanager
def watched_node(pid_file: Path) -> Iterator[str]:
    """Gives the addresses of Apache Kafka on three nodes. `pid_file` always has the process id of the last one.

    A node that is alone may lose the end of a transaction that was being committed when it was killed: as it starts, its partitions have no
    leader for a moment; its coordinator (4.3.1) takes them for deleted and notes the transaction as complete, without a marker in
    them. Their last stable offset then never moves again. With three nodes partitions always have a leader.
    """
    with (
        KafkaCluster(NODES) as kafka,
        _watched(pid_file, lambda: kafka.pid(NODES), lambda: _again(kafka, NODES)),
    ):
        yield kafka.bootstrap_servers


@contextmanager
def watched_cluster(
    pid_file: Path, coordinator_file: Path, group: str, settings: Mapping[str, str]
) -> Iterator[str]:
    """Gives the addresses of Apache Kafka on three nodes. `coordinator_file` has the process id of the one that coordinates a group."""
    with KafkaCluster(NODES, settings) as kafka:

        def look() -> None:
            for node in sorted(kafka.running):
                if not is_running(kafka.pid(node)):
                    kafka.kill(node)
                    kafka.start(node)
            _write(pid_file, kafka.pid(NODES))
            coordinator = _coordinator(kafka, group)
            if coordinator in kafka.running:
                _write(coordinator_file, kafka.pid(coordinator))

        with _again_and_again(look):
            yield kafka.bootstrap_servers


def _coordinator(kafka: KafkaCluster, group: str) -> int:
    """The node, -1 where there is none now."""
    request = FindCoordinatorRequest(coordinator_keys=[group])
    try:
        with RawClient(kafka.bootstrap_servers) as client:
            found = client.ask(ApiKey.FIND_COORDINATOR, 4, request).coordinators[0]
    except OSError:
        return -1
    return int(found.node_id)


@contextmanager
def _watched(pid_file: Path, pid: Callable[[], int], restart: Callable[[], None]) -> Iterator[None]:
    _write(pid_file, pid())

    def look() -> None:
        if not is_running(pid()):
            restart()
            _write(pid_file, pid())

    with _again_and_again(look):
        yield


@contextmanager
def _again_and_again(look: Callable[[], None]) -> Iterator[None]:
    ending = threading.Event()

    def watch() -> None:
        while not ending.wait(0.05):  # how often it looks
            look()

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield
    finally:
        ending.set()
        watching.join()


def _write(pid_file: Path, pid: int) -> None:
    """Whoever reads it meanwhile reads the one or the other."""
    written = pid_file.with_suffix(".new")
    written.write_text(str(pid))
    written.replace(pid_file)


def _pid(broker: Broker) -> int:
    assert broker.pid is not None, "it was started"
    return broker.pid


def _restart(broker: Broker) -> None:
    broker.kill()
    broker.restart()


def _again(kafka: KafkaCluster, node: int) -> None:
    kafka.kill(node)
    kafka.start(node)
