"""Instances of an application as processes of their own, ours, Kafka Streams' and quixstreams', started with the same arguments."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

import psutil

from benchmarks.kafka_peer import CLASSPATH_VARIABLE
from millstream.clients import blocking

CACHE_BYTES: Final = 10 * 1024 * 1024
"""Kafka's default of statestore.cache.max.bytes."""
COMMIT_INTERVAL_MS: Final = 100
_HERE: Final = Path(__file__).parent
PEERS_PYTHON: Final = _HERE.parent.parent / "build" / "peers" / "bin" / "python"
_JARS: Final = ("kafka-clients", "kafka-streams", "rocksdbjni")
_END_TIMEOUT_S: Final = 40
_TOLD_BYTES: Final = 3_000


class Cluster(NamedTuple):
    """The broker that both sides use."""

    servers: str
    admin: blocking.Admin


@dataclass(frozen=True, slots=True)
class Application:
    """What both sides are told of an application."""

    id: str
    topology: str
    source: str
    out: str
    servers: str
    guarantee: str = "at_least_once"
    cache_max_bytes: int = CACHE_BYTES
    commit_interval_ms: int = COMMIT_INTERVAL_MS

    def arguments(self, state_dir: Path) -> list[str]:
        settings = {
            "bootstrap.servers": self.servers,
            "application.id": self.id,
            "state.dir": state_dir,
            "processing.guarantee": self.guarantee,
            "statestore.cache.max.bytes": self.cache_max_bytes,
            "commit.interval.ms": self.commit_interval_ms,
            "group.protocol": "streams",
        }
        named = [f"{name}={value}" for name, value in settings.items()]
        return [self.topology, self.source, self.out, *named]


@dataclass(frozen=True, slots=True)
class Side:
    name: str
    command: tuple[str, ...]


OURS: Final = Side("ours", (sys.executable, str(_HERE / "topologies.py")))


class Instance:
    """One process of an application. A context manager; `stop` has it leave the group, and it ends with this process, too."""

    def __init__(self, side: Side, application: Application, directory: Path) -> None:
        """`directory`, an empty one, holds its stores and what it prints."""
        self._log = directory / "log"
        command = [*side.command, *application.arguments(directory / "state")]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.stop()
            self._process.wait(_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        """Asks it to end, and returns at once."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    def cpu_s(self) -> float:
        """Returns the processor time of the process and of those it has started."""
        process = psutil.Process(self._process.pid)
        all_times = [each.cpu_times() for each in (process, *process.children(recursive=True))]
        return float(sum(times.user + times.system for times in all_times))

    def printed(self) -> str:
        """Returns the end of what it has printed."""
        return self._log.read_bytes()[-_TOLD_BYTES:].decode(errors="replace")


def quixstreams_side() -> Side | None:
    """Returns None, and says why, where scripts/setup-peers has not been run."""
    if not PEERS_PYTHON.exists():
        print("ours alone: quixstreams is not installed (scripts/setup-peers)")
        return None
    return Side("quixstreams", (str(PEERS_PYTHON), str(_HERE / "quixstreams_topologies.py")))


def java_side(directory: Path) -> Side | None:
    """Compiles Topologies.java into the directory. Returns None, and says why, where that cannot be."""
    classpath = os.environ.get(CLASSPATH_VARIABLE, "")
    lacks = [jar for jar in _JARS if not _holds(classpath, jar)]
    if lacks:
        print(f"ours alone: {CLASSPATH_VARIABLE} does not name the jars of {', '.join(lacks)}")
        return None
    if shutil.which("java") is None or shutil.which("javac") is None:
        print("ours alone: there is no java and javac to run Kafka Streams with")
        return None
    source = str(_HERE / "Topologies.java")
    subprocess.run(["javac", "-cp", classpath, "-d", str(directory), source], check=True)
    return Side("Java", ("java", "-Xmx1g", "-cp", f"{directory}:{classpath}", "Topologies"))


def _holds(classpath: str, jar: str) -> bool:
    return any(
        Path(found).name.startswith(f"{jar}-") and found.endswith(".jar")
        for entry in classpath.split(":")
        for found in glob.glob(entry + ".jar" if entry.endswith("/*") else entry)
    )
