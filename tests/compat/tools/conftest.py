"""Kafka's own command line tools, unmodified, against one broker of ours: `make oracle` with MILLSTREAM_KAFKA_CLASSPATH set.

A tool is a Java process: it takes more than a second to start, so tests ask for much at a time and share the broker.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from millstream.testing.broker import Broker

CLASSPATH = os.environ.get("MILLSTREAM_KAFKA_CLASSPATH", "")
SETTINGS = {
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "share.coordinator.state.topic.num.partitions": "3",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
Tool = Callable[..., str]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.oracle)
            item.add_marker(pytest.mark.compat)
            if not CLASSPATH:
                why = "MILLSTREAM_KAFKA_CLASSPATH does not say where the jars of Kafka 4.3 are"
                item.add_marker(pytest.mark.skip(reason=why))
            elif shutil.which("java") is None:
                item.add_marker(pytest.mark.skip(reason="there is no java"))


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    with Broker(in_process=False, settings=SETTINGS) as running:
        yield running


@pytest.fixture
def name() -> str:
    """For a topic or a group of the test's own."""
    return f"t{uuid.uuid4().hex[:8]}"


@pytest.fixture
def tool(broker: Broker) -> Tool:
    """`tool("TopicCommand", "--list")`: what it prints, both streams. Fails the test when it fails, unless `fails`."""

    def run(
        kind: str,
        *arguments: str,
        text: str = "",
        fails: bool = False,
        bootstrap: str = "--bootstrap-server",
    ) -> str:
        kind = kind if kind.startswith(("kafka.", "org.")) else f"org.apache.kafka.tools.{kind}"
        server = [bootstrap, broker.bootstrap_servers] if bootstrap else []
        done = subprocess.run(
            ["java", "-XX:TieredStopAtLevel=1", "-cp", CLASSPATH, kind, *server, *arguments],
            input=text, capture_output=True, text=True, timeout=90, check=False,
        )  # fmt: skip
        lines = [
            line
            for line in (done.stdout + done.stderr).splitlines()
            if "SLF4J" not in line and "StatusLogger" not in line
        ]
        output = "\n".join(lines)
        assert (done.returncode != 0) == fails, output
        return output

    return run
