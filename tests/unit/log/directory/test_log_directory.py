from __future__ import annotations

import pytest

from millstream.errors import ConfigError, KafkaStorageError
from millstream.log.directory.formatting import format_directory
from millstream.log.directory.log_directory import METADATA_TOPIC, LogDirectory
from millstream.log.directory.segment_checkpoint import SEGMENT_FILE
from millstream.log.directory.text_checkpoints import DamagedFile, MetaProperties
from millstream.log.log_health import LogGone
from millstream.metadata.topic_config import LogConfig
from millstream.model import METADATA_TOPIC_ID, TopicPartition, Uuid

META = MetaProperties("cluster", 1, Uuid(bytes(range(16))))
TOPIC_ID = Uuid(b"t" * 16)
T0 = TopicPartition("t", 0)


@pytest.fixture
def formatted(world):
    format_directory(world.disk, "/data", META)
    return world


def opened(world) -> LogDirectory:
    return LogDirectory.open("/data", world.environment)


def test_a_directory_is_formatted_once(formatted):
    with pytest.raises(ConfigError, match="formatted already"):
        format_directory(formatted.disk, "/data", META)


def test_an_unformatted_directory_is_refused(world):
    world.disk.make_directory("/data")
    with pytest.raises(ConfigError, match=r"meta.properties is missing; format it first"):
        opened(world)


def test_a_directory_is_held_by_one_broker(formatted):
    directory = opened(formatted)
    with pytest.raises(ConfigError, match="held by another broker"):
        opened(formatted)
    directory.abandon()
    opened(formatted)


def test_a_new_log_gets_its_topic_id(formatted):
    directory = opened(formatted)
    directory.open_log(T0, LogConfig(), formatted.now, TOPIC_ID)
    assert directory.find_logs() == [(T0, TOPIC_ID)]
    assert (
        formatted.content("partition.metadata") == b"version: 0\ntopic_id: dHR0dHR0dHR0dHR0dHR0dA"
    )


def test_a_log_of_another_topic_id_is_refused(formatted):
    directory = opened(formatted)
    directory.open_log(T0, LogConfig(), formatted.now, TOPIC_ID)
    directory.abandon()
    with pytest.raises(DamagedFile, match="names another topic id"):
        opened(formatted).open_log(T0, LogConfig(), formatted.now, Uuid(b"u" * 16))


def test_a_clean_shutdown_is_remembered_once(formatted):
    directory = opened(formatted)
    log = directory.open_log(T0, LogConfig(), formatted.now, TOPIC_ID)
    formatted.append(log, b"a")
    directory.close({T0: 1}, broker_epoch=14, now=formatted.now)
    assert formatted.disk.read("/data/.kafka_cleanshutdown") == b'{"version":0,"brokerEpoch":14}'
    assert formatted.disk.read("/data/recovery-point-offset-checkpoint") == b"0\n1\nt 0 1\n"
    assert formatted.disk.read("/data/replication-offset-checkpoint") == b"0\n1\nt 0 1\n"
    assert formatted.disk.read("/data/log-start-offset-checkpoint") == b"0\n0\n"
    assert formatted.disk.open_handles() == []
    directory = opened(formatted)
    assert directory.check_closed_logs() == []
    assert (directory.was_clean, directory.previous_broker_epoch) == (True, 14)
    assert not formatted.disk.exists("/data/.kafka_cleanshutdown")
    directory.abandon()
    assert not opened(formatted).was_clean


def test_a_moved_start_offset_survives_a_restart(formatted):
    directory = opened(formatted)
    log = directory.open_log(T0, LogConfig(), formatted.now, TOPIC_ID)
    formatted.append(log, b"a", b"b", b"c")
    log.delete_records_before(2)
    directory.close({}, broker_epoch=1, now=formatted.now)
    assert formatted.disk.read("/data/log-start-offset-checkpoint") == b"0\n1\nt 0 2\n"
    assert (
        opened(formatted).open_log(T0, LogConfig(), formatted.now, TOPIC_ID).log_start_offset == 2
    )


