"""Every file of a data directory x what may happen to it while no broker runs x how the broker stopped.

Whatever it is, the partition next to it goes on, an aborted record is never given as committed, and the operator is told once.
"""

from __future__ import annotations

import contextlib
import logging
from dataclasses import dataclass
from random import Random
from typing import Any, Final, NamedTuple  # Any: handlers and their messages

import pytest

from millstream.broker.handlers import (
    delete_records,
    describe_producers,
    fetch,
    list_offsets,
    offset_for_leader_epoch,
    produce,
)
from millstream.broker.requests.handler_services import bound
from millstream.errors import KafkaError, KafkaStorageError, MillstreamError
from millstream.model import TopicPartition
from millstream.protocol.generated.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from millstream.protocol.generated.describe_producers import DescribeProducersRequest, TopicRequest
from millstream.protocol.generated.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    PartitionData,
)
from millstream.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from millstream.protocol.generated.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from millstream.protocol.generated.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from millstream.records.batch import iterate_batches, validate_batch
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.control import TransactionMarker
from millstream.records.record import Record, iterate_records
from millstream.records.transactions import AbortedTransactionFilter
from millstream.replication.partition import Partition
from millstream.runtime import Instant
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
from tests.support.handler_services import request_context
from tests.unit.broker.node.test_node_parts import Running, node

NOW = Instant(wall_ms=1_700_000_000_000, monotonic_ms=0)
DAMAGED, HEALTHY, THIRD = "t", "h", "o"
CLEAN, KILLED = "clean stop", "kill"

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

# --- a world


def batch(values: list[bytes], first_offset: int, **options: Any) -> bytearray:
    records = [
        Record(offset=i, timestamp=NOW.wall_ms + first_offset + i, key=b"k", value=value)
        for i, value in enumerate(values)
    ]
    return build_batch(records, BatchOptions(**options))


def append(partition: Partition, *values: bytes, **options: Any) -> None:
    built = batch(list(values), partition.log_end_offset, **options)
    partition.append(memoryview(built), NOW)


def append_in_transaction(partition: Partition, producer_id: int, *values: bytes) -> None:
    entry = partition.log.producers.get(producer_id)
    sequence = 0 if entry is None else entry.last_sequence + 1
    append(
        partition,
        *values,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=sequence,
        is_transactional=True,
    )


def end_transaction(partition: Partition, producer_id: int, *, commit: bool) -> None:
    at = Instant(NOW.wall_ms + partition.log_end_offset, 0)
    partition.append_marker(TransactionMarker(producer_id, 0, 0, commit, 0), at)


def fill(partition: Partition, aborting: int = 7, committing: int = 8, longer: bytes = b"") -> None:
    """Three rounds of a plain record, two that are aborted, one that is committed, and the markers; segments at 0, 6 and 10."""
    for number in b"0", b"1", b"2":
        append(partition, b"plain" + number + longer)
        append_in_transaction(
            partition, aborting, b"aborted" + number, b"aborted" + number + longer
        )
        append_in_transaction(partition, committing, b"committed" + number)
        if number == b"1":
            partition.log.roll(NOW)
        end_transaction(partition, aborting, commit=False)
        end_transaction(partition, committing, commit=True)
        if number == b"0":
            partition.log.roll(NOW)


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


TOPICS: Final = (DAMAGED, HEALTHY)
"""Asked for in the same requests."""
Seen = dict[str, Any]  # Any: what the answers to very different requests say


