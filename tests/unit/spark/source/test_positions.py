"""Where queries begin and batches end: what users write, and what the facts of a partition make of it."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

import pytest

from millstream.errors import ConfigError
from millstream.model import Offset, TopicPartition
from millstream.spark.source.options import OffsetCommitMode, SourceOptions, parse_source_options
from millstream.spark.source.positions import (
    Ago,
    AtTime,
    Back,
    Committed,
    Earliest,
    Exact,
    Latest,
    PartitionFacts,
    Position,
    chosen,
    parse_position,
)
from millstream.spark.source.subscription import AssignedPartitions, TopicPattern
from millstream.streams.runtime.errors import DataLoss

NEEDED = {"bootstrap.servers": "b:1", "subscribe": "orders,payments"}
ORDERS = TopicPartition("orders", 0)
FACTS = PartitionFacts(start=Offset(10), end=Offset(100))


def parsed(**options: str) -> SourceOptions:
    return parse_source_options(NEEDED | {name.replace("_", "."): v for name, v in options.items()})


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("earliest", Earliest()),
        (" LATEST ", Latest()),
        ("committed", Committed(Earliest())),
        ("committed:latest", Committed(Latest())),
        ("committed:fail", Committed(None)),
        ("-10 minutes", Ago(600_000)),
        ("- 1 day", Ago(86_400_000)),
        ("-100 offsets", Back(100)),
    ],
)
def test_one_position_for_all(text: str, position: Position) -> None:
    positions = parsed(startingOffsets=text, group_id="g").starting_offsets
    assert positions.of(ORDERS) == positions.of(TopicPartition("payments", 7)) == position


def test_json_gives_positions_by_partition_and_by_topic() -> None:
    text = '{"orders": {"0": 12, "1": -1, "2": -2, "3": "-5 offsets"}, "payments": "latest"}'
    positions = parsed(startingOffsets=text).starting_offsets
    orders = [positions.of(TopicPartition("orders", number)) for number in range(5)]
    assert orders == [Exact(Offset(12)), Latest(), Earliest(), Back(5), Earliest()]
    assert positions.of(TopicPartition("payments", 3)) == Latest()


def test_partitions_that_json_does_not_name_begin_where_the_group_is() -> None:
    positions = parsed(startingOffsets='{"orders": {"0": 12}}', group_id="g").starting_offsets
    assert positions.of(TopicPartition("orders", 1)) == Committed(Earliest())


def test_times_go_before_offsets() -> None:
    given = parsed(startingTimestamp="1700", startingOffsets="earliest")
    assert given.starting_offsets.of(ORDERS) == AtTime(1700)
    by_partition = parsed(
        startingOffsetsByTimestamp='{"orders": {"0": 5}, "payments": "6"}',
        startingOffsetsByTimestampStrategy="latest",
    ).starting_offsets
    assert by_partition.of(ORDERS) == AtTime(5, or_latest=True)
    assert by_partition.of(TopicPartition("payments", 1)) == AtTime(6, or_latest=True)
    assert by_partition.of(TopicPartition("orders", 1)) == Earliest()


@pytest.mark.parametrize(
    ("text", "expected_ms"),
    [
        ("0", 0),
        (" 1700000000000 ", 1_700_000_000_000),
        ("9223372036854775807", 2**63 - 1),
        ("2023-11-14T22:13:20Z", 1_700_000_000_000),
        ("2023-11-14T23:13:20+01:00", 1_700_000_000_000),
        ("2023-11-14T22:13:20", 1_700_000_000_000),
        ("2023-11-14 22:13:20+00:00", 1_700_000_000_000),
        ("2023-11-14T22:13:20.001", 1_700_000_000_001),
        ("2023-11-14T22:13:20.000001Z", 1_700_000_000_001),
        ("2023-11-14", 1_699_920_000_000),
        ("1970-01-01", 0),
    ],
)
def test_a_time_is_milliseconds_or_iso_8601(text: str, expected_ms: int) -> None:
    """A datetime is the text that Spark makes of it. Without a zone it is in UTC."""
    assert parsed(startingTimestamp=text).starting_offsets.of(ORDERS) == AtTime(expected_ms)
    ending = parsed(endingTimestamp=text).ending_offsets
    assert ending is not None
    assert ending.of(ORDERS) == AtTime(expected_ms, or_latest=True)
    by_partition = json.dumps({"orders": {"0": text}, "payments": text})
    for each in (ORDERS, TopicPartition("payments", 4)):
        positions = parsed(startingOffsetsByTimestamp=by_partition).starting_offsets
        assert positions.of(each) == AtTime(expected_ms)


def test_a_function_may_give_a_datetime() -> None:
    zoned = datetime(2023, 11, 14, 23, 13, 20, tzinfo=timezone(timedelta(hours=1)))
    assert parse_position("startingOffsetsFunction", zoned) == AtTime(
        1_700_000_000_000, or_latest=True
    )
    naive = datetime(2023, 11, 14, 22, 13, 20)  # noqa: DTZ001 - one without a zone
    assert parse_position("startingOffsetsFunction", naive) == AtTime(
        1_700_000_000_000, or_latest=True
    )


def test_a_batch_of_a_time_reads_nothing_where_nothing_is_so_late() -> None:
    given = {"bootstrap.servers": "b:1", "subscribe": "orders", "startingTimestamp": "9"}
    in_batch = parse_source_options(given, is_batch=True).starting_offsets
    assert in_batch.of(ORDERS) == AtTime(9, or_latest=True)
    assert parse_source_options(given).starting_offsets.of(ORDERS) == AtTime(9)
    strict = given | {"startingOffsetsByTimestampStrategy": "error"}
    assert parse_source_options(strict, is_batch=True).starting_offsets.of(ORDERS) == AtTime(9)


def test_a_limit_on_what_a_group_is_behind_goes_to_every_commit() -> None:
    positions = parsed(
        startingOffsets='{"orders": "committed:latest"}', maxOffsetBehind="50", group_id="g"
    ).starting_offsets
    assert positions.of(ORDERS) == Committed(Latest(), behind_max=50)
    assert positions.of(TopicPartition("payments", 0)) == Committed(Earliest(), behind_max=50)


@pytest.mark.parametrize(
    ("position", "facts", "offset", "reason"),
    [
        (Earliest(), FACTS, 10, "earliest"),
        (Latest(), FACTS, 100, "latest"),
        (Exact(Offset(7)), FACTS, 7, "given"),
        (Back(30), FACTS, 70, "30 offsets before the end"),
        (Back(500), FACTS, 10, "500 offsets before the end"),
        (Ago(5), FACTS._replace(at_time=Offset(40)), 40, "5 ms ago"),
        (Ago(5), FACTS, 100, "5 ms ago"),
        (AtTime(9), FACTS._replace(at_time=Offset(33)), 33, "timestamp 9"),
        (AtTime(9, or_latest=True), FACTS, 100, "latest: no record at or after 9"),
        (Committed(), FACTS._replace(committed=Offset(55)), 55, "committed"),
        (Committed(), FACTS._replace(committed=Offset(100)), 100, "committed"),
        (Committed(), FACTS, 10, "earliest: nothing committed"),
        (Committed(Latest()), FACTS, 100, "latest: nothing committed"),
        (
            Committed(Latest(), behind_max=44),
            FACTS._replace(committed=Offset(55)),
            100,
            "latest: committed 55 is more than 44 behind the end 100",
        ),
        (Committed(Latest(), behind_max=45), FACTS._replace(committed=Offset(55)), 55, "committed"),
    ],
)
def test_the_facts_of_a_partition_decide(
    position: Position, facts: PartitionFacts, offset: int, reason: str
) -> None:
    assert chosen(ORDERS, position, facts) == (offset, reason)


@pytest.mark.parametrize("committed", [9, 101])
def test_a_commit_that_is_not_in_the_log_is_a_loss(committed: int) -> None:
    with pytest.raises(DataLoss, match="the log holds 10 to 100"):
        chosen(ORDERS, Committed(), FACTS._replace(committed=Offset(committed)))


def test_what_cannot_be_had_is_said() -> None:
    with pytest.raises(ConfigError, match="committed nothing for orders-0: write startingOffsets="):
        chosen(ORDERS, Committed(None), FACTS)
    with pytest.raises(ConfigError, match="more than 1 behind the end 100, and startingOffsets="):
        chosen(ORDERS, Committed(None, behind_max=1), FACTS._replace(committed=Offset(50)))
    with pytest.raises(ConfigError, match="has no record at or after timestamp 9"):
        chosen(ORDERS, AtTime(9), FACTS)


def test_partitions_can_be_assigned_and_topics_be_matched() -> None:
    assigned = parse_source_options({"bootstrap.servers": "b:1", "assign": '{"a": [1, 0]}'})
    assert assigned.subscription == AssignedPartitions(
        frozenset({TopicPartition("a", 0), TopicPartition("a", 1)})
    )
    pattern = parse_source_options({"bootstrap.servers": "b:1", "subscribePattern": "or.*"})
    assert pattern.subscription == TopicPattern("or.*")
    assert pattern.subscription.names_among(["orders", "x-orders", "or"]) == ("or", "orders")


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"assign": '{"a": [0]}'}, "give one of subscribe, subscribePattern and assign"),
        ({"subscribe": "", "assign": '{"a": 0}'}, "assign is JSON like"),
        ({"subscribe": "", "assign": '{"a": [-1]}'}, "assign is JSON like"),
        ({"subscribe": "", "assign": "a"}, "assign is JSON like"),
        ({"subscribe": "", "subscribePattern": "("}, "is no regular expression"),
        ({"startingOffsets": "committed"}, "names committed offsets, and no group"),
        ({"startingOffsets": "-10 fortnights"}, "startingOffsets is earliest, latest"),
        ({"startingOffsets": '{"a": {"x": 1}}'}, "'x' is no partition of a"),
        ({"startingOffsets": '{"a": {"0": -3}}'}, "startingOffsets is earliest, latest"),
        ({"startingOffsets": '{"a": {"0": true}}'}, "startingOffsets is earliest, latest"),
        (
            {"startingTimestamp": "now"},
            "startingTimestamp needs a time, milliseconds since 1970 or ISO",
        ),
        ({"startingTimestamp": "True"}, "startingTimestamp needs a time, milliseconds since 1970"),
        ({"startingTimestamp": "-5"}, "startingTimestamp needs a time, milliseconds since 1970"),
        ({"endingTimestamp": "9223372036854775808"}, "endingTimestamp needs a time from 1970 on"),
        ({"startingTimestamp": "1969-12-31"}, "startingTimestamp needs a time from 1970 on"),
        ({"startingOffsetsByTimestamp": "[]"}, "startingOffsetsByTimestamp is JSON like"),
        ({"startingOffsetsByTimestamp": '{"a": true}'}, "startingOffsetsByTimestamp needs a time"),
        ({"startingOffsetsByTimestampStrategy": "x"}, "is error or latest"),
        ({"endingOffsets": "earliest"}, "endingOffsets is not the beginning"),
        ({"endingOffsets": '{"a": -2}'}, "endingOffsets is"),
        ({"maxOffsetBehind": "5"}, "maxOffsetBehind has a use only with"),
        ({"offsetCommitMode": "PERIODIC"}, "offsetCommitMode needs a group"),
        (
            {"offsetCommitMode": "never", "group.id": "g"},
            "offsetCommitMode is one of on_checkpoints",
        ),
        ({"minPartitions": "3", "copartition": "true"}, "reads a partition in one piece"),
        ({"minPartitions": "0"}, "minPartitions must be a whole number of at least 1"),
    ],
)
def test_every_mistake_is_named(changed: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        parse_source_options(NEEDED | changed)


@pytest.mark.parametrize(
    ("options", "mode"),
    [
        ({}, OffsetCommitMode.DISABLED),
        ({"offsetCommitMode": "disabled"}, OffsetCommitMode.DISABLED),
        ({"group_id": "g"}, OffsetCommitMode.ON_CHECKPOINTS),
        ({"kafka_group_id": "g"}, OffsetCommitMode.ON_CHECKPOINTS),
        ({"group_id": "g", "offsetCommitMode": "DISABLED"}, OffsetCommitMode.DISABLED),
        ({"group_id": "g", "offsetCommitMode": "PERIODIC"}, OffsetCommitMode.PERIODIC),
        ({"group_id": "g", "offsetCommitMode": "AT_MOST_ONCE"}, OffsetCommitMode.AT_MOST_ONCE),
    ],
)
def test_a_group_that_is_given_is_told_how_far_its_query_is(
    options: dict[str, str], mode: OffsetCommitMode
) -> None:
    assert parsed(**options).offset_commit_mode is mode