def test_a_log_that_failed_forbids_the_clean_shutdown_file(formatted):
    directory = opened(formatted)
    log = directory.open_log(T0, LogConfig(), formatted.now, TOPIC_ID)
    formatted.append(log, b"a")
    formatted.disk.failing_syncs = lambda path: path.endswith(".log")
    with pytest.raises(KafkaStorageError):
        log.flush(formatted.now)
    directory.close({}, broker_epoch=1, now=formatted.now)
    assert not formatted.disk.exists("/data/.kafka_cleanshutdown")


def test_logs_not_opened_after_an_unclean_stop_forbid_the_clean_shutdown_file(formatted):
    directory = opened(formatted)
    directory.open_log(T0, LogConfig(), formatted.now, TOPIC_ID)
    directory.abandon()
    opened(formatted).close({}, broker_epoch=1, now=formatted.now)
    assert not formatted.disk.exists("/data/.kafka_cleanshutdown")


def test_a_deleted_log_is_renamed_at_once_and_removed_later(formatted):
    directory = opened(formatted)
    log = directory.open_log(T0, LogConfig(file_delete_delay_ms=60_000), formatted.now, TOPIC_ID)
    formatted.append(log, b"a")
    directory.delete_log(T0, formatted.now)
    renamed = "t-0.000102030405060708090a0b0c0d0e0f-delete"
    assert renamed in formatted.disk.list("/data")
    assert directory.get(T0) is None
    with pytest.raises(LogGone, match="its topic was deleted"):
        formatted.append(log, b"b")
    assert directory.take_due_removals(formatted.later(59_999)) == []
    assert renamed in formatted.disk.list("/data")
    [remove() for remove in directory.take_due_removals(formatted.later(1))]
    assert renamed not in formatted.disk.list("/data")


def test_a_deletion_that_was_interrupted_is_completed_at_the_next_start(formatted):
    directory = opened(formatted)
    directory.open_log(T0, LogConfig(), formatted.now, TOPIC_ID)
    directory.delete_log(T0, formatted.now)
    directory.abandon()
    opened(formatted)
    assert [name for name in formatted.disk.list("/data") if name.startswith("t-0")] == []


def test_a_topic_made_again_inherits_nothing(formatted):
    directory = opened(formatted)
    log = directory.open_log(T0, LogConfig(), formatted.now, TOPIC_ID)
    formatted.append(log, b"a", b"b")
    log.delete_records_before(2)
    directory.close({}, broker_epoch=1, now=formatted.now)
    directory = opened(formatted)
    directory.open_log(T0, LogConfig(), formatted.now, TOPIC_ID)
    directory.delete_log(T0, formatted.now)
    log = directory.open_log(T0, LogConfig(), formatted.now, Uuid(b"u" * 16))
    assert (log.log_start_offset, log.log_end_offset) == (0, 0)


@pytest.mark.parametrize("stops", ["crash", "clean"])
@pytest.mark.parametrize("restarts_between", [False, True])
def test_a_topic_made_again_inherits_nothing_from_checkpoints_either(
    formatted, stops, restarts_between
):
    """A checkpoint names a topic, not its id: it must not name one that is gone once its name is used again."""
    directory = opened(formatted)
    old = directory.open_log(T0, LogConfig(), formatted.now, TOPIC_ID)
    for value in (b"1", b"2", b"3"):
        formatted.append(old, value)
    old.flush(formatted.now)
    old.delete_records_before(3)
    old.complete_compaction(3)
    directory.checkpoint_recovery_points()
    directory.checkpoint_log_start_offsets()
    directory.checkpoint_high_watermarks({T0: 3})
    directory.checkpoint_cleaner()
    directory.delete_log(T0, formatted.now)
    if restarts_between:
        directory.abandon()
        formatted.disk.crash()
        directory = opened(formatted)
    new = directory.begin_log(T0, LogConfig(), formatted.now, Uuid(b"u" * 16))
    for value in (b"4", b"5", b"6", b"7"):
        formatted.append(new, value)
    if stops == "crash":
        new.flush(formatted.now)
        formatted.disk.crash()
    else:
        directory.close({T0: 4}, broker_epoch=1, now=formatted.now)
    directory = opened(formatted)
    assert directory.saved_high_watermarks.get(T0, 0) == (0 if stops == "crash" else 4)
    log = directory.open_log(T0, LogConfig(), formatted.now, Uuid(b"u" * 16))
    assert (log.log_start_offset, log.log_end_offset, log.cleaner_checkpoint) == (0, 4, None)
    assert formatted.values(log) == [(0, b"4"), (1, b"5"), (2, b"6"), (3, b"7")]


