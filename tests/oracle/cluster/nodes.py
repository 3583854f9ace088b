"""Nodes of Apache Kafka 4.3 and of ours, each a process, in one cluster on 127.0.0.1.

with Nodes(directory, [Node(1, Kind.OURS), Node(2, Kind.KAFKA), Node(3, Kind.OURS)]) as nodes:
    nodes.kill(1); ...; nodes.start(1)

A node keeps its ports and its directory; `take_over` starts the other kind on them. Judges nothing but its own logs.
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.support.kafka_node import CLASSPATH, free_port

CLUSTER_ID: Final = "AAAAAAAAAAAAAAAAAAAAAw"
LONG_S: Final = 120.0
"""How long a node may take to start or to stop on a busy machine."""
_LOG4J: Final = """rootLogger.level=info
rootLogger.appenderRef.o.ref=out
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%d{HH:mm:ss.SSS} %p %m (%c)%n%throwable
"""
_WATCH: Final = 'cat > /dev/null; xargs -r kill -9 < "$0" 2> /dev/null'
"""Waits for the end of its input, which comes with the end of this process, however that ends."""
_KAFKA_TO_ITSELF: Final = (
    r"(?s)Unexpected error handling request.*NotControllerException|controller event queue overloaded|Exceptionally slow controller event"
    r"|because the partition is not online or is no longer the leader|RequestMetrics\$ErrorMeter"
    r"|Expected partition \S+ with topic id \S+ to exist, but it was missing"
    r"|Error processing append operation on partition .*\n.*OutOfOrderSequenceException"
    r"|Failed to load metadata from .*\n.*Coordinator loader is closed"
)
"""Kafka's own nodes cause these, too: a request for a node that does not lead the quorum yet or any more (`ControllerApis`
tells whatever the controller throws), a machine that is busy with other things, a coordinator that
is stopped while it loads, a heartbeat answered after its metrics are gone, a replica that a reassignment adds (`ReplicaManager` knows
new topics only), a batch that is at the new leader before the one ahead of it has come back from the old one."""
_SETTINGS: Final = {
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "6",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "6",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "6",
    "group.initial.rebalance.delay.ms": "0",
    "broker.session.timeout.ms": "4000",
    "broker.heartbeat.interval.ms": "500",
}
"""One replica of everything, and sessions that end soon: a killed broker may come back only after its own."""


class Kind(StrEnum):
    OURS = "ours"
    KAFKA = "kafka"

    @property
    def other(self) -> Kind:
        return Kind.KAFKA if self is Kind.OURS else Kind.OURS


@dataclass(frozen=True, slots=True)
class Node:
    number: int
    kind: Kind
    roles: str = "broker,controller"
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    """Its own, over those of all nodes."""

    @property
    def is_controller(self) -> bool:
        return "controller" in self.roles

    @property
    def is_broker(self) -> bool:
        return "broker" in self.roles


class Nodes:
    """A context manager: formats all directories, starts all nodes, and at the end kills whatever runs."""

    def __init__(
        self,
        directory: Path,
        nodes: Iterable[Node],
        *,
        is_dynamic: bool = False,
        release: str = "",
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """`is_dynamic`: the voters are in the log (KIP-853), not in the settings; `release`: the metadata.version of the format.

        In `settings`, those of all nodes, `{client}` stands for the address at which clients reach each, `{controller}` for that of its
        controller.
        """
        self._directory = directory
        self._nodes = {node.number: node for node in nodes}
        self._is_dynamic = is_dynamic
        self._release = release
        self._settings = {**_SETTINGS, **(settings or {})}
        self._client_ports = {number: free_port() for number in self._nodes}
        self._controller_ports = {number: free_port() for number in self._nodes}
        self._directory_ids = {number: random_id() for number in self._nodes}
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._process_ids = directory / "process-ids"
        self._watch: subprocess.Popen[bytes] | None = None
        self._log4j = directory / "log4j2.properties"

    def __enter__(self) -> Self:
        self._log4j.write_text(_LOG4J)
        self._note_processes()
        watch = ["sh", "-c", _WATCH, str(self._process_ids)]
        self._watch = subprocess.Popen(watch, stdin=subprocess.PIPE)
        try:
            for number in self._nodes:
                self.format(number)
            self.start(*self._nodes)
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
            process.kill()
        for process in self._processes.values():
            process.wait()
        self._processes.clear()
        self._note_processes()
        assert self._watch is not None, "the nodes were started"
        self._watch.communicate()

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(self.client_address(n) for n, node in self._nodes.items() if node.is_broker)

    @property
    def bootstrap_controllers(self) -> str:
        found = (
            self.controller_address(n) for n, node in self._nodes.items() if node.is_controller
        )
        return ",".join(found)

    @property
    def running(self) -> set[int]:
        return set(self._processes)

    def kind(self, number: int) -> Kind:
        return self._nodes[number].kind

    def is_broker(self, number: int) -> bool:
        return self._nodes[number].is_broker

    def of_kind(self, kind: Kind) -> list[int]:
        return [number for number, node in self._nodes.items() if node.kind is kind]

    def client_address(self, number: int) -> str:
        return f"127.0.0.1:{self._client_ports[number]}"

    def controller_address(self, number: int) -> str:
        return f"127.0.0.1:{self._controller_ports[number]}"

    def data(self, number: int) -> Path:
        return self._directory / f"data-{number}"

    def properties(self, number: int) -> Path:
        return self._directory / f"{number}.properties"

    def directory_id(self, number: int) -> str:
        meta = (self.data(number) / "meta.properties").read_text()
        found = re.search(r"(?m)^directory\.id=(\S+)$", meta)
        assert found, meta
        return found[1]

    def add(self, node: Node) -> None:
        """Formats and starts a node that the others do not know; if it is a controller it is no voter yet."""
        self._nodes[node.number] = node
        for ports in (self._client_ports, self._controller_ports):
            ports[node.number] = free_port()
        self.format(node.number, voters=False)
        self.start(node.number)

    def remove(self, number: int) -> None:
        """Ends a node for good."""
        self.stop(number)
        del self._nodes[number]
        shutil.rmtree(self.data(number))

    def take_over(self, number: int) -> None:
        """Starts the other kind on the directory of a node that is stopped."""
        node = self._nodes[number]
        self._nodes[number] = replace(node, kind=node.kind.other)
        self.start(number)

    def start(self, *numbers: int) -> None:
        """Returns when all of them say that they are ready."""
        since = {number: self._log_size(number) for number in numbers}
        for number in numbers:
            self._launch(number)
        for number in numbers:
            self._wait_until_ready(number, since[number])

    def stop(self, number: int) -> int:
        """Ends a node as an operator does, and returns its exit code."""
        return self._end(number, signal.SIGTERM)

    def kill(self, number: int) -> None:
        self._end(number, signal.SIGKILL)

    def pause(self, number: int) -> None:
        self._processes[number].send_signal(signal.SIGSTOP)

    def resume(self, number: int) -> None:
        self._processes[number].send_signal(signal.SIGCONT)

    def log(self, number: int) -> str:
        return self._log(number).read_text(errors="replace")

    def complaints(self) -> list[str]:
        """Lines that no node should write: at ERROR on Kafka's, at ERROR or with a trace on ours."""
        return [
            f"{number}: {found[0]}"
            for number in self._client_ports
            for found in re.finditer(
                r"(?m)^(\S+ (ERROR|FATAL) |Traceback ).*(\n\S+Exception: .*)?", self.log(number)
            )
            if not re.search(_KAFKA_TO_ITSELF, found[0])
        ]

    def format(self, number: int, *, voters: bool = True) -> None:
        """`voters`: a controller of a dynamic quorum is one of its first voters."""
        settings = self._settings_of(self._nodes[number])
        text = "".join(f"{key}={value}\n" for key, value in settings.items())
        self.properties(number).write_text(text)
        if self._nodes[number].kind is Kind.OURS:
            command = [*_OURS, "storage"]
        else:
            command = [*self._java(), "kafka.tools.StorageTool"]
        options = ["format", "-t", CLUSTER_ID, "-c", str(self.properties(number))]
        if self._release:
            options += ["--release-version", self._release]
        if self._is_dynamic and self._nodes[number].is_controller and voters:
            options += ["--initial-controllers", self._first_voters()]
        elif self._is_dynamic:
            options.append("--no-initial-controllers")
        done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def _first_voters(self) -> str:
        return ",".join(
            f"{number}@{self.controller_address(number)}:{directory_id}"
            for number, directory_id in self._directory_ids.items()
            if self._nodes[number].is_controller
        )

    def _settings_of(self, node: Node) -> dict[str, str]:
        listeners = []
        if node.is_broker:
            listeners.append(f"PLAINTEXT://{self.client_address(node.number)}")
        if node.is_controller:
            listeners.append(f"CONTROLLER://{self.controller_address(node.number)}")
        controllers = [number for number, each in self._nodes.items() if each.is_controller]
        if self._is_dynamic:
            servers = ",".join(self.controller_address(number) for number in controllers)
            quorum = {"controller.quorum.bootstrap.servers": servers}
        else:
            voters = ",".join(f"{n}@{self.controller_address(n)}" for n in controllers)
            quorum = {"controller.quorum.voters": voters}
        return {
            "process.roles": node.roles,
            "node.id": str(node.number),
            "listeners": ",".join(listeners),
            "log.dirs": str(self.data(node.number)),
            **quorum,
            **{
                key: value.replace("{client}", self.client_address(node.number)).replace(
                    "{controller}", self.controller_address(node.number)
                )
                for key, value in {**self._settings, **node.settings}.items()
            },
        }

    def _launch(self, number: int) -> None:
        if self._nodes[number].kind is Kind.OURS:
            command = [*_OURS, "server"]
        else:
            command = [*self._java(), "kafka.Kafka"]
        with self._log(number).open("ab") as log:
            self._processes[number] = subprocess.Popen(
                [*command, str(self.properties(number))],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self._note_processes()

    def _java(self) -> list[str]:
        log4j = f"-Dlog4j2.configurationFile={self._log4j}"
        return ["java", "-Xmx400m", "-Xms128m", "-XX:+UseSerialGC", log4j, "-cp", CLASSPATH]

    def _wait_until_ready(self, number: int, since: int) -> None:
        ready = "millstream ready" if self.kind(number) is Kind.OURS else "Kafka Server started"
        deadline = time.monotonic() + LONG_S
        while ready not in (
            said := self._log(number).read_bytes()[since:].decode(errors="replace")
        ):
            assert self._processes[number].poll() is None, f"node {number} ended: {said[-4_000:]}"
            assert time.monotonic() < deadline, f"node {number} is not ready: {said[-4_000:]}"
            time.sleep(0.1)

    def _end(self, number: int, how: signal.Signals) -> int:
        process = self._processes.pop(number)
        process.send_signal(how)
        code = process.wait(LONG_S)
        self._note_processes()
        return code

    def _note_processes(self) -> None:
        ids = (str(process.pid) for process in self._processes.values())
        self._process_ids.write_text("\n".join(ids))

    def _log(self, number: int) -> Path:
        return self._directory / f"{number}.log"

    def _log_size(self, number: int) -> int:
        return self._log(number).stat().st_size if self._log(number).exists() else 0


_OURS: Final = (sys.executable, "-m", "millstream.cli.main")


def random_id() -> str:
    """An id in Kafka's spelling, none of those that begin with a dash and look like an option."""
    while (found := urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        pass
    return found


def is_available() -> bool:
    return bool(CLASSPATH) and shutil.which("java") is not None
