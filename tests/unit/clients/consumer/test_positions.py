"""Where a partition starts, and whether what was read is still there after its leader changed."""

from __future__ import annotations

import logging

import pytest

from millstream.clients.cluster.core.cluster_metadata import ClusterMetadata
from millstream.clients.consumer.core.errors import LogTruncation, NoOffsetForPartition
from millstream.clients.consumer.core.offset_reset import EARLIEST, LATEST
from millstream.clients.consumer.core.positions import (
    CommittedQuery,
    EpochEndOffset,
    EpochQuery,
    EpochQuestion,
    PositionQuery,
    ResetQuery,
)
from millstream.clients.core.values import OffsetAndMetadata, OffsetAndTimestamp
from millstream.errors import (
    FencedLeaderEpoch,
    GroupAuthorizationFailed,
    NetworkException,
    NotLeaderOrFollower,
    TopicAuthorizationFailed,
    UnknownTopicId,
)
from millstream.model import TopicPartition, Uuid
from tests.unit.clients.consumer.fetch_world import TOPIC_ID, World, asked, batch

ANOTHER_ID = Uuid(b"u" * 16)
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def fresh(world: World, *, has_group: bool = True) -> World:
    """As after an assignment: no positions yet."""
    partitions = list(world.subscription.partitions)
    world.subscription.set_partitions(())
    world.subscription.set_partitions(partitions)
    for state in world.subscription.partitions.values():
        world.positions.want(state, has_group=has_group)
    return world


def plan(world: World) -> list[PositionQuery]:
    return world.positions.plan(world.cluster)


def read(world: World, *batches: bytes) -> None:
    world.answer(world.plan()[0], *batches)


def validation(world: World) -> EpochQuery:
    (query,) = plan(world)
    assert isinstance(query, EpochQuery)
    return query


def validated(world: World, leader_epoch: int, end_offset: int) -> None:
    query = validation(world)
    world.positions.handle_epochs(query, {T0: EpochEndOffset(leader_epoch, end_offset)})
    world.positions.finish(query)


# ---- starting


def test_the_group_is_asked_before_anybody_else_and_once_for_all_partitions() -> None:
    """K4.33, K14.21: what is committed beats auto_offset_reset."""
    world = fresh(World(leaders=(1, 2), reset="earliest"))
    (query,) = plan(world)
    assert isinstance(query, CommittedQuery)
    assert set(query.generations) == {T0, T1}
    assert plan(world) == []
    world.positions.handle_committed(query, {T0: OffsetAndMetadata(7, "", 2)})
    assert (world.state(0).position, world.state(0).leader_epoch) == (7, 2)
    assert (world.state(1).position, world.state(1).reset) == (None, EARLIEST)


def test_without_a_group_nobody_is_asked_for_committed_offsets() -> None:
    """K14.01, K14.05, K14.14: each leader is asked for the offsets of its partitions."""
    world = fresh(World(leaders=(1, 2, 1)), has_group=False)
    one, two = plan(world)
    assert isinstance(one, ResetQuery)
    assert isinstance(two, ResetQuery)
    assert (one.node_id, one.resets) == (1, {T0: LATEST, TopicPartition("t", 2): LATEST})
    assert (two.node_id, two.resets) == (2, {T1: LATEST})


def test_what_has_a_position_is_fetched_while_others_still_look_for_theirs() -> None:
    """K14.17."""
    world = fresh(World(leaders=(1, 2)), has_group=False)
    one, two = plan(world)
    assert isinstance(one, ResetQuery)
    world.positions.handle_offsets(one, {T0: OffsetAndTimestamp(5, -1, 4)})
    world.positions.finish(one)
    assert [asked(planned) for planned in world.plan()] == [{0: 5}]
    world.positions.handle_failure(two, NetworkException())
    assert world.positions.is_unanswered(two)
    world.positions.finish(two)
    (again,) = plan(world)
    assert isinstance(again, ResetQuery)
    assert again.resets == {T1: LATEST}


def test_committed_offsets_are_asked_for_of_the_topic_that_is_known() -> None:
    """KIP-848: another topic may have had its name, or get it while we ask."""
    world = fresh(World())
    (query,) = plan(world)
    assert isinstance(query, CommittedQuery)
    assert query.topic_ids == {T0: TOPIC_ID}
    world.positions.handle_committed(query, {T0: UnknownTopicId()})
    assert world.positions.metadata_wanted
    world.positions.finish(query)
    world.lead(1, topic_id=ANOTHER_ID)
    (again,) = plan(world)
    assert isinstance(again, CommittedQuery)
    assert again.topic_ids == {T0: ANOTHER_ID}


def test_committed_offsets_are_not_asked_for_by_the_name_of_a_topic_that_is_not_known_yet() -> None:
    """They may be of one that had the name before, and so may the leader's epoch beside them."""
    world = fresh(World())
    known, world.cluster = world.cluster, ClusterMetadata()
    assert plan(world) == []
    world.cluster = known
    assert isinstance(plan(world)[0], CommittedQuery)


