"""The position of a task as committed offsets."""

from __future__ import annotations

import hashlib
import zlib

import pytest

from millstream.clients import OffsetAndMetadata
from millstream.errors import ConfigError
from millstream.model import TopicPartition, Uuid
from millstream.streams.kernel.offset_metadata import OffsetMetadata
from millstream.streams.runtime.committed import CommittedPosition, owners_of

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


def test_what_operators_remember_is_not_believed_once_another_instance_has_committed() -> None:
    later = {
        tp: OffsetAndMetadata(found.offset + 1, found.metadata)
        for tp, found in POSITION.encode(partition=3).items()
    }  # as Kafka Streams does, which carries names along that it does not know
    found = CommittedPosition.decode(later)
    assert found.store_times == {}
    assert (found.times, found.changelogs) == (POSITION.times, POSITION.changelogs)


def test_many_stores_with_long_names_fit_beside_the_offsets_that_a_broker_takes() -> None:
    position = with_stores(100, topics=2)
    committed = position.encode(partition=0)
    assert all(1_000 < len(each.metadata) <= 4096 for each in committed.values())
    assert CommittedPosition.decode(committed) == position


def test_more_stores_than_fit_are_refused() -> None:
    with pytest.raises(ConfigError, match="the 400 stores of a task remember does not fit"):
        with_stores(400, topics=1).encode(partition=0)


def test_a_piece_that_is_gone_means_that_nothing_is_remembered() -> None:
    committed = with_stores(100, topics=2).encode(partition=0)
    del committed[TopicPartition("input-0", 0)]
    assert CommittedPosition.decode(committed) == CommittedPosition({"input-1": 1})


def with_stores(count: int, *, topics: int) -> CommittedPosition:
    """As large aggregations have them: a store of a long name remembers two times."""
    stores = [f"KSTREAM-AGGREGATE-STATE-STORE-{number:010}" for number in range(count)]
    ids = (hashlib.sha256(store.encode()).digest()[:16] for store in stores)
    return CommittedPosition(
        offsets={f"input-{number}": number for number in range(topics)},
        store_times={
            store: {
                "newest": 1_790_000_000_000 + zlib.crc32(store.encode()),
                f"KSTREAM-AGGREGATE-{number:010}": 1_790_000_000_000 + number,
            }
            for number, store in enumerate(stores)
        },
        changelogs={
            f"an-application-of-some-length-{store}-changelog": str(Uuid(id_))
            for store, id_ in zip(stores, ids, strict=True)
        },
    )


def test_an_offset_says_which_task_has_committed_it() -> None:
    committed = POSITION.encode(3, owner="left")
    assert owners_of(committed) == {"left"}
    assert CommittedPosition.decode(committed) == POSITION
    assert owners_of(POSITION.encode(3)) == set()
    by_hand = {TopicPartition("left", 0): OffsetAndMetadata(5, "set by hand")}
    assert owners_of(by_hand) == set()


def test_a_long_name_of_a_task_takes_its_room_from_what_stores_remember() -> None:
    position = with_stores(85, topics=2)
    committed = position.encode(0, owner="o" * 200)
    assert all(1_000 < len(each.metadata) <= 4096 for each in committed.values())
    assert CommittedPosition.decode(committed) == position