def test_the_deleted_name_fits_a_file_name(formatted):
    long = TopicPartition("x" * 249, 12)
    directory = opened(formatted)
    directory.open_log(long, LogConfig(), formatted.now, TOPIC_ID)
    directory.delete_log(long, formatted.now)
    renamed = next(name for name in formatted.disk.list("/data") if name.endswith("-delete"))
    assert len(renamed) == 255
    assert renamed.endswith("-12.000102030405060708090a0b0c0d0e0f-delete")


def test_a_stray_directory_is_moved_aside_not_deleted(formatted):
    directory = opened(formatted)
    directory.open_log(T0, LogConfig(), formatted.now, TOPIC_ID)
    directory.abandon()
    directory = opened(formatted)
    assert directory.move_aside(T0) == "/data/t-0.000102030405060708090a0b0c0d0e0f-stray"
    assert directory.find_logs() == []


def test_the_metadata_log_is_in_no_checkpoint(formatted):
    directory = opened(formatted)
    log = directory.open_log(
        TopicPartition(METADATA_TOPIC, 0), LogConfig(), formatted.now, METADATA_TOPIC_ID
    )
    formatted.append(log, b"a")
    directory.close({}, broker_epoch=1, now=formatted.now)
    assert formatted.disk.read("/data/recovery-point-offset-checkpoint") == b"0\n0\n"


def test_a_damaged_checkpoint_is_told_and_counts_for_nothing(formatted):
    formatted.disk.write_atomically("/data/recovery-point-offset-checkpoint", b"0\n1\n")
    (told,) = opened(formatted).unreadable_checkpoints
    assert told == (
        "/data/recovery-point-offset-checkpoint is damaged: expected 1 lines of 3 columns. It is written anew; "
        "after an unclean stop every log is recovered from its beginning"
    )


@pytest.mark.parametrize("zeros", [0, 43])
def test_a_topic_id_that_a_power_loss_took_is_written_again(formatted, zeros):
    opened(formatted).open_log(T0, LogConfig(), formatted.now, TOPIC_ID)
    formatted.disk.crash(zeroed_bytes=lambda _, lost: min(lost, zeros))
    directory = opened(formatted)
    assert directory.find_logs() == [(T0, None)]
    directory.open_log(T0, LogConfig(), formatted.now, TOPIC_ID)
    assert directory.find_logs() == [(T0, TOPIC_ID)]


# --- closed in order, and damaged


