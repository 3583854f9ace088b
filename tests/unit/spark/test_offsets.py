"""Offsets in Spark's log and the share of a micro-batch that each partition gets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.errors import ConfigError
from millstream.model import Offset, TopicPartition
from millstream.spark.offsets import (
    admitted,
    advanced,
    from_json,
    partition_offsets,
    record_count,
    to_json,
)

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)

offsets = st.dictionaries(
    st.builds(TopicPartition, st.sampled_from(["a", "b", "c.d"]), st.integers(0, 5)),
    st.integers(0, 10_000).map(Offset),
)


def test_the_json_form_is_the_one_in_the_checkpoint() -> None:
    assert to_json({B0: Offset(7), A1: Offset(2), A0: Offset(1)}) == {
        "v": 1,
        "offsets": {"a": {"0": 1, "1": 2}, "b": {"0": 7}},
    }


@given(offsets)
def test_json_round_trips(given_offsets: dict[TopicPartition, Offset]) -> None:
    assert from_json(to_json(given_offsets)) == given_offsets


def test_a_checkpoint_of_another_version_says_what_to_do() -> None:
    with pytest.raises(ConfigError, match=r"version 2.*new checkpoint"):
        from_json({"v": 2, "offsets": {}})


@pytest.mark.parametrize("document", [None, 5, {"a": 1}, {"a": {"x": 1}}, {"a": {"0": "y"}}])
def test_malformed_offsets_show_the_right_form(document: object) -> None:
    with pytest.raises(ConfigError, match=r'must look like \{"topic": \{"0": 12\}\}'):
        partition_offsets(document)


def test_an_end_never_falls_behind_its_start() -> None:
    assert advanced({A0: Offset(5), A1: Offset(5)}, {A0: Offset(3), B0: Offset(1)}) == {
        A0: 5,
        A1: 5,
        B0: 1,
    }


def test_without_a_limit_everything_available_is_read() -> None:
    assert admitted({A0: Offset(0)}, {A0: Offset(9), B0: Offset(4)}, None) == {A0: 9, B0: 4}


def test_a_small_table_is_complete_in_the_first_batch() -> None:
    start = {A0: Offset(0), A1: Offset(0), B0: Offset(0)}
    available = {A0: Offset(1_000), A1: Offset(1_000), B0: Offset(12)}
    assert admitted(start, available, 112) == {A0: 50, A1: 50, B0: 12}


def test_every_partition_with_a_backlog_moves() -> None:
    assert admitted({}, {A0: Offset(10), A1: Offset(10), B0: Offset(10)}, 1) == {
        A0: 1,
        A1: 1,
        B0: 1,
    }


@given(offsets, offsets, st.integers(1, 20_000))
def test_a_batch_stays_within_its_limit_and_between_start_and_available(
    start: dict[TopicPartition, Offset], available: dict[TopicPartition, Offset], limit: int
) -> None:
    end = admitted(start, available, limit)
    full = advanced(start, available)
    moving = [p for p in full if full[p] > start.get(p, 0)]
    assert all(start.get(p, 0) <= end[p] <= full[p] for p in full)
    assert record_count(start, end) <= max(limit, len(moving))
    assert all(end[p] > start.get(p, 0) for p in moving)
    if record_count(start, full) <= limit:
        assert end == full
