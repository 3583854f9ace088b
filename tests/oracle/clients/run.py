"""Runs the tests of the clients against Apache Kafka: with one node, then with three, then while nodes come and go.

python -m tests.oracle.clients.run [--nodes 1|3] [pytest's arguments]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

from tests.oracle.clients.kafka_cluster import CLASSPATH_VARIABLE, KafkaCluster, is_available

SUITE = "tests/integration/clients"
NODE_CHANGES = "tests/oracle/clients"
OF_ONE_NODE = (
    "admin/test_cluster.py",
    "admin/test_topics.py::test_every_type_of_resource_has_configs",
    "admin/test_topics.py::test_partitions_are_added",
    "admin/test_topics.py::test_topics_are_created_with_configs_and_assignments",
    "admin/test_transactions.py::test_producers_of_a_partition_are_described",
)
"""What these say is true of a cluster of one node only; tests/integration/clients/admin/test_several_nodes.py is about more."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, choices=(1, 3), help="only the suite with so many")
    chosen, pytest_arguments = parser.parse_known_args()
    if not is_available():
        sys.stderr.write(f"needs Java and {CLASSPATH_VARIABLE}\n")
        return 2
    codes = []
    for nodes in (1, 3) if chosen.nodes is None else (chosen.nodes,):
        say(f"== Apache Kafka, nodes: {nodes}")
        with KafkaCluster(nodes) as kafka:
            left_out = OF_ONE_NODE if nodes > 1 else ()
            deselect = [f"--deselect={SUITE}/{name}" for name in left_out]
            codes.append(run(kafka.bootstrap_servers, [SUITE, *deselect, *pytest_arguments]))
    if chosen.nodes is None:
        say("== Apache Kafka, nodes that come and go")
        codes.append(run(None, ["-m", "oracle", NODE_CHANGES, *pytest_arguments]))
    return max(codes)


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def run(bootstrap: str | None, arguments: list[str]) -> int:
    environment = dict(os.environ)
    if bootstrap is not None:
        environment["MILLSTREAM_KAFKA_BOOTSTRAP"] = bootstrap
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
