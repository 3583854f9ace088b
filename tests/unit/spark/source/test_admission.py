"""The share of a micro-batch that each partition gets, and the time up to which topics are read together."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.model import Offset, TopicPartition
from millstream.spark.admission import (
    Later,
    Sample,
    fair_shares,
    in_proportion,
    in_slices,
    in_time,
    time_slice,
    with_heads,
)
from millstream.spark.offsets import Offsets, advanced

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
OFFSETS = st.dictionaries(
    st.builds(TopicPartition, st.sampled_from(["a", "b", "c.d"]), st.integers(0, 5)),
    st.integers(0, 10_000).map(Offset),
)
LOGS = st.dictionaries(
    st.builds(TopicPartition, st.sampled_from(["a", "b", "c"]), st.integers(0, 1)),
    st.lists(st.integers(0, 60), max_size=80).map(sorted),
    min_size=1,
)
"""Timestamps by offset."""
ANY_ORDER = st.dictionaries(
    st.builds(TopicPartition, st.sampled_from(["a", "b"]), st.integers(0, 2)),
    st.lists(st.integers(-1, 200), max_size=120),
    min_size=1,
)
"""The same, as records lie that come out of order."""


def at(**numbers: int) -> dict[TopicPartition, Offset]:
    return {TopicPartition(name[0], int(name[1])): Offset(n) for name, n in numbers.items()}


def record_count(start: Offsets, end: Offsets) -> int:
    return sum(max(0, end[p] - start.get(p, Offset(0))) for p in end)


class Logs:
    """What a broker would answer about logs."""

    def __init__(self, timestamps: Mapping[TopicPartition, list[int]]) -> None:
        self.timestamps = timestamps
        self.ends = {tp: Offset(len(times)) for tp, times in timestamps.items()}

    def times_at(self, places: Mapping[TopicPartition, Sample]) -> dict[TopicPartition, int]:
        return {tp: max(self.timestamps[tp][start:end]) for tp, (start, end, _) in places.items()}

    def offsets_after(self, wanted: Mapping[TopicPartition, Later]) -> dict[TopicPartition, Offset]:
        found = {
            tp: next((n for n in range(start, end) if self.timestamps[tp][n] > time), None)
            for tp, (time, start, end) in wanted.items()
        }
        return {tp: Offset(offset) for tp, offset in found.items() if offset is not None}

    def admitted(self, start: Offsets, limit: int | None) -> dict[TopicPartition, Offset]:
        return in_time(start, self.ends, limit, self.times_at, self.offsets_after)

    def sliced(self, start: Offsets, limit: int | None) -> dict[TopicPartition, Offset]:
        return in_slices(start, self.ends, limit, self.times_at, self.offsets_after)

    def slices(self, limit: int | None) -> list[dict[TopicPartition, list[int]]]:
        """The timestamps that each micro-batch over all of the logs reads, by partition."""
        start: Mapping[TopicPartition, Offset] = dict.fromkeys(self.timestamps, Offset(0))
        read = []
        while start != self.ends:
            end = self.sliced(start, limit)
            assert record_count(start, end) > 0, "it comes to its end"
            read.append({tp: self.timestamps[tp][start[tp] : end[tp]] for tp in end})
            start = end
        return read


@pytest.mark.parametrize("share", [fair_shares, in_proportion])
def test_without_a_limit_everything_available_is_read(share) -> None:
    assert share(at(a0=0), at(a0=9, b0=4), None) == at(a0=9, b0=4)
    assert Logs({A0: [1] * 9, B0: [5] * 4}).admitted(at(a0=0), None) == at(a0=9, b0=4)


def test_a_small_table_is_complete_in_a_fair_share() -> None:
    start, available = at(a0=0, a1=0, b0=0), at(a0=1_000, a1=1_000, b0=12)
    assert fair_shares(start, available, 112) == at(a0=50, a1=50, b0=12)


def test_a_proportion_goes_through_all_partitions_alike() -> None:
    start, available = at(a0=100, a1=0, b0=0), at(a0=900, a1=200, b0=1)
    assert in_proportion(start, available, 100) == at(a0=179, a1=19, b0=1)


@pytest.mark.parametrize("share", [fair_shares, in_proportion])
def test_every_partition_with_a_backlog_moves(share) -> None:
    assert share({}, at(a0=10, a1=10, b0=10), 1) == at(a0=1, a1=1, b0=1)


@pytest.mark.parametrize("share", [fair_shares, in_proportion])
@given(OFFSETS, OFFSETS, st.integers(1, 20_000))
def test_a_batch_stays_within_its_limit_and_between_start_and_available(
    share, start: dict[TopicPartition, Offset], available: dict[TopicPartition, Offset], limit: int
) -> None:
    end = share(start, available, limit)
    full = advanced(start, available)
    moving = [p for p in full if full[p] > start.get(p, 0)]
    assert all(start.get(p, 0) <= end[p] <= full[p] for p in full)
    assert record_count(start, end) <= limit + len(moving)
    assert all(end[p] > start.get(p, 0) for p in moving)
    if record_count(start, full) <= limit:
        assert end == full


def test_a_sparse_topic_does_not_run_ahead_of_the_dense_one_it_is_joined_with() -> None:
    logs = Logs({A0: list(range(1_000)), B0: list(range(0, 1_000, 100))})
    first = logs.admitted({}, 110)
    assert first == at(a0=100, b0=1)
    assert logs.admitted(first, 110) == at(a0=201, b0=3), "the dense one to 200, and what is at 200"


def test_other_partition_numbers_are_not_waited_for() -> None:
    logs = Logs({A0: [1] * 100, A1: [500] * 100})
    assert logs.admitted({}, 20) == at(a0=10, a1=10)


@given(LOGS, st.integers(1, 40))
def test_what_is_left_for_later_is_not_older_than_what_was_read_of_other_topics(
    timestamps: dict[TopicPartition, list[int]], limit: int
) -> None:
    logs = Logs(timestamps)
    start: Mapping[TopicPartition, Offset] = dict.fromkeys(timestamps, Offset(0))
    while start != logs.ends:
        end = logs.admitted(start, limit)
        assert record_count(start, end) > 0, "it comes to its end"
        assert record_count(start, end) <= limit + len(timestamps)
        for read, times in timestamps.items():
            newest = max(times[start[read] : end[read]], default=-1)
            for other, theirs in timestamps.items():
                if other.partition == read.partition:
                    assert all(time >= newest for time in theirs[end[other] :])
        start = end


def test_every_partition_with_records_gives_its_first_where_a_task_must_know_its_time() -> None:
    begin, available = at(a0=5, a1=0, b0=7), at(a0=9, a1=0, b0=9)
    assert with_heads(begin, available, at(a0=9, a1=0, b0=7)) == at(a0=9, a1=0, b0=8)


def test_what_has_been_read_says_nothing_about_what_comes() -> None:
    """A record of the far future that lies behind does not keep its partition back while the others go on."""
    logs = Logs({A0: [1_000, *range(1, 20)], B0: list(range(1, 20))})
    assert logs.admitted(at(a0=1, b0=0), 4) == at(a0=3, b0=2)


def test_a_dense_partition_and_a_sparse_one_are_read_to_the_same_time() -> None:
    """The shares are 24 and 15: the dense one reaches 23 with its own, and the sparse one would reach 50."""
    logs = Logs({A0: list(range(100)), A1: [*range(0, 40, 10), *range(40, 100)]})
    assert logs.sliced({}, 40) == at(a0=24, a1=3)


def test_no_time_is_asked_for_where_all_is_read_or_one_partition_alone_has_more() -> None:
    def refused(_: object) -> dict[TopicPartition, int]:
        raise AssertionError("nothing is to be asked")

    available = at(a0=9, a1=4)
    for limit in (None, 13):
        assert in_slices(at(a0=1), available, limit, refused, refused) == available
    assert in_slices(at(a0=1, a1=4), available, 5, refused, refused) == at(a0=6, a1=4), (
        "nobody else"
    )


def test_one_partition_far_behind_the_others_fills_its_micro_batches() -> None:
    """Its share alone is a thirteenth; the others have nothing so old."""
    past = {A0: list(range(1_000))}
    present = {TopicPartition("b", n): list(range(5_000, 6_000)) for n in range(12)}
    sizes = [sum(map(len, read.values())) for read in Logs(past | present).slices(520)]
    assert len(sizes) <= 2 * 13_000 // 520
    assert sizes[:2] == [520, 480 + 12], "the past, and the first record of the present"


def test_the_slowest_partition_ends_before_a_record_that_is_ahead_of_its_time() -> None:
    """One that goes beyond the slice would make the records late that others have yet to give."""
    slow = [*range(100), 5_000, *range(100, 300)]
    logs = Logs({A0: slow, A1: list(range(0, 600, 2))})
    end = time_slice(
        at(a0=0, a1=0), logs.ends, at(a0=200, a1=250), logs.times_at, logs.offsets_after
    )
    assert end == at(a0=100, a1=100)


def test_a_partition_that_begins_ahead_of_time_waits_for_the_others() -> None:
    """It does not make slices of one record."""
    logs = Logs({A0: [150, *range(100)], A1: list(range(120, 220))})
    assert logs.sliced({}, 40) == at(a0=1, a1=31), "both to 150"
    assert logs.sliced({}, 20) == at(a0=0, a1=20), "one to 139, as far as the limit goes"


@given(ANY_ORDER, st.integers(1, 60))
def test_a_watermark_over_slices_of_time_takes_no_record_for_late_that_is_late_by_less_in_its_partition(
    timestamps: dict[TopicPartition, list[int]], limit: int
) -> None:
    """The delay of the watermark is how far the records of a partition are out of order."""
    delay = max(
        (
            max(times[: n + 1]) - time
            for times in timestamps.values()
            for n, time in enumerate(times)
        ),
        default=0,
    )
    watermark = -1_000
    for read in Logs(timestamps).slices(limit):
        times = [time for mine in read.values() for time in mine]
        assert min(times) >= watermark
        assert len(times) <= limit + len(timestamps)
        watermark = max(watermark, max(times) - delay)
