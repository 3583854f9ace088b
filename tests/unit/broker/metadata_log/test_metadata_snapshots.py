"""Snapshots of the metadata log in the life of a node, on a disk in memory."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

import pytest

from millstream.broker.config.broker_config import broker_config
from millstream.broker.config.listeners import Listener
from millstream.broker.metadata_log.snapshots import image_of, snapshot_of
from millstream.broker.node.broker_part import BrokerPart
from millstream.controller.brokers.features import UPDATE_FEATURES
from millstream.controller.configs.client_quotas import ALTER_CLIENT_QUOTAS
from millstream.controller.topics.create_topics import CREATE_TOPICS
from millstream.errors import KafkaStorageError
from millstream.metadata.delta import MetadataDelta
from millstream.metadata.features import feature_records
from millstream.metadata.image import MetadataImage
from millstream.model import LeaderEpoch, Offset, Uuid
from millstream.protocol.generated.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    EntityData,
    OpData,
)
from millstream.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest
from millstream.protocol.generated.metadata_records import (
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
)
from millstream.protocol.generated.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.patience import LONG_ENOUGH_S
from tests.support.simulated_disk import SimFileSystem
from tests.unit.broker.node.test_broker_part import node as broker_node

ADVERTISED = [Listener("PLAINTEXT", "127.0.0.1", 9092)]
DIRECTORY = "data/__cluster_metadata-0"
OFTEN = {
    "metadata.log.max.record.bytes.between.snapshots": "500",
    "metadata.max.retention.bytes": "1",
}
NEVER: dict[str, str] = {}
STATIC = {"controller.quorum.voters": "1@h:1"}


@contextlib.asynccontextmanager
async def node(disk: SimFileSystem, settings: dict[str, str]) -> AsyncIterator[BrokerPart]:
    """Runs until the block ends, and then drops everything as a crash does."""
    config = broker_config({"log.dirs": "data", **settings})
    async with broker_node(disk, config, clean=False) as running:
        yield running.parts


async def create(parts: BrokerPart, name: str, partitions: int = 1) -> None:
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    request = CreateTopicsRequest(topics=[topic])
    response = await parts.services.controller.ask(CREATE_TOPICS, request)
    assert response.topics[0].error_code == 0


async def raise_kraft_version(parts: BrokerPart, *, validate_only: bool = False) -> None:
    update = FeatureUpdateKey("kraft.version", 1, upgrade_type=1)
    request = UpdateFeaturesRequest(feature_updates=[update], validate_only=validate_only)
    await parts.services.controller.ask(UPDATE_FEATURES, request)


async def limit(parts: BrokerPart, user: str) -> None:
    entry = AlterClientQuotasRequestEntryData(
        [EntityData("user", user)], [OpData("producer_byte_rate", 5.0)]
    )
    request = AlterClientQuotasRequest(entries=[entry])
    await parts.services.controller.ask(ALTER_CLIENT_QUOTAS, request)


def snapshots(disk: SimFileSystem) -> list[str]:
    return sorted(name for name in disk.list(DIRECTORY) if name.endswith(".checkpoint"))


async def why_it_does_not_start(disk: SimFileSystem) -> str:
    with pytest.raises(ExceptionGroup) as raised:
        async with node(disk, NEVER):
            pass
    (error,) = raised.value.exceptions
    assert isinstance(error, KafkaStorageError)
    return str(error)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(LONG_ENOUGH_S):
        while not holds():  # noqa: ASYNC110 - the disk in memory tells nobody
            await asyncio.sleep(0.001)


async def test_a_small_log_gets_no_snapshot() -> None:
    disk = SimFileSystem()
    async with node(disk, NEVER) as parts:
        await create(parts, "t")
    assert snapshots(disk) == []


async def test_what_a_snapshot_and_the_log_after_it_hold_is_there_again() -> None:
    disk = SimFileSystem()
    async with node(disk, OFTEN) as parts:
        await create(parts, "t", partitions=5)
        await limit(parts, "alice")
        await until(lambda: len(snapshots(disk)) > 0)
        before = parts.services.metadata.image
    disk.crash()
    async with node(disk, NEVER) as parts:
        after = parts.services.metadata.image
        assert after.topic("t").topic_id == before.topic("t").topic_id
        assert len(after.topic("t").partitions) == 5
        assert after.client_quotas == before.client_quotas
        await create(parts, "u")
        assert parts.services.partitions.get("u", 0).is_leader
    disk.crash()
    async with node(disk, NEVER) as parts:
        assert sorted(parts.services.metadata.image.topics.by_name) == ["t", "u"]


async def test_the_log_before_an_older_snapshot_goes_with_it() -> None:
    disk = SimFileSystem()
    async with node(disk, {**OFTEN, "metadata.log.segment.ms": "1"}) as parts:
        seen: set[str] = set()
        for number in range(40):
            await create(parts, f"t{number}")
            seen.update(snapshots(disk))
        await until(lambda: len(snapshots(disk)) == 1)
        assert len(seen) > 2
    first_log, *_ = sorted(name for name in disk.list(DIRECTORY) if name.endswith(".log"))
    assert int(first_log.removesuffix(".log")) > 0
    disk.crash()
    async with node(disk, NEVER) as parts:
        assert len(parts.services.metadata.image.topics) == 40


@pytest.mark.parametrize("settings", [STATIC, NEVER], ids=["named again", "named no more"])
@pytest.mark.parametrize("cut", [False, True], ids=["in the log", "in a snapshot"])
async def test_a_static_quorum_that_became_dynamic_stays_so(
    settings: dict[str, str], cut: bool
) -> None:
    """A crash later, when the record of the voters has gone with its part of the log, and whatever the configuration says."""
    disk = SimFileSystem()
    often = {**OFTEN, "metadata.log.segment.ms": "1"} if cut else NEVER
    async with node(disk, {**STATIC, **often}) as parts:
        assert parts.services.controller.quorum().is_static
        await raise_kraft_version(parts, validate_only=True)
        assert parts.services.controller.quorum().is_static
        end = parts.services.controller.quorum().log_end_offset
        await raise_kraft_version(parts)
        quorum = parts.services.controller.quorum()
        assert (quorum.is_static, quorum.log_end_offset) == (False, end + 2)
        assert quorum.high_watermark == end + 2
        await raise_kraft_version(parts)
        assert parts.services.controller.quorum().log_end_offset == end + 2
        for number in range(40 if cut else 1):
            await create(parts, f"t{number}")
        if cut:
            await until(lambda: len(snapshots(disk)) == 1)
    first_log, *_ = sorted(name for name in disk.list(DIRECTORY) if name.endswith(".log"))
    assert (int(first_log.removesuffix(".log")) > end + 2) == cut
    disk.crash()
    async with node(disk, settings) as parts:
        quorum = parts.services.controller.quorum()
        assert (quorum.is_static, [voter.id for voter in quorum.voters]) == (False, [1])
        assert "t0" in parts.services.metadata.image.topics


async def test_an_unfinished_snapshot_is_removed() -> None:
    disk = SimFileSystem()
    async with node(disk, OFTEN) as parts:
        await create(parts, "t", partitions=5)
        await until(lambda: len(snapshots(disk)) > 0)
    name = f"{DIRECTORY}/00000000000000099999-0000000009.checkpoint"
    for suffix in (".tmp", ".part"):  # ours, and Kafka's
        disk.write_atomically(name + suffix, b"half")
    async with node(disk, NEVER) as parts:
        assert "t" in parts.services.metadata.image.topics
    assert not [each for each in disk.list(DIRECTORY) if each.endswith((".tmp", ".part"))]


async def test_a_node_does_not_start_without_its_newest_snapshot() -> None:
    disk = SimFileSystem()
    async with node(disk, OFTEN) as parts:
        await create(parts, "t", partitions=5)
        await until(lambda: len(snapshots(disk)) > 0)
    path = f"{DIRECTORY}/{snapshots(disk)[-1]}"
    disk.corrupt(path, disk.size(path) - 30, b"\x5a")
    assert "is damaged" in await why_it_does_not_start(disk)


async def test_a_snapshot_beyond_the_log_is_from_another_time() -> None:
    disk = SimFileSystem()
    async with node(disk, OFTEN) as parts:
        await create(parts, "t", partitions=5)
        await until(lambda: len(snapshots(disk)) > 0)
    newest = f"{DIRECTORY}/{snapshots(disk)[-1]}"
    disk.rename(newest, f"{DIRECTORY}/00000000000000099999-0000000009.checkpoint")
    assert "one of them is from another time" in await why_it_does_not_start(disk)


async def test_a_disk_that_refuses_a_snapshot_does_not_stop_the_node() -> None:
    disk = SimFileSystem()
    async with node(disk, OFTEN) as parts:
        refused: list[str] = []

        def refuse(path: str, data: bytes) -> None:
            refused.append(path)
            raise OSError(28, "No space left on device")

        disk.write_atomically = refuse  # type: ignore[method-assign]  # fails on demand
        await create(parts, "t", partitions=5)
        await until(lambda: len(refused) > 0)
        await create(parts, "u")
        assert sorted(parts.services.metadata.image.topics.by_name) == ["t", "u"]


@pytest.mark.parametrize(("level", "versions"), [(21, (3, 1)), (29, (3, 2)), (30, (4, 2))])
def test_a_snapshot_has_the_records_that_nodes_of_its_level_read(
    level: int, versions: tuple[int, int]
) -> None:
    delta = MetadataDelta(MetadataImage(cluster_id="c"))
    for record in (
        *feature_records({"metadata.version": level}),
        RegisterBrokerRecord(broker_id=1, log_dirs=[Uuid(b"d" * 16)]),
        TopicRecord(name="t", topic_id=Uuid(b"t" * 16)),
        PartitionRecord(partition_id=0, topic_id=Uuid(b"t" * 16), replicas=[1], isr=[1], leader=1, directories=[Uuid(b"d" * 16)]),
    ):  # fmt: skip
        delta.replay(record)
    image = delta.image(Offset(9), LeaderEpoch(2))
    snapshot = snapshot_of(image, None, 1)
    found = {value[1]: value[2] for value in snapshot.values}
    assert (found[RegisterBrokerRecord.KEY], found[PartitionRecord.KEY]) == versions
    assert image_of(snapshot, "c") == image
