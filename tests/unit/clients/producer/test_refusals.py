"""When a producer says that its records wait: not for a moment, and not for each record."""

from __future__ import annotations

from millstream.clients.producer.core.refusals import Refusals
from millstream.model import TopicPartition

FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)
FULL, FEW = "No space left on device", "fewer in-sync replicas than required"


def test_a_refusal_that_passes_within_a_second_is_not_mentioned() -> None:
    refusals = Refusals()
    assert refusals.note_waiting(FIRST, "disk", FULL, 0) is None
    assert refusals.note_waiting(FIRST, "disk", FULL, 999) is None
    assert refusals.settled(FIRST, 999) is None


def test_after_a_second_it_is_told_what_the_broker_answers_then_every_ten_seconds() -> None:
    refusals = Refusals()
    told = [refusals.note_waiting(FIRST, "disk", FULL, now_ms) for now_ms in range(0, 21_000, 500)]
    assert [said for said in told if said is not None] == [
        "records of orders-0 wait for 1.0 s: No space left on device; trying again",
        "records of orders-0 wait for 11.0 s: No space left on device; trying again",
    ]
    assert refusals.settled(FIRST, 21_000) == "records of orders-0 are written after 21.0 s"


def test_one_warning_serves_all_partitions_that_wait_for_the_same() -> None:
    refusals = Refusals()
    assert refusals.note_waiting(FIRST, "disk", FULL, 0) is None
    assert refusals.note_waiting(SECOND, "disk", FULL, 0) is None
    assert refusals.note_waiting(SECOND, "disk", FULL, 1_000) == (
        "records of orders-1, and of 1 other partition, wait for 1.0 s: No space left on device; trying again"
    )
    assert refusals.note_waiting(FIRST, "disk", FULL, 1_000) is None
    assert refusals.note_waiting(FIRST, "replicas", FEW, 1_100) is not None
    assert refusals.settled(FIRST, 2_000) is None, "the other one still waits"
    assert refusals.settled(SECOND, 2_500) == "records of orders-1 are written after 2.5 s"


def test_what_was_given_up_is_not_counted_when_the_partition_is_refused_again() -> None:
    refusals = Refusals()
    refusals.note_waiting(FIRST, "disk", FULL, 0)
    refusals.forget(FIRST)
    assert refusals.note_waiting(FIRST, "disk", FULL, 600_000) is None
    assert refusals.note_waiting(SECOND, "replicas", FEW, 600_000) is None
    assert refusals.note_waiting(FIRST, "disk", FULL, 601_000) == (
        "records of orders-0, and of 1 other partition, wait for 1.0 s: No space left on device; trying again"
    )
    refusals.forget(SECOND)
    assert refusals.settled(FIRST, 602_000) == "records of orders-0 are written after 2.0 s"
