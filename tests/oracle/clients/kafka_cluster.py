"""Apache Kafka in several processes: combined nodes with a quorum among them, started from MILLSTREAM_KAFKA_CLASSPATH.

with KafkaCluster(3) as kafka:
    kafka.kill(kafka.node_of_leader("t", 0)); ...; kafka.start(2)
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from millstream.protocol.api import ApiKey
from millstream.protocol.generated.api_versions import ApiVersionsRequest
from tests.support.clients.raw_client import RawClient

CLASSPATH_VARIABLE: Final = "MILLSTREAM_KAFKA_CLASSPATH"
_CLUSTER_ID: Final = "AAAAAAAAAAAAAAAAAAAAAw"
_START_TIMEOUT_S: Final = 120
_STOP_TIMEOUT_S: Final = 60
_HEAP: Final = ("-Xmx400m", "-Xms128m")
_WATCH: Final = 'cat > /dev/null; xargs -r kill -9 < "$0" 2> /dev/null; rm -rf "$1"'
"""Waits for the end of its input, which comes with the end of this process, however that ends."""

QUICK_GROUPS: Final[Mapping[str, str]] = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "500",
    "group.consumer.session.timeout.ms": "1500",
    "group.consumer.min.session.timeout.ms": "1500",
    "group.consumer.heartbeat.interval.ms": "100",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.share.heartbeat.interval.ms": "100",
    "group.share.min.heartbeat.interval.ms": "100",
}
"""Lost members are given up soon: tests lose some."""


class KafkaCluster:
    """A context manager. Nodes are numbered from 1; a node that is stopped keeps its port and its data."""

    def __init__(self, nodes: int = 1, settings: Mapping[str, str] | None = None) -> None:
        """`settings`: those of all nodes; `{node}` stands for the number of each."""
        self._directory = Path(tempfile.mkdtemp(prefix="kafka-cluster-"))
        self._ports = {node: _free_port() for node in range(1, nodes + 1)}
        self._controller_ports = {node: _free_port() for node in range(1, nodes + 1)}
        self._settings = {**QUICK_GROUPS, **(settings or {})}
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._process_ids = self._directory / "process-ids"
        self._watch: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._note_processes()
        command = ["sh", "-c", _WATCH, str(self._process_ids), str(self._directory)]
        self._watch = subprocess.Popen(command, stdin=subprocess.PIPE)
        try:
            formatting = [self._format(node) for node in self._ports]
            for process in formatting:
                assert process.wait() == 0, self.log()
            for node in self._ports:
                self._launch(node)
            for node in self._ports:
                self._wait_for_answer(node)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in self._processes.values():
            process.kill()  # nothing of it is wanted any more
        for process in self._processes.values():
            process.wait()
        self._processes.clear()
        self._note_processes()
        assert self._watch is not None, "the cluster was started"
        self._watch.communicate()  # it takes the directory away

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self._ports.values())

    @property
    def running(self) -> set[int]:
        return set(self._processes)

    def pid(self, node: int) -> int:
        return self._processes[node].pid

    def start(self, node: int) -> None:
        """Returns when it answers; whether it leads anything yet is another question."""
        self._launch(node)
        self._wait_for_answer(node)

    def stop(self, node: int) -> None:
        """A clean shutdown: its partitions move first."""
        self._end(node, signal.SIGTERM)

    def kill(self, node: int) -> None:
        self._end(node, signal.SIGKILL)

    def pause(self, node: int) -> None:
        self._processes[node].send_signal(signal.SIGSTOP)

    def resume(self, node: int) -> None:
        self._processes[node].send_signal(signal.SIGCONT)

    def log(self) -> str:
        """What the nodes have written, for a failure's sake."""
        texts = [path.read_text(errors="replace")[-4000:] for path in self._directory.glob("*.log")]
        return "\n".join(texts)

    def _end(self, node: int, how: signal.Signals) -> None:
        process = self._processes.pop(node)
        process.send_signal(how)
        process.wait(_STOP_TIMEOUT_S)
        self._note_processes()

    def _format(self, node: int) -> subprocess.Popen[bytes]:
        self._properties(node).write_text(
            "".join(f"{key}={value}\n" for key, value in self._settings_of(node).items())
        )
        return self._java(node, "kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, "-c")

    def _settings_of(self, node: int) -> dict[str, str]:
        replicas = str(min(3, len(self._ports)))
        in_sync = "2" if len(self._ports) >= 3 else "1"
        voters = ",".join(f"{n}@127.0.0.1:{port}" for n, port in self._controller_ports.items())
        return {
            "process.roles": "broker,controller",
            "node.id": str(node),
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": voters,
            "listeners": (
                f"PLAINTEXT://127.0.0.1:{self._ports[node]},"
                f"CONTROLLER://127.0.0.1:{self._controller_ports[node]}"
            ),
            "log.dirs": str(self._directory / f"data-{node}"),
            "default.replication.factor": replicas,
            "min.insync.replicas": in_sync,
            "offsets.topic.replication.factor": replicas,
            "offsets.topic.num.partitions": "6",
            "transaction.state.log.replication.factor": replicas,
            "transaction.state.log.min.isr": in_sync,
            "transaction.state.log.num.partitions": "6",
            "share.coordinator.state.topic.replication.factor": replicas,
            "share.coordinator.state.topic.min.isr": in_sync,
            "share.coordinator.state.topic.num.partitions": "6",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            "broker.session.timeout.ms": "4000",
            "broker.heartbeat.interval.ms": "500",
            **{name: text.replace("{node}", str(node)) for name, text in self._settings.items()},
        }

    def _launch(self, node: int) -> None:
        self._processes[node] = self._java(node, "kafka.Kafka")
        self._note_processes()

    def _note_processes(self) -> None:
        ids = (str(process.pid) for process in self._processes.values())
        self._process_ids.write_text("\n".join(ids))

    def _wait_for_answer(self, node: int) -> None:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while time.monotonic() < deadline:
            assert self._processes[node].poll() is None, f"node {node} has ended:\n{self.log()}"
            try:
                with RawClient(f"127.0.0.1:{self._ports[node]}") as client:
                    client.ask(ApiKey.API_VERSIONS, 0, ApiVersionsRequest())
            except OSError:
                time.sleep(0.05)
            else:
                return
        raise TimeoutError(f"node {node} does not answer:\n{self.log()}")

    def _properties(self, node: int) -> Path:
        return self._directory / f"{node}.properties"

    def _java(self, node: int, main_class: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = ["java", *_HEAP, "-XX:+UseSerialGC", "-cp", os.environ[CLASSPATH_VARIABLE]]
        with (self._directory / f"{node}.log").open("ab") as log:
            return subprocess.Popen(
                [*command, main_class, *arguments, str(self._properties(node))],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )


def is_available() -> bool:
    return CLASSPATH_VARIABLE in os.environ and shutil.which("java") is not None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
