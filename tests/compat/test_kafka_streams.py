"""Kafka Streams 4.3 with `group.protocol=streams` runs on our broker: `make oracle` with MILLSTREAM_KAFKA_CLASSPATH set.

The class path has to hold kafka-streams and rocksdbjni besides the jars of the broker.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from millstream.protocol.api import ApiKey
from millstream.protocol.generated.streams_group_describe import (
    DescribedGroup,
    StreamsGroupDescribeRequest,
)
from millstream.testing.broker import Broker
from tests.patience import LONG_ENOUGH_S
from tests.support.clients.raw_client import RawClient

CLASSPATH = os.environ.get("MILLSTREAM_KAFKA_CLASSPATH", "")
HAS_STREAMS = any(
    "/kafka-streams-" in jar
    for entry in CLASSPATH.split(":")
    for jar in glob.glob(entry + ".jar" if entry.endswith("/*") else entry)
)
APPLICATION = Path(__file__).parent / "streams" / "WordCount.java"
SETTINGS = {
    "group.streams.min.session.timeout.ms": "1000",
    "group.streams.session.timeout.ms": "4000",
    "group.streams.min.heartbeat.interval.ms": "200",
    "group.streams.heartbeat.interval.ms": "200",
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.assignment.interval.ms": "0",
    "group.streams.num.standby.replicas": "1",
}
PARTITIONS = 3
DEADLINE_S = 120

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.compat,
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.skipif(
        not HAS_STREAMS,
        reason="MILLSTREAM_KAFKA_CLASSPATH does not hold the jars of Kafka Streams 4.3",
    ),
    pytest.mark.skipif(shutil.which("java") is None, reason="there is no java"),
]


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(settings=SETTINGS) as running:
        with RawClient(running.bootstrap_servers) as client:
            client.create_topic("words", PARTITIONS)
            client.create_topic("counts")
        yield running


@contextmanager
def instance(
    broker: Broker,
    application: str,
    state: Path,
    guarantee: str = "at_least_once",
    protocol: str = "streams",
    *,
    pattern: str | None = None,
) -> Iterator[subprocess.Popen[str]]:
    """One process of the application. `pattern`: of the topics that it reads, instead of the one."""
    state.mkdir()
    command = ["java", "-Xmx256m", "-cp", CLASSPATH, str(APPLICATION)]
    with (
        (state.parent / f"{state.name}.log").open("w") as log,
        subprocess.Popen(
            [
                *(*command, broker.bootstrap_servers, application, str(state), guarantee, protocol),
                *(() if pattern is None else (pattern,)),
            ],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            text=True,
        ) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


def stop(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(LONG_ENOUGH_S) == 0


def tool(broker: Broker, name: str, *arguments: str) -> str:
    command = ["java", "-Xmx256m", "-cp", CLASSPATH, f"org.apache.kafka.tools.{name}"]
    done = subprocess.run(
        [*command, "--bootstrap-server", broker.bootstrap_servers, *arguments],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def produce(broker: Broker, text: str, topic: str = "words") -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
    for number, word in enumerate(text.split()):
        producer.produce(topic, word, partition=number % PARTITIONS)
    assert producer.flush(LONG_ENOUGH_S) == 0


def read_counts(broker: Broker, expected: dict[str, int]) -> dict[str, int]:
    """The newest count of every word, as soon as it is the expected one, or what it is when time is up."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "reader",
            "isolation.level": "read_committed",
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition("counts", 0, OFFSET_BEGINNING)])
    counts: dict[str, int] = {}
    deadline = time.monotonic() + DEADLINE_S
    while counts != expected and time.monotonic() < deadline:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            counts[message.key().decode()] = int.from_bytes(message.value(), "big")
    consumer.close()
    return counts


def describe(broker: Broker, application: str) -> DescribedGroup:
    request = StreamsGroupDescribeRequest(group_ids=[application])
    with RawClient(broker.bootstrap_servers) as client:
        group: DescribedGroup = client.ask(ApiKey.STREAMS_GROUP_DESCRIBE, 0, request).groups[0]
    return group


def wait_until(
    broker: Broker, application: str, holds: Callable[[DescribedGroup], bool]
) -> DescribedGroup:
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        group = describe(broker, application)
        if holds(group):
            return group
        time.sleep(0.1)
    raise AssertionError(f"it never came to that: {describe(broker, application)}")


def is_stable(members: int) -> Callable[[DescribedGroup], bool]:
    return lambda group: group.group_state == "Stable" and len(group.members) == members


def active_tasks(group: DescribedGroup) -> list[list[tuple[str, int]]]:
    return [
        [(ids.subtopology_id, p) for ids in member.assignment.active_tasks for p in ids.partitions]
        for member in group.members
    ]


