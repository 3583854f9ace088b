"""DeleteRecords, DescribeLogDirs and AlterReplicaLogDirs on a whole node with two directories."""

from __future__ import annotations

import asyncio
from types import ModuleType
from typing import Any

import pytest

from millstream.broker.config.broker_config import broker_config
from millstream.broker.handlers import alter_replica_log_dirs, delete_records, describe_log_dirs
from millstream.broker.requests.handler_services import bound
from millstream.controller.configs.alter_configs import INCREMENTAL_ALTER_CONFIGS
from millstream.errors import (
    InvalidReplicaAssignment,
    InvalidTopic,
    KafkaStorageError,
    LogDirNotFound,
    NotLeaderOrFollower,
    OffsetOutOfRange,
    PolicyViolation,
    ReplicaNotAvailable,
    UnknownTopicOrPartition,
)
from millstream.protocol.enums import ConfigResourceType
from millstream.protocol.generated.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from millstream.protocol.generated.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from millstream.protocol.generated.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from millstream.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.patience import LONG_ENOUGH_S
from tests.support.handler_services import request_context
from tests.support.simulated_disk import SimFileSystem
from tests.unit.broker.node.test_broker_part import Running, node

TWO = broker_config({"log.dirs": "/a,/b"})


def ask(running: Running, handler: ModuleType, request: object, version: int) -> Any:
    return bound(handler.handle, running.services)(request, request_context(version))


def delete(running: Running, topic: str, offset: int, number: int = 0) -> tuple[int, int]:
    """(error code, low watermark)."""
    partition = DeleteRecordsPartition(partition_index=number, offset=offset)
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=topic, partitions=[partition])])
    response = ask(running, delete_records, request, 2)
    answer = response.topics[0].partitions[0]
    return answer.error_code, answer.low_watermark


async def describe(running: Running, topics: list[DescribableLogDirTopic] | None = None) -> dict:
    """Directory to error code and (topic, partition, size, lag, is future)."""
    response = await ask(running, describe_log_dirs, DescribeLogDirsRequest(topics=topics), 5)
    assert response.error_code == 0
    return {
        found.log_dir: (
            found.error_code,
            [
                (t.name, p.partition_index, p.partition_size, p.offset_lag, p.is_future_key)
                for t in found.topics
                for p in t.partitions
            ],
        )
        for found in response.results
    }


def move(running: Running, path: str, topic: str, number: int = 0) -> int:
    request = AlterReplicaLogDirsRequest(
        dirs=[AlterReplicaLogDir(path, [AlterReplicaLogDirTopic(topic, [number])])]
    )
    return ask(running, alter_replica_log_dirs, request, 2).results[0].partitions[0].error_code


async def moved(running: Running, path: str) -> None:
    async with asyncio.timeout(LONG_ENOUGH_S):
        while True:
            found = await describe(running)
            futures = [future for _, logs in found.values() for *_, future in logs]
            if found[path][1] and not any(futures):
                return


async def test_records_are_deleted_up_to_an_offset_and_up_to_the_high_watermark() -> None:
    async with node(SimFileSystem(), TWO) as running:
        await running.create("t")
        for _ in range(3):
            running.append("t", b"x")
        assert delete(running, "t", 2) == (0, 2)
        assert delete(running, "t", 1) == (0, 2)
        assert delete(running, "t", -1) == (0, 3)
        assert running.services.partitions.get("t", 0).log_start_offset == 3


async def test_what_must_not_be_deleted_is_refused() -> None:
    async with node(SimFileSystem(), TWO) as running:
        await running.create("t")
        await running.create("compacted", **{"cleanup.policy": "compact"})
        await running.create("both", **{"cleanup.policy": "compact,delete"})
        assert delete(running, "t", 1) == (OffsetOutOfRange.code, -1)
        assert delete(running, "t", -2) == (OffsetOutOfRange.code, -1)
        assert delete(running, "t", 0, number=1) == (UnknownTopicOrPartition.code, -1)
        assert delete(running, "__consumer_offsets", 0) == (InvalidTopic.code, -1)
        assert delete(running, "compacted", 0) == (PolicyViolation.code, -1)
        assert delete(running, "both", 0) == (0, 0)


async def test_directories_tell_the_sizes_of_their_logs() -> None:
    disk = SimFileSystem()
    async with node(disk, TWO) as running:
        await running.create("t", partitions=2)
        running.append("t", b"x" * 100)
        (place,) = (p for p in ("/a", "/b") if disk.exists(f"{p}/t-0"))
        other = {"/a": "/b", "/b": "/a"}[place]
        size = disk.size(f"{place}/t-0/{0:020d}.log")
        assert await describe(running) == {
            place: (0, [("t", 0, size, 0, False)]),
            other: (0, [("t", 1, 0, 0, False)]),
        }
        assert await describe(running, [DescribableLogDirTopic("t", [0])]) == {
            place: (0, [("t", 0, size, 0, False)]),
            other: (0, []),
        }


