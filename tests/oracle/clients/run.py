"""Runs the tests of the clients against Apache Kafka with one node, with three, and three of ours; then while nodes of Kafka come and go.

python -m tests.oracle.clients.run [--on kafka-1|kafka-3|ours-3] [pytest's arguments]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tests.oracle.clients.kafka_cluster import (
    CLASSPATH_VARIABLE,
    QUICK_GROUPS,
    KafkaCluster,
    is_available,
)
from tests.oracle.cluster.three import three_of_ours

SUITE = "tests/integration/clients"
NODE_CHANGES = "tests/oracle/clients"
OF_ONE_NODE = (
    "admin/test_cluster.py",
    "admin/test_topics.py::test_every_type_of_resource_has_configs",
    "admin/test_topics.py::test_partitions_are_added",
    "admin/test_topics.py::test_topics_are_created_with_configs_and_assignments",
    "admin/test_transactions.py::test_producers_of_a_partition_are_described",
    "test_on_the_wire.py::test_all_partitions_of_a_broker_share_its_connections_which_end_with_the_client",
)
"""What these say is true of a cluster of one node only; tests/integration/clients/admin/test_several_nodes.py is about more."""

OF_SEVERAL_REPLICAS = (
    "admin/test_several_nodes.py",
    "groups/test_share_spout.py::test_records_of_a_leader_that_has_moved_are_delivered_again_and_new_ones_come",
    "test_spout_disturbances.py::test_acks_and_fails_reach_a_partition_whose_leader_has_moved",
)
"""A partition of ours has one replica."""
CLUSTERS: Final = ("kafka-1", "kafka-3", "ours-3")
SETTINGS_OF_OURS: Final = {
    **QUICK_GROUPS,
    "millstream.flush.on.ack": "never",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--on", choices=CLUSTERS, help="only the suite on this cluster")
    chosen, pytest_arguments = parser.parse_known_args()
    if chosen.on != "ours-3" and not is_available():
        sys.stderr.write(f"needs Java and {CLASSPATH_VARIABLE}\n")
        return 2
    codes = []
    for name in CLUSTERS if chosen.on is None else (chosen.on,):
        say(f"== {name}")
        with cluster(name) as bootstrap:
            left_out = OF_ONE_NODE if name.endswith("3") else ()
            if name == "ours-3":
                left_out += OF_SEVERAL_REPLICAS
            deselect = [f"--deselect={SUITE}/{each}" for each in left_out]
            codes.append(run(bootstrap, [SUITE, *deselect, *pytest_arguments]))
    if chosen.on is None:
        say("== nodes of Apache Kafka that come and go")
        codes.append(run(None, ["-m", "oracle", NODE_CHANGES, *pytest_arguments]))
    return max(codes)


@contextmanager
def cluster(name: str) -> Iterator[str]:
    """Gives the bootstrap servers of one of CLUSTERS while it runs."""
    if name == "ours-3":
        with three_of_ours(SETTINGS_OF_OURS) as nodes:
            yield nodes.bootstrap_servers
    else:
        with KafkaCluster(int(name.removeprefix("kafka-"))) as kafka:
            yield kafka.bootstrap_servers


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
