"""Several data directories of one node: where new logs go, and what is left when one fails."""

from __future__ import annotations

import errno

import pytest

from millstream.errors import KafkaStorageError
from millstream.log.directory import log_directories
from millstream.log.directory.formatting import format_directory
from millstream.log.directory.log_directories import LogDirectories
from millstream.log.directory.log_directory import LogDirectory
from millstream.log.directory.text_checkpoints import MetaProperties
from millstream.metadata.topic_config import LogConfig
from millstream.model import TopicPartition, Uuid

NOBODY = Uuid(bytes(16))


def opened(world, path: str) -> LogDirectory:
    meta = MetaProperties("cluster", 1, Uuid(path.encode()[-1:] * 16))
    format_directory(world.disk, path, meta)
    return LogDirectory.open(path, world.environment)


@pytest.fixture
def two(world) -> LogDirectories:
    return LogDirectories([opened(world, "/a"), opened(world, "/b")])


def place(directories: LogDirectories, world, name: str, assigned: Uuid = NOBODY) -> str:
    partition = TopicPartition(name, 0)
    directory = directories.place(partition, assigned)
    directory.open_log(partition, LogConfig(), world.now, Uuid(b"t" * 16))
    return directory.path


def test_a_new_log_goes_where_the_fewest_are(two, world):
    assert [place(two, world, name) for name in "vwxy"] == ["/a", "/b", "/a", "/b"]


def test_a_log_that_exists_stays_where_it_is(two, world):
    world.disk.make_directory("/b/t-0")
    assert place(two, world, "t") == "/b"


def test_the_metadata_may_say_where_a_log_goes(two, world):
    assert place(two, world, "t", Uuid(b"b" * 16)) == "/b"


def test_an_administrator_may_say_where_the_next_log_of_a_name_goes(two, world):
    """Before the metadata do, and once."""
    first, second = two
    for directory in (first, second, first):
        two.prefer(TopicPartition("t", 0), directory)
    assert place(two, world, "t", Uuid(b"b" * 16)) == "/a"
    first.delete_log(TopicPartition("t", 0), world.now)
    assert place(two, world, "t", Uuid(b"b" * 16)) == "/b"


def test_what_is_preferred_moves_no_log_that_exists_and_needs_a_directory_that_works(two, world):
    first, second = two
    two.prefer(TopicPartition("t", 0), first)
    world.disk.make_directory("/b/t-0")
    assert place(two, world, "t") == "/b"
    two.prefer(TopicPartition("u", 0), second)
    second.failure = "its disk is gone"
    two.take_offline(second)
    assert place(two, world, "u") == "/a"


def test_of_what_is_preferred_the_oldest_is_forgotten(two, world, monkeypatch):
    monkeypatch.setattr(log_directories, "_PREFERRED_MAX", 2)
    for name in "tuv":
        two.prefer(TopicPartition(name, 0), list(two)[1])
    assert [place(two, world, name) for name in "tuv"] == ["/a", "/b", "/b"]


def test_cordoned_directories_get_no_new_logs(two, world):
    two.cordoned = {"/a"}
    assert [place(two, world, name) for name in "xy"] == ["/b", "/b"]
    two.cordoned = {"/a", "/b"}
    assert place(two, world, "z") == "/a"


def test_a_directory_for_the_metadata_alone_gets_no_partitions(world):
    apart = LogDirectories([opened(world, "/m"), opened(world, "/b")], metadata_is_apart=True)
    assert [place(apart, world, name) for name in "xy"] == ["/b", "/b"]
    assert apart.metadata.path == "/m"


def test_a_failed_directory_takes_its_logs_offline_and_no_others(two, world):
    for name in "xy":
        place(two, world, name)
    first, second = two
    failures = []
    second.on_failure = failures.append
    world.disk.failing_syncs = lambda path: path.startswith("/b/")
    log = second.get(TopicPartition("y", 0))
    world.append(log, b"v")
    with pytest.raises(KafkaStorageError):
        log.flush(world.now)
    assert failures == [second]
    assert two.take_offline(second) == [TopicPartition("y", 0)]
    assert [directory.path for directory in two] == ["/a"]
    assert list(two.offline) == ["/b"]
    assert two.failed_ids == [Uuid(b"b" * 16)]
    world.append(first.get(TopicPartition("x", 0)), b"v")
    with pytest.raises(KafkaStorageError, match="offline"):
        two.of(log)


def test_a_flush_that_a_deleted_topic_overtakes_says_nothing_about_the_disk(two, world):
    """Its directory has another name when the disk is asked to sync it."""
    place(two, world, "x")
    log = two.metadata.get(TopicPartition("x", 0))
    world.append(log, b"v")
    plan = log.plan_flush()
    two.metadata.delete_log(TopicPartition("x", 0), world.now)
    moved = FileNotFoundError(errno.ENOENT, "No such file or directory")
    with pytest.raises(KafkaStorageError, match="its topic was deleted"):
        log.fail_flush(plan, moved)
    assert two.metadata.failure is None


