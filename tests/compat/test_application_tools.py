"""Kafka's own tools describe, list, reset and delete applications of ours, under both protocols.

`make oracle` with MILLSTREAM_KAFKA_CLASSPATH set, as for test_kafka_streams.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from millstream.clients import blocking
from millstream.testing.broker import Broker
from tests.compat import test_kafka_streams as java
from tests.compat.test_kafka_streams import broker, produce, read_counts, tool
from tests.compat.test_mixed_streams_groups import python_instance
from tests.patience import LONG_ENOUGH_S

__all__ = ["broker"]
pytestmark = java.pytestmark

INTERNAL_TOPICS = {"tooled-counts-repartition", "tooled-counts-changelog"}


class Protocol(NamedTuple):
    """`command` is the tool for groups of the protocol, the others what it says of a member with all six tasks, and of the group."""

    name: str
    command: str
    member: str
    state: list[str]


STREAMS = Protocol(
    "streams", "streams.StreamsGroupCommand", "ACTIVE: 0:[0,1,2]; 1:[0,1,2];", ["Stable", "1"]
)
CLASSIC = Protocol(
    "classic",
    "consumer.group.ConsumerGroupCommand",
    "tooled-counts-repartition:0,1,2;words:0,1,2",
    ["stream", "Stable", "1"],
)


@contextmanager
def running(broker: Broker, state: Path, protocol: str) -> Iterator[None]:
    """An instance of ours, which leaves in the end."""
    with python_instance(broker, "tooled", state, protocol) as process:
        yield
        process.send_signal(signal.SIGTERM)
        assert process.wait(LONG_ENOUGH_S) == 0


def reset(broker: Broker, *more: str) -> str:
    return tool(
        broker, "StreamsResetter", "--application-id", "tooled", "--input-topics", "words", *more
    )


def internal_topics(broker: Broker) -> set[str]:
    with blocking.Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        return {name for name in admin.list_topics() if name.startswith("tooled-")}


def committed(broker: Broker) -> dict[str, int]:
    """Returns by topic the sum of the offsets that the application has committed."""
    with blocking.Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        offsets = admin.list_consumer_group_offsets(["tooled"]).result("tooled")
    sums: dict[str, int] = {}
    for partition in offsets:
        sums[partition.topic] = sums.get(partition.topic, 0) + offsets.result(partition).offset
    return sums


@pytest.mark.parametrize("protocol", [STREAMS, CLASSIC], ids=["streams", "classic"])
def test_an_application_of_ours_is_described_by_kafkas_tools_and_counts_all_again_when_they_have_reset_it(
    broker: Broker, tmp_path: Path, protocol: Protocol
) -> None:
    asked = (protocol.command, "--describe", "--group", "tooled")
    produce(broker, "a b a")
    with running(broker, tmp_path / "first", protocol.name):
        assert read_counts(broker, {"a": 2, "b": 1}) == {"a": 2, "b": 1}
        offsets = [line.split()[1:3] for line in tool(broker, *asked).splitlines() if line.strip()]
        read = {("words", n) for n in "012"} | {("tooled-counts-repartition", n) for n in "012"}
        assert {(topic, partition) for topic, partition in offsets[1:]} == read
        assert protocol.member in tool(broker, *asked, "--members", "--verbose")
        assert tool(broker, *asked, "--state").split()[-len(protocol.state) :] == protocol.state
    assert "tooled" in tool(broker, protocol.command, "--list").split()
    assert committed(broker)["words"] == 3

    planned = reset(broker, "--dry-run")
    assert all(topic in planned for topic in INTERNAL_TOPICS)
    assert internal_topics(broker) == INTERNAL_TOPICS, "it was to say only what it would do"
    done = reset(broker)
    assert all(topic in done for topic in INTERNAL_TOPICS)
    assert internal_topics(broker) == set()
    assert committed(broker)["words"] == 0

    produce(broker, "c")
    with running(broker, tmp_path / "second", protocol.name):
        expected = {"a": 2, "b": 1, "c": 1}
        assert read_counts(broker, expected) == expected
    assert committed(broker)["words"] == 4
    deleted = tool(broker, protocol.command, "--delete", "--group", "tooled")
    assert "successful" in deleted
