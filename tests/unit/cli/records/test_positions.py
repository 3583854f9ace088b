"""Where a consumer without a group begins and ends, and what it fetches from meanwhile."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import pytest

from millstream.cli.records.offset_choice import Bounds, Start
from millstream.cli.records.positions import seek
from millstream.clients.blocking import Consumer
from millstream.model import TopicPartition

EMPTY, FULL = TopicPartition("t", 0), TopicPartition("t", 1)


class SeekingConsumer:
    """Of two partitions, one of which has ten records. `fetched`: those that are not paused."""

    def __init__(self) -> None:
        self.fetched: set[TopicPartition] = set()
        self.at: dict[TopicPartition, int] = {}

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        self.fetched = set(partitions)

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        self.fetched -= set(partitions)

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        self.fetched |= set(partitions)

    def seek(self, partition: TopicPartition, offset: int) -> None:
        assert self.fetched == set(), "a fetch would begin before all is known"
        self.at[partition] = offset

    def beginning_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 0)

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return {each: 10 if each == FULL else 0 for each in partitions}


@pytest.mark.parametrize(
    ("bounds", "until_end", "fetched"),
    [
        (Bounds(Start("beginning")), True, {FULL}),
        (Bounds(Start("tail", 3)), True, {FULL}),
        (Bounds(Start("end")), True, set()),
        (Bounds(Start("beginning")), False, {EMPTY, FULL}),
        (Bounds(Start("end")), False, {EMPTY, FULL}),
        (Bounds(Start("offset", 5), stop_offset=8), False, {EMPTY, FULL}),
        (Bounds(Start("offset", 9), stop_offset=8), False, set()),
    ],
)
def test_nothing_is_fetched_where_nothing_is_to_be_read(
    bounds: Bounds, *, until_end: bool, fetched: set[TopicPartition]
) -> None:
    """A broker holds a fetch of empty partitions alone back, and what others have comes behind it."""
    consumer = SeekingConsumer()
    seek(cast("Consumer", consumer), [EMPTY, FULL], bounds, until_end=until_end)
    assert consumer.fetched == fetched