def test_a_full_disk_is_no_broken_disk(two, world):
    place(two, world, "x")
    log = two.metadata.get(TopicPartition("x", 0))
    world.disk.space_bytes = 0
    with pytest.raises(KafkaStorageError, match="free some space"):
        world.append(log, b"v")
    assert two.metadata.failure is None
    world.disk.space_bytes = None
    assert world.append(log, b"v").first_offset == 0


def test_a_disk_is_full_while_no_batch_fits_on_it(two, world):
    assert two.full == []
    world.disk.space_bytes = (1 << 20) - 1
    assert two.full == ["/a", "/b"]
    world.disk.space_bytes += 1
    assert two.full == []


def test_an_append_that_meets_a_broken_disk_takes_the_directory_offline(two, world, monkeypatch):
    place(two, world, "x")
    log = two.metadata.get(TopicPartition("x", 0))

    def broken(count: int) -> int:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(world.disk, "take_space", broken)
    with pytest.raises(KafkaStorageError, match="check the disk"):
        world.append(log, b"v")
    assert two.metadata.failure == "/a is offline: Input/output error"


def test_a_directory_that_failed_is_not_marked_as_cleanly_shut_down(two, world):
    place(two, world, "x")
    two.metadata._handle_broken_disk(OSError(errno.EIO, "Input/output error"))
    two.metadata.close({}, 7, world.now)
    assert ".kafka_cleanshutdown" not in world.disk.list("/a")


def stopped(two, world, *epochs: int) -> None:
    for directory, epoch in zip(two, epochs, strict=True):
        directory.close({}, epoch, world.now)


def again(world, *paths: str, unusable: dict[str, str] | None = None) -> LogDirectories:
    opened_again = [LogDirectory.open(path, world.environment) for path in paths]
    return LogDirectories(opened_again, unusable)


def test_the_epoch_before_is_that_of_all_directories(two, world):
    stopped(two, world, 7, 7)
    assert again(world, "/a", "/b").previous_broker_epoch == 7


def test_directories_that_do_not_agree_have_no_epoch_before(two, world):
    stopped(two, world, 7, 8)
    assert again(world, "/a", "/b").previous_broker_epoch == -1


def test_a_directory_that_is_missing_may_be_the_one_that_lost_something(two, world):
    stopped(two, world, 7, 7)
    assert again(world, "/a", unusable={"/b": "gone"}).previous_broker_epoch == -1


def test_a_directory_that_was_not_closed_makes_the_stop_unclean(two, world):
    next(iter(two)).close({}, 7, world.now)
    two.abandon()
    assert again(world, "/a", "/b").previous_broker_epoch == -1


def test_what_a_copy_has_lost_before_it_takes_over_is_removed_by_the_name_that_it_has_then(
    two, world
):
    """Retention goes on while a replica moves to another directory."""
    first, second = two
    partition = TopicPartition("t", 0)
    current = first.open_log(partition, LogConfig(segment_bytes=200), world.now, Uuid(b"t" * 16))
    copy = second.open_future_log(current, Uuid(b"t" * 16), world.now)
    for _ in range(6):
        world.append(copy, b"x" * 50)
    copy.delete_records_before(5)
    copy.maintain(6, world.now)
    second.adopt_future_log(copy)
    left = [name for name in world.disk.list("/b/t-0") if name.endswith(".deleted")]
    assert left, "segments have left the copy"
    for remove in copy.take_due_removals(world.later(copy.config.file_delete_delay_ms)):
        remove()
    assert not [name for name in world.disk.list("/b/t-0") if name.endswith(".deleted")]


def test_a_copy_whose_new_name_reaches_no_disk_is_removed_and_the_disk_counts_as_failed(two, world):
    """Under that name it would be taken for the replica, without what is written from then on."""
    first, second = two
    partition = TopicPartition("t", 0)
    current = first.open_log(partition, LogConfig(), world.now, Uuid(b"t" * 16))
    copy = second.open_future_log(current, Uuid(b"t" * 16), world.now)
    world.disk.failing_syncs = lambda path: path == "/b"
    with pytest.raises(KafkaStorageError, match="cannot rename"):
        second.adopt_future_log(copy)
    second.drop_future_log(copy)
    assert not [name for name in world.disk.list("/b") if name.startswith("t-0")]
    assert second.failure == "/b is offline: Input/output error"
    assert first.failure is None


def test_a_log_that_cannot_be_deleted_for_good_takes_its_disk_offline(two, world):
    first, _ = two
    partition = TopicPartition("t", 0)
    first.open_log(partition, LogConfig(), world.now, Uuid(b"t" * 16))
    world.disk.failing_syncs = lambda path: path == "/a"
    with pytest.raises(KafkaStorageError, match="cannot sync the removal of t-0 in /a"):
        first.delete_log(partition, world.now, is_synced=True)
    assert first.failure == "/a is offline: Input/output error"


def test_a_copy_that_finds_no_room_leaves_nothing(two, world):
    first, second = two
    current = first.open_log(TopicPartition("t", 0), LogConfig(), world.now, Uuid(b"t" * 16))
    world.disk.space_bytes = 0
    with pytest.raises(KafkaStorageError, match=r"cannot begin the log of t-0 in /b: .*No space"):
        second.open_future_log(current, Uuid(b"t" * 16), world.now)
    assert not [name for name in world.disk.list("/b") if name.endswith("-future")]
    assert second.failure is None
