"""What a follower does with each answer of its leader."""

from __future__ import annotations

import pytest

from millstream.errors import (
    CorruptMessage,
    FencedLeaderEpoch,
    KafkaStorageError,
    NotLeaderOrFollower,
    OffsetOutOfRange,
    UnknownLeaderEpoch,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from millstream.log.leader_epochs import UNKNOWN_EPOCH, EpochEnd
from millstream.replication.divergence import truncation_offset
from millstream.replication.follower import (
    Append,
    AskedFetch,
    AskLeaderEnd,
    AskLeaderStart,
    FollowedPartition,
    FollowerState,
    StartOver,
    TruncateTo,
    TruncateToDivergence,
)

ASKED = AskedFetch(leader_epoch=5, fetch_offset=100, last_fetched_epoch=4, log_start_offset=10)
BACKOFF_MS = 1_000
NOW_MS = 50_000


@pytest.fixture
def follower() -> FollowedPartition:
    return FollowedPartition(5, 100, 4, backoff_ms=BACKOFF_MS)


def test_it_asks_from_the_end_of_its_log_with_the_epochs_it_has(
    follower: FollowedPartition,
) -> None:
    assert follower.asks(10) == ASKED


def test_an_answer_is_appended_up_to_the_epoch_that_was_asked_with(
    follower: FollowedPartition,
) -> None:
    assert follower.take(ASKED, 0, None, NOW_MS) == Append(leader_epoch=5)
    follower.note_append(120, 5)
    assert follower.asks(10) == AskedFetch(5, 120, 5, 10)


@pytest.mark.parametrize("error_code", [0, OffsetOutOfRange.code, NotLeaderOrFollower.code])
@pytest.mark.parametrize("asked", [ASKED._replace(fetch_offset=90), ASKED._replace(leader_epoch=4)])
def test_an_answer_to_another_offset_or_epoch_changes_nothing(
    follower: FollowedPartition, asked: AskedFetch, error_code: int
) -> None:
    assert follower.take(asked, error_code, EpochEnd(3, 50), NOW_MS) is None
    assert follower.take_leader_end(asked, 0, 20, NOW_MS) is None
    assert follower.take_leader_start(asked, 0, 200, NOW_MS) is None
    assert follower.asks(10) == ASKED


def test_an_answer_that_comes_during_a_delay_changes_nothing(follower: FollowedPartition) -> None:
    follower.delay(NOW_MS)
    assert follower.take(ASKED, 0, None, NOW_MS) is None


def test_a_divergence_is_cut_and_fetched_from_again(follower: FollowedPartition) -> None:
    diverging = EpochEnd(3, 50)
    assert follower.take(ASKED, 0, diverging, NOW_MS) == TruncateToDivergence(diverging)
    follower.note_cut(40, 3, NOW_MS)
    assert follower.asks(10) == AskedFetch(5, 40, 3, 10)


def test_a_leader_that_finds_a_divergence_again_and_again_is_asked_after_a_while(
    follower: FollowedPartition,
) -> None:
    follower.take(ASKED, 0, EpochEnd(4, 100), NOW_MS)
    follower.note_cut(100, 4, NOW_MS)
    assert follower.asks(10) == ASKED
    follower.note_cut(100, 4, NOW_MS)
    assert follower.asks(10) is None


@pytest.mark.parametrize(
    "error",
    [
        UnknownLeaderEpoch,
        NotLeaderOrFollower,
        UnknownTopicOrPartition,
        UnknownTopicId,
        CorruptMessage,
        KafkaStorageError,
    ],
)
def test_an_error_delays_it(follower: FollowedPartition, error: type[UnknownLeaderEpoch]) -> None:
    assert follower.take(ASKED, error.code, None, NOW_MS) is None
    assert follower.state is FollowerState.DELAYED
    assert follower.asks(10) is None
    assert not follower.end_delay(NOW_MS + BACKOFF_MS - 1)
    assert follower.end_delay(NOW_MS + BACKOFF_MS)
    assert follower.asks(10) == ASKED
    assert not follower.end_delay(NOW_MS + BACKOFF_MS)


def test_fenced_at_its_newest_epoch_it_waits_for_metadata(follower: FollowedPartition) -> None:
    assert follower.take(ASKED, FencedLeaderEpoch.code, None, NOW_MS) is None
    assert follower.state is FollowerState.WAITING
    assert follower.asks(10) is None
    assert not follower.end_delay(NOW_MS + 100 * BACKOFF_MS)


def test_fenced_at_an_older_epoch_it_goes_on(follower: FollowedPartition) -> None:
    asked = ASKED._replace(leader_epoch=4)
    assert follower.take(asked, FencedLeaderEpoch.code, None, NOW_MS) is None
    assert follower.asks(10) == ASKED


# --- OFFSET_OUT_OF_RANGE


def test_out_of_range_the_leader_is_asked_for_its_end(follower: FollowedPartition) -> None:
    assert follower.take(ASKED, OffsetOutOfRange.code, None, NOW_MS) == AskLeaderEnd()


def test_what_a_leader_does_not_have_is_cut(follower: FollowedPartition) -> None:
    assert follower.take_leader_end(ASKED, 0, 99, NOW_MS) == TruncateTo(99)


@pytest.mark.parametrize("leader_end", [100, 500])
def test_a_leader_that_does_not_end_before_is_asked_for_its_start(
    follower: FollowedPartition, leader_end: int
) -> None:
    assert follower.take_leader_end(ASKED, 0, leader_end, NOW_MS) == AskLeaderStart()


def test_what_a_leader_has_deleted_is_not_waited_for(follower: FollowedPartition) -> None:
    assert follower.take_leader_start(ASKED, 0, 101, NOW_MS) == StartOver(101)


def test_a_leader_that_begins_before_is_fetched_from_again_once_at_once(
    follower: FollowedPartition,
) -> None:
    assert follower.take_leader_start(ASKED, 0, 100, NOW_MS) is None
    assert follower.asks(10) == ASKED
    assert follower.take_leader_start(ASKED, 0, 100, NOW_MS) is None
    assert follower.state is FollowerState.DELAYED


def test_an_answer_between_two_fruitless_ones_lets_the_second_pass(
    follower: FollowedPartition,
) -> None:
    follower.take_leader_start(ASKED, 0, 100, NOW_MS)
    follower.note_append(100, 4)
    follower.take_leader_start(ASKED, 0, 100, NOW_MS)
    assert follower.asks(10) == ASKED


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (FencedLeaderEpoch, FollowerState.WAITING),
        (UnknownLeaderEpoch, FollowerState.DELAYED),
        (NotLeaderOrFollower, FollowerState.DELAYED),
    ],
)
def test_a_leader_that_refuses_to_tell_its_offsets_is_one_that_refuses(
    error: type[FencedLeaderEpoch], state: FollowerState
) -> None:
    for taken in (FollowedPartition.take_leader_end, FollowedPartition.take_leader_start):
        follower = FollowedPartition(5, 100, 4, backoff_ms=BACKOFF_MS)
        assert taken(follower, ASKED, error.code, -1, NOW_MS) is None
        assert follower.state is state


# --- where to cut


@pytest.mark.parametrize(
    ("diverging", "own", "expected"),
    [
        (EpochEnd(3, 50), EpochEnd(3, 70), 50),
        (EpochEnd(3, 50), EpochEnd(3, 40), 40),
        (EpochEnd(3, 50), EpochEnd(2, 30), 30),
        (EpochEnd(3, 50), EpochEnd(2, 60), 60),
        (EpochEnd(3, 50), UNKNOWN_EPOCH, 50),
        (EpochEnd(3, 500), UNKNOWN_EPOCH, 100),
        (EpochEnd(3, 500), EpochEnd(3, 400), 100),
    ],
)
def test_where_a_log_that_diverges_is_cut(
    diverging: EpochEnd, own: EpochEnd, expected: int
) -> None:
    """A log that ends at 100. An epoch that is unknown here is cut to the end of the lower one, wherever the leader's ends."""
    assert truncation_offset(diverging, own, 100) == expected
