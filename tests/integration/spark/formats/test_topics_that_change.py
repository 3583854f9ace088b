"""Topics that are deleted, created anew or missing while a query reads them, called as Spark calls the source."""

from __future__ import annotations

import logging
import time
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from millstream.clients.blocking import Admin
from millstream.errors import ConfigError
from millstream.model import TopicPartition
from millstream.spark.source.batch_reader import BatchReader
from millstream.spark.source.options import parse_source_options
from millstream.spark.source.planning import look_up
from millstream.spark.source.positions import LATEST
from millstream.spark.source.stream_reader import StreamReader
from millstream.streams.runtime.errors import DataLoss
from tests.patience import LONG_ENOUGH_S

pytestmark = pytest.mark.spark

EVERYTHING = ReadAllAvailable()


def stream(topics: Any, **options: str) -> StreamReader:
    given = {"bootstrap.servers": topics.bootstrap_servers, "pollTimeoutMs": "0"}
    quick = {"discoveryIntervalMs": "50", "startingOffsets": "earliest"}
    return StreamReader(parse_source_options(given | quick | options))


def delete(topics: Any, topic: str) -> None:
    topics.admin(lambda admin: admin.delete_topics([topic]))


def create_again(topics: Any, topic: str, records: int) -> None:
    delete(topics, topic)
    topics.create(topic)
    topics.put(topic, [{"value": b"new %d" % n} for n in range(records)])


def filled(topics: Any, records: int = 3) -> str:
    topic = str(topics.new())
    topics.put(topic, [{"value": b"old %d" % n} for n in range(records)])
    return topic


def values(source: StreamReader, start: dict[str, Any], end: dict[str, Any]) -> list[bytes]:
    return [
        value
        for partition in source.partitions(start, end)
        for rows in source.read(partition)
        for value in rows.column("value").to_pylist()
    ]


def changed(source: StreamReader, start: dict[str, Any]) -> dict[str, Any]:
    """The first plan that differs: topics are listed once in an interval."""
    deadline = time.monotonic() + LONG_ENOUGH_S
    while (end := source.latestOffset(start, EVERYTHING)) == start:
        assert time.monotonic() < deadline
    return end


def test_ids_of_topics_stand_beside_the_offsets(topics: Any) -> None:
    topic = filled(topics)
    source = stream(topics, subscribe=topic)
    start = source.initialOffset()
    with Admin(bootstrap_servers=topics.bootstrap_servers) as admin:
        topic_id = str(admin.list_topics()[topic].topic_id)
    at = {topic: {"0": 0}}
    assert start == {"v": 1, "offsets": at, "begin": at, "topicIds": {topic: topic_id}}
    assert source.latestOffset(start, EVERYTHING)["topicIds"] == {topic: topic_id}


def test_a_checkpoint_without_ids_takes_them_over_with_its_next_records(topics: Any) -> None:
    topic = filled(topics)
    older = {"v": 1, "offsets": {topic: {"0": 3}}, "of another part": 7}
    source = stream(topics, subscribe=topic)
    assert source.latestOffset(older, EVERYTHING) == older
    topics.put(topic, [{"value": b"more"}])
    end = changed(source, older)
    assert (end["offsets"], end["of another part"]) == ({topic: {"0": 4}}, 7)
    assert topic in end["topicIds"]


@pytest.mark.parametrize(
    ("policy", "from_start", "records"),
    [("earliest", 1, 2), ("earliest", 1, 3), ("earliest", 1, 5), ("skip", 1, 5), ("latest", 0, 5)],
)
def test_a_topic_that_was_made_anew_is_another_topic(
    topics: Any, policy: str, from_start: int, records: int
) -> None:
    topic = filled(topics)
    start = changed(first := stream(topics, subscribe=topic), first.initialOffset())
    assert start["offsets"] == {topic: {"0": 3}}
    create_again(topics, topic, records)
    source = stream(topics, subscribe=topic, failOnDataLoss=policy)
    end = changed(source, start)
    assert end["offsets"] == {topic: {"0": records}}
    assert end["topicIds"] != start["topicIds"]
    expected = [b"new %d" % n for n in range(records)] * from_start
    assert values(source, start, end) == expected
    repeated = stream(topics, subscribe=topic, failOnDataLoss=policy)
    assert values(repeated, start, end) == expected
    assert source.latestOffset(end, EVERYTHING) == end


@pytest.mark.parametrize("records", [3, 5])
def test_failing_names_both_ids(topics: Any, records: int) -> None:
    topic = filled(topics)
    start = changed(source := stream(topics, subscribe=topic), source.initialOffset())
    create_again(topics, topic, records)
    with pytest.raises(DataLoss, match=rf"topic {topic} was deleted and created anew \(id .*, now"):
        changed(source, start)


def test_a_topic_that_is_deleted_leaves_the_others(topics: Any) -> None:
    gone, other = filled(topics), filled(topics)
    source = stream(topics, subscribe=f"{gone},{other}", failOnDataLoss="skip")
    start = changed(source, source.initialOffset())
    failing = stream(topics, subscribe=f"{gone},{other}")
    failing.latestOffset(start, EVERYTHING)
    delete(topics, gone)
    topics.put(other, [{"value": b"more"}])
    began = time.monotonic()
    end = changed(source, start)
    assert time.monotonic() - began < LONG_ENOUGH_S
    assert end["offsets"] == {gone: {"0": 3}, other: {"0": 4}}
    assert values(source, start, end) == [b"more"]
    with pytest.raises(DataLoss, match=f"{gone}-0 was read up to offset 3 and is no longer there"):
        changed(failing, end)


