"""What a flush covers, and when one is due."""

from __future__ import annotations

from millstream.metadata.topic_config import LogConfig


def test_a_flush_covers_what_was_written_when_it_was_planned(world):
    log = world.open()
    world.append(log, b"a")
    plan = log.plan_flush()
    world.append(log, b"b")
    plan.sync()
    log.complete_flush(plan, world.now)
    assert log.recovery_point == 1
    log.flush(world.now)
    assert (log.recovery_point, log.plan_flush()) == (2, None)


def test_a_flush_after_rolls_covers_every_segment(world):
    log = world.open(LogConfig(segment_bytes=200))
    for _ in range(3):
        world.append(log, b"x" * 50)
    assert log.has_unflushed_segments
    log.flush(world.now)
    assert not log.has_unflushed_segments
    world.disk.crash()
    log = world.open(recovery_point=3)
    assert log.log_end_offset == 3


def test_records_that_reach_flush_messages_must_be_flushed(world):
    log = world.open(LogConfig(flush_messages=3))
    world.append(log, b"a", b"b")
    assert not log.must_flush(2)
    world.append(log, b"c")
    world.append(log, b"d")
    assert [log.must_flush(end) for end in (2, 3, 4)] == [True, True, False]
    plan = log.plan_flush()
    world.append(log, b"e")
    plan.sync()
    log.complete_flush(plan, world.now)
    assert [log.must_flush(end) for end in (3, 4, 5)] == [False, False, False]
    world.append(log, b"f", b"g")
    assert log.must_flush(7)


def test_flush_messages_counts_anew_after_a_truncation(world):
    log = world.open(LogConfig(flush_messages=2))
    world.append(log, b"a", b"b")
    log.truncate_to(0, world.now)
    world.append(log, b"c")
    world.append(log, b"d")
    assert log.must_flush(2)
    log.flush(world.now)
    world.append(log, b"e")
    assert not log.must_flush(3)
    world.append(log, b"f")
    assert log.must_flush(4)


def test_a_follower_must_flush_as_its_leader(world):
    log = world.open(LogConfig(flush_messages=1))
    log.append_as_follower(world.batch(b"a"), world.now)
    assert log.must_flush(1)


def test_a_log_is_overdue_when_flush_ms_has_passed(world):
    log = world.open(LogConfig(flush_ms=100))
    world.append(log, b"a")
    assert not log.flush_is_overdue(world.later(99))
    assert log.flush_is_overdue(world.later(1))
    log.flush(world.now)
    assert not log.flush_is_overdue(world.later(100))  # there is nothing to flush


def test_a_flush_planned_before_a_truncation_says_nothing_of_what_was_written_since(world):
    log = world.open()
    for _ in range(3):
        world.append(log, b"a")
    plan = log.plan_flush()
    log.truncate_to(1, world.now)
    for _ in range(5):
        world.append(log, b"of another leader")
    plan.sync()
    log.complete_flush(plan, world.now)
    assert log.recovery_point <= 1
    log.flush(world.now)
    assert log.recovery_point == 6


# --- truncate, delete


def test_the_snapshot_of_producers_that_a_killed_process_had_not_synced_is_synced_by_the_next(
    world,
):
    """Markers up to it may be cleaned away: an older one would count after a loss of power, in which their transactions are open."""
    log = world.open(LogConfig(segment_bytes=200))
    for _ in range(3):
        world.append(log, b"x" * 50)
    snapshots = [each for each in world.disk.files() if each.endswith(".snapshot")]
    assert not any(world.disk.is_synced(each) for each in snapshots), "no flush was made"
    world.environment.file_system = world.disk = world.disk.of_next_process()
    world.open(LogConfig(segment_bytes=200))
    assert world.disk.is_synced(snapshots[-1])
