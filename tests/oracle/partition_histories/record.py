"""Three nodes of Kafka are stopped, killed, elected and reassigned, and their metadata log is kept: how metadata.log.gz was made.

    MILLSTREAM_KAFKA_CLASSPATH=JARS python -m tests.oracle.partition_histories.record

Combined nodes with replication factors 1 and 3, at Kafka's defaults but for the balancing of leaders, which would come at any time.
"""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
LOG: Final = HERE / "metadata.log.gz"
STOPS: Final = HERE / "stops.json"
"""How the processes ended, in order: broker and whether it was stopped cleanly."""
_PORT: Final = 29_700
_WAIT_S: Final = 90.0
_TOOLS: Final = "org.apache.kafka.tools."
_CLASSPATH: Final = os.environ.get("MILLSTREAM_KAFKA_CLASSPATH", "")


class Cluster:
    """Node 3 is never ended: it has the whole log."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.bootstrap = f"127.0.0.1:{_PORT + 2}"
        self._nodes: dict[int, subprocess.Popen[bytes]] = {}
        self.stops: list[tuple[int, bool]] = []

    def start(self, *ids: int) -> None:
        for number in ids:
            properties = self.directory / f"{number}.properties"
            if not properties.exists():
                self._format(number, properties)
            log = (self.directory / f"{number}.log").open("ab")
            command = ["java", "-Xmx300m", "-cp", _CLASSPATH, "kafka.Kafka", str(properties)]
            self._nodes[number] = subprocess.Popen(command, stdout=log, stderr=log)

    def _format(self, number: int, properties: Path) -> None:
        port, voters = (
            _PORT + number - 1,
            ",".join(f"{n}@127.0.0.1:{_PORT + 100 + n}" for n in (1, 2, 3)),
        )
        lines = {
            "process.roles": "broker,controller",
            "node.id": str(number),
            "controller.quorum.voters": voters,
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{_PORT + 100 + number}",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(self.directory / f"data-{number}"),
            "auto.leader.rebalance.enable": "false",
        }
        properties.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
        options = ("format", "-t", "AAAAAAAAAAAAAAAAAAAAAw", "-c", str(properties))
        _java("kafka.tools.StorageTool", *options)

    def stop(self, number: int) -> None:
        self.stops.append((number, True))
        self._end(number, signal.SIGTERM)

    def kill(self, number: int) -> None:
        self.stops.append((number, False))
        self._end(number, signal.SIGKILL)

    def _end(self, number: int, how: signal.Signals) -> None:
        node = self._nodes.pop(number)
        node.send_signal(how)
        node.wait(_WAIT_S)

    def end_all(self) -> None:
        for node in self._nodes.values():
            node.kill()
            node.wait(_WAIT_S)

    def tool(self, name: str, *arguments: str) -> str:
        return _java(_TOOLS + name, "--bootstrap-server", self.bootstrap, *arguments)

    def describe(self) -> str:
        return self.tool("TopicCommand", "--describe")

    def until(self, holds: Callable[[str], bool]) -> None:
        deadline = time.monotonic() + _WAIT_S
        while not holds(told := self.describe()):
            if time.monotonic() > deadline:
                sys.exit(f"it did not come about: {told}")


def _java(*command: str) -> str:
    done = subprocess.run(
        ["java", "-cp", _CLASSPATH, *command], capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return done.stdout


def _rows(told: str, topic: str) -> list[dict[str, str]]:
    lines = [line for line in told.splitlines() if line.startswith(f"\tTopic: {topic}\t")]
    return [
        {
            key: value
            for key, _, value in (part.partition(": ") for part in line.strip().split("\t"))
        }
        for line in lines
    ]


def _all_in_sync(told: str) -> bool:
    return all(
        len(row["Isr"].split(",")) == len(row["Replicas"].split(",")) and row["Isr"]
        for topic in ("one", "three", "strict")
        for row in _rows(told, topic)
    )


def _lacks(broker: int) -> Callable[[str], bool]:
    return lambda told: all(str(broker) not in row["Isr"] for row in _rows(told, "three"))


def _live(cluster: Cluster) -> None:
    cluster.start(1, 2, 3)
    time.sleep(12)
    create = ("TopicCommand", "--create", "--topic")
    cluster.tool(*create, "one", "--replica-assignment", "1,2,3")
    cluster.tool(
        *create, "three", "--replica-assignment", "1:2:3,2:1:3", "--config", "min.insync.replicas=2"
    )
    cluster.tool(
        *create,
        "strict",
        "--replica-assignment",
        "1:2:3,2:3:1",
        "--config",
        "min.insync.replicas=3",
    )
    cluster.until(_all_in_sync)
    for end, number in ((cluster.stop, 1), (cluster.kill, 1), (cluster.kill, 2), (cluster.stop, 2)):
        end(number)
        cluster.until(_lacks(number))
        cluster.start(number)
        cluster.until(_all_in_sync)
    cluster.kill(1)
    cluster.until(_lacks(1))
    set_topic = ("--alter", "--entity-type", "topics", "--entity-name", "strict", "--add-config")
    _java(
        "kafka.admin.ConfigCommand",
        "--bootstrap-server",
        cluster.bootstrap,
        *set_topic,
        "min.insync.replicas=2",
    )
    cluster.start(1)
    cluster.until(_all_in_sync)
    cluster.tool("LeaderElectionCommand", "--election-type", "preferred", "--all-topic-partitions")
    _reassign(cluster, {"three": {0: [3, 2]}, "one": {0: [2]}, "strict": {1: [1, 3, 2]}})
    cluster.until(lambda told: _rows(told, "one")[0]["Replicas"] == "2")
    time.sleep(3)


def _reassign(cluster: Cluster, targets: dict[str, dict[int, list[int]]]) -> None:
    moves = [
        {"topic": topic, "partition": number, "replicas": replicas}
        for topic, partitions in targets.items()
        for number, replicas in partitions.items()
    ]
    file = cluster.directory / "moves.json"
    file.write_text(json.dumps({"version": 1, "partitions": moves}))
    cluster.tool(
        "reassign.ReassignPartitionsCommand", "--reassignment-json-file", str(file), "--execute"
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        cluster = Cluster(Path(directory))
        try:
            _live(cluster)
            written = (
                cluster.directory / "data-3/__cluster_metadata-0/00000000000000000000.log"
            ).read_bytes()
        finally:
            cluster.end_all()
    with gzip.GzipFile(LOG, "wb", mtime=0) as out:
        out.write(written)
    STOPS.write_text(json.dumps(cluster.stops) + "\n")


if __name__ == "__main__":
    main()