def test_a_topic_that_vanishes_after_it_was_listed_is_left_out(topics: Any) -> None:
    gone, other = filled(topics), filled(topics)
    source = {"subscribePattern": f"{gone}|{other}", "discoveryIntervalMs": "3600000"}
    options = parse_source_options({"bootstrap.servers": topics.bootstrap_servers} | source)
    assert look_up(options, LATEST).keys() == {TopicPartition(gone, 0), TopicPartition(other, 0)}
    delete(topics, gone)
    assert look_up(options, LATEST).keys() == {TopicPartition(other, 0)}


def test_a_missing_topic_is_named_within_seconds(topics: Any) -> None:
    given = {"bootstrap.servers": topics.bootstrap_servers, "subscribe": "nowhere"}
    began = time.monotonic()
    with pytest.raises(ConfigError, match="topic nowhere is not there"):
        BatchReader(parse_source_options(given)).partitions()
    assert time.monotonic() - began < LONG_ENOUGH_S


@pytest.mark.parametrize("policy", ["earliest", "fail"])
def test_a_topic_that_is_made_anew_between_plan_and_read_is_not_taken_for_the_old_one(
    topics: Any, policy: str
) -> None:
    topic = filled(topics)
    source = stream(topics, subscribe=topic, failOnDataLoss=policy)
    end = source.latestOffset(source.initialOffset(), EVERYTHING)
    partitions = source.partitions(source.initialOffset(), end)
    create_again(topics, topic, 5)

    def read() -> list[Any]:
        return [rows for partition in partitions for rows in source.read(partition)]

    if policy == "earliest":
        assert read() == []
        after = changed(source, end)
        assert values(source, end, after) == [b"new %d" % n for n in range(5)]
    else:
        with pytest.raises(DataLoss, match=rf"offsets 0 to 3 of {topic}-0 are gone"):
            read()


@pytest.mark.parametrize("records", [3, 5])
def test_what_was_committed_for_the_old_topic_is_nothing_in_the_new_one(
    topics: Any, records: int, caplog: pytest.LogCaptureFixture
) -> None:
    topic = filled(topics)
    group = {"group.id": f"group of {topic}"}
    start = changed(first := stream(topics, subscribe=topic, **group), first.initialOffset())
    first.latestOffset(start, EVERYTHING)
    first.stop()
    create_again(topics, topic, records)
    restarted = stream(topics, subscribe=topic, **group)
    with pytest.raises(DataLoss, match="was deleted and created anew"):
        restarted.latestOffset(start, EVERYTHING)
    restarted.stop()  # has committed once more how far the query was
    anew = stream(topics, subscribe=topic, **group | {"startingOffsets": "committed"})
    with caplog.at_level(logging.WARNING):
        assert anew.initialOffset()["offsets"] == {topic: {"0": 0}}
    said = f"what group group of {topic} has committed for {topic}-0 counts as nothing"
    assert said in caplog.text


def test_the_watermark_waits_for_a_topic_that_was_made_anew(topics: Any) -> None:
    ahead, other = topics.new(), topics.new()
    topics.put(ahead, [{"value": b"a", "timestamp_ms": 9_000}])
    topics.put(other, [{"value": b"a", "timestamp_ms": 5_000}])
    given = {"subscribe": f"{ahead},{other}", "watermark": "periodic", "failOnDataLoss": "earliest"}
    start = changed(first := stream(topics, **given), first.initialOffset())
    assert start["watermarks"]["watermark"] == 5_000
    delete(topics, ahead)
    topics.create(ahead)
    anew = changed(source := stream(topics, **given), start)
    assert anew["watermarks"] == {"watermark": 5_000, "latest": {other: {"0": 5_000}}}
    topics.put(other, [{"value": b"b", "timestamp_ms": 8_000}])
    end = changed(source, anew)
    assert end["watermarks"] == {"watermark": 5_000, "latest": {other: {"0": 8_000}}}
    topics.put(ahead, [{"value": b"b", "timestamp_ms": 6_000}])
    assert changed(source, end)["watermarks"]["watermark"] == 6_000


@pytest.mark.parametrize("policy", ["earliest", "skip"])
@pytest.mark.parametrize("moment", ["before", "while"])
def test_available_now_reads_a_topic_that_was_made_anew_once(
    topics: Any, policy: str, moment: str
) -> None:
    topic = filled(topics)
    start = changed(first := stream(topics, subscribe=topic), first.initialOffset())
    topics.put(topic, [{"value": b"not read"}])
    source = stream(topics, subscribe=topic, failOnDataLoss=policy)
    if moment == "before":
        create_again(topics, topic, 3)
    source.prepareForTriggerAvailableNow()
    if moment == "while":
        create_again(topics, topic, 3)
    topics.put(topic, [{"value": b"new %d" % n} for n in range(3, 6)])
    read, end = list[bytes](), start
    while (after := source.latestOffset(end, EVERYTHING)) != end:
        read += values(source, end, after)
        end = after
    assert read == [b"new %d" % n for n in range(6)]
