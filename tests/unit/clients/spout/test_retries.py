"""When a failed record is due again, and after how many fails it is given up."""

from __future__ import annotations

import pytest

from millstream.clients import IllegalState, MessageId, TopicPartition
from millstream.clients.spout.core.retries import RetryPolicy, RetrySchedule

PARTITION = TopicPartition("t", 0)
OTHER = TopicPartition("t", 1)
ONE, TWO = MessageId(PARTITION, 1), MessageId(PARTITION, 2)


def test_delays_grow_by_the_multiplier_up_to_the_limit() -> None:
    policy = RetryPolicy(100, 3.0, 2_000)
    assert [policy.delay_ms(retry) for retry in range(1, 6)] == [100, 300, 900, 2_000, 2_000]
    assert policy.delay_ms(100_000) == 2_000


def test_by_default_a_retry_is_due_at_once() -> None:
    policy = RetryPolicy()
    assert [policy.delay_ms(retry) for retry in range(1, 6)] == [0, 0, 0, 0, 0]
    assert RetryPolicy(0, 2.0).delay_ms(100_000) == 0


def test_the_retry_that_is_due_first_comes_first() -> None:
    schedule = RetrySchedule(RetryPolicy(10))
    assert schedule.fail(ONE, now_ms=5)
    assert schedule.fail(TWO, now_ms=0, delay_ms=3)
    assert schedule.next_due(now_ms=2) is None
    assert schedule.next_due_ms() == 3
    assert schedule.next_due(now_ms=20) == TWO
    schedule.start(TWO)
    assert schedule.next_due(now_ms=14) is None
    assert schedule.next_due(now_ms=15) == ONE


def test_a_limit_counts_retries() -> None:
    schedule = RetrySchedule(RetryPolicy(retries_max=2))
    for _ in range(2):
        assert schedule.fail(ONE, now_ms=0)
        schedule.start(ONE)
    assert not schedule.fail(ONE, now_ms=0)
    assert schedule.failures(ONE) == 3
    assert schedule.next_due_ms() is None


def test_by_default_there_is_no_limit() -> None:
    schedule = RetrySchedule(RetryPolicy())
    for _ in range(1_000):
        assert schedule.fail(ONE, now_ms=0)
        schedule.start(ONE)


def test_what_is_forgotten_has_no_retry() -> None:
    schedule = RetrySchedule(RetryPolicy())
    schedule.fail(ONE, now_ms=0)
    schedule.fail(MessageId(OTHER, 1), now_ms=0)
    schedule.forget(ONE)
    assert schedule.failures(ONE) == 0
    schedule.forget_partition(OTHER)
    assert schedule.next_due(now_ms=1) is None


def test_a_retry_of_what_did_not_fail_is_refused() -> None:
    with pytest.raises(IllegalState, match="t-0 at offset 1 has no retry: it did not fail"):
        RetrySchedule(RetryPolicy()).start(ONE)
