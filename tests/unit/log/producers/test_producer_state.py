"""Idempotent producers (KIP-98): retries are recognised, gaps refused, old epochs fenced."""

from __future__ import annotations

import pytest

from millstream.errors import InvalidProducerEpoch, OutOfOrderSequenceNumber, PolicyViolation
from millstream.log.append_check import AppendOrigin
from millstream.log.producers.producer_state import ProducerCount, ProducerStates
from millstream.records.batch import SEQUENCE_MAX, BatchHeader
from millstream.records.builder import BatchOptions
from millstream.records.control import ControlType, build_end_transaction_marker
from millstream.runtime import Instant

PRODUCER = 7


def append(world, log, epoch, sequence, count=1):
    return log.append_as_leader(world.produced(PRODUCER, epoch, sequence, count), 0, world.now)


def mark(world, log, kind, epoch=0):
    marker = build_end_transaction_marker(
        kind, 3, world.now.wall_ms, BatchOptions(producer_id=PRODUCER, producer_epoch=epoch)
    )
    return log.append_as_leader(memoryview(marker), 0, world.now, AppendOrigin.COORDINATOR)


def transactional(world, log, sequence, epoch=0):
    batch = world.batch(
        b"v",
        producer_id=PRODUCER,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=True,
    )
    return log.append_as_leader(batch, 0, world.now)


def test_a_retry_gets_the_offsets_of_the_first_time(world):
    log = world.open()
    append(world, log, 0, 0, count=2)
    append(world, log, 0, 2)
    again = append(world, log, 0, 0, count=2)
    assert (again.first_offset, again.last_offset, again.is_duplicate) == (0, 1, True)
    assert log.log_end_offset == 3


def test_the_last_five_batches_are_recognised(world):
    log = world.open()
    for sequence in range(6):
        append(world, log, 0, sequence)
    assert [append(world, log, 0, sequence).is_duplicate for sequence in range(1, 6)] == [True] * 5
    with pytest.raises(OutOfOrderSequenceNumber):
        append(world, log, 0, 0)


def test_a_gap_is_refused(world):
    log = world.open()
    append(world, log, 0, 0)
    with pytest.raises(OutOfOrderSequenceNumber, match="sent sequence 2, expected 1"):
        append(world, log, 0, 2)


def test_an_unknown_producer_may_begin_anywhere(world):
    log = world.open()
    assert append(world, log, 0, 41).first_offset == 0
    assert append(world, log, 0, 42).first_offset == 1


def test_an_older_epoch_is_fenced(world):
    log = world.open()
    append(world, log, 1, 0)
    with pytest.raises(InvalidProducerEpoch, match="the lowest that counts here is 1"):
        append(world, log, 0, 0)


def test_a_new_epoch_begins_with_sequence_zero(world):
    log = world.open()
    append(world, log, 0, 0)
    with pytest.raises(OutOfOrderSequenceNumber, match="a new epoch begins with 0"):
        append(world, log, 1, 1)
    assert append(world, log, 1, 0).first_offset == 1


def test_sequences_wrap_to_zero(world):
    log = world.open()
    append(world, log, 0, SEQUENCE_MAX - 1, count=2)
    assert append(world, log, 0, 0).first_offset == 2


def test_a_batch_may_contain_the_wrap(world):
    log = world.open()
    append(world, log, 0, SEQUENCE_MAX, count=3)
    assert log.producers.get(PRODUCER).last_sequence == 1
    assert append(world, log, 0, 2).first_offset == 3


def test_sequences_are_followed_within_one_append(world):
    log = world.open()
    good = bytearray(world.produced(PRODUCER, 0, 0)) + world.produced(PRODUCER, 0, 1)
    assert log.append_as_leader(memoryview(good), 0, world.now).last_offset == 1
    bad = bytearray(world.produced(PRODUCER, 0, 2)) + world.produced(PRODUCER, 0, 4)
    with pytest.raises(OutOfOrderSequenceNumber):
        log.append_as_leader(memoryview(bad), 0, world.now)