async def test_a_replica_moves_with_all_its_records_to_another_directory() -> None:
    disk = SimFileSystem()
    async with node(disk, TWO) as running:
        await running.create("t")
        for n in range(50):
            running.append("t", b"%d" % n * 100)
        source = next(p for p in ("/a", "/b") if disk.exists(f"{p}/t-0"))
        target = {"/a": "/b", "/b": "/a"}[source]
        before = disk.read(f"{source}/t-0/{0:020d}.log")
        assert move(running, target, "t") == 0
        running.append("t", b"written during the move")
        await moved(running, target)
        assert not disk.exists(f"{source}/t-0")
        assert disk.read(f"{target}/t-0/{0:020d}.log").startswith(before)
        assert running.append("t", b"x") == 51
        placed = next(d for d in running.directories if d.path == target).meta.directory_id
        async with asyncio.timeout(LONG_ENOUGH_S):
            while running.services.metadata.image.topics.by_name["t"].partitions[  # noqa: ASYNC110 - the metadata do not call
                0
            ].directories != (placed,):
                await asyncio.sleep(0)
    async with node(disk, TWO) as running:
        assert running.append("t", b"x") == 52


async def test_a_kill_at_any_step_of_the_end_of_a_move_leaves_one_log_with_all_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    disk, found = SimFileSystem(), list[SimFileSystem]()
    async with node(disk, TWO) as running:
        await running.create("t")
        for n in range(5):
            running.append("t", b"%d" % n)
        source = next(p for p in ("/a", "/b") if disk.exists(f"{p}/t-0"))
        target = {"/a": "/b", "/b": "/a"}[source]
        rename = disk.rename

        def killed_around(name: str, new_name: str) -> None:
            found.append(disk.of_next_process())
            rename(name, new_name)
            found.append(disk.of_next_process())

        monkeypatch.setattr(disk, "rename", killed_around)
        assert move(running, target, "t") == 0
        await moved(running, target)
    assert any(each.exists(f"{p}/t-0") for each in found for p in (target,))
    for each in found:
        async with node(each, TWO) as running:
            assert running.append("t", b"x") == 5
            assert [each.exists(f"{p}/t-0") for p in ("/a", "/b")].count(True) == 1


async def test_a_move_to_where_the_replica_is_does_nothing() -> None:
    disk = SimFileSystem()
    async with node(disk, TWO) as running:
        await running.create("t")
        source = next(p for p in ("/a", "/b") if disk.exists(f"{p}/t-0"))
        assert move(running, source, "t") == 0
        assert not any(name.endswith("-future") for p in ("/a", "/b") for name in disk.list(p))


async def test_a_replica_that_comes_later_begins_in_the_directory_that_was_asked_for() -> None:
    """KIP-113."""
    disk = SimFileSystem()
    async with node(disk, TWO) as running:
        for name, path in (("t", "/b"), ("u", "/a"), ("v", "/a")):
            assert move(running, path, name) == UnknownTopicOrPartition.code
            await running.create(name)
            assert disk.exists(f"{path}/{name}-0")


async def test_nothing_moves_to_a_cordoned_directory() -> None:
    """KIP-1066. Not even the wish for it is remembered."""
    disk = SimFileSystem()
    async with node(disk, TWO) as running:
        await running.create("t")
        source = next(p for p in ("/a", "/b") if disk.exists(f"{p}/t-0"))
        target = {"/a": "/b", "/b": "/a"}[source]
        await configure(running, ConfigResourceType.BROKER, "1", "cordoned.log.dirs", target)
        assert move(running, target, "t") == InvalidReplicaAssignment.code
        assert move(running, target, "u") == InvalidReplicaAssignment.code
        await running.create("u")
        assert disk.exists(f"{source}/u-0")


class Elsewhere:
    """The partitions of a broker that has none of those that are there."""

    def get(self, _topic: str, _partition: int) -> None:
        raise NotLeaderOrFollower


async def test_tools_that_are_told_that_a_replica_is_not_here_yet_ask_again() -> None:
    disk = SimFileSystem()
    async with node(disk, TWO) as running:
        services = running.services
        asked = AlterReplicaLogDir("/a", [AlterReplicaLogDirTopic("t", [0])])
        answer = alter_replica_log_dirs.handle(
            AlterReplicaLogDirsRequest(dirs=[asked]),
            request_context(2),
            alter_replica_log_dirs.Services(
                services.file_system, services.log_directories, Elsewhere(), services.replica_moves
            ),
        )
        assert answer.results[0].partitions[0].error_code == ReplicaNotAvailable.code


