"""The loop of `copy` on batches that a consumer might give."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from millstream.cli.copy.copying import Copying, CopyPlan, Delivered
from millstream.cli.copy.ranges import Range
from millstream.clients.consumer.fetch_collector import ArrowRecords
from millstream.errors import MessageTooLarge, OffsetOutOfRange
from millstream.model import TopicPartition
from millstream.records.arrow import SCHEMA

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)


def batch(partition: int, *offsets: int, behind: int | None = None) -> ArrowRecords:
    rows = pa.record_batch(
        [
            [b"k"] * len(offsets),
            [b"%d" % each for each in offsets],
            list(offsets),
            [0] * len(offsets),
        ],
        schema=SCHEMA,
    )
    return ArrowRecords("t", partition, rows, offsets[-1] + 1 if behind is None else behind)


class Batches:
    """A consumer that gives these, one with each poll."""

    def __init__(self, *batches: ArrowRecords) -> None:
        self.batches = list(batches)
        self.assigned: list[TopicPartition] = []
        self.paused: list[TopicPartition] = []

    def assign(self, partitions: Any) -> None:  # Any: an iterable
        self.assigned = list(partitions)

    def seek(self, partition: TopicPartition, _offset: int) -> None:
        assert partition in self.assigned

    def pause(self, partitions: list[TopicPartition]) -> None:
        self.paused += partitions

    def poll_arrow(self, **_: object) -> list[ArrowRecords]:
        if not self.batches:
            raise OffsetOutOfRange
        return [self.batches.pop(0)]


class Sent:
    """A producer that has delivered at once, or refuses all."""

    def __init__(self, error: Exception | None = None) -> None:
        self.values: list[tuple[int | None, bytes]] = []
        self.error = error
        self.is_done = True

    def send_batch(self, _topic: str, rows: pa.RecordBatch, *, partition: int | None) -> Sent:
        self.values += [(partition, value) for value in rows.column("value").to_pylist()]
        return self

    def result(self) -> None:
        if self.error is not None:
            raise self.error

    def flush(self) -> None:
        """Has delivered already."""


def copied(
    *batches: ArrowRecords,
    ranges: dict[TopicPartition, Range],
    count_max: int | None = None,
    sent: Any = None,  # Any: Sent
    keeps_partitions: bool = True,
) -> tuple[list[int], Copying, Batches]:
    consumer: Any = Batches(*batches)
    producer: Any = sent or Sent()
    plan = CopyPlan(target="u", ranges=ranges, noted={}, keeps_partitions=keeps_partitions, count_max=count_max)  # fmt: skip
    copying = Copying(consumer, producer, plan, Delivered(producer))
    copying.run(lambda: 0, lambda _: None)
    return [int(value) for _, value in producer.values], copying, consumer


def test_a_range_ends_where_it_is_to_end() -> None:
    values, copying, consumer = copied(batch(0, 3, 4, 5, 6), ranges={P0: Range(3, 5)})
    assert values == [3, 4]
    assert (copying.copied, copying.next_offsets) == ({0: 2}, {0: 5})
    assert consumer.paused == [P0]


def test_markers_move_the_end_without_a_record() -> None:
    values, copying, _ = copied(batch(0, 3), batch(0, behind=6), ranges={P0: Range(3, 6)})
    assert (values, copying.next_offsets) == ([3], {0: 6})


def test_a_partition_with_nothing_to_copy_is_not_read() -> None:
    values, _, consumer = copied(batch(0, 3), ranges={P0: Range(3, 4), P1: Range(7, 7)})
    assert (values, consumer.assigned) == ([3], [P0])


def test_what_was_fetched_before_a_pause_is_left_out() -> None:
    values, _, _ = copied(batch(0, 3, 4), batch(0, 5, 6), batch(1, 0), ranges={P0: Range(3, 5), P1: Range(0, 1)})  # fmt: skip
    assert values == [3, 4, 0]


def test_a_count_ends_in_the_middle_of_a_batch() -> None:
    values, copying, _ = copied(batch(0, 3, 5, 9), batch(1, 1), ranges={P0: Range(3, 20), P1: Range(0, 9)}, count_max=2)  # fmt: skip
    assert (values, copying.next_offsets) == ([3, 5], {0: 6, 1: 0})


def test_keys_decide_where_partitions_are_not_kept() -> None:
    sent = Sent()
    copied(batch(1, 0), ranges={P1: Range(0, 1)}, sent=sent, keeps_partitions=False)
    assert sent.values == [(None, b"0")]


def test_what_was_read_before_an_error_is_kept() -> None:
    consumer: Any = Batches(batch(0, 0, 1))
    producer: Any = Sent()
    plan = CopyPlan(target="u", ranges={P0: Range(0, 9)}, noted={}, keeps_partitions=True, count_max=None)  # fmt: skip
    copying = Copying(consumer, producer, plan, Delivered(producer))
    with pytest.raises(OffsetOutOfRange):
        copying.run(lambda: 0, lambda _: None)
    assert (copying.copied, copying.next_offsets) == ({0: 2}, {0: 2})


def test_what_brokers_refuse_is_raised() -> None:
    with pytest.raises(MessageTooLarge):
        copied(batch(0, 0), ranges={P0: Range(0, 1)}, sent=Sent(MessageTooLarge("large")))
