"""Runs the tests of clusters of Apache Kafka's nodes and ours: `make oracle-cluster`. Fails without Kafka.

python -m tests.oracle.cluster.run [pytest's arguments]
"""

from __future__ import annotations

import subprocess
import sys

from tests.oracle.cluster.nodes import is_available

TESTS = ("tests/oracle/cluster", "tests/compat/test_kafka_brokers.py")


def main(arguments: list[str]) -> int:
    if not is_available():
        sys.stderr.write("needs Java and MILLSTREAM_KAFKA_CLASSPATH\n")
        return 2
    command = [sys.executable, "-m", "pytest", "-m", "oracle", "-p", "no:cacheprovider"]
    return subprocess.run([*command, *TESTS, *arguments], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