def test_two_instances_share_the_tasks_and_one_takes_over_when_the_other_is_killed(
    broker: Broker, tmp_path: Path
) -> None:
    produce(broker, "a b c a b a")
    with instance(broker, "app", tmp_path / "first") as first:
        expected = {"a": 3, "b": 2, "c": 1}
        assert read_counts(broker, expected) == expected
        with instance(broker, "app", tmp_path / "second") as second:
            group = wait_until(broker, "app", is_stable(members=2))
            held = active_tasks(group)
            assert sorted(len(tasks) for tasks in held) == [3, 3]
            assert {task for tasks in held for task in tasks} == {
                (subtopology, partition) for subtopology in "01" for partition in range(PARTITIONS)
            }
            standby = [m.assignment.standby_tasks[0].subtopology_id for m in group.members]
            assert set(standby) == {"1"}, "only the counting sub-topology has state to keep"
            produce(broker, "a b c")
            expected = {"a": 4, "b": 3, "c": 2}
            assert read_counts(broker, expected) == expected
            first.kill()
            produce(broker, "a d")
            expected = {"a": 5, "b": 3, "c": 2, "d": 1}
            assert read_counts(broker, expected) == expected
            (left,) = wait_until(broker, "app", is_stable(members=1)).members
            assert len(active_tasks(wait_until(broker, "app", is_stable(members=1)))[0]) == 6
            assert left.assignment.standby_tasks == []
            stop(second)


def test_exactly_once_counts_every_word_once_when_an_instance_is_killed(
    broker: Broker, tmp_path: Path
) -> None:
    with (
        instance(broker, "exact", tmp_path / "first", "exactly_once_v2") as first,
        instance(broker, "exact", tmp_path / "second", "exactly_once_v2") as second,
    ):
        wait_until(broker, "exact", is_stable(members=2))
        produce(broker, "a b c " * 100)
        expected = {"a": 100, "b": 100, "c": 100}
        assert read_counts(broker, expected) == expected
        produce(broker, "a b c " * 100)
        first.kill()
        produce(broker, "a b c " * 100)
        expected = {"a": 300, "b": 300, "c": 300}
        assert read_counts(broker, expected) == expected
        stop(second)


def test_an_application_goes_on_when_the_broker_is_killed_and_kafka_reads_what_it_stored(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    with Broker(in_process=False, data=data, settings=SETTINGS) as broker:
        with RawClient(broker.bootstrap_servers) as client:
            client.create_topic("words", PARTITIONS)
            client.create_topic("counts")
        with instance(broker, "lasting", tmp_path / "only") as process:
            produce(broker, "a b a")
            expected = {"a": 2, "b": 1}
            assert read_counts(broker, expected) == expected
            epoch = wait_until(broker, "lasting", is_stable(members=1)).group_epoch
            broker.kill()
            broker.restart()
            produce(broker, "a")
            expected = {"a": 3, "b": 1}
            assert read_counts(broker, expected) == expected
            group = wait_until(broker, "lasting", is_stable(members=1))
            assert group.group_epoch == epoch, "the group is as it was: nobody had to rejoin"
            stop(process)
    kinds = set(re.findall(r'"type":"(\d+)","data":\{"groupId":"lasting"', dumped_groups(data)))
    assert kinds == {"17", "19", "20", "21", "22", "23"}


def dumped_groups(data: Path) -> str:
    """What Kafka's own tool reads in the records of groups."""
    logs = [str(log) for log in data.glob("__consumer_offsets-*/*.log") if log.stat().st_size]
    command = ["java", "-Xmx256m", "-cp", CLASSPATH, "org.apache.kafka.tools.DumpLogSegments"]
    done = subprocess.run(
        [*command, "--files", ",".join(logs), "--offsets-decoder"],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=True,
    )
    return done.stdout


def test_kafkas_tools_know_the_group(broker: Broker, tmp_path: Path) -> None:
    produce(broker, "a b")
    with instance(broker, "tooled", tmp_path / "only") as process:
        expected = {"a": 1, "b": 1}
        assert read_counts(broker, expected) == expected
        described = tool(broker, "streams.StreamsGroupCommand", "--describe", "--group", "tooled")
        assert "tooled-counts-repartition" in described
        members = tool(
            broker, "streams.StreamsGroupCommand", "--describe", "--group", "tooled", "--members"
        )
        assert "ACTIVE: 0:[0,1,2]; 1:[0,1,2]" in members
        stop(process)
    assert "tooled" in tool(broker, "streams.StreamsGroupCommand", "--list", "--state", "Empty")
    reset = tool(
        broker,
        "StreamsResetter",
        "--application-id",
        "tooled",
        "--input-topics",
        "words",
        "--force",
    )
    assert "tooled-counts-repartition" in reset
    deleted = tool(broker, "streams.StreamsGroupCommand", "--delete", "--group", "tooled")
    assert "was successful" in deleted
    assert describe(broker, "tooled").error_message == "Group tooled not found."
