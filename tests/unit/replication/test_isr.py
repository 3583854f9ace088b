"""The committed and the pending ISR, and what the controller's answers mean."""

from __future__ import annotations

from dataclasses import replace

import pytest

from millstream.errors import (
    FencedLeaderEpoch,
    IneligibleReplica,
    InvalidRequest,
    InvalidUpdateVersion,
    NewLeaderElected,
    NotController,
    OperationNotAttempted,
    StaleBrokerEpoch,
    UnknownServerError,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from millstream.model import Uuid
from millstream.protocol.generated.alter_partition import AlterPartitionResponsePartitionData
from millstream.replication.isr import (
    Alteration,
    AlterationOutcome,
    InSyncReplicas,
    is_eligible,
    may_join,
)
from millstream.replication.replica_progress import FollowerProgress
from tests.support.led_partition import partition_image, registered


def asked(*isr: int, partition_epoch: int = 5) -> Alteration:
    return Alteration(
        topic_id=Uuid(b"t" * 16), partition=0, leader_epoch=4, partition_epoch=partition_epoch,
        isr=tuple((each, 10) for each in isr), leader_recovery_state=0,
    )  # type: ignore[arg-type] # fmt: skip # plain numbers


def answer(*isr: int, code: int = 0, partition_epoch: int = 6, leader_epoch: int = 4):
    return AlterPartitionResponsePartitionData(
        partition_index=0, error_code=code, leader_id=1, leader_epoch=leader_epoch, isr=list(isr), partition_epoch=partition_epoch
    )  # fmt: skip


@pytest.fixture
def isr() -> InSyncReplicas:
    made = InSyncReplicas()
    made.adopt(partition_image(isr=(1, 2), partition_epoch=5))
    return made


def test_who_is_asked_for_is_waited_for_at_once(isr):
    isr.ask(asked(1, 2, 3))
    assert (isr.committed, isr.maximal) == ((1, 2), (1, 2, 3))


def test_who_is_to_leave_is_waited_for_until_it_has_left(isr):
    isr.ask(asked(1))
    assert (isr.committed, isr.maximal) == ((1, 2), (1, 2))
    isr.take(asked(1), answer(1))
    assert (isr.committed, isr.maximal) == ((1,), (1,))


def test_who_leaves_and_who_joins_at_a_time_are_both_waited_for(isr):
    isr.ask(asked(1, 3))
    assert isr.maximal == (1, 2, 3)


def test_the_state_of_an_answer_is_taken_over_with_its_epoch(isr):
    isr.ask(asked(1, 2, 3))
    assert isr.take(asked(1, 2, 3), answer(1, 2, 3)) is AlterationOutcome.ALTERED
    assert (isr.committed, isr.partition_epoch, isr.pending) == ((1, 2, 3), 6, None)


def test_an_older_image_after_an_answer_changes_nothing(isr):
    isr.ask(asked(1, 2, 3))
    isr.take(asked(1, 2, 3), answer(1, 2, 3))
    assert not isr.adopt(partition_image(isr=(1, 2), partition_epoch=5))
    assert isr.committed == (1, 2, 3)
    assert isr.adopt(partition_image(isr=(1, 2, 3), partition_epoch=6))


def test_the_image_of_the_state_that_an_answer_told_does_not_end_what_was_asked_for_since(isr):
    isr.ask(asked(1, 2, 3))
    isr.take(asked(1, 2, 3), answer(1, 2, 3))
    isr.ask(asked(1, 2, partition_epoch=6))
    isr.adopt(partition_image(isr=(1, 2, 3), partition_epoch=6))
    assert isr.pending == asked(1, 2, partition_epoch=6)


def test_it_does_where_that_names_a_replica_that_is_none_any_more(isr):
    isr.ask(asked(1, 2))
    isr.take(asked(1, 2), answer(1, 2))
    isr.ask(asked(1, 2, 3, partition_epoch=6))
    isr.adopt(partition_image(isr=(1, 2), replicas=(1, 2), partition_epoch=6))
    assert (isr.pending, isr.maximal) == (None, (1, 2))


@pytest.mark.parametrize(
    "image",
    [partition_image(isr=(1, 2), partition_epoch=6), partition_image(isr=(1, 2), partition_epoch=6, epoch=5)],
)  # fmt: skip
def test_a_newer_image_ends_what_was_asked_for(isr, image):
    isr.ask(asked(1, 2, 3))
    isr.adopt(image)
    assert (isr.pending, isr.maximal) == (None, (1, 2))
    assert isr.take(asked(1, 2, 3), answer(1, 2, 3)) is AlterationOutcome.STALE
    assert isr.committed == (1, 2)


@pytest.mark.parametrize("error", [IneligibleReplica, OperationNotAttempted])
def test_what_was_surely_not_done_leaves_the_committed_state(isr, error):
    isr.ask(asked(1, 2, 3))
    assert isr.take(asked(1, 2, 3), answer(code=error.code)) is AlterationOutcome.NOT_DONE
    assert (isr.pending, isr.maximal) == (None, (1, 2))


@pytest.mark.parametrize(
    "error",
    [
        FencedLeaderEpoch,
        InvalidUpdateVersion,
        InvalidRequest,
        UnknownTopicId,
        UnknownTopicOrPartition,
        NewLeaderElected,
    ],
)
def test_where_it_is_not_known_what_was_done_the_metadata_are_waited_for(isr, error):
    isr.ask(asked(1, 2, 3))
    assert isr.take(asked(1, 2, 3), answer(code=error.code)) is AlterationOutcome.UNKNOWN
    assert (isr.pending, isr.maximal) == (asked(1, 2, 3), (1, 2, 3))


@pytest.mark.parametrize("error", [NotController, UnknownServerError, StaleBrokerEpoch])
def test_other_errors_are_asked_again(isr, error):
    isr.ask(asked(1, 2, 3))
    assert isr.take(asked(1, 2, 3), answer(code=error.code)) is AlterationOutcome.AGAIN
    assert isr.maximal == (1, 2, 3)


@pytest.mark.parametrize("told", [answer(1, leader_epoch=5), answer(1, partition_epoch=4)])
def test_an_answer_of_another_state_is_none(isr, told):
    isr.ask(asked(1, 2, 3))
    assert isr.take(asked(1, 2, 3), told) is AlterationOutcome.UNKNOWN
    assert (isr.committed, isr.maximal) == ((1, 2), (1, 2, 3))


def test_an_answer_to_an_earlier_request_does_not_end_the_present_one(isr):
    isr.ask(asked(1, 2, 3))
    isr.adopt(partition_image(isr=(1, 2), partition_epoch=6))
    isr.ask(asked(1, partition_epoch=6))
    assert isr.take(asked(1, 2, 3), answer(1, 2, 3)) is AlterationOutcome.STALE
    assert (isr.committed, isr.pending) == ((1, 2), asked(1, partition_epoch=6))


def test_an_answer_that_changed_nothing_ends_the_request(isr):
    isr.ask(asked(1, 2))
    assert isr.take(asked(1, 2), answer(1, 2, partition_epoch=5)) is AlterationOutcome.ALTERED
    assert isr.pending is None


def follower(end: int, broker_epoch: int = 10) -> FollowerProgress:
    made = FollowerProgress(is_in_sync=False, now_ms=0)
    made.note_fetch(end, 0, broker_epoch, leader_end=100, now_ms=1)
    return made


@pytest.mark.parametrize(
    ("end", "high_watermark", "epoch_start", "joins"),
    [(50, 50, 40, True), (49, 50, 40, False), (50, 40, 50, True), (49, 40, 50, False)],
)
def test_who_joins_has_what_is_committed_and_what_the_leader_began_with(
    end, high_watermark, epoch_start, joins
):
    assert may_join(follower(end), registered(2), high_watermark, epoch_start) is joins


def test_only_the_incarnation_of_the_metadata_may_be_in_sync():
    assert is_eligible(follower(1), registered(2))
    assert is_eligible(follower(1, broker_epoch=-1), registered(2))
    assert not is_eligible(follower(1, broker_epoch=9), registered(2))
    assert not is_eligible(follower(1), replace(registered(2), fenced=True))
    assert not is_eligible(follower(1), replace(registered(2), in_controlled_shutdown=True))
    assert not is_eligible(follower(1), None)
    assert not is_eligible(FollowerProgress(is_in_sync=True, now_ms=0), registered(2))