def test_the_coordinator_is_asked_of_a_topic_that_brokers_refuse_to_tell_of() -> None:
    """Its error is the answer: who waits for the position would wait until the time limit for nothing."""
    world = fresh(World())
    refused = TopicAuthorizationFailed("t")
    world.cluster = ClusterMetadata(topic_errors={"t": refused.code})
    (query,) = plan(world)
    assert isinstance(query, CommittedQuery)
    world.positions.handle_committed(query, {T0: refused})
    assert world.state().error is refused


@pytest.mark.parametrize("has_group", [True, False])
def test_an_answer_about_a_topic_that_was_deleted_meanwhile_is_void(has_group: bool) -> None:
    world = fresh(World(), has_group=has_group)
    (query,) = plan(world)
    world.plan()
    world.lead(1, topic_id=ANOTHER_ID)
    world.plan()
    if isinstance(query, CommittedQuery):
        world.positions.handle_committed(query, {T0: OffsetAndMetadata(70)})
    elif isinstance(query, ResetQuery):
        world.positions.handle_offsets(query, {T0: OffsetAndTimestamp(70, -1, 4)})
    assert world.state().position is None
    (again,) = plan(world)
    assert type(again) is type(query)


def test_a_seek_meanwhile_makes_an_answer_void() -> None:
    """K14.04: it beats the committed offset and the reset policy."""
    world = fresh(World())
    (query,) = plan(world)
    world.state().seek(3)
    assert isinstance(query, CommittedQuery)
    world.positions.handle_committed(query, {T0: OffsetAndMetadata(99)})
    assert world.state().position == 3
    assert plan(world) == []


def test_a_seek_to_the_end_is_asked_for_before_committed_offsets() -> None:
    """K4.33."""
    world = fresh(World())
    world.state().seek_to_reset(LATEST)
    (query,) = plan(world)
    assert isinstance(query, ResetQuery)


def test_no_committed_offset_and_auto_offset_reset_none_is_an_error_of_every_poll() -> None:
    """K4.07."""
    world = fresh(World(reset="none"), has_group=False)
    for _ in range(2):
        with pytest.raises(NoOffsetForPartition, match="t-0 has no committed offset"):
            world.records.raise_error()
        assert plan(world) == []
    world.state().seek(0)
    world.records.raise_error()


def test_an_answer_that_will_not_change_is_raised_and_one_that_may_is_asked_for_again() -> None:
    """K14.16."""
    world = fresh(World(leaders=(1, 1)), has_group=False)
    (query,) = plan(world)
    assert isinstance(query, ResetQuery)
    world.positions.handle_offsets(
        query, {T0: TopicAuthorizationFailed("no"), T1: NotLeaderOrFollower()}
    )
    assert world.positions.metadata_wanted
    world.positions.finish(query)
    with pytest.raises(TopicAuthorizationFailed):
        world.records.raise_error()
    (again,) = plan(world)
    assert set(again.generations) == {T0, T1}


def test_an_error_of_the_whole_group_is_raised() -> None:
    world = fresh(World())
    (query,) = plan(world)
    world.positions.handle_failure(query, GroupAuthorizationFailed("no"))
    with pytest.raises(GroupAuthorizationFailed):
        world.records.raise_error()


def test_a_partition_without_a_leader_waits_for_metadata() -> None:
    world = fresh(World(), has_group=False)
    world.lead(-1)
    assert plan(world) == []
    assert world.positions.metadata_wanted


# ---- after a change of leaders (KIP-320)


def test_a_new_leader_confirms_the_log_before_it_is_fetched_from() -> None:
    world = World()
    read(world, batch(0, b"a", b"b", leader_epoch=4))
    world.lead(2, epoch=5)
    assert world.plan() == []
    query = validation(world)
    assert (query.node_id, query.questions) == (2, {T0: EpochQuestion(5, 4, 2)})
    world.positions.handle_epochs(query, {T0: EpochEndOffset(4, 2)})
    assert not world.positions.is_unanswered(query)
    world.positions.finish(query)
    assert [(i.node_id, asked(i)) for i in world.plan()] == [(2, {0: 2})]
    assert plan(world) == []


def test_the_leader_that_wrote_what_was_read_last_has_it() -> None:
    world = World()
    read(world, batch(0, b"a", leader_epoch=4))
    world.lead(1, epoch=4)
    assert plan(world) == []
    assert len(world.plan()) == 1


def test_records_without_an_epoch_cannot_be_validated() -> None:
    world = World()
    world.state().seek(10)
    world.lead(2, epoch=9)
    assert plan(world) == []
    assert asked(world.plan()[0]) == {0: 10}


def test_what_was_fetched_is_returned_while_the_new_leader_is_asked() -> None:
    world = World()
    read(world, batch(0, b"a"))
    world.lead(2, epoch=5)
    assert world.values() == [b"a"]


def test_a_truncated_log_is_read_on_from_where_it_was_cut(caplog: pytest.LogCaptureFixture) -> None:
    """KIP-320: with a reset policy, not to the policy's offset but to the diverging one."""
    world = World(reset="earliest")
    read(world, batch(0, b"a", b"b", b"lost"))
    world.values()
    world.lead(2, epoch=5)
    with caplog.at_level(logging.WARNING):
        validated(world, 3, 2)
    assert "the log was cut below offset 3" in caplog.text
    assert (world.state().position, world.state().leader_epoch) == (2, 3)
    assert asked(world.plan()[0]) == {0: 2}


