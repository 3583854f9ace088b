"""Every file of a data directory x what may happen to it while no broker runs x how the broker stopped.

Whatever it is, the partition next to it goes on, an aborted record is never given as committed, and the operator is told once.
"""

from __future__ import annotations

import logging
from random import Random
from typing import Any, Final, NamedTuple  # Any: handlers and their messages

import pytest

from millstream.errors import KafkaStorageError, MillstreamError
from tests.support.damage import (
    CUT,
    DAMAGES,
    EMPTY,
    GONE,
    OTHER,
    RANDOM,
    UNREADABLE,
    DamagedDisk,
)
from tests.unit.broker.node.test_broker_part import node
from tests.unit.broker.storage.two_partitions import (
    CLEAN,
    DAMAGED,
    HEALTHY,
    KILLED,
    NOW,
    THIRD,
    Client,
    Seen,
    fill,
    observed,
)

# What becomes of the partition.
SAME = "everything is as before"
OFFLINE = "every request for it is refused with KAFKA_STORAGE_ERROR"
UP_TO_THERE = "records before the damage are given, then reads are refused"
SHORTER = "the records at the end are gone"
LATER = "the records at the start are gone"
NO_START = "the node refuses to start, with a sentence that names the file"

_STORAGE_ERROR: Final = 56
_CORRUPT_MESSAGE: Final = 2


class File(NamedTuple):
    path: str
    """In the data directory."""
    name: str
    """As the table has it."""


def files_of(partition: str) -> list[File]:
    """0: the first segment, where a transaction was aborted. 6: one that holds data of a transaction whose markers are in 10, the active one."""
    names = [
        f"{base:020d}{suffix}" for base in (0, 6, 10) for suffix in (".log", ".index", ".timeindex")
    ]
    names += [f"{base:020d}.txnindex" for base in (0, 10)]
    names += [f"{base:020d}.snapshot" for base in (6, 10, 18)]
    names += ["leader-epoch-checkpoint", "partition.metadata"]
    return [File(f"data/{partition}/{name}", name.lstrip("0") or name) for name in names]


OF_THE_DIRECTORY: Final = [
    File(f"data/{name}", name)
    for name in (
        "recovery-point-offset-checkpoint",
        "replication-offset-checkpoint",
        "log-start-offset-checkpoint",
        "cleaner-offset-checkpoint",
        "segment-checkpoint",
        ".kafka_cleanshutdown",
        "meta.properties",
        "__cluster_metadata-0/quorum-state",
        "__cluster_metadata-0/00000000000000000000.log",
        "__cluster_metadata-0/00000000000000000000.timeindex",
        "__cluster_metadata-0/leader-epoch-checkpoint",
    )
]

OUTCOMES: Final[dict[tuple[str, str, str], str]] = {
    # Log files: nothing can make records anew.
    **{(CLEAN, name, how): OFFLINE for name in (".log", "6.log", "10.log") for how in DAMAGES},
    **{(KILLED, name, how): OFFLINE for name in (".log", "6.log") for how in DAMAGES},
    **{
        (stop, name, how): UP_TO_THERE
        for stop in (CLEAN, KILLED)
        for name in (".log", "6.log")
        for how in (RANDOM, UNREADABLE)  # their size is right, and nobody reads them at the start
    },
    (KILLED, "10.log", UNREADABLE): OFFLINE,
    # After a kill the active segment is recovered: what is no valid batch is cut off, as a torn write is.
    **{(KILLED, "10.log", how): SHORTER for how in (CUT, RANDOM, EMPTY, GONE)},
    # After a kill the first segment may have left by retention.
    (KILLED, ".log", GONE): LATER,
    # The directory may be that of another topic.
    **{(stop, "partition.metadata", OTHER): OFFLINE for stop in (CLEAN, KILLED)},
    # Nothing tells who the node is.
    **{(stop, "meta.properties", how): NO_START for stop in (CLEAN, KILLED) for how in DAMAGES},
    # A vote that is forgotten could be given twice.
    **{
        (stop, "__cluster_metadata-0/quorum-state", how): NO_START
        for stop in (CLEAN, KILLED)
        for how in DAMAGES
    },
    # Without its metadata a node would move all partitions aside.
    **{(CLEAN, "__cluster_metadata-0/00000000000000000000.log", how): NO_START for how in DAMAGES},
    **{
        (KILLED, "__cluster_metadata-0/00000000000000000000.log", how): NO_START
        for how in (RANDOM, EMPTY, GONE, UNREADABLE)
    },
}

