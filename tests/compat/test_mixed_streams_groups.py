"""Instances of Kafka Streams and ours are one application: they share a group, its tasks and its state, exactly once.

`make oracle` with MILLSTREAM_KAFKA_CLASSPATH set, as for test_kafka_streams.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from millstream.clients.group.core.consumer_protocol import (
    decode_assignment,
    decode_subscription,
)
from millstream.model import TopicPartition
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.describe_groups import (
    DescribedGroupMember,
    DescribeGroupsRequest,
)
from millstream.testing.broker import Broker
from tests.compat import test_kafka_streams as java
from tests.oracle.broker.servers import kafka
from tests.patience import LONG_ENOUGH_S, wait_until
from tests.support.clients.raw_client import RawClient

pytestmark = java.pytestmark
PROGRAM = Path(__file__).parent / "streams" / "word_count.py"


@contextmanager
def python_instance(
    broker: Any,
    application: str,
    state: Path,
    protocol: str = "streams",
    *,
    pattern: str | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """One process of the application; it ends when it is told to terminate."""
    with (
        (state.parent / f"{state.name}.log").open("w") as log,
        subprocess.Popen(
            [
                sys.executable,
                str(PROGRAM),
                broker.bootstrap_servers,
                application,
                str(state),
                protocol,
                *(() if pattern is None else (pattern,)),
            ],
            stdout=log,
            stderr=log,
        ) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


class _Servers(NamedTuple):
    """Stands for a broker of ours."""

    bootstrap_servers: str


@pytest.fixture(params=["millstream", "kafka"])
def broker(request: pytest.FixtureRequest) -> Iterator[Any]:
    with ExitStack() as stack:
        if request.param == "kafka":
            servers = stack.enter_context(kafka(java.CLASSPATH, java.SETTINGS))
        else:
            servers = stack.enter_context(Broker(settings=java.SETTINGS)).bootstrap_servers
        with RawClient(servers) as client:
            client.create_topic("words", java.PARTITIONS)
            client.create_topic("counts")
        yield _Servers(servers)


class _Words:
    """Three words that are counted again and again."""

    def __init__(self, broker: Any) -> None:
        self._broker, self._counted = broker, 0

    def count_more(self, topic: str = "words") -> None:
        self._counted += 100
        java.produce(self._broker, "a b c " * 100, topic)

    def all_are_counted(self) -> bool:
        expected = dict.fromkeys("abc", self._counted)
        return java.read_counts(self._broker, expected) == expected


def test_tasks_move_between_java_and_python_and_every_word_is_counted_once(
    broker: Any, tmp_path: Path
) -> None:
    exactly_once = "exactly_once_v2"
    words = _Words(broker)
    with java.instance(broker, "mixed", tmp_path / "java", exactly_once) as first:
        words.count_more()
        assert words.all_are_counted()
        with python_instance(broker, "mixed", tmp_path / "python") as second:
            group = java.wait_until(broker, "mixed", java.is_stable(members=2))
            assert sorted(map(len, java.active_tasks(group))) == [3, 3]
            words.count_more()
            assert words.all_are_counted()
            words.count_more()
            first.kill()
            words.count_more()
            assert words.all_are_counted(), "ours goes on with the state that Kafka's has written"
            with java.instance(broker, "mixed", tmp_path / "again", exactly_once) as third:
                java.wait_until(broker, "mixed", java.is_stable(members=2))
                words.count_more()
                second.send_signal(signal.SIGSTOP)
                java.wait_until(broker, "mixed", java.is_stable(members=1))
                words.count_more()
                assert words.all_are_counted(), "Kafka's goes on with ours"
                second.send_signal(signal.SIGCONT)
                java.wait_until(broker, "mixed", java.is_stable(members=2))
                words.count_more()
                assert words.all_are_counted(), "what it had begun before was refused"
                third.send_signal(signal.SIGSTOP)
                java.wait_until(broker, "mixed", java.is_stable(members=1))
                words.count_more()
                assert words.all_are_counted(), "ours goes on"
                third.send_signal(signal.SIGCONT)
                java.wait_until(broker, "mixed", java.is_stable(members=2))
                second.kill()
                words.count_more()
                assert words.all_are_counted()
                java.stop(third)


class _Classic:
    """The members of a classic group, as its coordinator describes them."""

    def __init__(self, broker: Any, application: str) -> None:
        self._broker, self._application = broker, application

    def members(self) -> list[DescribedGroupMember]:
        """Returns none while the group rebalances."""
        request = DescribeGroupsRequest(groups=[self._application])
        with RawClient(self._broker.bootstrap_servers) as client:
            group = client.ask(ApiKey.DESCRIBE_GROUPS, 5, request).groups[0]
        return group.members if group.group_state == "Stable" else []

    def partitions(self) -> list[list[TopicPartition]]:
        """Returns those of each member."""
        return [decode_assignment(bytes(each.member_assignment)) for each in self.members()]

    def subscriptions(self) -> list[frozenset[str]]:
        """Returns the topics that each member has told the leader."""
        metadata = [bytes(each.member_metadata) for each in self.members()]
        return [decode_subscription(each, None).topics for each in metadata]

    def until_read(self, members: int, *topics: str) -> None:
        """Until so many members have subscribed to the topics, each has tasks, and all partitions of the topics are read once."""
        wanted = [
            TopicPartition(topic, n) for topic in sorted(topics) for n in range(java.PARTITIONS)
        ]

        def is_so() -> bool:
            held = self.partitions()
            read = sorted(tp for mine in held for tp in mine if tp.topic.startswith("words"))
            told = [{t for t in each if t.startswith("words")} for each in self.subscriptions()]
            return all(held) and told == [set(topics)] * members and read == wanted

        wait_until(is_so)

    def until_shared(self, *counts: int) -> None:
        """Until the members have so many tasks, each of which reads one partition."""

        wait_until(lambda: sorted(map(len, self.partitions())) == sorted(counts))


def test_classic_tasks_move_between_java_and_python_whoever_leads(
    broker: Any, tmp_path: Path
) -> None:
    settings = "exactly_once_v2", "classic"
    words = _Words(broker)
    group = _Classic(broker, "classic")
    with java.instance(broker, "classic", tmp_path / "java", *settings) as first:
        words.count_more()
        assert words.all_are_counted()
        with python_instance(broker, "classic", tmp_path / "python", "classic") as second:
            group.until_shared(3, 3)
            words.count_more()
            assert words.all_are_counted(), "ours runs what Kafka's leader has given it"
            first.kill()
            group.until_shared(6)
            words.count_more()
            assert words.all_are_counted(), "ours goes on with the state that Kafka's has written"
            with java.instance(broker, "classic", tmp_path / "again", *settings) as third:
                group.until_shared(3, 3)
                words.count_more()
                assert words.all_are_counted(), "Kafka's runs what our leader has given it"
                second.send_signal(signal.SIGSTOP)
                group.until_shared(6)
                words.count_more()
                assert words.all_are_counted(), "Kafka's goes on with ours"
                second.send_signal(signal.SIGCONT)
                group.until_shared(3, 3)
                words.count_more()
                assert words.all_are_counted(), "what it had begun before was refused"
                second.terminate()
                assert second.wait(LONG_ENOUGH_S) == 0
                group.until_shared(6)
                words.count_more()
                assert words.all_are_counted()
                java.stop(third)


def test_topics_of_a_pattern_come_and_go_whoever_leads(broker: Any, tmp_path: Path) -> None:
    settings = "exactly_once_v2", "classic"
    reading = {"pattern": "words.*"}
    words = _Words(broker)
    group = _Classic(broker, "pattern")

    def create(name: str) -> None:
        with RawClient(broker.bootstrap_servers) as client:
            client.create_topic(name, java.PARTITIONS)

    with java.instance(broker, "pattern", tmp_path / "java", *settings, **reading) as first:
        group.until_read(1, "words")
        with python_instance(
            broker, "pattern", tmp_path / "python", "classic", **reading
        ) as second:
            group.until_read(2, "words")
            create("words-2")
            group.until_read(2, "words", "words-2")
            words.count_more("words-2")
            words.count_more()
            assert words.all_are_counted(), "Kafka's leader shares out what is new"
            first.kill()
            group.until_read(1, "words", "words-2")
            create("words-3")
            group.until_read(1, "words", "words-2", "words-3")
            with java.instance(
                broker, "pattern", tmp_path / "again", *settings, **reading
            ) as third:
                group.until_read(2, "words", "words-2", "words-3")
                words.count_more("words-3")
                assert words.all_are_counted()
                create("words-4")
                group.until_read(2, "words", "words-2", "words-3", "words-4")
                words.count_more("words-4")
                assert words.all_are_counted(), "our leader shares out what is new"
                java.tool(broker, "TopicCommand", "--delete", "--topic", "words-2")
                group.until_read(2, "words", "words-3", "words-4")
                words.count_more()
                assert words.all_are_counted()
                second.terminate()
                assert second.wait(LONG_ENOUGH_S) == 0
                java.stop(third)


def test_an_application_of_ours_closes_and_kafkas_goes_on(broker: Any, tmp_path: Path) -> None:
    with python_instance(broker, "handed", tmp_path / "python") as process:
        java.produce(broker, "a b a")
        assert java.read_counts(broker, {"a": 2, "b": 1}) == {"a": 2, "b": 1}
        process.terminate()
        assert process.wait(LONG_ENOUGH_S) == 0
    with java.instance(broker, "handed", tmp_path / "java", "exactly_once_v2") as process:
        java.produce(broker, "a c")
        assert java.read_counts(broker, {"a": 3, "b": 1, "c": 1}) == {"a": 3, "b": 1, "c": 1}
        java.stop(process)
