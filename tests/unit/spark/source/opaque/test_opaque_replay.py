"""Opaque replay: a partition that is not available is left out, and each record is in one micro-batch of the commit log, whatever dies when."""

from __future__ import annotations

import contextlib
import json

import pytest

from millstream.errors import ConfigError, ProducerFenced
from millstream.model import Offset, TopicPartition
from millstream.spark.source.opaque.documents import (
    HeldBack,
    opaque_batch_in,
    start_document,
    unseen_in,
)
from millstream.spark.source.opaque.replay import OpaqueReplay
from millstream.spark.states.states import MemoryBacking
from tests.support.opaque_world import ONE, PARTITIONS, ZERO, Died, DriverGone, World


def _is_there() -> None:
    """The driver always is."""


@pytest.fixture
def world() -> World:
    """Three records in each of two partitions, and a micro-batch of them in the offset log, of which nothing was read."""
    made = World()
    made.ends |= {ZERO: 3, ONE: 3}
    assert made.plan()
    return made


def test_a_partition_that_is_not_available_gives_nothing_and_the_others_do(world: World) -> None:
    world.available.remove(ZERO)
    assert world.try_batch() == {ONE: (0, 3)}


def test_what_was_left_out_comes_in_a_later_micro_batch(world: World) -> None:
    world.available.remove(ZERO)
    world.run()
    world.ends[ONE] = 4
    world.run()
    world.available.add(ZERO)
    world.ends[ZERO] = 5
    world.run()
    assert world.given == [{ONE: (0, 3)}, {ONE: (3, 4)}, {ZERO: (0, 5)}]


def test_an_older_checkpoint_that_is_put_back_is_refused_where_it_lacks_what_was_left_out(
    world: World,
) -> None:
    """The store has forgotten what the older micro-batch had left out: going on at its ends would lose it."""
    world.available.remove(ZERO)
    world.run()
    world.available.add(ZERO)
    assert world.plan()
    world.available.remove(ZERO)
    world.run()
    del world.offset_log[1:], world.given[1:]
    world.start()
    with pytest.raises(ConfigError, match="micro-batch 2 of this query has left out"):
        world.plan()
    assert world.given == [{ONE: (0, 3)}]


def test_documents_of_releases_that_did_not_count_micro_batches_are_read(world: World) -> None:
    world.available.remove(ZERO)
    world.run()
    del world.offset_log[0]["opaque"]["number"]
    (key,) = world.store.values
    kept = json.loads(world.store.values[key])
    del kept["number"]
    world.store.values[key] = json.dumps(kept).encode()
    world.start()
    world.available.add(ZERO)
    world.ends[ZERO] = 5
    world.run()
    assert world.given == [{ONE: (0, 3)}, {ZERO: (0, 5)}]


def test_nothing_is_planned_while_all_that_is_owed_is_not_available(world: World) -> None:
    world.available.remove(ZERO)
    world.run()
    assert not world.plan()
    assert not world.plan()
    world.available.add(ZERO)
    assert world.plan()


def test_a_driver_that_dies_before_it_has_stored_what_it_leaves_out_has_left_out_nothing(
    world: World,
) -> None:
    world.available.remove(ZERO)
    world.store.dies = "before"
    with pytest.raises(Died):
        world.try_batch()
    world.start()
    world.available.add(ZERO)
    assert world.try_batch() == {ZERO: (0, 3), ONE: (0, 3)}


def test_what_a_try_that_failed_has_left_out_counts_no_longer(world: World) -> None:
    world.available.remove(ZERO)
    world.try_batch()
    world.start()
    world.available ^= {ZERO, ONE}
    assert world.try_batch() == {ZERO: (0, 3)}
    world.commit()
    world.available.add(ONE)
    world.run()
    assert world.given == [{ZERO: (0, 3)}, {ONE: (0, 3)}]


def test_a_repeat_that_reads_all_takes_back_what_was_left_out(world: World) -> None:
    world.available.remove(ZERO)
    world.try_batch()
    world.start()
    world.available.add(ZERO)
    world.run()
    world.start()
    assert not world.plan()
    assert world.given == [{ZERO: (0, 3), ONE: (0, 3)}]


def test_the_next_driver_finds_what_a_committed_micro_batch_has_left_out(world: World) -> None:
    world.available.remove(ZERO)
    world.run()
    world.start()
    world.available.add(ZERO)
    world.run()
    assert world.given == [{ONE: (0, 3)}, {ZERO: (0, 3)}]


def test_a_plan_that_was_not_written_down_is_made_again(world: World) -> None:
    world.available.remove(ZERO)
    world.run()
    world.available.add(ZERO)
    with pytest.raises(Died):
        world.plan(dies=True)
    world.start()
    world.run()
    assert world.given[1] == {ZERO: (0, 3)}


