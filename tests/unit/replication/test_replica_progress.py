"""What a leader learns of a follower from its fetches."""

from __future__ import annotations

from millstream.replication.replica_progress import FetchPulse, FollowerProgress

LAG_MS = 30_000


def progress(*, is_in_sync: bool = True, now_ms: int = 0) -> FollowerProgress:
    return FollowerProgress(is_in_sync=is_in_sync, now_ms=now_ms)


def fetch(follower: FollowerProgress, offset: int, leader_end: int, now_ms: int) -> None:
    follower.note_fetch(offset, 0, 10, leader_end=leader_end, now_ms=now_ms)


def test_in_a_new_leader_epoch_nothing_is_known() -> None:
    follower = progress()
    assert (follower.end_offset, follower.log_start_offset, follower.broker_epoch) == (-1, -1, None)


def test_a_member_of_the_isr_counts_as_caught_up_when_its_leader_begins() -> None:
    assert progress(now_ms=5).is_caught_up(100, 5 + LAG_MS, LAG_MS)
    assert not progress(now_ms=5).is_caught_up(100, 6 + LAG_MS, LAG_MS)


def test_others_never_do() -> None:
    assert not progress(is_in_sync=False).is_caught_up(100, 0, LAG_MS)


def test_their_first_fetch_short_of_the_end_does_not_change_that() -> None:
    follower = progress(is_in_sync=False)
    fetch(follower, 50, 100, 1_000)
    assert not follower.is_caught_up(100, 1_000, LAG_MS)


def test_a_fetch_at_the_end_catches_up() -> None:
    follower = progress(is_in_sync=False)
    fetch(follower, 100, 100, 1_000)
    assert follower.caught_up_ms == 1_000
    assert follower.is_caught_up(100, 999_999, LAG_MS), "it has all there is, however long ago"
    assert not follower.is_caught_up(101, 1_001 + LAG_MS, LAG_MS)


def test_a_fetch_at_the_end_as_of_the_fetch_before_had_caught_up_then() -> None:
    follower = progress(is_in_sync=False)
    fetch(follower, 0, 100, 1_000)
    fetch(follower, 100, 200, 2_000)
    assert follower.caught_up_ms == 1_000
    fetch(follower, 200, 300, 3_000)
    assert follower.caught_up_ms == 2_000


def test_a_follower_that_falls_behind_more_and_more_does_not_catch_up() -> None:
    follower = progress()
    for round_ in range(1, 20):
        fetch(follower, round_ * 40, round_ * 100, round_ * 1_000)
    assert follower.caught_up_ms == 0


def test_a_quiet_partition_is_caught_up_with_each_fetch_of_the_session() -> None:
    follower, pulse = progress(), FetchPulse(1_000)
    fetch(follower, 100, 100, 1_000)
    follower.begin_rest(pulse)
    pulse.fetched_ms = 8_000
    assert follower.caught_up_ms == 8_000
    follower.end_rest()
    pulse.fetched_ms = 9_000
    assert follower.caught_up_ms == 8_000, "from then on it has to ask"


def test_what_it_asks_for_itself_counts_more() -> None:
    follower, pulse = progress(), FetchPulse(1_000)
    fetch(follower, 100, 100, 1_000)
    follower.begin_rest(pulse)
    pulse.fetched_ms = 5_000
    fetch(follower, 100, 150, 6_000)
    pulse.fetched_ms = 7_000
    assert follower.caught_up_ms == 5_000


def test_a_follower_that_asks_for_the_same_again_and_again_is_stuck() -> None:
    follower = progress()
    for asked in range(1, 5):
        fetch(follower, 50, 100, asked * 1_000)
        assert follower.is_stuck == (asked == 4)
    fetch(follower, 60, 100, 9_000)
    assert not follower.is_stuck


def test_one_at_the_end_waits_and_is_not_stuck() -> None:
    follower = progress()
    for asked in range(10):
        fetch(follower, 100, 100, asked * 1_000)
    assert not follower.is_stuck
