"""`records delete` and `offsets`: positions and times as they are typed, and what a deletion would take."""

from __future__ import annotations

from collections.abc import Mapping

import click
import pytest

from millstream.cli.offsets import asked_time
from millstream.cli.records.command import (
    Position,
    parse_offset_file,
    parse_position,
    plan_deletion,
    plan_deletion_before,
    plan_rows,
)
from millstream.clients.admin import Results
from millstream.clients.core.values import OffsetAndTimestamp
from millstream.errors import ConfigError, NotLeaderOrFollower, OffsetOutOfRange
from millstream.model import TopicPartition

HOUR_MS = 3_600_000
A, B, GONE = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("t", 2)
ENDS = {A: (10, 50), B: (0, 0)}


def listed(asked: Mapping[TopicPartition, int]) -> Results[TopicPartition, OffsetAndTimestamp]:
    """A begins at 10 and ends at 50, B is empty, the third has no leader."""
    return Results(
        {
            key: OffsetAndTimestamp(ENDS[key][wanted == -1], -1)
            if key in ENDS
            else NotLeaderOrFollower("nobody leads it")
            for key, wanted in asked.items()
        }
    )


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("12", Position(offset=12)),
        ("end", Position()),
        ("-1", Position()),
        ("@1000", Position(time_ms=1000)),
        ("@1970-01-01T00:00:01", Position(time_ms=1000)),
    ],
)
def test_positions(text: str, position: Position) -> None:
    assert parse_position(text) == position


@pytest.mark.parametrize("text", ["-2", "soon", "@soon", "", "1.5"])
def test_what_is_no_position(text: str) -> None:
    with pytest.raises(click.BadParameter):
        parse_position(text)


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("latest", -1),
        ("-2", -2),
        ("max-timestamp", -3),
        ("5000", 5000),
        ("1h", HOUR_MS),
        ("3h", 0),
        ("1970-01-01T00:00:02", 2000),
    ],
)
def test_times_at_two_hours_past_1970(text: str, asked: int) -> None:
    assert asked_time(text, 2 * HOUR_MS) == asked


def test_a_plan_says_what_goes_and_what_cannot() -> None:
    plan = plan_deletion({A: 30, B: -1, GONE: 1}, listed)
    assert [plan.plans[A].count, plan.plans[B].count] == [20, 0]
    assert set(plan.errors) == {GONE}
    assert [row["result"] for row in plan_rows(plan, dry_run=True)] == ["would be deleted", "nothing to delete"]  # fmt: skip


def test_what_was_deleted_already_moves_nothing_back() -> None:
    plan = plan_deletion({A: 5}, listed)
    assert (plan.plans[A].begin, plan.plans[A].end) == (10, 10)


def test_beyond_the_end_is_refused_before_the_cluster_is_asked() -> None:
    plan = plan_deletion({A: 51}, listed)
    assert isinstance(plan.errors[A], OffsetOutOfRange)
    assert plan.plans == {}


def test_the_file_of_kafkas_tool() -> None:
    text = '{"partitions": [{"topic": "t", "partition": 1, "offset": -1}], "version": 1}'
    assert parse_offset_file(text) == {B: -1}


def test_records_that_come_while_a_time_is_looked_up_stay() -> None:
    """No record is of that time when it is asked for; ten have come when the end is asked for again."""
    end = 50

    def growing(asked: Mapping[TopicPartition, int]) -> Results[TopicPartition, OffsetAndTimestamp]:
        nonlocal end
        answers = {-1: end, -2: 10}
        end += 10
        return Results({key: OffsetAndTimestamp(answers.get(wanted, -1), -1) for key, wanted in asked.items()})  # fmt: skip

    plan = plan_deletion_before([A], 1000, growing)
    assert (plan.plans[A].begin, plan.plans[A].end) == (10, 50)


def test_before_a_time_ends_at_its_first_record() -> None:
    def at_30(asked: Mapping[TopicPartition, int]) -> Results[TopicPartition, OffsetAndTimestamp]:
        answers = {-1: 50, -2: 10}
        return Results({key: OffsetAndTimestamp(answers.get(wanted, 30), -1) for key, wanted in asked.items()})  # fmt: skip

    plan = plan_deletion_before([A], 1000, at_30)
    assert (plan.plans[A].begin, plan.plans[A].end) == (10, 30)
    assert set(plan_deletion_before([A, GONE], 1000, listed).errors) == {GONE}


def test_only_minus_one_stands_for_the_end() -> None:
    plan = plan_deletion({A: -2}, listed)
    assert plan.plans[A].count == 0


@pytest.mark.parametrize("offset", ["-2", "40.9", "true", '"40"', "null"])
def test_an_offset_of_the_file_that_is_no_offset(offset: str) -> None:
    text = f'{{"partitions": [{{"topic": "t", "partition": 1, "offset": {offset}}}]}}'
    with pytest.raises(ConfigError, match="offsets are whole numbers"):
        parse_offset_file(text)


def test_a_partition_that_is_named_twice() -> None:
    one = '{"topic": "t", "partition": 1, "offset": 4}'
    with pytest.raises(ConfigError, match="t-1 is named twice"):
        parse_offset_file(f'{{"partitions": [{one}, {one}]}}')


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"partitions": [{"topic": "t"}]}', '{"partitions": [], "version": 2}']
)
def test_what_is_no_such_file(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_offset_file(text)
