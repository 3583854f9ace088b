"""What the fetcher asks for, what it returns, and where it stands afterwards."""

from __future__ import annotations

import struct

import pytest

from millstream.clients.consumer.core.errors import CorruptBatch
from millstream.clients.consumer.core.offset_reset import EARLIEST
from millstream.errors import (
    CorruptMessage,
    GroupAuthorizationFailed,
    NetworkException,
    OffsetOutOfRange,
    TopicAuthorizationFailed,
    UnsupportedForMessageFormat,
)
from millstream.model import TopicPartition, Uuid
from millstream.protocol.generated.fetch import (
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from millstream.records.compression import Codec
from millstream.records.control import ControlType
from tests.unit.clients.consumer.fetch_world import TOPIC_ID, World, asked, batch, broken, marker


def test_each_leader_is_asked_for_its_partitions_once_at_a_time() -> None:
    world = World(leaders=(1, 2, 1))
    assert {i.node_id: asked(i) for i in world.plan()} == {1: {0: 0, 2: 0}, 2: {1: 0}}
    assert world.plan() == []


def test_the_leader_epoch_we_believe_in_is_sent_along() -> None:
    world = World()
    (planned,) = world.plan()
    (topic,) = world.fetcher.request(planned).topics
    assert (topic.topic_id, topic.partitions[0].current_leader_epoch) == (TOPIC_ID, 4)


def test_records_come_in_order_and_the_next_fetch_starts_behind_the_last_batch() -> None:
    world = World()
    (planned,) = world.plan()
    world.answer(planned, batch(0, b"a", b"b"), batch(2, b"c"))
    assert asked(world.plan()[0]) == {0: 3}
    assert world.state().position == 0
    assert world.values(count=2) == [b"a", b"b"]
    assert world.state().position == 2
    assert world.values() == [b"c"]
    assert world.state().position == 3


def test_a_fetch_inside_a_batch_returns_from_its_offset_on() -> None:
    world = World()
    world.state().seek(1)
    (planned,) = world.plan()
    world.answer(planned, batch(0, b"a", b"b", b"c", codec=Codec.LZ4))
    assert world.values() == [b"b", b"c"]


@pytest.mark.parametrize("codec", list(Codec))
def test_every_codec_is_read(codec: Codec) -> None:
    world = World()
    world.answer(world.plan()[0], batch(0, *(b"%d" % n for n in range(50)), codec=codec))
    assert world.values() == [b"%d" % n for n in range(50)]


def test_a_batch_that_is_not_whole_is_fetched_again() -> None:
    world = World()
    (planned,) = world.plan()
    world.answer(planned, batch(0, b"a"), batch(1, b"b")[:-3])
    assert world.values() == [b"a"]
    assert asked(world.plan()[0]) == {0: 1}


def test_control_batches_are_passed_over_and_the_position_stands_behind_them() -> None:
    world = World()
    (planned,) = world.plan()
    world.answer(planned, batch(0, b"a", producer_id=9), marker(1, 9, ControlType.COMMIT))
    assert world.values() == [b"a"]
    assert world.values() == []
    assert world.state().position == 2


def test_aborted_transactions_are_hidden_at_read_committed_only() -> None:
    chunks = (
        batch(0, b"aborted", producer_id=9),
        batch(1, b"kept", producer_id=8),
        marker(2, 9),
        batch(3, b"later", producer_id=9),
    )
    hiding, showing = World(read_committed=True), World()
    hiding.answer(hiding.plan()[0], *chunks, aborted=[(9, 0)])
    showing.answer(showing.plan()[0], *chunks, aborted=[(9, 0)])
    assert hiding.values() == [b"kept", b"later"]
    assert showing.values() == [b"aborted", b"kept", b"later"]


def test_an_answer_to_a_fetch_from_before_a_seek_is_dropped() -> None:
    world = World()
    (planned,) = world.plan()
    world.state().seek(50)
    world.answer(planned, batch(0, b"old"))
    assert world.values() == []
    assert asked(world.plan()[0]) == {0: 50}


def test_what_is_paused_is_neither_fetched_nor_returned() -> None:
    world = World(leaders=(1, 1))
    (planned,) = world.plan()
    world.answer(planned, batch(0, b"a"))
    world.state(0).paused = True
    assert world.values() == []
    assert asked(world.plan()[0]) == {1: 0}
    world.state(0).paused = False
    assert world.values() == [b"a"]


def test_a_full_buffer_stops_the_fetches_of_its_partition_only() -> None:
    world = World(leaders=(1, 1), partition_bytes=100)
    world.answer(world.plan()[0], batch(0, b"x" * 200))
    (planned,) = world.plan()
    assert set(planned.generations) == {TopicPartition("t", 1)}


def test_partitions_take_turns() -> None:
    world = World(leaders=(1, 1))
    (planned,) = world.plan()
    world.answer(planned, batch(0, b"a0", b"a1"), partition=0)
    world.answer(planned, batch(0, b"b0", b"b1"), partition=1)
    assert world.values(count=3) == [b"a0", b"a1", b"b0"]
    (planned,) = world.plan()
    world.answer(planned, batch(2, b"a2"), partition=0)
    assert world.values() == [b"b1", b"a2"]


def test_an_offset_out_of_range_is_reset_by_policy_or_raised_once() -> None:
    world = World(reset="earliest")
    world.answer(world.plan()[0], code=1)
    assert (world.state().position, world.state().reset) == (None, EARLIEST)
    strict = World(reset="none")
    strict.answer(strict.plan()[0], code=1)
    with pytest.raises(OffsetOutOfRange, match="t-0: offset 0 is not in the log"):
        strict.records.raise_error()
    strict.records.raise_error()


def test_a_moved_leader_asks_for_metadata_and_keeps_the_position() -> None:
    world = World()
    world.answer(world.plan()[0], code=6)
    assert world.fetcher.metadata_wanted
    assert world.plan() == []
    world.lead(2)
    (planned,) = world.plan()
    assert (planned.node_id, asked(planned)) == (2, {0: 0})


def test_other_errors_are_raised_by_poll() -> None:
    world = World()
    world.answer(world.plan()[0], code=29)
    with pytest.raises(TopicAuthorizationFailed, match="t-0"):
        world.records.raise_error()


def test_a_broken_batch_is_raised_after_what_stands_before_it_and_can_be_passed_over() -> None:
    """K4.09, K4.42: the position stays at it, and it is not passed over silently."""
    world = World()
    damaged = broken(batch(1, b"broken"))
    world.answer(world.plan()[0], batch(0, b"good"), damaged, batch(2, b"next"))
    assert world.values() == [b"good"]
    for _ in range(2):
        with pytest.raises(CorruptBatch, match=r"batch at offset 1 is broken.*seek to 2") as error:
            world.values()
        assert (error.value.topic_partition, error.value.offset) == (("t", 0), 1)
        assert world.state().position == 1
    world.state().seek(2)
    (planned,) = world.plan()
    world.answer(planned, batch(2, b"next"))
    assert world.values() == [b"next"]


def test_a_broken_batch_of_one_partition_waits_for_a_call_that_found_nothing_else() -> None:
    """K4.42."""
    world = World(leaders=(1, 1))
    (planned,) = world.plan()
    world.answer(planned, broken(batch(0, b"broken")), partition=0)
    world.answer(planned, batch(0, b"b"), partition=1)
    world.state(0).last_turn = 1
    assert world.values() == [b"b"]
    with pytest.raises(CorruptMessage):
        world.values()


def test_checksums_are_looked_at_only_when_check_crcs_says_so() -> None:
    """K4.09."""
    world = World(check_crcs=False)
    world.answer(world.plan()[0], broken(batch(0, b"ab")))
    assert len(world.values()) == 1


def test_a_broker_that_cannot_read_its_log_is_raised_with_the_offset() -> None:
    """K4.09."""
    world = World()
    world.state().seek(7)
    world.answer(world.plan()[0], code=2)
    with pytest.raises(CorruptBatch, match="t-0: the batch at offset 7 is broken"):
        world.records.raise_error()


def test_sessions_name_changes_only_and_start_over_when_the_broker_forgets_them() -> None:
    """KIP-227."""
    world = World(leaders=(1, 1))
    (first,) = world.plan()
    assert (first.plan.session_id, first.plan.session_epoch, asked(first)) == (0, 0, {0: 0, 1: 0})
    world.answer(first, batch(0, b"a"), session_id=33)
    (second,) = world.plan()
    assert (second.plan.session_id, second.plan.session_epoch, asked(second)) == (33, 1, {0: 1})
    world.respond(second, FetchResponse(error_code=70))
    (third,) = world.plan()
    assert (third.plan.session_id, third.plan.session_epoch, asked(third)) == (0, 0, {1: 0, 0: 1})
    world.lose(third)
    assert world.plan()[0].plan.session_epoch == 0


def test_a_lost_session_answer_closes_the_old_session() -> None:
    world = World()
    world.answer(world.plan()[0], session_id=33)
    (planned,) = world.plan()
    world.lose(planned)
    (again,) = world.plan()
    assert (again.plan.session_id, again.plan.session_epoch, asked(again)) == (33, 0, {0: 0})


def reassign(world: World, offset: int) -> None:
    """The partition is given up and assigned again, between two looks at it."""
    world.subscription.assign([])
    world.subscription.assign([TopicPartition("t", 0)])
    world.state().seek(offset)


def test_an_answer_from_before_the_partition_was_assigned_again_is_dropped() -> None:
    world = World()
    (planned,) = world.plan()
    reassign(world, 3)
    world.answer(planned, batch(7, b"h"))
    assert world.values() == []
    assert asked(world.plan()[0]) == {0: 3}


def test_a_session_tells_how_far_a_partition_reaches_that_is_assigned_again() -> None:
    """Without news of it the broker would not name the partition, and nobody would know its lag."""
    world = World()
    world.answer(world.plan()[0], session_id=33)
    reassign(world, 0)
    (again,) = world.plan()
    assert (again.plan.session_id, again.plan.session_epoch, asked(again)) == (33, 0, {0: 0})
    world.answer(again, session_id=34)
    (then,) = world.plan()
    assert (then.plan.session_id, then.plan.session_epoch, asked(then)) == (34, 1, {})


def test_an_answer_without_a_whole_batch_is_an_error_and_no_endless_loop() -> None:
    world = World()
    liar = bytearray(batch(0, b"a"))
    struct.pack_into(">i", liar, 8, 2**31 - 1)
    world.answer(world.plan()[0], bytes(liar))
    assert world.values() == []
    assert world.plan() == []
    with pytest.raises(CorruptBatch, match="does not lead beyond the offset"):
        world.records.raise_error()


def test_a_batch_of_an_old_format_is_raised_after_what_stands_before_it() -> None:
    world = World()
    old = bytearray(batch(1, b"old"))
    old[16] = 1
    world.answer(world.plan()[0], batch(0, b"new"), bytes(old))
    assert world.values() == [b"new"]
    world.answer(world.plan()[0], bytes(old))
    with pytest.raises(CorruptBatch, match="offset 1 is broken") as error:
        world.records.raise_error()
    assert isinstance(error.value.__cause__, UnsupportedForMessageFormat)


def test_a_batch_larger_than_a_fetch_is_delivered_whole() -> None:
    """K4.08."""
    world = World(partition_bytes=100)
    world.answer(world.plan()[0], batch(0, b"x" * 5000))
    assert world.values() == [b"x" * 5000]


def test_fetches_stop_while_all_partitions_together_fill_the_buffer() -> None:
    """K4.08: fetch_max_bytes bounds what lies unread."""
    world = World(leaders=(1, 2), total_bytes=150)
    first, second = world.plan()
    world.answer(first, batch(0, b"x" * 100), partition=0)
    world.answer(second, partition=1)
    assert world.plan() == []
    world.values()
    assert len(world.plan()) == 2


def test_what_was_asked_for_longest_ago_is_named_first() -> None:
    """A broker fills an answer in the order of the request: partitions take turns there too."""
    world = World(leaders=(1, 1, 1))
    (planned,) = world.plan()
    world.answer(planned, batch(0, b"a"), partition=0)
    world.values()
    world.values()
    (planned,) = world.plan()
    assert list(asked(planned)) == [1, 2, 0]


def test_partitions_of_a_busy_broker_wait_and_others_do_not() -> None:
    """K4.35, K4.44: one request per leader with all its partitions."""
    world = World(leaders=(1, 2, 1))
    one, two = world.plan()
    assert [sorted(asked(planned)) for planned in (one, two)] == [[0, 2], [1]]
    world.answer(two, partition=1)
    assert [planned.node_id for planned in world.plan()] == [2]


def test_a_partition_without_a_usable_answer_waits_for_metadata_and_the_others_go_on() -> None:
    """K14.17."""
    world = World(leaders=(1, 1))
    world.answer(world.plan()[0], code=78, partition=0)
    (planned,) = world.plan()
    assert asked(planned) == {1: 0}
    assert world.fetcher.metadata_wanted
    world.answer(planned, partition=1)
    world.fetcher.handle_metadata()
    assert asked(world.plan()[0]) == {0: 0, 1: 0}


@pytest.mark.parametrize("code", [-1, 3, 5, 6, 9, 56, 74, 75, 78, 100, 103])
def test_what_metadata_or_time_cures_is_no_error(code: int) -> None:
    world = World()
    world.answer(world.plan()[0], code=code)
    world.records.raise_error()
    world.fetcher.handle_metadata()
    assert asked(world.plan()[0]) == {0: 0}


def test_a_partition_without_a_leader_asks_for_metadata() -> None:
    world = World()
    world.lead(-1)
    assert world.plan() == []
    assert world.fetcher.metadata_wanted


def test_an_answer_about_partitions_that_were_not_asked_for_is_ignored() -> None:
    """K4.45."""
    world = World()
    (planned,) = world.plan()
    strange = [PartitionData(partition_index=p, records=memoryview(batch(0, b"x"))) for p in (0, 9)]
    topic = FetchableTopicResponse(topic_id=TOPIC_ID, partitions=strange)
    failure = world.respond(planned, FetchResponse(session_id=5, responses=[topic]))
    assert "partitions that were not asked for: t-9" in str(failure)
    assert world.values() == []
    assert world.plan()[0].plan.session_epoch == 0


def test_a_full_answer_that_leaves_a_partition_out_is_ignored() -> None:
    """K4.45."""
    world = World(leaders=(1, 1))
    (planned,) = world.plan()
    topic = FetchableTopicResponse(topic_id=TOPIC_ID, partitions=[PartitionData(partition_index=0)])
    failure = world.respond(planned, FetchResponse(responses=[topic]))
    assert "nothing about t-1" in str(failure)


def test_an_answer_about_an_unknown_topic_id_is_ignored() -> None:
    world = World()
    (planned,) = world.plan()
    topic = FetchableTopicResponse(topic_id=Uuid(b"?" * 16), partitions=[PartitionData()])
    assert world.respond(planned, FetchResponse(responses=[topic])) is not None


def test_an_error_of_the_whole_answer_that_stays_is_raised_by_poll() -> None:
    world = World()
    (planned,) = world.plan()
    world.lose(planned, GroupAuthorizationFailed("not you"))
    with pytest.raises(GroupAuthorizationFailed, match="not you"):
        world.records.raise_error()


# ---- fetching from near replicas (KIP-392)


def test_the_leader_is_told_our_rack_and_may_name_a_nearer_replica() -> None:
    world = World()
    (planned,) = world.plan()
    assert (planned.node_id, world.fetcher.request(planned).rack_id) == (1, "rack")
    world.answer(planned, preferred_read_replica=3)
    (planned,) = world.plan()
    assert planned.node_id == 3


def test_a_read_replica_is_given_up_for_the_leader_after_a_while() -> None:
    world = World()
    world.answer(world.plan()[0], preferred_read_replica=3)
    world.now_ms = 299_999
    (planned,) = world.plan()
    assert planned.node_id == 3
    world.answer(planned)
    world.now_ms = 300_000
    assert world.plan()[0].node_id == 1


@pytest.mark.parametrize("code", [6, 9, 56, 74, 78])
def test_a_read_replica_that_cannot_serve_is_given_up(code: int) -> None:
    world = World()
    world.answer(world.plan()[0], preferred_read_replica=3)
    world.answer(world.plan()[0], code=code)
    world.fetcher.handle_metadata()
    assert world.plan()[0].node_id == 1


def test_an_offset_that_a_read_replica_does_not_have_is_asked_of_the_leader() -> None:
    """It may lag behind; only the leader's word resets a position."""
    world = World(reset="none")
    world.answer(world.plan()[0], preferred_read_replica=3)
    world.answer(world.plan()[0], code=1)
    world.records.raise_error()
    assert [(planned.node_id, asked(planned)) for planned in world.plan()] == [(1, {0: 0})]


def test_a_read_replica_that_is_lost_or_leaves_the_cluster_is_given_up() -> None:
    world = World()
    world.answer(world.plan()[0], preferred_read_replica=3)
    (planned,) = world.plan()
    world.lose(planned, NetworkException())
    assert world.plan()[0].node_id == 1
    gone = World()
    gone.answer(gone.plan()[0], preferred_read_replica=8)
    assert gone.plan()[0].node_id == 1
    assert gone.fetcher.metadata_wanted


# ---- topics that are deleted and created again


def test_positions_of_a_deleted_topic_mean_nothing_in_the_one_that_has_its_name() -> None:
    world = World(reset="earliest")
    world.answer(world.plan()[0], batch(0, b"old"))
    other = Uuid(b"n" * 16)
    world.lead(1, epoch=0, topic_id=other)
    world.plan()
    assert world.values() == [b"old"]  # what was fetched is returned first
    world.values()
    assert world.plan() == []
    assert (world.state().position, world.state().reset) == (None, EARLIEST)
    world.state().seek(0)
    (planned,) = world.plan()
    assert planned.topic_names == {other: "t"}


def test_a_recreated_topic_is_an_error_where_auto_offset_reset_is_none() -> None:
    world = World(reset="none")
    world.answer(world.plan()[0])
    world.lead(1, topic_id=Uuid(b"n" * 16))
    assert world.plan() == []
    with pytest.raises(OffsetOutOfRange, match="t was deleted and created again"):
        world.records.raise_error()


def test_a_topic_id_learned_late_is_no_recreation() -> None:
    world = World()
    world.lead(1, topic_id=Uuid(bytes(16)))
    world.answer(world.plan()[0], topic_id=Uuid(bytes(16)))
    world.lead(1)
    assert asked(world.plan()[0]) == {0: 0}


# ---- what is hidden at read_committed


def test_an_aborted_transaction_hides_its_own_producer_only_and_up_to_its_marker() -> None:
    """K4.10: overlapping producers, one of whom commits."""
    world = World(read_committed=True)
    world.answer(
        world.plan()[0],
        batch(0, b"9 aborts", producer_id=9),
        batch(1, b"8 commits", producer_id=8),
        batch(2, b"plain"),
        batch(3, b"9 aborts", producer_id=9),
        marker(4, 9),
        batch(5, b"9 again", producer_id=9),
        marker(6, 8, ControlType.COMMIT),
        marker(7, 9, ControlType.COMMIT),
        aborted=[(9, 0)],
    )
    assert world.values() == [b"8 commits", b"plain", b"9 again"]


def test_two_aborted_transactions_of_one_producer_hide_both_and_not_what_lies_between() -> None:
    world = World(read_committed=True)
    world.answer(
        world.plan()[0],
        batch(0, b"first", producer_id=9),
        marker(1, 9),
        batch(2, b"kept", producer_id=9),
        marker(3, 9, ControlType.COMMIT),
        batch(4, b"second", producer_id=9),
        marker(5, 9),
        aborted=[(9, 4), (9, 0)],
    )
    assert world.values() == [b"kept"]


def test_a_fetch_that_starts_inside_an_aborted_transaction_hides_the_rest_of_it() -> None:
    world = World(read_committed=True)
    world.state().seek(5)
    world.answer(
        world.plan()[0],
        batch(5, b"hidden", producer_id=9),
        marker(6, 9),
        batch(7, b"shown"),
        aborted=[(9, 1)],
    )
    assert world.values() == [b"shown"]


def test_a_transaction_whose_marker_was_compacted_away_with_its_data_hides_nothing() -> None:
    """The broker does not name it any more."""
    world = World(read_committed=True)
    world.answer(world.plan()[0], batch(3, b"later", producer_id=9), aborted=[])
    assert world.values() == [b"later"]


def test_positions_move_behind_batches_that_are_hidden_to_their_end() -> None:
    world = World(read_committed=True)
    world.answer(world.plan()[0], batch(0, b"x", producer_id=9), marker(1, 9), aborted=[(9, 0)])
    assert world.values() == []
    assert world.state().position == 2


def test_a_full_buffer_lets_the_partition_that_is_paused_be() -> None:
    """K4.40: what was fetched of a paused partition is kept for when it is resumed."""
    world = World(leaders=(1, 1))
    (planned,) = world.plan()
    world.answer(planned, batch(0, b"a"), partition=0)
    world.state(0).paused = True
    assert world.values() == []
    world.state(0).paused = False
    assert world.values() == [b"a"]


def test_data_of_a_partition_that_was_given_up_is_dropped() -> None:
    """K4.40."""
    world = World(leaders=(1, 1))
    (planned,) = world.plan()
    world.subscription.set_partitions([TopicPartition("t", 1)])
    world.answer(planned, batch(0, b"gone"), partition=0)
    assert world.values() == []


def test_one_call_returns_records_of_several_partitions_up_to_its_limit() -> None:
    """K4.39."""
    world = World(leaders=(1, 1))
    (planned,) = world.plan()
    world.answer(planned, batch(0, b"a", b"b"), partition=0)
    world.answer(planned, batch(0, b"c", b"d"), partition=1)
    assert world.values(count=3) == [b"a", b"b", b"c"]
    assert (world.state(0).position, world.state(1).position) == (2, 1)
    assert world.values(count=1) == [b"d"]


def test_the_epoch_of_the_last_record_returned_goes_along_with_the_position() -> None:
    """K4.38; it is what a commit carries."""
    world = World()
    world.answer(world.plan()[0], batch(0, b"a", leader_epoch=2), batch(1, b"b", leader_epoch=3))
    world.values(count=1)
    assert (world.state().position, world.state().leader_epoch) == (1, 2)
    world.values(count=1)
    assert (world.state().position, world.state().leader_epoch) == (2, 3)


def test_high_watermark_and_stable_offset_are_those_of_the_last_answer() -> None:
    """K4.38, K4.43."""
    world = World()
    assert world.state().high_watermark == -1
    world.answer(world.plan()[0], batch(0, b"a"))
    assert (world.state().high_watermark, world.state().last_stable_offset) == (100, 90)
