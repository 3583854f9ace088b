from __future__ import annotations

import pytest

from millstream.log import AppendOrigin, SavedState
from millstream.metadata.topic_config import LogConfig
from millstream.records.batch import read_header
from millstream.records.builder import BatchOptions
from millstream.records.control import ControlType, build_end_transaction_marker

LOG = "/data/t-0/00000000000000000000.log"


def filled(world, count=3, config=None):
    log = world.open(config)
    for number in range(count):
        world.append(log, b"%d" % number)
    return log


def batch_bytes(world) -> int:
    return len(world.batch(b"0"))


def test_an_unclean_stop_without_damage_loses_nothing(world):
    filled(world)
    log = world.open()
    assert world.values(log) == [(0, b"0"), (1, b"1"), (2, b"2")]


@pytest.mark.parametrize("cut", [1, 30, 60, 61])
def test_a_torn_tail_is_cut_to_the_last_whole_batch(world, cut):
    filled(world)
    size = batch_bytes(world)
    world.disk.open(LOG).truncate(2 * size + cut)
    assert world.open().log_end_offset == 2
    assert world.disk.size(LOG) == 2 * size


def test_a_damaged_batch_ends_the_log(world):
    filled(world)
    world.disk.corrupt(LOG, batch_bytes(world) + 65, b"\xff")
    assert world.open().log_end_offset == 1


def test_a_tail_of_zeros_is_removed(world):
    filled(world)
    world.disk.open(LOG).append([bytes(500)])
    log = world.open()
    assert log.log_end_offset == 3
    assert world.disk.size(LOG) == 3 * batch_bytes(world)


def test_segments_after_a_damaged_one_are_dropped(world):
    filled(world, 8, LogConfig(segment_bytes=200))
    segments = [name for name in world.files() if name.endswith(".log")]
    assert len(segments) > 2
    world.disk.corrupt(f"/data/t-0/{segments[1]}", 65, b"\xff")
    log = world.open(LogConfig(segment_bytes=200))
    assert log.log_end_offset == int(segments[1][:20])
    assert [name for name in world.files() if name.endswith(".log")] == segments[:2]


def test_a_missing_segment_ends_the_log_before_the_hole(world):
    filled(world, 6, LogConfig(segment_bytes=200))
    segments = [name for name in world.files() if name.endswith(".log")]
    world.disk.remove(f"/data/t-0/{segments[1]}")
    assert world.open(LogConfig(segment_bytes=200)).log_end_offset == int(segments[1][:20])


def test_a_log_that_kafka_has_compacted_keeps_what_is_behind_a_gap(world):
    """Its topic is not compacted any more. Kafka's cleaner notes where it was, and leaves gaps between segments."""
    config = LogConfig(segment_bytes=200)
    log = filled(world, 8, config)
    second = log.segments[1].base_offset
    behind = log.segments[2].base_offset
    log.abandon()
    world.disk.remove(f"/data/t-0/{second:020d}.log")
    again = world.open_saved(config, SavedState(cleaner_checkpoint=behind))
    kept = [n for n in range(8) if not second <= n < behind]
    assert world.values(again) == [(n, b"%d" % n) for n in kept]


@pytest.mark.parametrize("policy", ["delete", "compact"])
def test_an_empty_segment_goes_when_the_end_of_the_one_before_it_is_lost(world, policy):
    """A reader would wait at offset 1 for what is nowhere, and a coordinator would never have loaded its partition."""
    config = LogConfig(cleanup_policy=frozenset({policy}))
    log = filled(world, 2, config)
    log.roll(world.now)
    world.disk.crash(lambda path, _unsynced: batch_bytes(world) if path == LOG else 0)
    log = world.open(config)
    assert (log.log_end_offset, [s.base_offset for s in log.segments]) == (1, [0])
    world.append(log, b"again")
    assert world.values(log) == [(0, b"0"), (1, b"again")]


def test_what_lies_before_the_recovery_point_is_not_read_again(world):
    filled(world, 6, LogConfig(segment_bytes=200))
    world.disk.corrupt(LOG, 65, b"\xff")
    assert world.open(LogConfig(segment_bytes=200), recovery_point=5).log_end_offset == 6


def test_a_clean_stop_is_not_recovered(world):
    log = filled(world)
    log.close(world.now)
    world.disk.corrupt(LOG, 65, b"\xff")
    assert world.open(was_clean=True, recovery_point=3).log_end_offset == 3


def test_a_clean_log_with_a_torn_tail_is_recovered_all_the_same(world):
    filled(world).close(world.now)
    world.disk.open(LOG).append([b"garbage"])
    log = world.open(was_clean=True, recovery_point=3)
    assert log.log_end_offset == 3
    assert world.append(log, b"3").first_offset == 3
    assert world.values(log)[-1] == (3, b"3")


def test_a_damaged_index_is_rebuilt_from_the_log(world):
    config = LogConfig(index_interval_bytes=0)
    log = filled(world, 20, config)
    log.close(world.now)
    index = world.content("00000000000000000000.index")
    for damage in (index[:-3], index[8:] + index[:8], b""):
        world.disk.open("/data/t-0/00000000000000000000.index").truncate(0)
        world.disk.open("/data/t-0/00000000000000000000.index").append([damage])
        log = world.open(config, was_clean=True, recovery_point=20)
        assert world.values(log) == [(n, b"%d" % n) for n in range(20)]
        log.close(world.now)
        assert world.content("00000000000000000000.index") == index


