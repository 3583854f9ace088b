"""Three nodes under measurement, ours and Apache Kafka's: start, stop, kill, revive, ask, and see how long answers take."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Protocol, Self

import psutil

from benchmarks.kafka_peer import KafkaPeer, free_port, wait_for_answer
from benchmarks.wire import Connection
from millstream.clients import blocking
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.api_versions import ApiVersionsRequest
from millstream.protocol.generated.create_topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from millstream.protocol.generated.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)

NODES: Final = 3
PING_S: Final = 0.02
_WAIT_S: Final = 60.0
_CLOSING_S: Final = 2.0
"""A broker that accepts no connection any more closes its logs within that."""


class Nodes(Protocol):
    """A cluster under measurement."""

    @property
    def name(self) -> str: ...
    @property
    def addresses(self) -> Sequence[str]: ...
    @property
    def pids(self) -> Sequence[int]: ...
    def start(self) -> None:
        """Returns when all nodes answer."""
        ...

    def stop(self) -> None: ...
    def stop_node(self, node: int) -> None:
        """Stops one node in order."""
        ...

    def kill(self, node: int) -> None: ...
    def revive(self, node: int) -> None:
        """Starts a node that was stopped or killed; returns when it answers."""
        ...

    def log_bytes(self, node: int, topic: str) -> int:
        """Returns the bytes of records that a node has of the first partition of a topic."""
        ...


class OurNodes:
    """`millstream cluster`, started anew for each life; a node that was killed or stopped is revived as it was started."""

    name = "millstream"

    def __init__(self, directory: str, settings: Mapping[str, str]) -> None:
        self._directory = directory
        overrides = [f"--override={key}={value}" for key, value in settings.items()]
        self._command = [
            *(sys.executable, "-m", "millstream.cli.main", "cluster", "--nodes", str(NODES)),
            *("--data", directory, "--port", "0", *overrides),
            *("--override", "group.initial.rebalance.delay.ms=0"),
        ]
        self._process: subprocess.Popen[str] | None = None
        self._revived: dict[int, subprocess.Popen[bytes]] = {}
        self._children: list[psutil.Process] = []
        self._command_lines: list[list[str]] = []
        self.addresses: Sequence[str] = ()

    @property
    def pids(self) -> Sequence[int]:
        return [child.pid for child in self._children]

    def start(self) -> None:
        with open(f"{self._directory}.log", "a") as log:
            self._process = subprocess.Popen(
                self._command, stdout=subprocess.PIPE, stderr=log, text=True
            )
        line = _output(self._process).readline()
        assert line.startswith("millstream ready "), line
        fields = dict(field.split("=", 1) for field in line.split()[2:])
        self.addresses = fields["bootstrap"].split(",")
        children = psutil.Process(self._process.pid).children()
        self._children = sorted(children, key=lambda child: child.pid)
        self._command_lines = [child.cmdline() for child in self._children]

    def stop(self) -> None:
        for process in self._revived.values():
            process.terminate()
            assert process.stdin is not None, "its input is a pipe"
            process.stdin.close()  # the controller's part ends with it
            process.wait()
        self._revived.clear()
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None

    def stop_node(self, node: int) -> None:
        # Only its broker ends: the controller beside it ends with the command that has started it, or here.
        self._children[node].terminate()
        until_silent(self.addresses[node])
        time.sleep(_CLOSING_S)
        self.kill(node)

    def kill(self, node: int) -> None:
        self._children[node].kill()
        revived = self._revived.pop(node, None)
        if revived is not None:
            revived.wait()

    def revive(self, node: int) -> None:
        # Its input stays open: a node of a cluster ends with the command that has started it.
        process = subprocess.Popen(
            self._command_lines[node],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._revived[node] = process
        self._children[node] = psutil.Process(process.pid)
        wait_for_answer(self.addresses[node], _WAIT_S)

    def log_bytes(self, node: int, topic: str) -> int:
        return _log_bytes(Path(self._directory), f"*{node + 1}*/**/{topic}-0/*.log")


class KafkaNodes:
    """Apache Kafka, as many nodes, each broker and controller."""

    name = "kafka"

    def __init__(self) -> None:
        ports = [free_port() for _ in range(NODES)]
        voters = ",".join(f"{node}@127.0.0.1:{port}" for node, port in enumerate(ports, 1))
        self._peers = [
            KafkaPeer({"node.id": str(node), "controller.quorum.voters": voters}, port)
            for node, port in enumerate(ports, 1)
        ]
        self._is_formatted = False

    @property
    def addresses(self) -> Sequence[str]:
        return [peer.bootstrap_servers for peer in self._peers]

    @property
    def pids(self) -> Sequence[int]:
        return [peer.pid for peer in self._peers if peer.pid is not None]

    def start(self) -> None:
        if not self._is_formatted:
            for peer in self._peers:
                peer.format()
            self._is_formatted = True
        for peer in self._peers:
            peer.launch()
        for peer in self._peers:
            wait_for_answer(peer.bootstrap_servers, _WAIT_S)

    def stop(self) -> None:
        for pid in self.pids:
            os.kill(pid, signal.SIGTERM)
        for peer in self._peers:
            peer.stop()

    def stop_node(self, node: int) -> None:
        self._peers[node].stop()

    def kill(self, node: int) -> None:
        self._peers[node].kill()

    def revive(self, node: int) -> None:
        self._peers[node].start()

    def log_bytes(self, node: int, topic: str) -> int:
        return _log_bytes(self._peers[node].data, f"{topic}-0/*.log")

    def close(self) -> None:
        for peer in self._peers:
            peer.close()


class Pings:
    """Asks each node for ApiVersions fifty times a second, on a thread for each.

    `longest_ms`: what one has taken at the most; `longest_own_ms`: the same without the time in which the loop of the node, or the thread
    that asks, waited for a processor that somebody else had. On a machine that is busy only the second one says something of the node.
    """

    def __init__(self, targets: Sequence[tuple[str, int]]) -> None:
        """`targets`: addresses and process ids."""
        self._ends = threading.Event()
        self._threads = [threading.Thread(target=self._ping, args=each) for each in targets]
        self.longest_ms = 0.0
        self.longest_own_ms = 0.0

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ends.set()
        for thread in self._threads:
            thread.join()

    def _ping(self, address: str, pid: int) -> None:
        connection = Connection(address, 1 << 16)
        ours = os.getpid(), threading.get_native_id()
        while not self._ends.wait(PING_S):
            begin, waited_ms = time.perf_counter(), _run_delay_ms(pid, pid) + _run_delay_ms(*ours)
            connection.ask(ApiKey.API_VERSIONS, 0, ApiVersionsRequest())
            took_ms = (time.perf_counter() - begin) * 1000
            waited_ms = _run_delay_ms(pid, pid) + _run_delay_ms(*ours) - waited_ms
            self.longest_ms = max(self.longest_ms, took_ms)
            self.longest_own_ms = max(self.longest_own_ms, took_ms - waited_ms)
        connection.close()


def _run_delay_ms(pid: int, thread_id: int) -> float:
    """Returns how long a thread has waited for a processor (Documentation/scheduler/sched-stats.rst of Linux)."""
    with open(f"/proc/{pid}/task/{thread_id}/schedstat") as file:
        return int(file.read().split()[1]) / 1e6


def timed(
    nodes: Nodes, what: str, work: Callable[[], None], pinged: Sequence[int] | None = None
) -> None:
    chosen = range(NODES) if pinged is None else pinged
    with Pings([(nodes.addresses[node], nodes.pids[node]) for node in chosen]) as pings:
        begin = time.perf_counter()
        work()
        took = time.perf_counter() - begin
    print(
        f"    {what}: {took:.1f} s, longest answer {pings.longest_ms:.0f} ms, {pings.longest_own_ms:.0f} ms without waiting for a processor",
        flush=True,
    )


def create(
    connection: Connection, names: Sequence[str], partitions: int, replicas: int = 1
) -> None:
    wanted = [
        CreatableTopic(name=name, num_partitions=partitions, replication_factor=replicas)
        for name in names
    ]
    request = CreateTopicsRequest(topics=wanted, timeout_ms=60_000)
    answer = connection.ask(ApiKey.CREATE_TOPICS, 7, request)
    assert isinstance(answer, CreateTopicsResponse), "the API has one kind of response"
    assert not any(topic.error_code for topic in answer.topics), answer


def metadata(connection: Connection, names: Sequence[str] | None) -> MetadataResponse:
    topics = None if names is None else [MetadataRequestTopic(name=name) for name in names]
    answer = connection.ask(ApiKey.METADATA, 9, MetadataRequest(topics=topics))
    assert isinstance(answer, MetadataResponse), "the API has one kind of response"
    return answer


def topic_error(connection: Connection, name: str) -> int:
    (topic,) = metadata(connection, [name]).topics
    return topic.error_code or max((each.error_code for each in topic.partitions), default=0)


def until_brokers(nodes: Nodes, count: int, asked: Sequence[int] = range(NODES)) -> None:
    """Until each of the nodes that are asked knows so many brokers."""
    for node in asked:
        connection = Connection(nodes.addresses[node])
        while len(metadata(connection, []).brokers) != count:
            time.sleep(PING_S)
        connection.close()


def until_led(connection: Connection, names: Sequence[str], count: int) -> None:
    while True:
        topics = metadata(connection, names).topics
        if sum(each.leader_id >= 0 for topic in topics for each in topic.partitions) == count:
            return
        time.sleep(0.1)


def active_controller(nodes: Nodes) -> int:
    """Returns the place of the node that leads the quorum."""
    with blocking.Admin(bootstrap_servers=nodes.addresses[0]) as admin:
        leader = admin.describe_metadata_quorum().leader_id
    return leader - 1


def until_silent(address: str) -> None:
    """Until nobody accepts connections there."""
    while True:
        try:
            Connection(address, 1 << 10).close()
        except OSError:
            return
        time.sleep(PING_S)


def _log_bytes(directory: Path, pattern: str) -> int:
    return sum(each.stat().st_size for each in directory.glob(pattern))


def _output(process: subprocess.Popen[str]) -> IO[str]:
    assert process.stdout is not None, "standard output is a pipe"
    return process.stdout
