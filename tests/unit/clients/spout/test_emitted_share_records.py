"""What a spout over a share group gives out, and what brokers are told of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.clients import AcknowledgeType, ConsumerRecord, TopicPartition
from millstream.clients.spout.core.attempts import FailOutcome, RecordAttempt
from millstream.clients.spout.core.emitted_share_records import EmittedShareRecords
from millstream.clients.spout.core.settings import ShareSpoutConfig
from millstream.errors import ConfigError

ACCEPT, RELEASE, REJECT, RENEW = AcknowledgeType
ZERO = TopicPartition("t", 0)
LOCK_MS = 30_000
RENEWAL_MS = 10_000


def record(offset: int, delivery: int = 1, partition: int = 0) -> ConsumerRecord:
    return ConsumerRecord("t", partition, offset, 0, value=b"v").with_delivery_count(delivery)


def emitted(*records: ConsumerRecord, **settings: object) -> EmittedShareRecords:
    made = EmittedShareRecords(ShareSpoutConfig(**settings))  # type: ignore[arg-type]  # settings of any kind
    made.receive(records, 0, LOCK_MS)
    return made


def out(spout: EmittedShareRecords) -> list[RecordAttempt]:
    """Everything that is given out now."""
    taken = []
    while (attempt := spout.next(0)) is not None:
        taken.append(attempt)
    return taken


def told(spout: EmittedShareRecords, now_ms: int = 0) -> list[tuple[int, AcknowledgeType]]:
    return [(r.offset, kind) for r, kind in spout.take_acknowledgements(now_ms, LOCK_MS)]


def fail(
    spout: EmittedShareRecords, attempt: RecordAttempt, now_ms: int = 0, delay_ms: int | None = None
) -> FailOutcome:
    return spout.fail(attempt, now_ms, delay_ms, None)


def test_an_ack_accepts_and_a_fail_releases_each_once() -> None:
    spout = emitted(record(0), record(1), record(2))
    first, second, third = out(spout)
    assert spout.ack(second)
    assert fail(spout, first) is FailOutcome.RETRY
    assert told(spout) == [(1, ACCEPT), (0, RELEASE)]
    assert told(spout) == []
    assert not spout.ack(second)
    assert fail(spout, first) is FailOutcome.IGNORED
    assert spout.ack(third)
    assert told(spout) == [(2, ACCEPT)]


def test_the_number_of_an_attempt_is_the_brokers_count_of_deliveries() -> None:
    spout = emitted(record(0, 3), record(1, 1))
    assert [attempt.number for attempt in out(spout)] == [3, 1]
    assert (spout.counts.retried, spout.counts.emitted) == (1, 1)


def test_a_fail_with_a_delay_keeps_the_record_and_releases_it_when_the_delay_is_over() -> None:
    spout = emitted(record(0))
    (attempt,) = out(spout)
    fail(spout, attempt, now_ms=0, delay_ms=25_000)
    assert spout.next_turn_ms() == RENEWAL_MS
    assert told(spout, RENEWAL_MS - 1) == []
    assert told(spout, RENEWAL_MS) == [(0, RENEW)]
    assert told(spout, 2 * RENEWAL_MS) == [(0, RENEW)]
    assert spout.next_turn_ms() == 25_000
    assert told(spout, 25_000) == [(0, RELEASE)]
    assert told(spout, 3 * RENEWAL_MS) == []


def test_delays_grow_with_the_brokers_count() -> None:
    spout = emitted(record(0, 3), retry_delay_initial_ms=10, retry_delay_multiplier=2.0)
    fail(spout, out(spout)[0])
    assert told(spout, 39) == []
    assert told(spout, 40) == [(0, RELEASE)]


def test_an_ack_before_the_release_takes_the_fail_back() -> None:
    spout = emitted(record(0))
    (attempt,) = out(spout)
    fail(spout, attempt, delay_ms=100)
    assert spout.ack(attempt)
    assert told(spout, 1_000) == [(0, ACCEPT)]


def test_all_that_is_held_is_renewed_given_out_or_not() -> None:
    spout = emitted(record(0), record(1))
    assert spout.next(0) is not None
    assert told(spout, RENEWAL_MS) == [(0, RENEW), (1, RENEW)]


def test_after_its_retries_a_record_is_rejected_once_it_is_settled() -> None:
    spout = emitted(record(0, 2), record(1, 3), retries_max=2)
    first, second = out(spout)
    assert fail(spout, first) is FailOutcome.RETRY
    assert fail(spout, second) is FailOutcome.GIVEN_UP
    assert told(spout) == [(0, RELEASE)]
    assert told(spout, RENEWAL_MS) == [(1, RENEW)]
    spout.finish(spout.given_up.popleft(), dead_lettered=True)
    assert told(spout) == [(1, REJECT)]
    assert (spout.counts.dead_lettered, spout.counts.lost) == (1, 0)


def test_a_record_that_was_lost_is_nobodys_until_it_is_delivered_again() -> None:
    spout = emitted(record(0), record(1))
    held = spout.next(0)
    assert held is not None
    spout.lose(ZERO, [0, 1])
    assert not spout.ack(held)
    assert fail(spout, held) is FailOutcome.IGNORED
    assert out(spout) == [], "what was not given out yet is not given out"
    assert told(spout, RENEWAL_MS) == []
    spout.receive([record(0, 2)], 0, LOCK_MS)
    (again,) = out(spout)
    assert not spout.ack(held)
    assert spout.ack(again)
    assert told(spout) == [(0, ACCEPT)]


def test_what_was_to_be_told_of_a_record_that_was_lost_is_not_told() -> None:
    spout = emitted(record(0))
    spout.ack(out(spout)[0])
    spout.lose(ZERO, [0])
    assert told(spout) == []


def test_there_is_room_once_all_is_given_out_and_no_more_than_the_limit() -> None:
    spout = emitted(record(0), record(1), max_spout_pending=3)
    assert spout.room() == 0
    first, _ = out(spout)
    assert spout.wants_turn
    assert spout.room() == 1
    spout.receive([record(2)], 0, LOCK_MS)
    out(spout)
    assert spout.room() == 0
    spout.wants_turn = False
    spout.ack(first)
    assert spout.wants_turn
    assert spout.room() == 1


def test_failures_in_a_row_end_with_an_ack() -> None:
    spout = emitted(record(0), record(1))
    first, second = out(spout)
    fail(spout, first)
    assert spout.failures_in_a_row == 1
    spout.ack(second)
    assert spout.failures_in_a_row == 0


def test_dead_letters_need_a_limit_of_retries() -> None:
    with pytest.raises(ConfigError, match="dead_letters needs retries_max in a share group"):
        ShareSpoutConfig(dead_letters="dead")


@given(data=st.data())
def test_whatever_happens_every_record_is_accepted_in_the_end_and_each_lock_ends_once(
    data: st.DataObject,
) -> None:
    """A broker that delivers what was released again: nothing is told of a record that is not locked for us."""
    to_deliver = [record(offset) for offset in range(data.draw(st.integers(1, 6), label="records"))]
    spout, locked, accepted, now_ms = emitted(), {}, set(), 0
    held: list[RecordAttempt] = []
    count = len(to_deliver)
    while len(accepted) < count:
        now_ms += 2_000
        spout.receive(to_deliver, now_ms, LOCK_MS)
        locked |= {each.offset: each for each in to_deliver}
        to_deliver = []
        held += out(spout)
        if held:
            attempt = held.pop(data.draw(st.integers(0, len(held) - 1), label="which"))
            if data.draw(st.booleans(), label="fails"):
                fail(spout, attempt, now_ms, data.draw(st.sampled_from([0, 15_000])))
            else:
                spout.ack(attempt)
        for said, kind in spout.take_acknowledgements(now_ms, LOCK_MS):
            assert said is locked[said.offset]
            if kind is not RENEW:
                del locked[said.offset]
            if kind is ACCEPT:
                accepted.add(said.offset)
            if kind is RELEASE:
                to_deliver.append(record(said.offset, (said.delivery_count or 0) + 1))
