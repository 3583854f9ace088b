"""A wrong bit anywhere in a log is found, and what it is cut to is sound."""

from __future__ import annotations

import pytest

from millstream.log.compaction.compaction import Compaction
from millstream.metadata.topic_config import LogConfig
from millstream.records.batch import LOG_OVERHEAD_BYTES

CONFIG = LogConfig(segment_bytes=400, index_interval_bytes=150)
COUNT = 12
_MAGIC = 16


def filled(world):
    log = world.open(CONFIG)
    for number in range(COUNT):
        world.append(log, b"value %02d" % number, epoch=number // 4)
    log.flush(world.now)
    return log


def verify(log, bytes_max=1 << 20, **bounds):
    plan = log.plan_verification(**bounds)
    steps = 0
    while not plan.is_done:
        plan.read_some(bytes_max)
        steps += 1
    return log.first_damage(plan), steps, plan.read_bytes


def flip(world, log, offset, at):
    """Changes one bit of the batch at `offset`, on the disk."""
    segment = [s for s in log.segments if s.base_offset <= offset][-1]
    position = segment.position_of(offset)
    path = f"/data/t-0/{segment.base_offset:020d}.log"
    byte = world.disk.read(path)[position + at]
    world.disk.corrupt(path, position + at, bytes([byte ^ 4]))


def test_a_sound_log_is_read_whole_at_the_pace_of_its_caller(world):
    log = filled(world)
    damage, steps, read = verify(log)
    assert (damage, read) == (None, log.size_bytes)
    damage, steps, read = verify(log, bytes_max=10)
    assert (damage, read) == (None, log.size_bytes)
    assert steps > COUNT // 3


def test_a_wrong_bit_is_found_wherever_it_is(world):
    size = len(world.batch(b"value 00"))
    for offset in (0, 5, COUNT - 1):
        for at in range(size):
            world.__init__()
            log = filled(world)
            flip(world, log, offset, at)
            damage, _, _ = verify(log)
            if damage is None:
                # Of the epoch, a smaller one that fits between its neighbours' is what it could have been.
                assert LOG_OVERHEAD_BYTES <= at < _MAGIC
                continue
            assert damage.offset == offset, (offset, at, damage)


@pytest.mark.parametrize("at", [7, 10, 16, 60, 70])
def test_what_is_cut_as_damaged_leaves_a_sound_log_that_is_not_clean(world, at):
    log = filled(world)
    flip(world, log, 5, at)
    damage, _, _ = verify(log)
    cut = log.cuts.plan(damage.offset, is_of_damage=True)
    log.cuts.make(cut, world.now)
    lost = cut.lost
    assert (lost, log.log_end_offset, log.lacks_records) == (COUNT - 5, 5, True)
    assert verify(log)[0] is None
    assert world.values(log) == [(n, b"value %02d" % n) for n in range(5)]
    assert log.leader_epochs.entries == ((0, 0), (1, 4))
    for number in range(5, COUNT):  # what a leader has
        batch = world.numbered(number, number // 4, b"value %02d" % number)
        log.append_as_follower(batch, world.now)
    assert not log.lacks_records


def test_a_part_of_a_log_can_be_verified(world):
    log = filled(world)
    flip(world, log, 2, 70)
    assert verify(log, first_offset=3)[0] is None
    assert verify(log, first_offset=2)[0].offset == 2
    assert verify(log, end_offset=1)[2] < log.size_bytes


def test_damage_that_was_cut_away_meanwhile_is_none(world):
    log = filled(world)
    flip(world, log, 10, 70)
    plan = log.plan_verification()
    plan.read_some(1 << 20)
    assert plan.damage is not None
    log.truncate_to(9, world.now)
    assert log.first_damage(plan) is None
    for _ in range(3):
        world.append(log, b"value 10", epoch=2)
    assert log.first_damage(plan) is None


def test_a_log_that_is_written_and_cut_while_it_is_read_is_not_damaged(world):
    log = filled(world)
    plan = log.plan_verification()
    plan.read_some(300)
    log.truncate_to(6, world.now)
    world.append(log, b"another", b"batch", epoch=9)
    while not plan.is_done:
        plan.read_some(100)
    assert log.first_damage(plan) is None


def test_a_log_that_is_cut_and_filled_with_other_batches_while_it_is_read_is_not_damaged(world):
    """What was read of a segment ends amid one of the batches that stand there now."""
    log = world.open()
    for number in range(COUNT):
        world.append(log, b"value %02d" % number)
    plan = log.plan_verification()
    plan.read_some(300)
    log.truncate_to(1, world.now)
    for number in range(COUNT):
        world.append(log, b"longer value %02d" % number, epoch=9)
    while not plan.is_done:
        plan.read_some(100)
    assert log.first_damage(plan) is None


def test_a_log_that_is_compacted_while_it_is_read_is_not_damaged(world):
    log = world.open(LogConfig(cleanup_policy=frozenset({"compact"}), message_timestamp_after_max_ms=2**62))  # fmt: skip
    for number in range(COUNT):
        world.append(log, b"value " * number, key=b"%d" % (number % 4))
    log.roll(world.now)
    log.flush(world.now)
    plan = log.plan_verification()
    plan.read_some(150)
    compaction = Compaction(
        log.plan_compaction(log.log_end_offset, world.now), map_bytes_max=1 << 20, now_ms=0
    )
    for step in compaction.steps():
        assert step.finished is None or log.replace_segments(step.finished, world.now)
    while not plan.is_done:
        plan.read_some(100)
    assert log.first_damage(plan) is None
