"""Kafka's own tools beside `millstream acls` and `users`: they read the same files and make the same rules. `make oracle` with MILLSTREAM_KAFKA_CLASSPATH set."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from millstream.cli.main import main
from millstream.testing import Broker

CLASSPATH = os.environ.get("MILLSTREAM_KAFKA_CLASSPATH", "")
TOPICS = "org.apache.kafka.tools.TopicCommand"
ACLS = "org.apache.kafka.tools.AclCommand"

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.compat,
    pytest.mark.slow,
    pytest.mark.skipif(
        not CLASSPATH,
        reason="MILLSTREAM_KAFKA_CLASSPATH does not say where the jars of Kafka 4.3 are",
    ),
    pytest.mark.skipif(shutil.which("java") is None, reason="there is no java"),
]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(secure=True) as running:
        yield running


def kafka(broker: Broker, config: Path, *command: str) -> str:
    tool, *options = command
    done = subprocess.run(
        ["java", "-XX:TieredStopAtLevel=1", "-cp", CLASSPATH, tool, "--bootstrap-server", broker.bootstrap_servers,
         "--command-config", str(config), *options],
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def ours(broker: Broker, *arguments: str) -> str:
    done = CliRunner().invoke(main, [*arguments, "--config", str(broker.client_properties)])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_files_that_we_write_are_read_by_java(broker: Broker, tmp_path: Path) -> None:
    """The authority stands in them as text, with its line ends escaped."""
    alice = tmp_path / "alice.properties"
    made = kafka(broker, broker.client_properties, TOPICS, "--create", "--topic", "orders")
    assert "Created topic orders" in made
    ours(broker, "users", "add", "alice", "--generate", "--client-properties", str(alice))
    assert kafka(broker, alice, TOPICS, "--list").split() == []
    ours(broker, "acls", "add", "--allow-principal", "alice", "--operation", "Describe", "--topic", "orders")  # fmt: skip
    assert kafka(broker, alice, TOPICS, "--list").split() == ["orders"]


@pytest.mark.parametrize(
    "options",
    [
        ("--producer", "--topic", "t", "--transactional-id", "x", "--idempotent"),
        ("--consumer", "--topic", "t", "--group", "g", "--resource-pattern-type", "prefixed"),
        ("--topic", "t", "--operation", "DescribeConfigs", "--operation", "Read", "--allow-host", "10.0.0.1"),
        ("--cluster", "--operation", "IdempotentWrite"),
        ("--group", "*"),
    ],
)  # fmt: skip
def test_the_same_options_make_the_same_rules(broker: Broker, options: tuple[str, ...]) -> None:
    kafka(
        broker, broker.client_properties, ACLS, "--add", "--allow-principal", "User:bob", *options
    )
    planned = ours(broker, "acls", "add", "--allow-principal", "bob", *options, "--dry-run")
    assert "exists already" in planned
    assert "could be added" not in planned
    count = planned.count("exists already")
    assert ours(broker, "acls", "remove", "--principal", "bob", "--yes").count("removed") == count