def test_what_was_owed_and_planned_again_can_be_left_out_again(world: World) -> None:
    world.available.remove(ZERO)
    world.run()
    world.available.add(ZERO)
    world.plan()
    world.available.remove(ZERO)
    world.start()
    world.run()
    world.available.add(ZERO)
    world.run()
    assert world.given == [{ONE: (0, 3)}, {}, {ZERO: (0, 3)}]


def test_all_who_ask_for_a_try_get_the_same_ranges(world: World) -> None:
    """Spark asks once for each time that a plan has the source, such as in a union with itself."""
    world.available.remove(ZERO)
    first = world.try_batch()
    world.available = {ZERO}
    assert world.try_batch() == first


def test_a_write_that_is_under_way_when_the_next_driver_begins_is_refused(world: World) -> None:
    def next_driver() -> None:
        world.start()
        world.available.add(ZERO)
        world.run()

    world.available.remove(ZERO)
    world.store.meanwhile = next_driver
    with pytest.raises(ProducerFenced):
        world.try_batch()
    world.start()
    assert not world.plan()
    assert world.given == [{ZERO: (0, 3), ONE: (0, 3)}]


def test_a_process_without_its_driver_that_is_late_to_begin_leaves_out_nothing(
    world: World,
) -> None:
    """It takes the store from the driver that came after its own, whose ranges are read already."""
    before = world.start()
    world.start()
    world.try_batch()
    world.available.remove(ZERO)
    with pytest.raises(DriverGone):
        world.ranges_by(before)
    world.commit()
    world.start()
    world.available.add(ZERO)
    assert not world.plan()


def test_nothing_is_stored_while_all_is_available(world: World) -> None:
    writes = world.store.writes
    for end in (4, 5, 6):
        world.run()
        world.ends[ZERO] = end
        world.plan()
    assert world.store.writes == writes


def test_spark_s_logs_do_not_say_what_was_left_out() -> None:
    """So it needs a store: two pasts that Spark's logs do not tell apart need different micro-batches next."""
    worlds = World(), World()
    for each in worlds:
        each.ends |= {ZERO: 3, ONE: 3}
        each.plan()
    worlds[1].available.remove(ZERO)
    for each in worlds:
        each.run()
    assert worlds[0].logs_of_spark() == worlds[1].logs_of_spark()
    assert worlds[0].given_of(ZERO) != worlds[1].given_of(ZERO)


def test_a_store_that_is_not_the_one_of_before_is_refused(world: World) -> None:
    world.run()
    world.store.values.clear()
    world.start()
    with pytest.raises(ConfigError, match="replayTopic does not have"):
        world.plan()


def test_a_store_that_another_query_has_used_is_refused(world: World) -> None:
    """Though it fits for all one can see: what that query has written is in the place of ours."""
    world.available.remove(ZERO)
    world.run()
    other = World()
    other.store = world.store
    other.start()
    other.ends[ONE] = 1
    other.run()
    world.start()
    with pytest.raises(ConfigError, match="another query has used it"):
        world.plan()


def test_a_store_that_holds_something_else_is_refused(world: World) -> None:
    for data in (b"", b"12", b"{}", b'{"v":2}', b'{"v":1,"store":"a"}'):
        with pytest.raises(ConfigError, match="replayTopic holds what this release cannot read"):
            HeldBack.from_bytes(data)


def test_a_query_that_was_transactional_goes_on_where_it_was() -> None:
    replay = OpaqueReplay(MemoryBacking(), iter("ab").__next__, _is_there)
    start = {"v": 1, "offsets": {"orders": {"0": 4}}}
    at = replay.positions_after(start)
    assert at == {ZERO: 4}
    document = replay.planned(start, at, {ZERO: Offset(6)})
    batch = opaque_batch_in(document)
    assert batch is not None
    assert (batch.begin, batch.end) == ({ZERO: 4}, {ZERO: 6})
    assert document["v"] == 2


def test_partitions_that_nobody_has_seen_stay_on_the_list_until_they_are_read() -> None:
    replay = OpaqueReplay(MemoryBacking(), iter("abc").__next__, _is_there)
    start = start_document({ZERO: Offset(0)}, PARTITIONS[1:])
    first = replay.planned(start, {ZERO: Offset(0)}, {ZERO: Offset(1)})
    assert unseen_in(first) == set(PARTITIONS[1:])
    both = {ZERO: Offset(1), ONE: Offset(7)}
    assert unseen_in(replay.planned(first, both, both)) == {TopicPartition("orders", 2)}


def test_a_driver_that_dies_as_it_begins_leaves_a_store_that_the_next_one_can_use() -> None:
    for dies in ("before", "after"):
        world = World()
        world.ends[ZERO] = 1
        world.store.dies = dies
        with contextlib.suppress(Died):
            world.plan()
        world.start()
        world.run()
        assert world.given == [{ZERO: (0, 1)}]
