"""A leader and its followers: the high watermark, the ISR, leader epochs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from millstream.errors import NotEnoughReplicas, OffsetNotAvailable
from millstream.metadata.topic_config import LogConfig
from millstream.protocol.generated.alter_partition import AlterPartitionResponsePartitionData
from millstream.replication.isr import Alteration, AlterationOutcome
from tests.support.led_partition import LAG_MAX_MS, LedPartition, partition_image, registered


def in_sync(led: LedPartition, *isr: int, **fields: int) -> None:
    led.apply(partition_image(isr=isr, **fields))  # type: ignore[arg-type] # numbers


def wanted(led: LedPartition) -> Alteration | None:
    return led.partition.wanted_alteration(led.now)


def ids(alteration: Alteration | None) -> list[int]:
    return [] if alteration is None else [broker for broker, _ in alteration.isr]


def altered(led: LedPartition, asked: Alteration, code: int = 0) -> AlterationOutcome:
    answer = AlterPartitionResponsePartitionData(
        partition_index=0, error_code=code, leader_id=1, leader_epoch=asked.leader_epoch, isr=ids(asked),
        partition_epoch=asked.partition_epoch + 1,
    )  # fmt: skip
    return led.partition.take_altered(asked, answer, led.now)


@pytest.fixture
def led() -> LedPartition:
    made = LedPartition()
    in_sync(made, 1, 2, 3)
    return made


def test_the_slowest_in_sync_follower_bounds_the_high_watermark(led):
    led.write(b"a", b"b")
    led.write(b"c")
    led.fetch(3, by=2)
    assert led.partition.high_watermark == 0
    led.fetch(2, by=3)
    assert led.partition.high_watermark == 2
    led.fetch(3, by=3)
    assert led.partition.high_watermark == 3


def test_who_is_far_behind_and_not_in_sync_does_not(led):
    in_sync(led, 1, 2, partition_epoch=1)
    led.pass_ms(LAG_MAX_MS + 1)
    led.write(b"a")
    led.fetch(0, by=3)
    led.fetch(1, by=2)
    assert led.partition.high_watermark == 1


def test_who_is_caught_up_and_may_join_does():
    led = LedPartition()
    in_sync(led, 1)
    led.fetch(0, by=2)
    led.write(b"a")
    assert led.partition.high_watermark == 0
    led.pass_ms(LAG_MAX_MS)
    led.write(b"b")
    assert led.partition.high_watermark == 0
    led.pass_ms(1)
    led.write(b"c")
    assert led.partition.high_watermark == 3, "it lags"


def test_who_was_caught_up_before_its_broker_restarted_is_not_waited_for_until_it_is_again():
    led = LedPartition()
    in_sync(led, 1)
    led.fetch(0, by=2)
    led.pass_ms(5_000)
    led.brokers[2] = registered(2, epoch=11)
    for end in range(1, 4):
        led.write(b"a")
        led.fetch(0, by=2, broker_epoch=11)
        assert led.partition.high_watermark == end
    led.fetch(3, by=2, broker_epoch=11)
    led.write(b"b")
    assert led.partition.high_watermark == 3, "it keeps up again"


def test_it_does_not_where_it_may_not_join():
    """KAFKA-15021: an ineligible replica must not hold the high watermark."""
    led = LedPartition()
    in_sync(led, 1)
    led.fetch(0, by=2)
    led.fence(2)
    led.write(b"a")
    assert led.partition.high_watermark == 1


def test_looking_raises_what_a_follower_held_that_has_gone():
    led = LedPartition()
    in_sync(led, 1)
    led.fetch(0, by=2)
    led.write(b"a")
    assert led.partition.high_watermark == 0
    led.fence(2)
    assert wanted(led) is None
    assert led.partition.high_watermark == 1


def test_too_few_in_sync_replicas_stop_it():
    led = LedPartition(config=LogConfig(min_insync_replicas=2))
    in_sync(led, 1)
    led.write(b"a", acks=1)
    led.fetch(1, by=2)
    assert led.partition.high_watermark == 0, "the committed ISR counts"
    asked = wanted(led)
    assert ids(asked) == [1, 2]
    with pytest.raises(NotEnoughReplicas):
        led.write(b"b", acks=-1)
    assert not led.partition.is_short_after_append, "the maximal ISR counts afterwards"
    altered(led, asked)
    assert led.partition.high_watermark == 1
    assert led.write(b"b", acks=-1) == 2


def test_a_pending_member_is_waited_for():
    led = LedPartition()
    in_sync(led, 1, 2)
    led.write(b"a")
    led.fetch(0, by=3)
    asked = wanted(led)
    assert ids(asked) == [1, 2, 3]
    led.pass_ms(2 * LAG_MAX_MS)
    led.fetch(1, by=2)
    assert led.partition.high_watermark == 0
    assert altered(led, asked, code=107) is AlterationOutcome.NOT_DONE
    led.write(b"b")
    led.fetch(2, by=2)
    assert led.partition.high_watermark == 2


def test_who_fetches_no_more_does_not_join_with_another():
    """Below min.insync.replicas the mark stands still, so that one that has gone has all that is committed, for ever."""
    led = LedPartition(config=LogConfig(min_insync_replicas=2))
    in_sync(led, 1)
    led.fetch(0, by=3)
    led.write(b"a", acks=1)
    led.pass_ms(LAG_MAX_MS + 1)
    led.fetch(1, by=2)
    assert ids(wanted(led)) == [1, 2]


def test_a_lagging_member_is_waited_for_until_it_has_left(led):
    led.write(b"a")
    led.fetch(1, by=3)
    led.pass_ms(LAG_MAX_MS)
    led.fetch(1, by=3)
    assert wanted(led) is None
    led.pass_ms(1)
    asked = wanted(led)
    assert ids(asked) == [1, 3]
    assert wanted(led) is None, "one at a time"
    assert led.partition.high_watermark == 0
    altered(led, asked)
    assert (led.partition.high_watermark, led.partition.isr) == (1, (1, 3))


def test_the_broker_epochs_of_the_last_fetches_are_told(led):
    led.brokers[2] = replace(led.brokers[2], broker_epoch=20)
    led.fetch(0, by=2, broker_epoch=20)
    led.write(b"a")
    led.fetch(1, by=2, broker_epoch=20)
    led.pass_ms(LAG_MAX_MS + 1)
    assert wanted(led).isr == ((1, 10), (2, 20))


def test_a_follower_needs_what_the_leader_began_with():
    """Some of it may be committed, although the new leader does not know it."""
    led = LedPartition()
    in_sync(led, 1)
    led.write(b"a")
    led.write(b"b")
    led.partition._high_watermark = 0
    in_sync(led, 1, 3, epoch=5, partition_epoch=1)
    led.fetch(1, by=2, leader_epoch=5)
    assert led.due == []
    led.fetch(2, by=2, leader_epoch=5)
    assert led.due == [led.partition]


def test_ends_do_not_survive_leader_epochs(led):
    led.write(b"a")
    led.fetch(1, by=2)
    led.fetch(1, by=3)
    in_sync(led, 1, 2, 3, epoch=5, partition_epoch=1)
    led.write(b"b")
    led.fetch(2, by=2, leader_epoch=5)
    assert led.partition.high_watermark == 1
    in_sync(led, 2, 3, leader=2, epoch=6, partition_epoch=2)
    in_sync(led, 1, 2, 3, epoch=7, partition_epoch=3)
    led.fetch(2, by=3, leader_epoch=7)
    assert led.partition.high_watermark == 1
    led.fetch(2, by=2, leader_epoch=7)
    assert led.partition.high_watermark == 2


def test_members_of_the_isr_have_the_time_to_fetch_from_a_new_leader(led):
    led.pass_ms(10 * LAG_MAX_MS)
    in_sync(led, 1, 2, epoch=5, partition_epoch=1)
    led.write(b"a")
    led.pass_ms(LAG_MAX_MS)
    assert wanted(led) is None
    led.pass_ms(1)
    assert ids(wanted(led)) == [1]


def test_who_led_without_a_break_still_has_what_it_wrote(led):
    assert led.partition.has_led_since(4)
    in_sync(led, 1, 2, epoch=5, partition_epoch=1)
    assert led.partition.has_led_since(4)
    in_sync(led, 1, 2, epoch=7, partition_epoch=3)
    assert not led.partition.has_led_since(5), "another may have led epoch 6"
    assert led.partition.has_led_since(7)
    in_sync(led, 2, leader=2, epoch=8, partition_epoch=4)
    assert not led.partition.has_led_since(7)
    in_sync(led, 1, epoch=9, partition_epoch=5)
    assert not led.partition.has_led_since(7)


def test_offsets_do_not_go_back_when_the_leader_changes(led):
    led.write(b"a")
    in_sync(led, 1, 2, epoch=5, partition_epoch=1)
    with pytest.raises(OffsetNotAvailable, match="has not reached 1, where leader epoch 5 began"):
        led.partition.latest_offset(is_read_committed=False)
    led.fetch(1, by=2, leader_epoch=5)
    assert led.partition.latest_offset(is_read_committed=False).offset == 1
    led.write(b"b")
    assert led.partition.latest_offset(is_read_committed=False).offset == 1


def test_an_older_image_does_not_undo_an_answer(led):
    led.write(b"a")
    led.pass_ms(LAG_MAX_MS + 1)
    altered(led, wanted(led))
    in_sync(led, 1, 2, 3, partition_epoch=0)
    assert (led.partition.isr, led.partition.partition_epoch) == ((1,), 1)
    in_sync(led, 1, partition_epoch=1)
    assert led.partition.high_watermark == 1


def test_an_answer_to_a_leader_that_is_none_any_more_changes_nothing(led):
    led.write(b"a")
    led.pass_ms(LAG_MAX_MS + 1)
    asked = wanted(led)
    in_sync(led, 2, 3, leader=2, epoch=5, partition_epoch=1)
    assert altered(led, asked) is AlterationOutcome.STALE
    assert (led.partition.isr, led.partition.high_watermark) == ((2, 3), 0)
    assert wanted(led) is None


def test_who_is_no_replica_any_more_is_not_waited_for(led):
    led.write(b"a")
    led.fetch(1, by=2)
    led.apply(partition_image(replicas=(1, 2), isr=(1, 2), partition_epoch=1))
    assert led.partition.high_watermark == 1


def test_the_low_watermark_is_the_least_start_of_replicas_that_run(led):
    assert led.partition.low_watermark == -1
    led.fetch(0, by=2, log_start=0)
    led.fence(3)
    assert led.partition.low_watermark == 0


def test_every_append_is_told_where_somebody_follows(led):
    led.fetch(0, by=2)
    led.fetch(0, by=3)
    led.progressed.clear()
    led.write(b"a")
    assert (len(led.grown), len(led.progressed)) == (1, 0), (
        "followers may fetch it, nobody else sees more"
    )
    led.fetch(1, by=2)
    led.fetch(1, by=3)
    assert (len(led.grown), len(led.progressed)) == (1, 1), "it was committed"


def test_an_append_to_the_only_replica_is_told_once():
    led = LedPartition()
    led.apply(partition_image(replicas=(1,), isr=(1,)))
    led.progressed.clear()
    led.write(b"a")
    assert (len(led.grown), len(led.progressed)) == (0, 1)


def test_a_fetch_of_a_log_that_diverged_says_nothing_of_the_follower(led):
    led.write(b"a")
    in_sync(led, 1, 2, epoch=5, partition_epoch=1)
    led.write(b"b")
    read = led.fetch(2, by=2, leader_epoch=5, last_epoch=4)
    assert read.diverging == (4, 1)
    assert led.partition.high_watermark == 0


def test_who_the_controller_has_taken_out_joins_with_what_it_fetches_from_then_on(led):
    """It may have left to cut a damaged log: what it had before counts for nothing."""
    led.write(b"a")
    led.fetch(1, by=2)
    led.fetch(1, by=3)
    in_sync(led, 1, 2, partition_epoch=2)
    assert wanted(led) is None
    led.fetch(0, by=3)
    assert wanted(led) is None
    led.fetch(1, by=3)
    assert ids(wanted(led)) == [1, 2, 3]
