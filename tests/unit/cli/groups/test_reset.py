from __future__ import annotations

import click
import pytest

from millstream.cli.groups.reset import (
    KnownOffsets,
    Reset,
    new_offsets,
    parse_plan,
    parse_targets,
    plan_text,
)
from millstream.model import TopicPartition

A, B = TopicPartition("a", 0), TopicPartition("a", 1)
KNOWN = KnownOffsets(
    beginning={A: 10, B: 0},
    end={A: 100, B: 50},
    committed={A: 40},
    at_time=lambda time_ms: {A: 60, B: 50},
)


@pytest.mark.parametrize(
    ("reset", "expected"),
    [
        (Reset("earliest"), {A: 10, B: 0}),
        (Reset("latest"), {A: 100, B: 50}),
        (Reset("offset", 60), {A: 60, B: 50}),
        (Reset("offset", 5), {A: 10, B: 5}),
        (Reset("time", 1), {A: 60, B: 50}),
        (Reset("current"), {A: 40, B: 50}),
    ],
)
def test_new_offsets_stay_within_the_partition(reset: Reset, expected: dict[TopicPartition, int]) -> None:  # fmt: skip
    assert new_offsets(reset, [A, B], KNOWN) == expected


@pytest.mark.parametrize(("distance", "expected"), [(5, 45), (-5, 35), (-500, 10), (500, 100)])
def test_a_shift_starts_from_what_is_committed(distance: int, expected: int) -> None:
    assert new_offsets(Reset("shift", distance), [A], KNOWN) == {A: expected}


def test_what_is_not_committed_cannot_be_shifted() -> None:
    with pytest.raises(click.ClickException, match="no offset is committed for a-1"):
        new_offsets(Reset("shift", 1), [A, B], KNOWN)


def test_topics_are_named_whole_or_by_partition() -> None:
    assert parse_targets(["a", "b:0,2", "b:5"]) == {"a": None, "b": {0, 2, 5}}
    with pytest.raises(click.BadParameter, match="is not like TOPIC:0,1"):
        parse_targets(["a:x"])


def test_a_plan_is_read_as_it_was_exported() -> None:
    assert plan_text({A: 7, B: 8}) == "a,0,7\na,1,8\n"
    assert parse_plan("a,0,7\ngroup,a,1,8\n") == {A: 7, B: 8}
    with pytest.raises(click.ClickException, match="is not TOPIC,PARTITION,OFFSET"):
        parse_plan("a,x,7")
