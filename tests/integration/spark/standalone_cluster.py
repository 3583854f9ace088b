"""A stand-alone Spark cluster on 127.0.0.1: a master and workers with one core each, out of the installed PySpark."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.patience import LONG_ENOUGH_S, wait_until

EXECUTOR_MEMORY = "480m"
"""Spark gives no executor less than 450 MB."""
SMALL_EXECUTOR: Mapping[str, str] = {
    "spark.executor.memory": EXECUTOR_MEMORY,
    "spark.executor.memoryOverhead": "64m",
    "spark.driver.memory": "512m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
_WORKER_MEMORY = "1g"
_READY = re.compile(r"Starting Spark master at (spark://\S+)")


@dataclass
class StandaloneCluster:
    """`directory` gets a home of Spark's that is made of links, the logs, and the working directories of executors."""

    directory: Path
    environment: dict[str, str]
    master: subprocess.Popen[bytes] | None = None
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    url: str = ""

    def start(self, workers: int) -> None:
        home = linked_spark_home(self.directory / "spark")
        self.environment |= {
            "SPARK_HOME": str(home),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        self.master = self._started(
            "master", "org.apache.spark.deploy.master.Master", "--port", "0"
        )
        log = self.directory / "master.log"
        wait_until(lambda: _READY.search(log.read_text()) is not None)
        found = _READY.search(log.read_text())
        assert found is not None, "it was waited for"
        self.url = found[1]
        for _ in range(workers):
            self.add_worker()

    def add_worker(self) -> None:
        number = len(self.workers)
        self.workers.append(
            self._started(
                f"worker-{number}", "org.apache.spark.deploy.worker.Worker",
                "--cores", "1", "--memory", _WORKER_MEMORY,
                "--work-dir", str(self.directory / f"work-{number}"), self.url,
            )
        )  # fmt: skip
        log = self.directory / f"worker-{number}.log"
        wait_until(lambda: "Successfully registered with master" in log.read_text())

    def executors(self) -> dict[str, int]:
        """The process of each executor that runs, by its number."""
        return executors_among(self.processes())

    def processes(self) -> list[int]:
        sessions = [each.pid for each in (self.master, *self.workers) if each is not None]
        return processes_of(*sessions)

    def stop(self) -> list[int]:
        """Ends master and workers as their owner would, and returns what is left of them and their executors in the end."""
        everything = self.processes()
        for each in (*self.workers, self.master):
            if each is not None:
                each.send_signal(signal.SIGTERM)
        for each in (*self.workers, self.master):
            if each is not None:
                each.wait(LONG_ENOUGH_S)
        deadline = time.monotonic() + LONG_ENOUGH_S
        while (left := [pid for pid in everything if _is_there(pid)]) and (
            time.monotonic() < deadline
        ):
            time.sleep(0.1)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        return left

    def _started(self, name: str, main: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = Path(self.environment["SPARK_HOME"], "bin", "spark-class")
        with (self.directory / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                [str(command), main, "--host", "127.0.0.1", "--webui-port", "0", *arguments],
                env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip


@contextmanager
def standalone_cluster(
    directory: Path, *, workers: int = 2, environment: Mapping[str, str] = os.environ
) -> Iterator[StandaloneCluster]:
    """Asserts that nothing of it is left behind."""
    directory.mkdir(parents=True, exist_ok=True)
    cluster = StandaloneCluster(directory, dict(environment))
    try:
        cluster.start(workers)
        yield cluster
    finally:
        left = cluster.stop()
    assert left == []


def linked_spark_home(home: Path) -> Path:
    """Spark writes below its home (`work`), which is not to be the installed package."""
    import pyspark

    home.mkdir()
    for name in ("bin", "jars", "python", "sbin"):
        (home / name).symlink_to(Path(pyspark.__file__).parent / name)
    return home


def processes_of(*sessions: int) -> list[int]:
    """The processes of these sessions, whatever groups they have made."""
    return [
        pid
        for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
        if _session_of(pid) in sessions
    ]


def executors_among(processes: Iterable[int]) -> dict[str, int]:
    """The process of each executor, by its number."""
    found = {}
    for pid in processes:
        words = _command_line(pid)
        if "org.apache.spark.executor.CoarseGrainedExecutorBackend" in words:
            found[words[words.index("--executor-id") + 1]] = pid
    return found


def _session_of(pid: int) -> int | None:
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if state == "Z" else int(fields[2])


def _is_there(pid: int) -> bool:
    return _session_of(pid) is not None


def _command_line(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except (FileNotFoundError, ProcessLookupError):
        return []
