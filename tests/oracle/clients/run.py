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
            codes.append(run(kafka.bootstrap_servers, [SUITE, *pytest_arguments]))
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