async def test_moves_that_cannot_be_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    disk = SimFileSystem()
    async with node(disk, TWO, clean=False) as running:
        await running.create("t", partitions=2)
        assert move(running, "/c", "t") == LogDirNotFound.code
        assert move(running, "/a", "u") == UnknownTopicOrPartition.code
        lost = next(n for n in range(2) if disk.exists(f"/b/t-{n}"))
        disk.failing_syncs = lambda path: path.startswith("/b/")
        hosted = running.services.partitions.get("t", lost)
        running.append("t", b"x", partition=lost)
        with pytest.raises(KafkaStorageError):
            await running.services.log_flusher.flush_to(hosted.log, 1)
        await asyncio.sleep(0)
        assert move(running, "/b", "t", 1 - lost) == KafkaStorageError.code
        assert (await describe(running))["/b"] == (KafkaStorageError.code, [])


async def test_a_move_that_a_stop_interrupted_begins_again() -> None:
    disk = SimFileSystem()
    async with node(disk, TWO) as running:
        await running.create("t")
        running.append("t", b"x")
        source = next(p for p in ("/a", "/b") if disk.exists(f"{p}/t-0"))
        target = {"/a": "/b", "/b": "/a"}[source]
    disk.make_directory(f"{target}/t-0.{'0' * 32}-future")
    async with node(disk, TWO) as running:
        await moved(running, target)
        assert disk.exists(f"{target}/t-0")
        assert running.append("t", b"x") == 1


async def configure(
    running: Running, kind: ConfigResourceType, name: str, key: str, value: str
) -> None:
    changes = [AlterableConfig(name=key, value=value)]
    request = IncrementalAlterConfigsRequest(resources=[AlterConfigsResource(kind, name, changes)])
    response = await running.services.controller.ask(INCREMENTAL_ALTER_CONFIGS, request)
    assert response.responses[0].error_code == 0


async def test_a_move_keeps_to_the_bytes_a_second_that_are_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With 0 nothing follows the first batch; set higher while it waits, the move goes on."""
    monkeypatch.setattr("millstream.broker.storage.pace._LOOK_AGAIN_S", 0.001)
    key = "replica.alter.log.dirs.io.max.bytes.per.second"
    disk = SimFileSystem()
    async with node(disk, TWO) as running:
        await running.create("t")
        for _ in range(10):
            running.append("t", b"x" * 50_000)
        source = next(p for p in ("/a", "/b") if disk.exists(f"{p}/t-0"))
        target = {"/a": "/b", "/b": "/a"}[source]
        await configure(running, ConfigResourceType.BROKER, "", key, "0")
        assert move(running, target, "t") == 0
        async with asyncio.timeout(LONG_ENOUGH_S):
            while await lag(running, target) == 10:  # noqa: ASYNC110 - a move tells nobody
                await asyncio.sleep(0)
        for _ in range(50):
            await asyncio.sleep(0.001)
        assert await lag(running, target) == 9
        await configure(running, ConfigResourceType.BROKER, "", key, str(1 << 40))
        await moved(running, target)
        assert not disk.exists(f"{source}/t-0")


async def test_a_replica_that_moved_empty_takes_records() -> None:
    """Its directory, made under another name, is synced by the one that it has now."""
    disk = SimFileSystem()
    async with node(disk, TWO) as running:
        await running.create("t")
        source = next(p for p in ("/a", "/b") if disk.exists(f"{p}/t-0"))
        target = {"/a": "/b", "/b": "/a"}[source]
        assert move(running, target, "t") == 0
        await moved(running, target)
        running.append("t", b"x")
        log = running.services.partitions.get("t", 0).log
        await running.services.log_flusher.flush_to(log, 1)
        assert (await describe(running))[target] == (0, [("t", 0, log.size_bytes, 0, False)])


async def test_what_is_configured_during_a_move_holds_in_the_new_directory() -> None:
    """As in Kafka, which configures the copy, too (`LogManager.updateTopicConfig`)."""
    disk = SimFileSystem()
    async with node(disk, TWO) as running:
        await running.create("t")
        source = next(p for p in ("/a", "/b") if disk.exists(f"{p}/t-0"))
        target = {"/a": "/b", "/b": "/a"}[source]
        for _ in range(10):
            running.append("t", b"x" * 50_000)
        assert move(running, target, "t") == 0
        await configure(running, ConfigResourceType.TOPIC, "t", "min.insync.replicas", "3")
        assert disk.exists(f"{source}/t-0"), "the move is under way"
        await moved(running, target)
        log = running.services.partitions.get("t", 0).log
        assert log.directory == f"{target}/t-0"
        assert log.config.min_insync_replicas == 3


async def lag(running: Running, path: str) -> int:
    ((_, _, _, offset_lag, is_future),) = (await describe(running))[path][1]
    assert is_future
    return offset_lag