def closed(world) -> None:
    """A log of three segments and two epochs."""
    directory = opened(world)
    config = LogConfig(segment_bytes=200, index_interval_bytes=0)
    log = directory.open_log(T0, config, world.now, TOPIC_ID)
    for number in range(7):
        world.append(log, b"%d" % number, epoch=number // 3)
    directory.close({T0: 7}, broker_epoch=14, now=world.now)


def cut(data: bytes) -> bytes:
    return data[:-3]


def flipped(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("00000000000000000000.log", cut),
        ("00000000000000000000.log", None),
        ("00000000000000000006.log", cut),
        ("00000000000000000006.log", flipped),
        ("00000000000000000006.log", None),
        ("00000000000000000000.index", cut),
        ("00000000000000000000.index", None),
        ("00000000000000000000.index", flipped),
        ("00000000000000000002.timeindex", cut),
        ("leader-epoch-checkpoint", cut),
        ("leader-epoch-checkpoint", None),
    ],
)
def test_a_directory_that_was_closed_in_order_and_is_damaged_counts_as_unclean(
    formatted, name, damage
):
    """The controller would trust it to have every record (KIP-966)."""
    closed(formatted)
    path = f"/data/t-0/{name}"
    data = formatted.disk.read(path)
    formatted.disk.remove(path)
    if damage is not None:
        formatted.disk.write_atomically(path, damage(data))
    files = formatted.disk.files()
    directory = opened(formatted)
    assert directory.previous_broker_epoch == 14
    (told,) = directory.check_closed_logs()
    assert told.startswith("t-0: ")
    assert directory.previous_broker_epoch == -1
    assert [f for f in files if f != "/data/.kafka_cleanshutdown"] == formatted.disk.files()
    assert formatted.disk.open_handles() == ["/data/.lock"]


@pytest.mark.parametrize("is_noted", [True, False])
def test_a_time_index_of_zeros_is_made_anew(formatted, is_noted):
    """Zeros are the space that Kafka reserves for entries to come, so the file looks like an index without any."""
    directory = opened(formatted)
    config = LogConfig(index_interval_bytes=0)
    log = directory.open_log(T0, config, formatted.now, TOPIC_ID)
    for timestamp_ms in (1_000, 2_000, 3_000, 500, 500):
        formatted.append(log, b"a", timestamp=timestamp_ms)
    log.roll(formatted.now)
    formatted.append(log, b"a", timestamp=100)
    directory.close({T0: 6}, broker_epoch=14, now=formatted.now)
    path = "/data/t-0/00000000000000000000.timeindex"
    formatted.disk.write_atomically(path, bytes(formatted.disk.size(path)))
    if not is_noted:
        formatted.disk.remove(f"/data/{SEGMENT_FILE}")
    log = opened(formatted).open_log(T0, config, formatted.now, TOPIC_ID)
    assert next(log.timestamp_searches(2_200)).run().offset == 2
    assert next(log.max_timestamp_searches()).run().timestamp_ms == 3_000


def test_a_sound_directory_that_was_closed_in_order_counts(formatted):
    closed(formatted)
    directory = opened(formatted)
    assert directory.check_closed_logs() == []
    assert directory.previous_broker_epoch == 14


def test_a_clean_stop_of_a_log_that_lacks_what_was_cut_as_damaged_tells_no_epoch(formatted):
    directory = opened(formatted)
    log = directory.open_log(T0, LogConfig(), formatted.now, TOPIC_ID)
    for _ in range(3):
        formatted.append(log, b"a")
    cut = log.cuts.plan(1, is_of_damage=True)
    log.cuts.make(cut, formatted.now)
    assert cut.lost == 2
    directory.close({T0: 1}, broker_epoch=14, now=formatted.now)
    directory = opened(formatted)
    assert (directory.was_clean, directory.previous_broker_epoch) == (True, -1)


def test_producers_of_a_deleted_log_are_not_counted_and_those_of_others_can_make_room(formatted):
    directory = opened(formatted)
    logs = [
        directory.open_log(TopicPartition("t", slot), LogConfig(), formatted.now, TOPIC_ID)
        for slot in range(3)
    ]
    for slot, log in enumerate(logs):
        log.append_as_leader(formatted.produced(slot, 0, 0), 0, formatted.now)
    count = formatted.environment.producers
    directory.delete_log(T0, formatted.now)
    assert count.known == 2
    count.known_max = 2
    logs[1].append_as_leader(formatted.produced(9, 0, 0), 0, formatted.later(900_000))
    assert (count.known, len(logs[2].producers)) == (1, 0), "it was silent for a quarter of an hour"