EXPECTED: Final[dict[str, Any]] = {
    "committed": ([b"committed0", b"plain1", b"committed1", b"plain2", b"committed2"], 0),
    "all": (
        b"aborted0 aborted0 committed0 plain1 aborted1 aborted1 committed1 plain2 aborted2 aborted2 committed2".split(),
        0,
    ),
    "latest": (0, 18, -1),
    "latest committed": (0, 18, -1),
    "earliest": (0, 1, -1),
    "largest timestamp": (0, 17, NOW.wall_ms + 17),
    "offset of a time": (0, 8, NOW.wall_ms + 8),
    "end of epoch 0": (0, 0, 1),
    "end of epoch 2": (0, 2, 18),
    "producers": (0, {(7, 5, -1), (8, 2, -1)}),
    "produced": (0, 18),
    "aborted later": 0,
    "committed later": (
        [b"committed0", b"plain1", b"committed1", b"plain2", b"committed2", b"new"],
        0,
    ),
    "deleted": (0, 7),
}
REFUSED: Final[dict[str, Any]] = {
    "committed": ([], _STORAGE_ERROR),
    "all": ([], _STORAGE_ERROR),
    **dict.fromkeys(
        ("latest", "latest committed", "earliest", "largest timestamp", "offset of a time"),
        (_STORAGE_ERROR, -1, -1),
    ),
    **dict.fromkeys(("end of epoch 0", "end of epoch 2"), (_STORAGE_ERROR, -1, -1)),
    "producers": (_STORAGE_ERROR, set()),
    "produced": (_STORAGE_ERROR, -1),
    "aborted later": _STORAGE_ERROR,
    "committed later": ([], _STORAGE_ERROR),
    "deleted": (_STORAGE_ERROR, -1),
}

# --- the table


async def stopped_node(stop: str) -> DamagedDisk:
    disk = DamagedDisk()
    async with node(disk) as running:
        for topic in DAMAGED, HEALTHY, THIRD:
            await running.create(topic, **{"index.interval.bytes": "1"})
    async with node(disk, clean=stop == CLEAN) as running:
        hosted = running.services.partitions
        for topic in DAMAGED, HEALTHY:
            fill(hosted.get(topic, 0))
            hosted.get(topic, 0).delete_records_before(1)
        fill(hosted.get(THIRD, 0), aborting=98, committing=99, longer=b"longer")
        for directory in running.directories:
            for _, partition in hosted.all():
                partition.log.flush(NOW)
            directory.checkpoint_recovery_points()
            directory.checkpoint_log_start_offsets()
            directory.checkpoint_cleaner()
            directory.checkpoint_high_watermarks({n: p.high_watermark for n, p in hosted.all()})
    if stop == KILLED:
        disk.crash(kept_bytes=lambda _path, unsynced: unsynced)
    return disk


_STOPPED: dict[str, DamagedDisk] = {}
"""The same for every row, so it is made once."""


async def world(stop: str) -> DamagedDisk:
    if stop not in _STOPPED:
        _STOPPED[stop] = await stopped_node(stop)
    return _STOPPED[stop].copy()


async def seen_after_start(disk: DamagedDisk) -> dict[str, Seen]:
    async with node(disk, clean=False) as running:
        return await observed(running.services)