def test_a_truncated_log_is_an_error_with_the_diverging_offset_where_nothing_resets() -> None:
    """KIP-320; it is raised until the caller seeks."""
    world = World(reset="none")
    read(world, batch(0, b"a", b"b", b"lost"))
    world.values()
    world.lead(2, epoch=5)
    for _ in range(2):
        validated(world, 3, 2)
        with pytest.raises(LogTruncation, match="differs from offset 2 on") as error:
            world.records.raise_error()
        assert error.value.diverging == OffsetAndMetadata(2, "", 3)
        assert (error.value.topic_partition, error.value.offset) == (T0, 3)
        assert world.plan() == []
    world.state().seek(2, 3)
    validated(world, 3, 2)
    assert asked(world.plan()[0]) == {0: 2}


def test_a_leader_that_knows_no_earlier_epoch_resets_the_position() -> None:
    world = World(reset="latest")
    read(world, batch(0, b"a"))
    world.values()
    world.lead(2, epoch=5)
    validated(world, -1, -1)
    assert (world.state().position, world.state().reset) == (None, LATEST)


def test_what_was_fetched_ahead_and_is_gone_is_dropped_and_the_position_asked_about() -> None:
    world = World(reset="none")
    read(world, batch(0, b"a", leader_epoch=3), batch(1, b"lost", leader_epoch=4))
    assert world.values(count=1) == [b"a"]
    world.lead(2, epoch=5)
    validated(world, 3, 1)
    assert world.values() == []
    assert validation(world).questions == {T0: EpochQuestion(5, 3, 1)}


def test_a_fetch_that_is_answered_meanwhile_makes_the_question_void() -> None:
    world = World()
    read(world, batch(0, b"a"))
    (late,) = world.plan()
    world.lead(2, epoch=5)
    query = validation(world)
    world.answer(late, batch(1, b"b"))
    world.positions.handle_epochs(query, {T0: EpochEndOffset(4, 1)})
    world.positions.finish(query)
    assert validation(world).questions == {T0: EpochQuestion(5, 4, 2)}


def test_a_leader_that_does_not_answer_such_questions_is_believed() -> None:
    world = World()
    read(world, batch(0, b"a"))
    world.lead(2, epoch=5)
    query = validation(world)
    world.positions.handle_unsupported(query)
    world.positions.finish(query)
    assert len(world.plan()) == 1


def test_a_stale_answer_asks_for_metadata_and_the_question_again() -> None:
    world = World()
    read(world, batch(0, b"a"))
    world.lead(2, epoch=5)
    query = validation(world)
    world.positions.handle_epochs(query, {T0: NotLeaderOrFollower()})
    assert world.positions.metadata_wanted
    assert world.positions.is_unanswered(query)
    assert plan(world) == []
    world.positions.finish(query)
    assert len(plan(world)) == 1


@pytest.mark.parametrize("reset", ["earliest", "none"])
def test_an_offset_of_a_later_epoch_than_the_leaders_is_of_a_topic_that_was_deleted(
    reset: str,
) -> None:
    """KIP-320: no log of the leader holds it, however many records there are behind its offset."""
    world = World(reset=reset)
    world.lead(1, epoch=0)
    world.state().seek(7, 5)
    assert world.plan() == []
    assert plan(world) == []
    assert world.positions.unheard_epochs == {(TOPIC_ID, T0): 5}, "our metadata may be the older"
    query = validation(world)
    assert query.questions == {T0: EpochQuestion(0, 5, 7)}
    world.positions.handle_epochs(query, {T0: EpochEndOffset(-1, -1)})
    assert world.state().reset == (EARLIEST if reset == "earliest" else None)
    assert isinstance(world.state().error, LogTruncation) == (reset == "none")


def test_metadata_older_than_an_offset_are_asked_for_anew() -> None:
    """The epoch of the offset is that of a leader that we have not heard of yet."""
    world = World(reset="earliest")
    world.state().seek(7, 5)
    assert plan(world) == []
    assert world.positions.unheard_epochs == {(TOPIC_ID, T0): 5}
    query = validation(world)
    world.positions.handle_epochs(query, {T0: FencedLeaderEpoch()})
    assert world.positions.metadata_wanted
    world.positions.finish(query)
    world.lead(2, epoch=5)
    assert plan(world) == []
    assert [(i.node_id, asked(i)) for i in world.plan()] == [(2, {0: 7})]


def test_a_committed_offset_with_an_epoch_is_validated() -> None:
    """KIP-320: the log may have been truncated between two runs of the application."""
    world = fresh(World(reset="earliest"))
    (query,) = plan(world)
    assert isinstance(query, CommittedQuery)
    world.positions.handle_committed(query, {T0: OffsetAndMetadata(9, "", 2)})
    world.positions.finish(query)
    assert world.plan() == []
    validated(world, 2, 6)
    assert asked(world.plan()[0]) == {0: 6}
