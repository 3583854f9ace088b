"""What a spout gives out next, and what acks, fails and rebalances make of it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from millstream.clients import ConsumerRecord, TopicPartition
from millstream.clients.spout.core.attempts import FailOutcome, RecordAttempt
from millstream.clients.spout.core.emitted_records import EmittedRecords
from millstream.clients.spout.core.settings import SpoutConfig

ZERO, ONE = TopicPartition("t", 0), TopicPartition("t", 1)


def record(offset: int, partition: int = 0) -> ConsumerRecord:
    return ConsumerRecord("t", partition, offset, 0, value=b"v")


def emitted(*offsets: int, **settings: object) -> EmittedRecords:
    made = EmittedRecords(SpoutConfig(**settings))  # type: ignore[arg-type]  # settings of any kind
    made.assign([ZERO])
    made.receive(record(offset) for offset in offsets)
    return made


def out(spout: EmittedRecords, now_ms: int = 0) -> list[RecordAttempt]:
    """Everything that is given out now."""
    taken = []
    while (attempt := spout.next(now_ms)) is not None:
        taken.append(attempt)
    return taken


def places(attempts: list[RecordAttempt]) -> list[tuple[int, int, int]]:
    return [(a.record.partition, a.record.offset, a.number) for a in attempts]


def fail(spout: EmittedRecords, attempt: RecordAttempt, now_ms: int = 0) -> FailOutcome:
    return spout.fail(attempt, now_ms, None, None)


def test_retries_that_are_due_come_before_new_records() -> None:
    spout = emitted(0, 1, 2, retry_delay_initial_ms=10)
    first = spout.next(0)
    assert first is not None
    assert fail(spout, first) is FailOutcome.RETRY
    assert places([a for a in [spout.next(9)] if a]) == [(0, 1, 1)]
    assert places(out(spout, 10)) == [(0, 0, 2), (0, 2, 1)]
    assert spout.to_commit() == {ZERO: 0}


def test_an_ack_after_a_fail_takes_the_retry_back() -> None:
    spout = emitted(0)
    (attempt,) = out(spout)
    fail(spout, attempt)
    assert spout.ack(attempt)
    assert out(spout) == []
    assert spout.to_commit() == {ZERO: 1}


def test_a_second_fail_of_one_attempt_counts_once() -> None:
    spout = emitted(0, retries_max=1)
    (attempt,) = out(spout)
    assert fail(spout, attempt) is FailOutcome.RETRY
    assert fail(spout, attempt) is FailOutcome.IGNORED
    (again,) = out(spout)
    assert fail(spout, attempt) is FailOutcome.IGNORED
    assert fail(spout, again) is FailOutcome.GIVEN_UP
    assert len(spout.given_up) == 1


def test_a_record_that_is_given_up_is_pending_until_it_is_settled() -> None:
    spout = emitted(0, 1, retries_max=0)
    first, second = out(spout)
    assert fail(spout, first) is FailOutcome.GIVEN_UP
    spout.ack(second)
    assert spout.to_commit() == {ZERO: 0}
    spout.finish(spout.given_up.popleft(), dead_lettered=False)
    assert spout.to_commit() == {ZERO: 2}
    assert (spout.counts.lost, spout.counts.dead_lettered) == (1, 0)


def test_at_the_limit_nothing_new_is_given_out_but_retries_are() -> None:
    spout = emitted(0, 1, 2, 3, max_uncommitted_offsets=2)
    first, second = out(spout)
    assert spout.full_partitions() == {ZERO}
    spout.ack(second)
    assert out(spout) == []
    assert spout.to_commit() == {ZERO: 0}
    fail(spout, first)
    (again,) = out(spout)
    assert places([again]) == [(0, 0, 2)]
    spout.ack(again)
    assert spout.needs_commit()
    spout.commit(spout.to_commit())
    assert places(out(spout)) == [(0, 2, 1), (0, 3, 1)]


def test_the_limit_is_that_of_each_partition() -> None:
    spout = emitted(0, 1, 2, max_uncommitted_offsets=1)
    spout.receive([record(7, 1), record(8, 1)])
    assert places(out(spout)) == [(0, 0, 1), (1, 7, 1)]


def test_a_partition_is_left_when_its_records_are_out() -> None:
    spout = emitted(0, 1)
    spout.receive([record(0, 1), record(1, 1)])
    spout.receive([record(2, 0)])
    assert places(out(spout)) == [(0, 0, 1), (0, 1, 1), (0, 2, 1), (1, 0, 1), (1, 1, 1)]


def test_acks_and_fails_of_a_partition_that_is_gone_are_ignored() -> None:
    spout = emitted(0, 1)
    first, second = out(spout)
    fail(spout, second)
    spout.forget([ZERO])
    assert not spout.ack(first)
    assert fail(spout, first) is FailOutcome.IGNORED
    assert out(spout) == []
    spout.assign([ZERO])
    spout.receive([record(0)])
    (again,) = out(spout)
    assert not spout.ack(first)
    assert again.number == 1
    assert spout.ack(again)


def test_a_rewind_begins_the_partition_anew() -> None:
    spout = emitted(5, 6)
    first, second = out(spout)
    spout.ack(first)
    spout.receive([record(5)])
    (again,) = out(spout)
    assert not spout.ack(second)
    assert spout.to_commit() == {ZERO: 5}
    assert spout.ack(again)
    assert spout.to_commit() == {ZERO: 6}


def test_retries_of_records_that_the_log_no_longer_has_are_given_up() -> None:
    spout = emitted(3, 4)
    for attempt in out(spout):
        fail(spout, attempt)
    spout.drop_before(ZERO, 4)
    assert places(out(spout)) == [(0, 4, 2)]
    assert spout.counts.lost == 1


def test_a_record_that_fails_too_far_behind_the_latest_is_given_up() -> None:
    spout = emitted(0, 1, 2, 3, max_offset_behind=2)
    attempts = out(spout)
    assert [fail(spout, attempt) for attempt in attempts[:2]] == [
        FailOutcome.GIVEN_UP,
        FailOutcome.RETRY,
    ]
    assert places(out(spout)) == [(0, 1, 2)]


def test_what_is_still_out_too_far_behind_an_ack_is_given_up_once() -> None:
    spout = emitted(0, 1, 2, 3, max_offset_behind=2)
    attempts = out(spout)
    assert spout.ack(attempts[3])
    assert [each.attempt for each in spout.given_up] == [attempts[0]]
    assert fail(spout, attempts[0]) is FailOutcome.IGNORED
    assert spout.ack(attempts[2])
    assert len(spout.given_up) == 1
    assert spout.to_commit() == {ZERO: 0}, "it is pending until it is settled"
    spout.finish(spout.given_up.popleft(), dead_lettered=False)
    assert spout.to_commit() == {ZERO: 1}
    assert spout.counts.lost == 1


def test_a_retry_too_far_behind_an_ack_is_given_up_and_not_given_out() -> None:
    spout = emitted(0, 1, max_offset_behind=2)
    first, second = out(spout)
    assert fail(spout, first) is FailOutcome.RETRY
    spout.receive([record(2), record(3), record(4)])
    again, *_, last = out(spout)
    assert places([again]) == [(0, 0, 2)]
    assert fail(spout, second) is FailOutcome.GIVEN_UP
    assert spout.ack(last)
    assert [each.attempt for each in spout.given_up] == [second, again]


def test_a_scheduled_retry_too_far_behind_an_ack_is_off() -> None:
    spout = emitted(0, 1, 2, 3, max_offset_behind=2, retry_delay_initial_ms=10)
    zero = spout.next(0)
    assert zero is not None
    assert fail(spout, zero) is FailOutcome.RETRY
    assert spout.ack(out(spout)[-1])
    assert [each.attempt for each in spout.given_up] == [zero]
    assert out(spout, now_ms=10) == []


def test_an_ack_before_it_is_settled_saves_what_was_too_far_behind() -> None:
    spout = emitted(0, 1, 2, max_offset_behind=1)
    first, _, last = out(spout)
    spout.ack(last)
    assert spout.ack(first)
    spout.finish(spout.given_up.popleft(), dead_lettered=False)
    assert (spout.counts.acked, spout.counts.lost) == (2, 0)


def test_turns_go_on_where_they_stopped_when_a_partition_is_gone() -> None:
    """Each partition at its limit of one: the turn passes on."""
    spout = emitted(max_uncommitted_offsets=1)
    partitions = [TopicPartition("t", number) for number in range(3)]

    def turn() -> int:
        attempt = spout.next(0)
        assert attempt is not None
        return attempt.record.partition

    spout.receive(record(offset, number) for number in range(3) for offset in (0, 1, 2))
    taken = [turn(), turn(), turn()]
    assert sorted(taken) == [0, 1, 2]
    assert spout.next(0) is None
    spout.forget([partitions[taken[1]]])
    for number in (taken[0], taken[2]):
        spout.commit({partitions[number]: 1})
    assert sorted([turn(), turn()]) == sorted([taken[0], taken[2]])
    assert spout.next(0) is None


def test_at_most_once_gives_out_what_is_committed_and_leaves_the_rest_to_the_next_owner() -> None:
    spout = emitted(0, 1, 2, processing_guarantee="at_most_once")
    assert out(spout) == []
    assert spout.needs_commit()
    assert spout.to_commit() == {ZERO: 3}
    spout.commit({ZERO: 3})
    assert not spout.needs_commit()
    first = spout.next(0)
    assert first is not None
    assert fail(spout, first) is FailOutcome.NOT_RETRIED
    assert places(out(spout)) == [(0, 1, 1), (0, 2, 1)]


def test_what_is_left_to_the_next_owner_is_not_given_out_while_that_is_committed() -> None:
    """At most once, a record that went out beside that commit went out from the next owner as well."""
    spout = emitted(0, 1, 2, processing_guarantee="at_most_once")
    spout.commit(spout.to_commit())
    spout.next(0)
    assert spout.to_commit_at_the_end([ZERO]) == {ZERO: 1}
    assert out(spout) == []


def test_what_was_committed_before_it_was_given_out_is_not_uncommitted() -> None:
    """Otherwise the partition was full for ever: nothing was left to commit that would have made room."""
    settings = {"processing_guarantee": "at_most_once", "max_uncommitted_offsets": 2}
    spout = emitted(0, 1, 2, **settings)
    spout.commit(spout.to_commit())
    assert len(out(spout)) == 3
    assert spout.full_partitions() == set()


def test_a_partition_of_which_nothing_was_given_out_is_committed_where_it_begins() -> None:
    """So the next owner begins there as well, with auto_offset_reset=latest."""
    spout = emitted(7, 8)
    assert spout.to_commit() == {ZERO: 7}
    assert spout.to_commit_at_the_end([ZERO]) == {ZERO: 7}


def test_without_a_guarantee_what_was_given_out_is_committed() -> None:
    spout = emitted(0, 1, 2, processing_guarantee="none")
    spout.next(0)
    assert spout.to_commit() == {ZERO: 1}


def test_only_what_has_changed_is_committed() -> None:
    spout = emitted(0)
    out(spout)
    spout.commit(spout.to_commit())
    assert spout.to_commit() == {}


def test_failures_in_a_row_end_with_an_ack() -> None:
    spout = emitted(0, 1)
    first, second = out(spout)
    fail(spout, first)
    fail(spout, second)
    assert spout.failures_in_a_row == 2
    spout.ack(first)
    assert spout.failures_in_a_row == 0


@given(
    gaps=st.lists(st.integers(1, 3), min_size=1, max_size=15),
    limit=st.integers(1, 5),
    data=st.data(),
)
def test_whatever_is_acked_and_failed_all_is_given_out_and_committed_in_the_end(
    gaps: list[int], limit: int, data: st.DataObject
) -> None:
    offsets = [sum(gaps[: number + 1]) for number in range(len(gaps))]
    spout = emitted(*offsets, max_uncommitted_offsets=limit)
    held: list[RecordAttempt] = []
    acked: set[int] = set()
    now_ms = 0
    while acked != set(offsets):
        now_ms += 1
        while (attempt := spout.next(now_ms)) is not None:
            held.append(attempt)
        index = data.draw(st.integers(0, len(held) - 1), label="which")
        attempt = held[index]
        if data.draw(st.integers(0, 3), label="3: fail") == 3:
            fail(spout, attempt, now_ms)
        else:
            assert spout.ack(held.pop(index))
            acked.add(attempt.record.offset)
            held = [other for other in held if other.record.offset != attempt.record.offset]
        to_commit = spout.to_commit()
        assert all(to_commit.get(ZERO, 0) <= o for o in offsets if o not in acked)
        spout.commit(to_commit)
    assert spout.partitions[ZERO].committed == offsets[-1] + 1