def check(seen: dict[str, Any], outcome: str) -> None:
    match outcome:
        case "everything is as before":
            assert seen == EXPECTED
        case "every request for it is refused with KAFKA_STORAGE_ERROR":
            assert seen == REFUSED
        case _:
            for key in ("committed", "all"):
                values, error = seen[key]
                expected = EXPECTED[key][0]
                if outcome == LATER:
                    assert (values, error) == ([], 1)  # offset 1 is gone: OFFSET_OUT_OF_RANGE
                elif outcome == SHORTER:
                    assert values == [v for v in expected if v in values]
                    assert error == 0
                else:
                    assert values == expected[: len(values)]
                    assert error in (_STORAGE_ERROR, _CORRUPT_MESSAGE)
    committed = [*seen["committed"][0], *seen["committed later"][0]]
    assert not [value for value in committed if value.startswith(b"aborted")]


@pytest.mark.parametrize("stop", [CLEAN, KILLED])
async def test_without_damage_everything_is_there(stop: str) -> None:
    async with node(await world(stop), clean=False) as running:
        assert await observed(running.services) == {DAMAGED: EXPECTED, HEALTHY: EXPECTED}


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("file", files_of("t-0"), ids=lambda file: file.name)
@pytest.mark.parametrize("stop", [CLEAN, KILLED])
async def test_a_damaged_file_of_a_partition_is_an_error_of_that_partition_or_made_anew(
    stop: str, file: File, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    disk = await world(stop)
    if file.path not in disk.files():
        assert stop == KILLED
        assert file.name in {"10.index", "10.timeindex", "10.txnindex", "18.snapshot"}
        return  # they are written by a clean stop
    other = file.path.replace("/t-0/", "/o-0/")
    if how == OTHER and other not in disk.files():
        return  # no other partition has a file of that name
    if how == OTHER and stop == KILLED and file.name == "10.log":
        return  # a list of valid batches that go on from there is what recovery looks for
    disk.damage(file.path, how, disk.read(other) if how == OTHER else b"")
    outcome = OUTCOMES.get((stop, file.name, how), SAME)
    with caplog.at_level(logging.WARNING):
        async with node(disk, clean=False) as running:
            seen = await observed(running.services)
            assert seen[HEALTHY] == EXPECTED
            check(seen[DAMAGED], outcome)
            check_told(caplog.records, is_expected=outcome not in {SAME, LATER})


def check_told(records: list[logging.LogRecord], *, is_expected: bool) -> None:
    """Once of each thing that failed, in a sentence; no trace."""
    lines = [record.getMessage() for record in records if record.levelno >= logging.WARNING]
    assert len(lines) == len(set(lines)) <= 3
    assert not [record for record in records if record.exc_info]
    assert all("t-0" in line for line in lines)
    assert lines or not is_expected


@pytest.mark.parametrize("how", [each for each in DAMAGES if each != OTHER])
@pytest.mark.parametrize("file", OF_THE_DIRECTORY, ids=lambda file: file.name)
@pytest.mark.parametrize("stop", [CLEAN, KILLED])
async def test_a_damaged_file_of_the_data_directory_loses_no_partition(
    stop: str, file: File, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    disk = await world(stop)
    if file.path not in disk.files():
        assert (stop, file.name) == (KILLED, ".kafka_cleanshutdown")
        return
    disk.damage(file.path, how)
    outcome = OUTCOMES.get((stop, file.name, how), SAME)
    with caplog.at_level(logging.WARNING):
        if outcome == NO_START:
            with pytest.raises((MillstreamError, ExceptionGroup)) as refused:
                await seen_after_start(disk)
            assert file.name.rpartition("/")[2] in str(innermost(refused.value))
        else:
            assert await seen_after_start(disk) == {DAMAGED: EXPECTED, HEALTHY: EXPECTED}
    assert not [record for record in caplog.records if record.exc_info]


def innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        (error,) = error.exceptions
    return error


@pytest.mark.parametrize("seed", range(30))
async def test_bytes_that_change_in_an_index_or_a_snapshot_change_nothing_that_clients_see(
    seed: int,
) -> None:
    """Entries that are gone, doubled, zero or of one bit less, in files whose size may be right."""
    random = Random(seed)
    stop = random.choice([CLEAN, KILLED])
    disk = await world(stop)
    suffixes = (".index", ".timeindex", ".txnindex", ".snapshot")
    names = [file.path for file in files_of("t-0") if file.name.endswith(suffixes)]
    path = random.choice([name for name in names if name in disk.files()])
    data = bytearray(disk.read(path))
    at = random.randrange(len(data))
    match random.choice(["cut", "zero", "bit", "double"]):
        case "cut":
            del data[at:]
        case "zero":
            data[at : at + 20] = bytes(len(data[at : at + 20]))
        case "bit":
            data[at] ^= 1 << random.randrange(8)
        case _:
            data += data[at:]
    disk.write_atomically(path, bytes(data))
    assert await seen_after_start(disk) == {DAMAGED: EXPECTED, HEALTHY: EXPECTED}


@pytest.mark.parametrize("name", [".txnindex", ".log"])
async def test_a_file_that_is_damaged_while_the_broker_runs_is_an_error_of_its_partition(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Files are opened when they are first needed, so the damage may come after the start."""
    disk = await world(CLEAN)
    with caplog.at_level(logging.WARNING):
        async with node(disk, clean=False) as running:
            disk.damage(f"data/t-0/{0:020d}{name}", GONE if name == ".log" else CUT)
            for _ in range(3):
                committed = await Client(running.services).fetched(1)
                assert committed == {DAMAGED: ([], _STORAGE_ERROR), HEALTHY: EXPECTED["committed"]}
            assert running.directories.metadata.failure is None
    (told,) = caplog.messages
    assert "t-0" in told


@pytest.mark.parametrize("how", [CUT, RANDOM, OTHER])
async def test_a_transaction_index_that_nobody_noted_is_compared_with_the_log(how: str) -> None:
    """As in a directory of Kafka's, which has no segment-checkpoint."""
    disk = await world(CLEAN)
    disk.remove("data/segment-checkpoint")
    path = f"data/t-0/{0:020d}.txnindex"
    disk.damage(path, how, disk.read(path.replace("/t-0/", "/o-0/")))
    assert await seen_after_start(disk) == {DAMAGED: EXPECTED, HEALTHY: EXPECTED}


async def test_a_directory_that_nobody_noted_is_believed_as_it_is() -> None:
    disk = await world(CLEAN)
    disk.remove("data/segment-checkpoint")
    before = {path: disk.read(path) for path in disk.files() if path.endswith(".txnindex")}
    assert await seen_after_start(disk.copy()) == {DAMAGED: EXPECTED, HEALTHY: EXPECTED}
    async with node(disk, clean=False):
        assert {path: disk.read(path) for path in before} == before


async def test_the_name_of_a_topic_whose_damaged_log_was_deleted_is_free() -> None:
    disk = await world(CLEAN)
    disk.damage(f"data/t-0/{0:020d}.log", CUT)
    async with node(disk) as running:
        with pytest.raises(KafkaStorageError):
            running.services.partitions.get(DAMAGED, 0)
        await running.delete(DAMAGED)
        await running.create(DAMAGED)
        assert running.append(DAMAGED, b"new") == 0
    async with node(disk) as running:
        assert running.services.partitions.get(DAMAGED, 0).log_end_offset == 1
        assert not [name for name in disk.list("data") if name.endswith("-delete")]


@pytest.mark.parametrize("from_the_end", [1, 40, 400, 800])
async def test_a_wrong_bit_in_the_metadata_log_is_no_other_metadata(from_the_end: int) -> None:
    disk = await world(CLEAN)
    path = f"data/__cluster_metadata-0/{0:020d}.log"
    data = bytearray(disk.read(path))
    data[-from_the_end] ^= 1
    disk.write_atomically(path, bytes(data))
    with pytest.raises((MillstreamError, ExceptionGroup)) as refused:
        await seen_after_start(disk)
    assert "data/__cluster_metadata-0 is damaged (the checksum is" in str(innermost(refused.value))
