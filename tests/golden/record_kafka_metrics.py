"""Lists the metrics of a controller alone and of a broker alone of Apache Kafka: how kafka_4_3_1_*_metrics.tsv were made.

    MILLSTREAM_KAFKA_CLASSPATH=JARS python tests/golden/record_kafka_metrics.py quorum > tests/golden/kafka_4_3_1_quorum_metrics.tsv
    MILLSTREAM_KAFKA_CLASSPATH=JARS python tests/golden/record_kafka_metrics.py replica > tests/golden/kafka_4_3_1_replica_metrics.tsv

Starts one of each, creates a topic, and asks their JMX ports with Kafka's own JmxTool. Kept are the domains and types that speak of the
cluster, or of the replicas of a broker: others grow with requests and topics.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.support.kafka_node import free_port

CLASSPATH = os.environ["MILLSTREAM_KAFKA_CLASSPATH"]
CLUSTER = "AAAAAAAAAAAAAAAAAAAAAw"
SUBJECTS = {
    "quorum": (
        "the cluster, its quorum and its metadata",
        r"kafka\.controller:.*|kafka\.server:type=(raft-metrics|broker-metadata-metrics|MetadataLoader|SnapshotEmitter|node-metrics|KafkaServer).*",
    ),
    "replica": (
        "the replicas of a broker",
        r"kafka\.server:type=(ReplicaManager|ReplicaFetcherManager|ReplicaAlterLogDirsManager).*|kafka\.log:type=LogManager,name=OfflineLogDirectoryCount",
    ),
}
SUBJECT, PATTERN = SUBJECTS[sys.argv[1]]
KEPT = re.compile(PATTERN)
HEAD = f"""# The metrics of Apache Kafka 4.3.1 that speak of {SUBJECT}: role, bean, attribute; tabs between them.
# Made by tests/golden/record_kafka_metrics.py, which says how.
"""
_LAST = re.compile(r'^"?([a-z.]+:.*):([^:=]+)"?=')


def java(*arguments: str) -> list[str]:
    return ["java", "-Xmx256m", "-cp", CLASSPATH, *arguments]


class Node:
    def __init__(self, directory: Path, role: str, settings: dict[str, str]) -> None:
        self.role, self.jmx = role, free_port()
        file = directory / f"{role}.properties"
        own = {"process.roles": role, "log.dirs": str(directory / role)}
        file.write_text("".join(f"{key}={value}\n" for key, value in (own | settings).items()))
        formatting = java("kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", str(file))
        subprocess.run(formatting, check=True, capture_output=True)
        remote = "-Dcom.sun.management.jmxremote"
        options = [
            f"{remote}.port={self.jmx}",
            f"{remote}.authenticate=false",
            f"{remote}.ssl=false",
        ]
        with (directory / f"{role}.log").open("w") as log:
            self.process = subprocess.Popen(
                java(*options, "kafka.Kafka", str(file)), stdout=log, stderr=log
            )

    def metrics(self) -> list[tuple[str, str]]:
        """Bean and attribute, sorted."""
        url = f"service:jmx:rmi:///jndi/rmi://127.0.0.1:{self.jmx}/jmxrmi"
        tool = java(
            "org.apache.kafka.tools.JmxTool",
            "--jmx-url",
            url,
            "--one-time",
            "--report-format",
            "properties",
        )
        for _ in range(30):
            done = subprocess.run(tool, capture_output=True, text=True, check=False)
            found = {
                match.groups() for line in done.stdout.splitlines() if (match := _LAST.match(line))
            }
            kept = sorted((bean, attribute) for bean, attribute in found if KEPT.fullmatch(bean))
            if kept:
                return kept
            time.sleep(1)
        raise AssertionError(f"the {self.role} tells nothing: {done.stderr}")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        directory, port = Path(name), free_port()
        common = {
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": f"1@127.0.0.1:{port}",
        }
        controller = Node(
            directory,
            "controller",
            common | {"node.id": "1", "listeners": f"CONTROLLER://127.0.0.1:{port}"},
        )
        broker = Node(
            directory,
            "broker",
            common | {"node.id": "2", "listeners": f"PLAINTEXT://127.0.0.1:{free_port()}"},
        )
        try:
            time.sleep(
                20
            )  # until the broker is registered and unfenced, and both have all their metrics
            sys.stdout.write(HEAD)
            for node in (controller, broker) if sys.argv[1] == "quorum" else (broker,):
                for bean, attribute in node.metrics():
                    sys.stdout.write(f"{node.role}\t{bean}\t{attribute}\n")
        finally:
            for node in (broker, controller):
                node.process.terminate()
                node.process.wait()


if __name__ == "__main__":
    main()