def test_leader_epochs_are_rebuilt_when_their_checkpoint_is_missing(world):
    log = world.open()
    world.append(log, b"a", epoch=1)
    world.append(log, b"b", epoch=4)
    log.flush(world.now)
    world.disk.remove("/data/t-0/leader-epoch-checkpoint")
    assert world.open().leader_epochs.entries == ((1, 0), (4, 1))


def test_leader_epochs_before_the_recovery_point_are_rebuilt_too(world):
    log = world.open()
    world.append(log, b"a", epoch=1)
    log.roll(world.now)
    log.flush(world.now)
    world.append(log, b"b", epoch=2)
    world.append(log, b"c", epoch=4)
    world.disk.remove("/data/t-0/leader-epoch-checkpoint")
    log = world.open(recovery_point=1)
    assert log.leader_epochs.entries == ((1, 0), (2, 1), (4, 2))


def test_an_epoch_whose_records_were_lost_is_forgotten(world):
    log = world.open()
    world.append(log, b"a", epoch=1)
    log.flush(world.now)
    world.append(log, b"b", epoch=4)
    world.disk.crash()
    assert world.open(recovery_point=1).leader_epochs.entries == ((1, 0),)


@pytest.mark.parametrize(
    "damage", [b"0\n2\n1 0\n", b"0\n2\n1 0\n4 1", b"0\n2\n1 5\n4 1\n", b"\xff", bytes(12)]
)
def test_a_damaged_leader_epoch_checkpoint_is_written_anew_from_the_log(world, damage):
    log = world.open()
    world.append(log, b"a", epoch=1)
    world.append(log, b"b", epoch=4)
    log.close(world.now)
    world.disk.write_atomically("/data/t-0/leader-epoch-checkpoint", damage)
    assert world.open(was_clean=True, recovery_point=2).leader_epochs.entries == ((1, 0), (4, 1))
    assert world.content("leader-epoch-checkpoint") == b"0\n2\n1 0\n4 1\n"


def test_a_log_that_ends_before_its_start_offset_starts_over(world):
    filled(world)
    log = world.open(log_start_offset=10)
    assert (log.log_start_offset, log.log_end_offset) == (10, 10)


def test_interrupted_deletions_are_completed(world):
    filled(world).close(world.now)
    world.disk.open("/data/t-0/00000000000000000009.log.deleted").append([b"x"])
    world.disk.open("/data/t-0/00000000000000000009.log.cleaned").append([b"x"])
    world.disk.open("/data/t-0/00000000000000000009.index").append([b"x"])
    world.open(was_clean=True, recovery_point=3)
    assert [name for name in world.files() if name.startswith("00000000000000000009")] == []


def test_a_cleaned_segment_takes_the_place_of_those_it_was_made_of(world):
    log = filled(world, 6, LogConfig(segment_bytes=200))
    merged = b"".join(world.content(f"{s.base_offset:020d}.log") for s in log.segments[:2])
    end = log.segments[2].base_offset
    log.close(world.now)
    world.disk.open("/data/t-0/00000000000000000000.log.swap").append([merged])
    log = world.open(LogConfig(segment_bytes=200), was_clean=True, recovery_point=6)
    assert [s.base_offset for s in log.segments][:2] == [0, end]
    assert world.values(log) == [(n, b"%d" % n) for n in range(6)]


def test_recovery_cuts_off_a_batch_whose_offset_goes_back(world):
    log = filled(world, 2)
    first = world.read(log, 0, bytes_max=1)
    log.abandon()
    world.disk.open(LOG).append([first])
    assert world.open().log_end_offset == 2


def test_recovered_logs_go_on_where_they_ended(world):
    filled(world)
    world.disk.crash(lambda path, unsynced: unsynced - 1 if path == LOG else 0)
    log = world.open()
    assert world.append(log, b"new").first_offset == 2
    assert read_header(world.read(log, 2)).base_offset == 2


def abort(world, log, producer_id):
    options = BatchOptions(producer_id=producer_id, producer_epoch=0)
    marker = build_end_transaction_marker(ControlType.ABORT, 0, 1_000, options)
    log.append_as_leader(memoryview(marker), 0, world.now, AppendOrigin.COORDINATOR)


def test_a_second_crash_does_not_show_what_recovery_found_to_be_aborted(world):
    log = world.open()
    options = {"producer_id": 5, "producer_epoch": 0, "base_sequence": 0}
    world.append(log, b"aborted", is_transactional=True, **options)
    abort(world, log, 5)
    log.roll(world.now)
    world.append(log, b"plain")
    world.disk.crash(lambda _path, unsynced: unsynced)
    log = world.open(recovery_point=0)
    log.flush(world.now)
    world.disk.crash()
    log = world.open(recovery_point=log.recovery_point)
    assert log.recovery_point == 3
    assert [(t.first_offset, t.last_offset) for t in log.aborted_transactions(0, 3)] == [(0, 1)]


def test_a_producer_goes_on_after_a_crash_though_retention_has_taken_its_batches(world):
    """As in Kafka, the snapshot of producers is on the disk with the flush after a roll."""
    config = LogConfig(retention_bytes=0, retention_ms=-1)
    log = world.open(config)
    log.append_as_leader(world.produced(5, 0, 0, count=4), 0, world.now)
    log.roll(world.now)
    log.flush(world.now)
    log.maintain(4, world.now)
    assert log.log_start_offset == 4
    world.disk.crash()
    log = world.open(config, recovery_point=4)
    retry = log.append_as_leader(world.produced(5, 0, 0, count=4), 0, world.now)
    assert (retry.is_duplicate, retry.first_offset) == (True, 0)
    assert log.append_as_leader(world.produced(5, 0, 4), 0, world.now).first_offset == 4
