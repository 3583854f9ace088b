"""`millstream tail`: what is held, and what follows it."""

from __future__ import annotations

import signal
from collections.abc import Iterable
from typing import cast

from millstream.cli.records.consume_loop import ConsumeLoop, Interruption
from millstream.cli.tail import go_on, keep, newest
from millstream.clients import ConsumerRecord
from millstream.clients.blocking import Consumer
from millstream.model import TopicPartition

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def record(partition: TopicPartition, offset: int) -> ConsumerRecord:
    return ConsumerRecord(
        topic=partition.topic, partition=partition.partition, offset=offset, timestamp_ms=offset
    )


class LogInMemory:
    """A consumer that gives one partition after the other; a signal comes when all is read."""

    def __init__(self, ends: dict[TopicPartition, int], asked: Interruption) -> None:
        self._ends = ends
        self._asked = asked
        self._at = dict.fromkeys(ends, 0)

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self._at[partition] = offset

    def paused(self) -> set[TopicPartition]:
        return set()

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        assert set(partitions) == set(self._ends)

    def position(self, partition: TopicPartition) -> int:
        return self._at[partition]

    def poll(self, *, max_records: int, timeout_ms: int) -> list[ConsumerRecord]:
        assert max_records > 0
        assert timeout_ms > 0
        for partition, end in self._ends.items():
            if self._at[partition] < end:
                found = [record(partition, each) for each in range(self._at[partition], end)]
                self._at[partition] = end
                return found
        self._asked.signal = signal.SIGINT
        return []


def test_what_came_while_the_end_was_read_is_followed() -> None:
    asked = Interruption()
    consumer = cast("Consumer", LogInMemory({A: 4, B: 2}, asked))
    found: list[ConsumerRecord] = []
    loop = ConsumeLoop(consumer, found.append, lambda: None, lambda: 0, stop={A: 2, B: 2})
    loop.run(asked)
    assert [(each.partition, each.offset) for each in found] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert asked.signal is None
    followed: list[ConsumerRecord] = []
    go_on(loop, followed.append)
    loop.run(asked)
    assert [(each.partition, each.offset) for each in followed] == [(0, 2), (0, 3)]


def test_as_few_are_held_as_are_wanted_however_many_partitions_there_are() -> None:
    found: list[ConsumerRecord] = []
    most = 0
    for number in range(5_000):
        keep(found, record(TopicPartition("t", number), number * 7 % 5_000), 10)
        most = max(most, len(found))
    assert most < 2 * 10 + 1_000
    assert [each.offset for each in newest(found, 10)] == list(range(4_990, 5_000))
