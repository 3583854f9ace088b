"""What the log of a leader says of a change of its ISR."""

from __future__ import annotations

import pytest

from millstream.replication.isr_reasons import describe_isr_change
from tests.support.led_partition import LedPartition, partition_image


def said(led: LedPartition) -> str:
    wanted = led.partition.wanted_alteration(led.now)
    assert wanted is not None, "a change is due"
    return describe_isr_change(led.partition, wanted, led.now.monotonic_ms)


@pytest.fixture
def led() -> LedPartition:
    made = LedPartition()
    made.apply(partition_image())
    made.write(b"a")
    for follower in (2, 3):
        made.fetch(1, by=follower)
    return made


def test_a_follower_that_fetches_no_more_is_stuck(led: LedPartition) -> None:
    led.write(b"b")
    led.write(b"c")
    led.pass_ms(30_500)
    led.fetch(3, by=3)
    assert said(led) == (
        "shrinks from 1,2,3 to 1,3: broker 2 is stuck, it has not fetched for 30.5 s and lacks 2 records; high watermark 1, log end 3"
    )


def test_a_follower_that_fetches_and_does_not_catch_up_is_slow(led: LedPartition) -> None:
    for _ in range(7):
        led.write(b"b")
        led.write(b"b")
        led.pass_ms(5_000)
        led.fetch(2, by=2)
        led.fetch(led.log.log_end_offset, by=3)
    assert said(led) == (
        "shrinks from 1,2,3 to 1,3: broker 2 is slow, it has not caught up for 35.0 s and lacks 13 records; high watermark 2, log end 15"
    )


def test_one_that_has_never_fetched_from_this_leader_is_stuck() -> None:
    led = LedPartition()
    led.apply(partition_image())
    led.write(b"a")
    led.pass_ms(31_000)
    led.fetch(1, by=3)
    assert said(led) == (
        "shrinks from 1,2,3 to 1,3: broker 2 is stuck, it has not fetched from this leader in 31.0 s; high watermark 0, log end 1"
    )


def test_a_follower_comes_back_with_all_that_is_committed() -> None:
    led = LedPartition()
    led.apply(partition_image(isr=(1, 3)))
    led.write(b"a")
    led.fetch(1, by=3)
    led.fetch(1, by=2)
    assert said(led) == (
        "grows from 1,3 to 1,3,2: broker 2 is back in sync, it has all records up to 1; high watermark 1, log end 1"
    )


def test_nothing_is_said_of_an_isr_that_stays() -> None:
    led = LedPartition()
    led.apply(partition_image(replicas=(1,), isr=(1,), recovery=1))
    assert said(led) == ""
