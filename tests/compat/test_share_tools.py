"""Kafka's own share consumers and tools on our broker: `make oracle` with MILLSTREAM_KAFKA_CLASSPATH set (see CONTRIBUTING)."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import uuid
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from millstream.testing.broker import Broker
from tests.support.clients.raw_client import RawClient
from tests.support.clients.raw_share_member import configure_group

CLASSPATH = os.environ.get("MILLSTREAM_KAFKA_CLASSPATH", "")
RECORDS = 1_000
LIMIT_S = 100

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.compat,
    pytest.mark.skipif(
        not CLASSPATH,
        reason="MILLSTREAM_KAFKA_CLASSPATH does not say where the jars of Kafka 4.3 are",
    ),
    pytest.mark.skipif(shutil.which("java") is None, reason="there is no java"),
]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(in_process=False) as running:
        yield running


@pytest.fixture
def topic(broker: Broker) -> str:
    """With records in two partitions, and a group of the same name that begins at the start."""
    name = f"topic-{uuid.uuid4().hex[:8]}"
    with RawClient(broker.bootstrap_servers) as client:
        client.create_topic(name, partitions=2)
        configure_group(client, name, auto_offset_reset="earliest")
    sender = Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 5})
    for number in range(RECORDS):
        sender.produce(name, f"v{number}", partition=number % 2)
    assert sender.flush(LIMIT_S) == 0
    return name


def tool(main: str, *arguments: str) -> str:
    done = subprocess.run(
        ["java", "-cp", CLASSPATH, f"org.apache.kafka.tools.{main}", *arguments],
        capture_output=True, text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def share_groups(broker: Broker, *arguments: str) -> str:
    return tool(
        "consumer.group.ShareGroupCommand",
        "--bootstrap-server",
        broker.bootstrap_servers,
        *arguments,
    )


def consume(broker: Broker, topic: str, records: int, *arguments: str) -> list[str]:
    out = tool(
        "consumer.ConsoleShareConsumer", "--bootstrap-server", broker.bootstrap_servers,
        "--topic", topic, "--group", topic, "--max-messages", str(records),
        "--timeout-ms", "30000", *arguments,
    )  # fmt: skip
    return out.split()


def rows(text: str) -> list[list[str]]:
    """What comes after the headline."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    return sorted(lines[1:])


def test_the_console_share_consumer_reads_everything(broker: Broker, topic: str) -> None:
    assert sorted(consume(broker, topic, RECORDS)) == sorted(f"v{n}" for n in range(RECORDS))
    described = rows(share_groups(broker, "--describe", "--group", topic))
    assert [(row[0], row[1], row[2], row[-1]) for row in described] == [
        (topic, topic, "0", "0"),
        (topic, topic, "1", "0"),
    ], "nothing lags"


def test_what_the_console_share_consumer_rejects_is_gone(broker: Broker, topic: str) -> None:
    assert len(consume(broker, topic, RECORDS, "--reject")) == RECORDS
    described = rows(share_groups(broker, "--describe", "--group", topic))
    assert [row[-1] for row in described] == ["0", "0"]


def test_the_verifiable_share_consumer_acknowledges_what_it_has_read(
    broker: Broker, topic: str
) -> None:
    out = tool(
        "VerifiableShareConsumer", "--bootstrap-server", broker.bootstrap_servers,
        "--topic", topic, "--group-id", topic, "--acknowledgement-mode", "sync",
        "--max-messages", str(RECORDS), "--offset-reset-strategy", "earliest",
    )  # fmt: skip
    events = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    consumed = sum(event["count"] for event in events if event["name"] == "records_consumed")
    acknowledged = [event for event in events if event["name"] == "offsets_acknowledged"]
    assert consumed >= RECORDS
    assert sum(event["count"] for event in acknowledged if event["success"]) == consumed
    assert all(event["success"] for event in acknowledged), acknowledged


def test_offsets_are_reset_and_deleted_and_the_group_is_too(broker: Broker, topic: str) -> None:
    consume(broker, topic, RECORDS)
    assert topic in share_groups(broker, "--list").split()
    reset = rows(
        share_groups(
            broker, "--reset-offsets", "--to-earliest", "--group", topic, "--topic", topic, "--execute"
        )
    )  # fmt: skip
    assert reset == [[topic, topic, "0", "0"], [topic, topic, "1", "0"]]
    assert len(consume(broker, topic, RECORDS)) == RECORDS, "all over again"
    deleted = share_groups(broker, "--delete-offsets", "--group", topic, "--topic", topic)
    assert "Successful" in deleted
    gone = share_groups(broker, "--delete", "--group", topic)
    assert "success" in gone
    assert topic not in share_groups(broker, "--list").split()


def test_members_and_state_are_told(broker: Broker, topic: str) -> None:
    consume(broker, topic, 1)
    state = rows(share_groups(broker, "--describe", "--group", topic, "--state"))
    assert state[0][0] == topic
    assert "Empty" in state[0]


def test_the_share_state_in_the_log_is_read_by_kafka(broker: Broker, topic: str) -> None:
    consume(broker, topic, RECORDS)
    files = [
        str(path)
        for path in broker.data.glob("__share_group_state-*/00000000000000000000.log")
        if path.stat().st_size
    ]
    out = tool(
        "DumpLogSegments", "--share-group-state-decoder", "--deep-iteration",
        "--files", ",".join(files),
    )  # fmt: skip
    assert topic in out
    payloads = [json.loads(text) for text in re.findall(r"payload: (\{.*\})", out)]
    assert payloads
    assert not re.search(r"payload: null|Could not|[Ee]xception", out)
    assert {"snapshotEpoch", "startOffset", "stateBatches"} <= payloads[0].keys() | payloads[0].get(
        "data", {}
    ).keys()
