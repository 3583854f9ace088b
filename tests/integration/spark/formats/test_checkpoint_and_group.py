"""What decides where a query reads: its checkpoint, and before the first micro-batch its options; the group only shows it."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from millstream.clients.blocking import Admin
from millstream.clients.core.values import OffsetAndMetadata
from millstream.errors import MillstreamError
from millstream.model import TopicPartition
from millstream.spark.source.options import parse_source_options
from millstream.spark.source.stream_reader import StreamReader
from tests.integration.spark.formats.checkpoints import without_topic_ids
from tests.support.late_workers import started

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


@pytest.fixture
def admin(topics: Any) -> Iterator[Admin]:
    with Admin(bootstrap_servers=topics.bootstrap_servers) as made:
        yield made


def filled(topics: Any, partitions: int) -> str:
    """Ten records a partition."""
    topic = str(topics.new(partitions=partitions))
    put(topics, topic, partitions)
    return topic


def put(topics: Any, topic: str, partitions: int) -> None:
    records = [{"value": b"%d" % n, "partition": p} for p in range(partitions) for n in range(10)]
    topics.put(topic, records)


def beginning(topics: Any, topic: str, starting_offsets: str, **options: str) -> dict[str, int]:
    """The offset at which a new query begins each partition."""
    given = {"bootstrap.servers": topics.bootstrap_servers, "subscribe": topic}
    given |= {"startingOffsets": starting_offsets}
    reader = StreamReader(parse_source_options(given | options))
    found: dict[str, int] = reader.initialOffset()["offsets"][topic]
    return found


def test_commits_count_only_where_the_start_asks_for_them(
    topics: Any, admin: Admin, caplog: pytest.LogCaptureFixture
) -> None:
    topic = filled(topics, partitions=3)
    group = {"group.id": f"group of {topic}"}
    committed = {TopicPartition(topic, p): OffsetAndMetadata(p + 4) for p in (0, 1)}
    admin.alter_consumer_group_offsets(group["group.id"], committed).raise_errors()

    assert beginning(topics, topic, "earliest", **group) == {"0": 0, "1": 0, "2": 0}
    assert beginning(topics, topic, "latest", **group) == {"0": 10, "1": 10, "2": 10}
    some = json.dumps({topic: {"0": 7, "9": 1}, "another": {"0": 3}})
    with caplog.at_level(logging.INFO):
        assert beginning(topics, topic, some, **group) == {"0": 7, "1": 5, "2": 0}
    assert beginning(topics, topic, some) == {"0": 7, "1": 0, "2": 0}
    for line in (
        f"{topic}-0 begins at offset 7: given",
        f"{topic}-1 begins at offset 5: committed",
        f"{topic}-2 begins at offset 0: earliest: nothing committed",
        "startingOffsets names what the query does not read: another-0",
    ):
        assert line in caplog.text


def test_a_query_without_a_broker_fails_with_its_address(topics: Any) -> None:
    with pytest.raises(MillstreamError, match=r"127\.0\.0\.1:1\b"):
        beginning(
            topics,
            "orders",
            "earliest",
            **{"bootstrap.servers": "127.0.0.1:1", "kafka.default.api.timeout.ms": "300"},
        )


@pytest.mark.slow
def test_a_checkpoint_decides_whatever_became_of_the_group(
    spark: Any, topics: Any, admin: Admin, tmp_path: Path
) -> None:
    topic = filled(topics, partitions=2)
    group = f"group of {topic}"
    partitions = [TopicPartition(topic, 0), TopicPartition(topic, 1)]

    def start(**options: str) -> Any:
        given = {"bootstrap.servers": topics.bootstrap_servers, "group.id": group}
        rows = spark.readStream.format("millstream").options(
            subscribe=topic, **{"startingOffsets": "earliest"} | options, **given
        )
        sink = rows.load().writeStream.format("noop").option("checkpointLocation", str(tmp_path))
        return sink.trigger(availableNow=True).start()

    def rows(**options: str) -> int:
        def run() -> int:
            query = start(**options)
            assert query.awaitTermination(400)
            return sum(progress.numInputRows for progress in query.recentProgress)

        return started(run)

    def committed() -> list[int]:
        found = admin.list_consumer_group_offsets([group]).result(group)
        return [found.result(tp).offset for tp in partitions]

    assert rows() == 20
    assert committed() == [10, 10]
    (described,) = admin.describe_consumer_groups([group]).values()
    assert list(described.members) == []

    admin.delete_consumer_groups([group]).raise_errors()
    put(topics, topic, partitions=2)
    assert rows(startingOffsets="latest") == 20
    assert committed() == [20, 20]
    logged = sorted((tmp_path / "offsets").glob("[0-9]*"))
    documents = [json.loads(each.read_text().splitlines()[-1]) for each in logged]
    assert [without_topic_ids(each) for each in documents] == [
        {"v": 1, "offsets": {topic: {"0": 10, "1": 10}}, "begin": {topic: {"0": 0, "1": 0}}},
        {"v": 1, "offsets": {topic: {"0": 20, "1": 20}}},
    ]

    put(topics, topic, partitions=2)
    admin.delete_records({partitions[1]: 25}).raise_errors()
    with pytest.raises(Exception, match=rf"offsets 20 to 25 of {topic}-1 are not in the log"):
        rows()
    assert committed() == [20, 20]
