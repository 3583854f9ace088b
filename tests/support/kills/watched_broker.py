"""Brokers that are started again whenever somebody kills them: ours or Apache Kafka's, on one node or three, or one with logins and access rules."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Final, Protocol

from millstream.protocol.api import ApiKey
from millstream.protocol.generated.find_coordinator import FindCoordinatorRequest
from millstream.testing.broker import Broker
from tests.oracle.clients.kafka_cluster import KafkaCluster
from tests.support.clients.raw_client import RawClient
from tests.support.kills.orders import is_running
from tests.support.kills.secured import SecuredBroker, secured_broker
from tests.support.kills.three_of_ours import ThreeOfOurs

NODES: Final = 3


class Brokers(StrEnum):
    """Those that a matrix of kills runs over. With three nodes every topic has three replicas."""

    ONE = "one node of ours"
    THREE = "three nodes of ours"
    KAFKA = "Apache Kafka"
    SECURE = "one secured node of ours"
    """Applications log in over TLS and have the rights of docs/guide/rights.md."""

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Brokers:
        """`make soak`, `make soak NODES=3`, `make soak KAFKA=1` or `make soak SECURE=1`."""
        if environment.get("MILLSTREAM_SOAK_SECURE") == "1":
            return cls.SECURE
        if environment.get("MILLSTREAM_SOAK_KAFKA") == "1":
            return cls.KAFKA
        return cls.THREE if environment.get("MILLSTREAM_SOAK_NODES") == "3" else cls.ONE

    @property
    def variables(self) -> str:
        """What says so in the environment of a command, with a space behind it."""
        named = {
            Brokers.KAFKA: "MILLSTREAM_SOAK_KAFKA=1 ",
            Brokers.THREE: "MILLSTREAM_SOAK_NODES=3 ",
            Brokers.SECURE: "MILLSTREAM_SOAK_SECURE=1 ",
        }
        return named.get(self, "")


class _Nodes(Protocol):
    """Three nodes that can be killed and started again."""

    @property
    def bootstrap_servers(self) -> str: ...

    @property
    def running(self) -> set[int]: ...

    def pid(self, node: int) -> int: ...

    def kill(self, node: int) -> None: ...

    def start(self, node: int) -> None: ...


@contextmanager
def watched_broker(
    pid_file: Path,
    *,
    is_kafka: bool = False,
    is_secure: bool = False,
    settings: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """Gives its address. `pid_file` always has its process id. A secured one has no user before `allow`."""
    if is_secure:
        with (
            secured_broker(settings or {}) as secured,
            _watched(pid_file, lambda: secured.pid, lambda: _restart(secured)),
        ):
            yield secured.bootstrap_servers
        return
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
def watched_brokers(pid_file: Path, brokers: Brokers) -> Iterator[str]:
    """Gives the addresses of one node of ours, or of three of a kind. `pid_file` always has the process id of the last one.

    A node of Apache Kafka that is alone may lose the end of a transaction that was being committed when it was killed: as it starts, its partitions have no
    leader for a moment; its coordinator (4.3.1) takes them for deleted and notes the transaction as complete, without a marker in
    them. Their last stable offset then never moves again. With three nodes partitions always have a leader.
    """
    if brokers in {Brokers.ONE, Brokers.SECURE}:
        with watched_broker(pid_file, is_secure=brokers is Brokers.SECURE) as servers:
            yield servers
        return
    with (
        _three(brokers) as nodes,
        _watched(pid_file, lambda: nodes.pid(NODES), lambda: _again(nodes, NODES)),
    ):
        yield nodes.bootstrap_servers


@contextmanager
def watched_cluster(
    pid_file: Path,
    coordinator_file: Path,
    group: str,
    settings: Mapping[str, str],
    brokers: Brokers = Brokers.KAFKA,
) -> Iterator[str]:
    """Gives the addresses of three nodes. `coordinator_file` has the process id of the one that coordinates a group."""
    with _three(brokers, settings) as nodes:

        def look() -> None:
            for node in sorted(nodes.running):
                if not is_running(nodes.pid(node)):
                    _again(nodes, node)
            _write(pid_file, nodes.pid(NODES))
            coordinator = _coordinator(nodes, group)
            if coordinator in nodes.running:
                _write(coordinator_file, nodes.pid(coordinator))

        with _again_and_again(look):
            yield nodes.bootstrap_servers


def _three(
    brokers: Brokers, settings: Mapping[str, str] | None = None
) -> AbstractContextManager[_Nodes]:
    return (
        KafkaCluster(NODES, settings) if brokers is Brokers.KAFKA else ThreeOfOurs(settings or {})
    )


def _coordinator(nodes: _Nodes, group: str) -> int:
    """The node, -1 where there is none now."""
    request = FindCoordinatorRequest(coordinator_keys=[group])
    try:
        with RawClient(nodes.bootstrap_servers) as client:
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


def _restart(broker: Broker | SecuredBroker) -> None:
    broker.kill()
    broker.restart()


def _again(nodes: _Nodes, node: int) -> None:
    nodes.kill(node)
    nodes.start(node)