def test_a_refused_append_changes_nothing(world):
    log = world.open()
    append(world, log, 0, 0)
    with pytest.raises(OutOfOrderSequenceNumber):
        append(world, log, 0, 5)
    assert append(world, log, 0, 1).first_offset == 1


@pytest.mark.parametrize("was_clean", [True, False])
def test_retries_are_recognised_across_a_restart(world, was_clean):
    """Kafka's snapshot holds one batch per producer; the tail of the log gives back the other four."""
    log = world.open()
    for sequence in range(7):
        append(world, log, 0, sequence)
    if was_clean:
        log.close(world.now)
    log = world.open(was_clean=was_clean, recovery_point=7 if was_clean else 0)
    assert [append(world, log, 0, s).first_offset for s in range(2, 7)] == [2, 3, 4, 5, 6]
    assert append(world, log, 0, 7).first_offset == 7


def test_a_damaged_snapshot_is_replaced_by_the_log(world):
    log = world.open()
    append(world, log, 0, 0)
    log.close(world.now)
    world.disk.corrupt("/data/t-0/00000000000000000001.snapshot", 12, b"\xff")
    log = world.open(was_clean=True, recovery_point=1)
    assert append(world, log, 0, 0).is_duplicate
    assert "00000000000000000001.snapshot" not in world.files()


def test_snapshots_are_kept_at_roll_points_and_at_the_end(world):
    log = world.open()
    append(world, log, 0, 0)
    log.roll(world.now)
    append(world, log, 0, 1)
    log.close(world.now)
    log = world.open(was_clean=True, recovery_point=2)
    append(world, log, 0, 2)
    log.close(world.now)
    world.open(was_clean=True, recovery_point=3)
    assert [name for name in world.files() if name.endswith(".snapshot")] == [
        "00000000000000000001.snapshot",
        "00000000000000000003.snapshot",
    ]


def test_an_idle_producer_is_forgotten_after_its_time(world):
    log = world.open()
    log.append_as_leader(
        world.batch(b"v", producer_id=PRODUCER, producer_epoch=0, base_sequence=0, timestamp=world.now.wall_ms),
        0, world.now,
    )  # fmt: skip
    log.remove_expired_producers(world.later(86_399_999))
    assert log.producers.get(PRODUCER) is not None
    log.remove_expired_producers(world.later(1))
    assert log.producers.get(PRODUCER) is None


def test_an_open_transaction_holds_the_last_stable_offset(world):
    log = world.open()
    world.append(log, b"plain")
    transactional(world, log, 0)
    transactional(world, log, 1)
    assert log.last_stable_offset(high_watermark=3) == 1
    mark(world, log, ControlType.COMMIT)
    assert log.last_stable_offset(high_watermark=4) == 4
    assert log.aborted_transactions(0, 4) == []


def test_an_aborted_transaction_is_listed_where_it_overlaps(world):
    log = world.open()
    transactional(world, log, 0)
    mark(world, log, ControlType.ABORT)
    world.append(log, b"plain")
    assert [tuple(t) for t in log.aborted_transactions(0, 3)] == [(PRODUCER, 0, 1, 2)]
    assert log.aborted_transactions(2, 3) == []
    log.roll(world.now)
    assert world.content("00000000000000000000.txnindex").hex() == (
        "00000000000000000007000000000000000000000000000000010000000000000002"
    )


def test_the_transaction_index_is_rebuilt_after_a_crash(world):
    log = world.open()
    transactional(world, log, 0)
    mark(world, log, ControlType.ABORT)
    log.roll(world.now)
    transactional(world, log, 1)
    world.disk.remove("/data/t-0/00000000000000000000.txnindex")
    log = world.open()
    assert [tuple(t) for t in log.aborted_transactions(0, 3)] == [(PRODUCER, 0, 1, 2)]
    assert log.last_stable_offset(high_watermark=3) == 2


def append_as(world, log, producer_id):
    return log.append_as_leader(world.produced(producer_id, 0, 0, 1), 0, world.now)