@dataclass
class Client:
    """Each question names both partitions; each answer is told by topic."""

    running: Running

    async def ask(self, handler: Any, request: Any, version: int) -> Any:
        context = request_context(version, now=NOW)
        answer = bound(handler.handle, self.running.services)(request, context)
        return await answer if hasattr(answer, "__await__") else answer

    async def fetched(self, isolation: int) -> Seen:
        """What a consumer gets from offset 1 on, and the error that ends it."""
        found: dict[str, list[bytes]] = {topic: [] for topic in TOPICS}
        offsets = dict.fromkeys(TOPICS, 1)
        errors: dict[str, int] = {}
        while len(errors) < len(TOPICS):
            topics = [
                FetchTopic(
                    topic=topic,
                    partitions=[FetchPartition(fetch_offset=offset, partition_max_bytes=1 << 20)],
                )
                for topic, offset in offsets.items()
            ]
            request = FetchRequest(
                topics=topics, isolation_level=isolation, session_epoch=-1, max_wait_ms=0
            )
            for topic in (await self.ask(fetch, request, 12)).responses:
                (told,) = topic.partitions
                values, offset = read_by_consumer(told)
                found[topic.topic] += values
                offsets[topic.topic] = offset or offsets[topic.topic]
                if told.error_code or not offset:
                    errors[topic.topic] = told.error_code
        return {topic: (found[topic], errors[topic]) for topic in TOPICS}

    async def listed(self, timestamp: int, isolation: int = 0) -> Seen:
        asked = [
            ListOffsetsTopic(topic, [ListOffsetsPartition(timestamp=timestamp)]) for topic in TOPICS
        ]
        request = ListOffsetsRequest(isolation_level=isolation, topics=asked)
        answer = await self.ask(list_offsets, request, 7)
        return {
            topic.name: (told.error_code, told.offset, told.timestamp)
            for topic in answer.topics
            for told in topic.partitions
        }

    async def epoch_ended(self, epoch: int) -> Seen:
        asked = [
            OffsetForLeaderTopic(topic, [OffsetForLeaderPartition(leader_epoch=epoch)])
            for topic in TOPICS
        ]
        request = OffsetForLeaderEpochRequest(topics=asked)
        answer = await self.ask(offset_for_leader_epoch, request, 4)
        return {
            topic.topic: (told.error_code, told.leader_epoch, told.end_offset)
            for topic in answer.topics
            for told in topic.partitions
        }

    async def producers(self) -> Seen:
        request = DescribeProducersRequest([TopicRequest(topic, [0]) for topic in TOPICS])
        answer = await self.ask(describe_producers, request, 0)
        return {
            topic.name: (
                told.error_code,
                {
                    (each.producer_id, each.last_sequence, each.current_txn_start_offset)
                    for each in told.active_producers
                },
            )
            for topic in answer.topics
            for told in topic.partitions
        }

    async def produced(self) -> Seen:
        data = [
            TopicProduceData(
                name=topic,
                partition_data=[PartitionProduceData(0, memoryview(batch([b"new"], 20)))],
            )
            for topic in TOPICS
        ]
        answer = await self.ask(produce, ProduceRequest(acks=1, topic_data=data), 9)
        return {
            topic.name: (told.error_code, told.base_offset)
            for topic in answer.responses
            for told in topic.partition_responses
        }

    async def deleted(self) -> Seen:
        asked = [DeleteRecordsTopic(topic, [DeleteRecordsPartition(0, 7)]) for topic in TOPICS]
        answer = await self.ask(delete_records, DeleteRecordsRequest(topics=asked), 2)
        return {
            topic.name: (told.error_code, told.low_watermark)
            for topic in answer.topics
            for told in topic.partitions
        }

    async def aborted_later(self) -> Seen:
        """A transaction that is aborted now; the marker as the coordinator writes it."""
        for topic in TOPICS:
            with contextlib.suppress(KafkaError):
                partition = self.running.services.partitions.get(topic, 0)
                append_in_transaction(partition, 7, b"aborted later")
        refusals = await self.running.services.transaction_markers.write(
            [TopicPartition(topic, 0) for topic in TOPICS], TransactionMarker(7, 0, 0, False, 0)
        )
        return {
            name.topic: 0 if refusal is None else refusal.code for name, refusal in refusals.items()
        }


def read_by_consumer(told: PartitionData) -> tuple[list[bytes], int]:
    """Values, and where the next fetch begins; 0 when there was nothing. A consumer compares checksums."""
    values: list[bytes] = []
    next_offset = 0
    is_wanted = AbortedTransactionFilter(
        (each.producer_id, each.first_offset) for each in told.aborted_transactions or ()
    )
    records: Any = told.records or b""
    data = records if isinstance(records, bytes) else records.read()
    for header, view in iterate_batches(data, strict=True):
        validate_batch(header, view)
        if not header.is_control and is_wanted(header, view):
            values += [bytes(each.value or b"") for each in iterate_records(header, view)]
        next_offset = header.next_offset
    return values, next_offset


async def observed(running: Running) -> dict[str, Seen]:
    """What clients see of both partitions, by topic; the last questions change something."""
    client = Client(running)
    seen = {
        "committed": await client.fetched(1),
        "all": await client.fetched(0),
        "latest": await client.listed(-1),
        "latest committed": await client.listed(-1, 1),
        "earliest": await client.listed(-2),
        "largest timestamp": await client.listed(-3),
        "offset of a time": await client.listed(NOW.wall_ms + 8),
        "end of epoch 0": await client.epoch_ended(0),
        "end of epoch 2": await client.epoch_ended(2),
        "producers": await client.producers(),
        "produced": await client.produced(),
        "aborted later": await client.aborted_later(),
        "committed later": await client.fetched(1),
        "deleted": await client.deleted(),
    }
    return {topic: {what: told[topic] for what, told in seen.items()} for topic in TOPICS}


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


_STOPPED: dict[str, DamagedDisk] = {}
"""The same for every row, so it is made once."""


async def world(stop: str) -> DamagedDisk:
    if stop not in _STOPPED:
        _STOPPED[stop] = await stopped_node(stop)
    return _STOPPED[stop].copy()


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
        assert await observed(running) == {DAMAGED: EXPECTED, HEALTHY: EXPECTED}


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("file", files_of("t-0"), ids=lambda file: file.name)
@pytest.mark.parametrize("stop", [CLEAN, KILLED])
async def test_a_damaged_file_of_a_partition_is_an_error_of_that_partition_or_made_anew(
    stop: str, file: File, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    disk = await world(stop)
    if file.path not in disk.files():
        assert stop == KILLED
        assert file.name in {"10.index", "10.timeindex", "18.snapshot"}
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
            seen = await observed(running)
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


async def seen_after_start(disk: DamagedDisk) -> dict[str, Seen]:
    async with node(disk, clean=False) as running:
        return await observed(running)


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
                committed = await Client(running).fetched(1)
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
