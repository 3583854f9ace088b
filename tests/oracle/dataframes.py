"""Runs the tests of sources, sinks and bridges on Spark against Apache Kafka, on one node.

python -m tests.oracle.dataframes [pytest's arguments]
"""

from __future__ import annotations

import sys
from typing import Final

from tests.oracle.clients.kafka_cluster import CLASSPATH_VARIABLE, KafkaCluster, is_available
from tests.oracle.clients.run import run

SPARK: Final = "tests/integration/spark"
SUITE: Final = (f"{SPARK}/formats", f"{SPARK}/test_bridges.py")
BEHIND_A_DOOR: Final = (
    "formats/test_secure_clients.py::test_source_and_sink_go_through_tls",
    "formats/test_secure_clients.py::test_a_topology_runs_through_tls",
)
"""These have a broker of ours behind an entrance of their own. Against Kafka tests/integration/clients/security is about entrances."""


def main() -> int:
    if not is_available():
        sys.stderr.write(f"needs Java and {CLASSPATH_VARIABLE}\n")
        return 2
    deselect = [f"--deselect={SPARK}/{name}" for name in BEHIND_A_DOOR]
    with KafkaCluster(1) as kafka:
        return run(kafka.bootstrap_servers, [*SUITE, *deselect, *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