def test_producers_that_a_client_makes_up_are_refused_when_there_are_too_many(world):
    log, world.now = world.open(), Instant(1_000, 0)
    log.producers._producers_max = 4
    for producer_id in range(4):
        append_as(world, log, producer_id)
    with pytest.raises(PolicyViolation, match="4 idempotent producers have written"):
        append_as(world, log, 4)
    assert log.log_end_offset == 4
    world.append(log, b"plain")
    log.append_as_leader(world.produced(3, 0, 1, 1), 0, world.now)
    assert log.log_end_offset == 6


def test_a_crowded_log_forgets_sooner_who_is_silent(world):
    log = world.open()
    log.producers._producers_max = 4
    for producer_id in range(3):
        append_as(world, log, producer_id)
    now_ms, a_day_ms = log.producers.get(0).last_timestamp_ms, 86_400_000
    assert log.producers.remove_expired(now_ms + 899_000, a_day_ms) == 0
    assert log.producers.remove_expired(now_ms + 901_000, a_day_ms) == 3
    append_as(world, log, 0)
    assert log.producers.remove_expired(now_ms + 901_000, a_day_ms) == 0, "there is room again"


def test_a_full_log_forgets_who_is_silent_rather_than_refuse(world):
    log = world.open()
    log.producers._producers_max = 4
    for producer_id in range(4):
        append_as(world, log, producer_id)
    now_ms = log.producers.get(0).last_timestamp_ms
    world.now = Instant(now_ms + 890_000, 0)
    with pytest.raises(PolicyViolation):
        append_as(world, log, 4)
    world.later(9_000)
    with pytest.raises(PolicyViolation):
        append_as(world, log, 4)
    world.later(10_000)
    append_as(world, log, 4)
    assert [entry.producer_id for entry in log.producers.entries()] == [4]


SILENT_MS = 900_000


def small_logs(of_all_max):
    """A node with eight logs, of ten producers each."""
    count = ProducerCount(known_max=of_all_max)
    logs = [ProducerStates(count) for _ in range(8)]
    count.of_logs.append(lambda: logs)
    for slot, states in enumerate(logs):
        for producer_id in range(10):
            write(states, slot * 10 + producer_id, now_ms=0)
    return count, logs


def write(states, producer_id, now_ms):
    """Writes the first batch of a producer, as a log does."""
    header = BatchHeader(0, 61, 0, 2, 0, 0, 0, now_ms, now_ms, producer_id, 0, 0, 1)
    states.check_append([header], now_ms)
    states.apply(header)


def test_the_logs_of_a_node_have_a_bound_together():
    count, logs = small_logs(80)
    with pytest.raises(PolicyViolation, match="partitions of this node") as refused:
        write(logs[0], 99, SILENT_MS - 1)
    assert refused.value.bound == "producers of a node"
    assert count.known == 80


def test_where_a_node_is_full_the_silent_producers_of_all_logs_make_room():
    count, logs = small_logs(80)
    write_again = BatchHeader(1, 61, 0, 2, 0, 0, 0, 0, SILENT_MS, 10, 0, 1, 1)
    logs[1].apply(write_again)
    write(logs[0], 99, SILENT_MS)
    assert [len(each) for each in logs] == [1, 1, 0, 0, 0, 0, 0, 0]
    assert count.known == 2


def test_small_logs_of_a_crowded_node_forget_sooner_too():
    count, logs = small_logs(100)
    assert logs[0].remove_expired(SILENT_MS, 86_400_000) == 10, "more than half of what may be"
    assert count.known == 70
    assert sum(each.remove_expired(SILENT_MS, 86_400_000) for each in logs) == 20, "until half"
    assert count.known == 50


def test_what_a_log_knows_no_more_is_not_counted():
    count, logs = small_logs(1_000)
    logs[0].clear()
    assert count.known == 70
    logs[0].restore(logs[1].snapshot())
    assert count.known == 80
    cut = BatchHeader(0, 61, 0, 2, 0, 0, 0, 0, 0, 25, 0, 0, 1)
    logs[2].rewind(logs[2].plan_rewind(0, [cut]))
    assert count.known == 79
    logs[3].become(ProducerStates())
    assert count.known == 69
