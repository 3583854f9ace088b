"""The position of a task as committed offsets."""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import replace

import pytest

from millstream.clients import OffsetAndMetadata
from millstream.errors import ConfigError
from millstream.model import TopicPartition, Uuid, uuid_from_text
from millstream.streams.kernel.offset_metadata import OffsetMetadata
from millstream.streams.kernel.task.upstreams import DoneBehind
from millstream.streams.runtime.committed import CommittedPosition, dropped_of, owners_of

POSITION = CommittedPosition(
    offsets={"left": 7, "right": 9},
    times={"right": 1_000},
    store_times={"windows": {"emitted/closed": 500, "time": 900}, "table": {"newest": 3}},
    changelogs={"app-windows-changelog": "4ZFlAi1RQSWJ6vQy3sJqJA"},
)


def test_a_position_comes_back_as_it_was_committed() -> None:
    assert CommittedPosition.decode(POSITION.encode(partition=3)) == POSITION


def test_a_position_says_what_records_of_changelogs_look_like() -> None:
    """One of a release that did not say it is read as before."""
    two = {
        "app-windows-changelog": "4ZFlAi1RQSWJ6vQy3sJqJA",
        "app-a-changelog": "9cXlAi1RQSWJ6vQy3sJqJB",
    }
    known = {"app-windows-changelog": "windows of 500 ms", "app-a-changelog": "table"}
    position = replace(POSITION, changelogs=two, forms=known)
    assert CommittedPosition.decode(position.encode(partition=3)) == position
    held = replace(position, held={"left": DoneBehind(9, {0: 7})})
    assert CommittedPosition.decode(held.encode(partition=3)) == held
    one = replace(position, forms={"app-a-changelog": "table"})
    assert CommittedPosition.decode(one.encode(partition=3)) == one


def test_a_position_says_which_leaders_have_what_it_counts() -> None:
    """An input's epoch stands beside its offset, as Kafka has it."""
    changelog = "app-windows-changelog"
    epochs = {"left": 4, changelog: 2}
    position = replace(POSITION, leader_epochs=epochs)
    committed = position.encode(partition=3)
    assert committed[TopicPartition("left", 3)].leader_epoch == 4
    assert committed[TopicPartition("right", 3)].leader_epoch == -1
    found = CommittedPosition.decode(committed)
    assert found.leader_epochs == epochs
    assert found == POSITION, "another leader is nothing new to commit"
    known = replace(found, input_ids={"left": IDS["left"]})
    assert known.epochs_by_id(3) == {
        (uuid_from_text(IDS["left"]), TopicPartition("left", 3)): 4,
        (uuid_from_text(POSITION.changelogs[changelog]), TopicPartition(changelog, 3)): 2,
    }


def test_each_partition_has_its_time_in_the_form_of_kafka_streams() -> None:
    committed = POSITION.encode(partition=3)
    right = committed[TopicPartition("right", 3)]
    assert (right.offset, right.metadata) == (9, OffsetMetadata(1_000).encode())
    assert OffsetMetadata.decode(committed[TopicPartition("left", 3)].metadata).partition_time == -1


IDS = {"left": "4ZFlAi1RQSWJ6vQy3sJqJA", "right": "9cXlAi1RQSWJ6vQy3sJqJB"}
"""Of the input topics."""


def test_each_offset_says_of_which_topic_it_is() -> None:
    """Until somebody sets it by hand."""
    position = replace(POSITION, input_ids=IDS)
    committed = position.encode(partition=3)
    assert CommittedPosition.decode(committed) == position
    by_hand = committed | {TopicPartition("right", 3): OffsetAndMetadata(9)}
    assert CommittedPosition.decode(by_hand).input_ids == {"left": IDS["left"]}


def test_the_ids_of_topics_survive_kafka_streams_which_writes_all_names_beside_each_offset() -> (
    None
):
    committed = replace(POSITION, input_ids=IDS).encode(partition=3)
    found = [OffsetMetadata.decode(each.metadata) for each in committed.values()]
    names = {name: time for each in found for name, time in each.processor_times.items()}
    text = OffsetMetadata(5, names).encode()
    merged = {tp: OffsetAndMetadata(each.offset, text) for tp, each in committed.items()}
    assert CommittedPosition.decode(merged).input_ids == IDS


def test_ids_of_topics_for_which_there_is_no_room_end_no_application() -> None:
    topics = dict.fromkeys(("a", "b"), 1)
    stores = next(number for number in range(100, 400) if not fits(number, topics)) - 1
    many = replace(with_stores(stores, topics=2), offsets=topics)
    crowded = replace(many, input_ids={"a": IDS["left"], "b": IDS["right"]})
    assert CommittedPosition.decode(crowded.encode(partition=0)) == many


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


HELD = CommittedPosition(
    offsets={"app-a-repartition": 7, "app-b-repartition": 9},
    times={"app-b-repartition": 1_000},
    origin_time=1_234,
    held={
        "app-a-repartition": DoneBehind(20, {0: 7, 3: 15}),
        "app-b-repartition": DoneBehind(11, {5: 9}),
    },
)


def test_what_is_done_behind_an_offset_and_the_origin_time_come_back() -> None:
    committed = HELD.encode(partition=3, owner="app", version="abc")
    assert CommittedPosition.decode(committed) == replace(HELD, versions=frozenset(["abc"]))


def test_an_origin_time_alone_comes_back_beside_each_offset() -> None:
    position = CommittedPosition({"left": 1, "right": 2}, origin_time=0)
    committed = position.encode(partition=0)
    assert CommittedPosition.decode(committed) == position
    del committed[TopicPartition("left", 0)]
    assert CommittedPosition.decode(committed) == CommittedPosition({"right": 2}, origin_time=0)


