"""The position of a task as committed offsets."""

from __future__ import annotations

from millstream.clients import OffsetAndMetadata
from millstream.model import TopicPartition
from millstream.streams.kernel.offset_metadata import OffsetMetadata
from millstream.streams.runtime.committed import CommittedPosition

POSITION = CommittedPosition(
    offsets={"left": 7, "right": 9},
    times={"right": 1_000},
    store_times={"windows": {"emitted/closed": 500, "time": 900}, "table": {"newest": 3}},
    changelogs={"app-windows-changelog": "4ZFlAi1RQSWJ6vQy3sJqJA"},
)


def test_a_position_comes_back_as_it_was_committed() -> None:
    assert CommittedPosition.decode(POSITION.encode(partition=3)) == POSITION


def test_each_partition_has_its_time_in_the_form_of_kafka_streams() -> None:
    committed = POSITION.encode(partition=3)
    right = committed[TopicPartition("right", 3)]
    assert (right.offset, right.metadata) == (9, OffsetMetadata(1_000).encode())
    assert OffsetMetadata.decode(committed[TopicPartition("left", 3)].metadata).partition_time == -1


def test_what_others_committed_is_a_position_without_times() -> None:
    committed = {TopicPartition("left", 0): OffsetAndMetadata(5, "set by hand")}
    assert CommittedPosition.decode(committed) == CommittedPosition(offsets={"left": 5})


def test_numbers_of_processors_of_kafka_streams_are_left_out() -> None:
    text = OffsetMetadata(8, {"KSTREAM-AGGREGATE-0000000001": 4}).encode()
    committed = {TopicPartition("left", 0): OffsetAndMetadata(5, text)}
    assert CommittedPosition.decode(committed) == CommittedPosition({"left": 5}, {"left": 8})