@pytest.mark.parametrize("topic", HELD.offsets)
def test_what_is_done_behind_an_offset_does_not_hold_behind_another_one(topic: str) -> None:
    """Somebody has set the offset back by hand: what he wants again is not left out."""
    committed = HELD.encode(partition=3)
    found = committed[TopicPartition(topic, 3)]
    committed[TopicPartition(topic, 3)] = OffsetAndMetadata(found.offset - 1, found.metadata)
    assert CommittedPosition.decode(committed).held == {}


def test_what_is_done_behind_an_offset_is_told_as_the_same_text_for_equal_ones() -> None:
    assert HELD.held_text == ('{"app-a-repartition":[20,0,13,3,5],"app-b-repartition":[11,5,2]}')
    turned = {topic: HELD.held[topic] for topic in reversed(HELD.held)}
    assert replace(HELD, held=turned).held_text == HELD.held_text
    assert POSITION.held_text == ""


@pytest.mark.parametrize(("upstreams", "topics"), [(400, 1), (400, 2)])
def test_hundreds_of_upstream_tasks_fit_beside_the_offsets_of_their_topics(
    upstreams: int, topics: int
) -> None:
    position = with_upstreams(upstreams, topics)
    committed = position.encode(0, owner="application-of-some-length-0", version="0123456789abcdef")
    assert all(len(each.metadata) <= 4096 for each in committed.values())
    assert CommittedPosition.decode(committed).held == position.held


def test_more_upstream_tasks_than_fit_are_refused_with_what_to_do() -> None:
    with pytest.raises(ConfigError, match="set time_across_repartitions='kafka'"):
        with_upstreams(600, topics=1).encode(0)


def with_upstreams(upstreams: int, topics: int) -> CommittedPosition:
    """Each upstream task has written a record that waits somewhere in the last million of a long topic."""
    end = 5_000_000_000
    names = [
        f"an-application-KSTREAM-AGGREGATE-STATE-STORE-{n:010}-repartition" for n in range(topics)
    ]
    held = {
        name: DoneBehind(
            end, {n: end - zlib.crc32(f"{name}{n}".encode()) % 1_000_000 for n in range(upstreams)}
        )
        for name in names
    }
    return CommittedPosition(
        offsets={name: min(each.first.values()) for name, each in held.items()},
        times=dict.fromkeys(names, 1_790_000_000_000),
        origin_time=1_790_000_000_000,
        held=held,
    )


def with_dropped(**dropped: int) -> CommittedPosition:
    return replace(POSITION, dropped=dropped)


def test_what_was_dropped_comes_back_by_topic() -> None:
    committed = with_dropped(left=12).encode(partition=3, version="v")
    assert CommittedPosition.decode(committed).dropped == {"left": 12}
    left, right = TopicPartition("left", 3), TopicPartition("right", 3)
    assert dropped_of(committed) == {left: 12, right: 0}


def test_of_offsets_that_others_have_committed_nobody_knows_what_was_dropped() -> None:
    others = {TopicPartition("left", 0): OffsetAndMetadata(5, OffsetMetadata(8).encode())}
    assert dropped_of(others) == {}


def test_a_count_that_an_instance_of_kafka_streams_has_carried_along_stays_that_of_its_topic() -> (
    None
):
    """It writes the numbers of all partitions of a task beside each of them."""
    committed = with_dropped(left=12).encode(partition=3, version="v")
    numbers: dict[str, int] = {}
    for each in committed.values():
        numbers |= OffsetMetadata.decode(each.metadata).processor_times
    carried = {
        tp: OffsetAndMetadata(each.offset, OffsetMetadata(5, numbers).encode())
        for tp, each in committed.items()
    }
    assert CommittedPosition.decode(carried).dropped == {"left": 12}
    assert dropped_of(carried)[TopicPartition("right", 3)] == 0


def test_where_stores_need_the_room_what_was_dropped_is_left_out() -> None:
    """A count beside a topic with so long a name takes the room of several stores."""
    topics = {"a" * 200: 1, "b" * 200: 2}
    few = replace(with_stores(100, topics=2), offsets=topics)
    counted = replace(few, dropped={"a" * 200: 3, "b" * 200: 4})
    assert CommittedPosition.decode(counted.encode(partition=0)) == counted
    stores = next(number for number in range(100, 400) if not fits(number, topics)) - 1
    many = replace(with_stores(stores, topics=2), offsets=topics)
    crowded = replace(many, dropped=counted.dropped)
    assert CommittedPosition.decode(crowded.encode(partition=0)) == many


def fits(stores: int, topics: dict[str, int]) -> bool:
    try:
        replace(with_stores(stores, topics=2), offsets=topics).encode(partition=0)
    except ConfigError:
        return False
    return True


def test_a_position_tells_the_times_of_stores_unless_an_instance_of_kafka_streams_committed_it() -> (
    None
):
    """Or a store without a time among them would be taken for one that had no rows."""
    assert CommittedPosition({"a": 3}, {"a": 70}, {"counts": {"newest": 60}}).tells_store_times
    begun = CommittedPosition({"a": 0}).encode(partition=0, version="v")
    assert CommittedPosition.decode(begun).tells_store_times, "nothing has been processed"
    assert not CommittedPosition({"a": 0}).tells_store_times, "set by hand"
    assert not CommittedPosition({"a": 3}, {"a": 70}).tells_store_times
    assert not CommittedPosition().tells_store_times, "nothing is known"
