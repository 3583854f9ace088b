"""A whole node without sockets, on a disk in memory."""

from __future__ import annotations

import asyncio
import contextlib
import errno
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any  # of the wrapped call below

import pytest

from millstream.broker.cluster.features import SUPPORTED_FEATURES
from millstream.broker.config.broker_config import BrokerConfig, broker_config
from millstream.broker.config.listeners import Listener
from millstream.broker.metadata_log.controller_runner import ControllerRunner
from millstream.broker.node.broker_part import BrokerPart
from millstream.broker.node.controller_part import ControllerPart
from millstream.broker.node.shared_parts import NodeWorkers, SharedParts
from millstream.broker.node.tasks import NodeTasks
from millstream.broker.node_state import BrokerLife
from millstream.broker.patterns.costly_patterns import CostlyPatterns
from millstream.broker.patterns.pattern_matcher import PatternMatcher
from millstream.broker.patterns.process import PatternProcess
from millstream.broker.requests.handler_services import HandlerServices
from millstream.broker.storage.data_directory import open_data_directories
from millstream.broker.storage.disk_pool import DiskPool
from millstream.controller.brokers.broker_lifecycle import BROKER_HEARTBEAT
from millstream.controller.brokers.registration import BROKER_REGISTRATION
from millstream.controller.configs.alter_configs import INCREMENTAL_ALTER_CONFIGS
from millstream.controller.topics.create_topics import CREATE_TOPICS
from millstream.controller.topics.delete_topics import DELETE_TOPICS
from millstream.errors import (
    ConfigError,
    KafkaStorageError,
    UnknownTopicOrPartition,
)
from millstream.log.directory.log_directories import LogDirectories
from millstream.log.directory.log_environment import LogEnvironment
from millstream.model import BrokerId, TopicPartition, Uuid, uuid_text
from millstream.net.client.tasks import TaskGroup
from millstream.net.server.limits import ConnectionLimits
from millstream.protocol.generated.broker_heartbeat import BrokerHeartbeatRequest
from millstream.protocol.generated.broker_registration import BrokerRegistrationRequest, Feature
from millstream.protocol.generated.broker_registration import Listener as BrokerListener
from millstream.protocol.generated.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from millstream.protocol.generated.delete_topics import DeleteTopicsRequest, DeleteTopicState
from millstream.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from millstream.records.builder import build_batch
from millstream.records.record import Record
from millstream.runtime.system import SystemClock, SystemRandom
from tests.patience import LONG_ENOUGH_S, until
from tests.support.simulated_disk import SimFileSystem

ADVERTISED = [Listener("PLAINTEXT", "127.0.0.1", 9092)]
SETTINGS = {"log.dirs": "data", "log.retention.hours": "2"}
CONFIG = broker_config(SETTINGS)


@dataclass
class Running:
    parts: BrokerPart
    directories: LogDirectories

    @property
    def services(self) -> HandlerServices:
        return self.parts.services

    async def create(self, topic: str, partitions: int = 1, **configs: str) -> None:
        request = CreateTopicsRequest(
            topics=[
                CreatableTopic(
                    name=topic, num_partitions=partitions, replication_factor=1,
                    configs=[CreatableTopicConfig(k, v) for k, v in configs.items()],
                )
            ]
        )  # fmt: skip
        response = await self.services.controller.ask(CREATE_TOPICS, request)
        assert response.topics[0].error_code == 0
        while len(self.parts.new_logs):  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0)

    async def delete(self, topic: str) -> None:
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name=topic)])
        response = await self.services.controller.ask(DELETE_TOPICS, request)
        assert response.responses[0].error_code == 0

    async def configure(self, kind: int, *names: str, **values: str) -> None:
        """`kind`: 2 for topics, 4 for brokers."""
        changes = [AlterableConfig(key.replace("_", "."), 0, v) for key, v in values.items()]
        request = IncrementalAlterConfigsRequest(
            resources=[AlterConfigsResource(kind, name, changes) for name in names]
        )
        answer = await self.services.controller.ask(INCREMENTAL_ALTER_CONFIGS, request)
        assert not any(each.error_code for each in answer.responses), answer

    def append(self, topic: str, value: bytes, partition: int = 0) -> int:
        hosted = self.services.partitions.get(topic, partition)
        batch = build_batch([Record(timestamp=1, value=value)])
        return hosted.append(memoryview(batch), SystemClock().now()).last_offset

    def leaders(self, topic: str) -> list[int]:
        return [p.leader for p in self.services.metadata.image.topics.by_name[topic].partitions]

    async def placed(self, topic: str) -> None:
        """Until the metadata say of every partition of `topic` in which directory it lives."""
        known = {each.meta.directory_id for each in self.directories}
        async with asyncio.timeout(LONG_ENOUGH_S):
            while True:
                image = self.services.metadata.image
                if all(p.directories[0] in known for p in image.topics.by_name[topic].partitions):
                    return
                await asyncio.sleep(0)


@contextlib.asynccontextmanager
async def node(
    disk: SimFileSystem, config: BrokerConfig = CONFIG, *, clean: bool = True
) -> AsyncIterator[Running]:
    """Runs until the block ends, then shuts down cleanly, or lets everything drop."""
    environment = LogEnvironment(disk, SystemRandom())
    directories = open_data_directories(config, environment, None)
    pool = DiskPool()
    try:
        async with TaskGroup() as group:
            tasks = NodeTasks(group)
            shared = SharedParts(
                config, directories, environment, SystemClock(), workers=NodeWorkers(tasks, pool)
            )
            controller = ControllerPart(shared)
            parts = BrokerPart(
                shared,
                patterns=PatternMatcher(pool, CostlyPatterns(PatternProcess.start), SystemClock()),
                life=BrokerLife(),
            )
            shared.start()
            await controller.start(())
            await parts.start(ADVERTISED)
            yield Running(parts, directories)
            if clean:
                assert await parts.leave(LONG_ENOUGH_S)
            tasks.cancel_all()
        if clean:
            shared.resign()
            await parts.close()
    finally:
        pool.close()
        directories.abandon()


async def test_a_new_node_is_registered_unfenced_and_leads_its_topics() -> None:
    async with node(SimFileSystem()) as running:
        await running.create("t", partitions=2)
        image = running.services.metadata.image
        assert [(each.broker_id, each.fenced) for each in image.brokers.values()] == [(1, False)]
        assert (
            image.brokers[image.topics.by_name["t"].partitions[0].leader].endpoints[0].port == 9092
        )
        hosted = running.services.partitions
        assert sorted(name for name, _ in hosted.all()) == [
            TopicPartition("t", 0),
            TopicPartition("t", 1),
        ]
        assert hosted.get("t", 1).is_leader


async def test_a_registration_tells_what_others_must_know_of_a_broker() -> None:
    config = broker_config({"log.dirs": "a,b", "broker.rack": "r"})
    async with node(SimFileSystem(), config) as running:
        known = running.services.metadata.image.brokers[BrokerId(1)]
        assert [(e.listener, e.host, e.port) for e in known.endpoints] == [
            ("PLAINTEXT", "127.0.0.1", 9092)
        ]
        assert (known.rack, known.incarnation_id) == (
            "r",
            running.services.identity.incarnation_id,
        )
        assert set(known.log_directories) == {d.meta.directory_id for d in running.directories}
        assert dict(known.features) == SUPPORTED_FEATURES
        assert (
            known.broker_epoch
            == running.services.controller.image.brokers[BrokerId(1)].broker_epoch
            > 0
        )


async def test_an_answer_of_the_controller_means_that_this_node_has_applied_it() -> None:
    async with node(SimFileSystem()) as running:
        for n in range(20):
            await running.create(f"t{n}")
            assert running.append(f"t{n}", b"x") == 0


async def test_metadata_survives_a_crash_and_a_clean_shutdown() -> None:
    disk = SimFileSystem()
    async with node(disk, clean=False) as running:
        await running.create("t")
        cluster = running.services.identity.cluster_id
        topic_id = running.services.metadata.image.topics.by_name["t"].topic_id
    disk.crash()
    for clean in (True, True):
        async with node(disk, clean=clean) as running:
            assert running.services.identity.cluster_id == cluster
            assert running.services.metadata.image.topics.by_name["t"].topic_id == topic_id
            assert running.services.partitions.get("t", 0).is_leader


async def test_leader_epochs_grow_with_every_life() -> None:
    disk, epochs = SimFileSystem(), []
    for first in (True, False, False):
        async with node(disk) as running:
            if first:
                await running.create("t")
            epochs.append(running.services.partitions.get("t", 0).leader_epoch)
    assert epochs == sorted(set(epochs))


async def test_what_was_not_synced_is_lost_in_a_crash_and_nothing_else() -> None:
    disk = SimFileSystem()
    async with node(disk, clean=False) as running:
        await running.create("t")
        for n in range(5):
            running.append("t", b"synced %d" % n)
        partition = running.services.partitions.get("t", 0)
        await running.services.log_flusher.flush_to(partition.log, 5)
        running.append("t", b"never synced")
    disk.crash()
    async with node(disk) as running:
        assert running.services.partitions.get("t", 0).log_end_offset == 5


async def test_a_node_that_has_left_is_not_called_back_by_its_heartbeats(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = broker_config({**SETTINGS, "broker.heartbeat.interval.ms": "1"})
    async with node(SimFileSystem(), config) as running:
        await running.create("t", partitions=2)
        assert await running.parts.leave(LONG_ENOUGH_S)
        heartbeats = 0
        ask = ControllerRunner.ask

        async def counted(self: ControllerRunner, api: Any, request: Any) -> Any:
            nonlocal heartbeats
            response = await ask(self, api, request)
            heartbeats += isinstance(request, BrokerHeartbeatRequest)
            return response

        monkeypatch.setattr(ControllerRunner, "ask", counted)
        await until(lambda: heartbeats >= 3)
        assert [each.fenced for each in running.services.metadata.image.brokers.values()] == [True]
        assert running.leaders("t") == [-1, -1]


async def test_deleted_topics_leave_and_their_names_are_free() -> None:
    async with node(SimFileSystem()) as running:
        await running.create("t")
        former = running.services.partitions.get("t", 0).topic_id
        running.append("t", b"old")
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name="t")])
        await running.services.controller.ask(DELETE_TOPICS, request)
        with pytest.raises(UnknownTopicOrPartition):
            running.services.partitions.get("t", 0)
        await running.create("t")
        assert running.append("t", b"new") == 0
        assert running.services.partitions.get("t", 0).topic_id != former


async def test_logs_follow_their_topics_configuration_and_the_brokers_defaults() -> None:
    async with node(SimFileSystem()) as running:
        await running.create("t", **{"max.message.bytes": "1000"})
        config = running.services.partitions.get("t", 0).log.config
        assert (config.max_message_bytes, config.retention_ms) == (1000, 7_200_000)
        await running.configure(2, "t", max_message_bytes="2000")
        assert running.services.partitions.get("t", 0).log.config.max_message_bytes == 2000


async def test_a_topic_that_has_no_log_here_may_be_configured() -> None:
    async with node(SimFileSystem(), clean=False) as running:
        controller = running.services.controller
        await running.create("here")
        await add_second_broker(running)
        elsewhere = CreatableReplicaAssignment(partition_index=0, broker_ids=[2])
        topic = CreatableTopic(
            name="elsewhere", num_partitions=-1, replication_factor=-1, assignments=[elsewhere]
        )
        created = await controller.ask(CREATE_TOPICS, CreateTopicsRequest(topics=[topic]))
        assert created.topics[0].error_code == 0
        await running.configure(2, "elsewhere", "here", max_message_bytes="2000")
        assert [name for name, _ in running.services.partitions.all()] == [
            TopicPartition("here", 0)
        ]
        assert running.services.partitions.get("here", 0).log.config.max_message_bytes == 2000


async def add_second_broker(running: Running) -> None:
    features = [
        Feature(name=name, min_supported_version=r.lowest, max_supported_version=r.highest)
        for name, r in SUPPORTED_FEATURES.items()
    ]
    request = BrokerRegistrationRequest(
        broker_id=2, cluster_id=running.services.identity.cluster_id, incarnation_id=Uuid(b"2" * 16),
        listeners=[BrokerListener(name="PLAINTEXT", host="b", port=1)], features=features, log_dirs=[Uuid(b"d" * 16)],
    )  # fmt: skip
    controller = running.services.controller
    registered = await controller.ask(BROKER_REGISTRATION, request)
    alive = BrokerHeartbeatRequest(
        broker_id=2, broker_epoch=registered.broker_epoch, current_metadata_offset=registered.broker_epoch
    )  # fmt: skip
    await controller.ask(BROKER_HEARTBEAT, alive)


async def test_what_is_changed_while_the_node_runs_counts_at_once() -> None:
    async with node(SimFileSystem()) as running:
        await running.create("t")
        await running.configure(4, "1", log_retention_ms="9000")
        await running.configure(4, "1", max_connections="77")
        await running.configure(4, "1", producer_id_expiration_ms="5000")
        config = running.parts.dynamic_config.current
        assert config.read(ConnectionLimits).connections_max == 77
        assert config.producer_id_expiration_ms == 5_000
        assert running.services.partitions.get("t", 0).log.config.retention_ms == 9_000


async def test_a_default_that_contradicts_a_topic_does_not_stop_the_node() -> None:
    disk = SimFileSystem()
    async with node(disk) as running:
        await running.create("t", **{"max.compaction.lag.ms": "10"})
        await running.configure(4, "", log_cleaner_min_compaction_lag_ms="20")
        assert running.append("t", b"x") == 0
        config = running.services.partitions.get("t", 0).log.config
        assert (config.min_compaction_lag_ms, config.max_compaction_lag_ms) == (20, 10)
    async with node(disk) as running:
        assert running.append("t", b"y") == 1


async def test_partitions_that_nobody_has_are_unknown() -> None:
    async with node(SimFileSystem()) as running:
        await running.create("t")
        for topic, number in (("t", 1), ("t", -1), ("u", 0)):
            with pytest.raises(UnknownTopicOrPartition):
                running.services.partitions.get(topic, number)


async def test_producer_ids_are_never_given_twice_over_lives() -> None:
    disk, given = SimFileSystem(), []
    for _ in range(3):
        async with node(disk, clean=False) as running:
            given += [await running.services.producer_ids.next() for _ in range(3)]
        disk.crash()
    assert given == [0, 1, 2, 1000, 1001, 1002, 2000, 2001, 2002]


async def test_waiters_of_one_log_share_syncs() -> None:
    disk = SimFileSystem()
    async with node(disk) as running:
        await running.create("t")
        log = running.services.partitions.get("t", 0).log
        for n in range(50):
            running.append("t", b"%d" % n)
        await running.services.log_flusher.flush_to(log, 50)  # directories of a new log, once
        for n in range(50):
            running.append("t", b"%d" % n)
        before = disk.sync_count
        await asyncio.gather(
            *(running.services.log_flusher.flush_to(log, n + 51) for n in range(50))
        )
        assert log.recovery_point == 100
        assert disk.sync_count - before == 1


async def test_a_log_that_cannot_be_synced_refuses_everything() -> None:
    disk = SimFileSystem()
    async with node(disk, clean=False) as running:
        await running.create("bad")
        await running.create("good")
        running.append("bad", b"x")
        disk.failing_syncs = lambda path: "bad-0" in path
        log = running.services.partitions.get("bad", 0).log
        with pytest.raises(KafkaStorageError, match="failed to sync"):
            await running.services.log_flusher.flush_to(log, 1)
        with pytest.raises(KafkaStorageError):
            running.append("bad", b"y")
        assert running.append("good", b"x") == 0


async def test_a_metadata_log_that_cannot_be_synced_ends_the_node() -> None:
    disk = SimFileSystem()
    with pytest.RaisesGroup(
        KafkaStorageError, KafkaStorageError, flatten_subgroups=True, allow_unwrapped=False
    ):  # of the log, and of the directory
        async with node(disk, clean=False) as running:
            disk.failing_syncs = lambda path: "__cluster_metadata" in path
            await running.create("t")


def test_a_directory_tells_whose_it_is() -> None:
    disk = SimFileSystem()
    environment = LogEnvironment(disk, SystemRandom())
    first = open_data_directories(CONFIG, environment, None)
    with pytest.raises(ConfigError, match="is held by another broker"):
        open_data_directories(CONFIG, environment, None)
    cluster = first.metadata.meta.cluster_id
    first.abandon()
    open_data_directories(CONFIG, environment, cluster).abandon()
    with pytest.raises(ConfigError, match=f"belongs to cluster {cluster}"):
        open_data_directories(CONFIG, environment, uuid_text(first.metadata.meta.directory_id))
    with pytest.raises(ConfigError, match="belongs to node 1, this is node 2"):
        open_data_directories(
            broker_config({"log.dirs": "data", "node.id": "2"}), environment, None
        )
    with pytest.raises(ConfigError, match="cluster id: not a Kafka uuid"):
        open_data_directories(broker_config({"log.dirs": "other"}), environment, "too short")


async def test_a_disk_that_refuses_a_rename_does_not_stop_a_topic_from_being_deleted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The files stay until the next start moves what no topic owns aside; the node and its other topics go on."""
    disk = SimFileSystem()
    rename = disk.rename

    def refusing(source: str, target: str) -> None:
        if target.endswith("-delete"):
            raise OSError(errno.EIO, "Input/output error", source)
        rename(source, target)

    async with node(disk) as running:
        await running.create("gone")
        await running.create("kept")
        monkeypatch.setattr(disk, "rename", refusing)
        await running.delete("gone")
        with pytest.raises(UnknownTopicOrPartition):
            running.services.partitions.get("gone", 0)
        assert running.append("kept", b"v") == 0
    monkeypatch.undo()
    async with node(disk):
        left = [name for name in disk.list("data") if name.startswith("gone-0")]
        assert [name.endswith("-stray") for name in left] == [True]


TWO = broker_config({"log.dirs": "a,b"})


def in_directory(disk: SimFileSystem, path: str) -> list[str]:
    return [name for name in disk.list(path) if name.startswith("t-")]


async def test_new_partitions_go_to_the_directory_with_the_fewest() -> None:
    disk = SimFileSystem()
    async with node(disk, TWO) as running:
        await running.create("t", partitions=10)
        assert [len(in_directory(disk, path)) for path in "ab"] == [5, 5]
    async with node(disk, TWO) as running:
        assert running.append("t", b"x") == 0
        assert [len(in_directory(disk, path)) for path in "ab"] == [5, 5]


async def test_each_directory_says_to_which_node_and_cluster_it_belongs() -> None:
    disk = SimFileSystem()
    async with node(disk, TWO) as running:
        cluster = running.services.identity.cluster_id
        own = [uuid_text(each.meta.directory_id) for each in running.directories]
    assert len(set(own)) == 2
    for path, directory_id in zip("ab", own, strict=True):
        lines = disk.read(f"{path}/meta.properties").decode().splitlines()
        assert sorted(line for line in lines if line != "#") == [
            f"cluster.id={cluster}", f"directory.id={directory_id}", "node.id=1", "version=1",
        ]  # fmt: skip


@pytest.mark.parametrize(("enabled", "cleaners"), [("true", 1), ("false", 0)])
async def test_the_cleaner_runs_unless_it_is_switched_off(enabled: str, cleaners: int) -> None:
    config = broker_config({**SETTINGS, "log.cleaner.enable": enabled})
    async with node(SimFileSystem(), config):
        names = [task.get_name() for task in asyncio.all_tasks()]
        assert names.count("log cleaner") == cleaners


async def test_the_metadata_tell_where_each_replica_lives() -> None:
    disk = SimFileSystem()
    async with node(disk, TWO) as running:
        await running.create("t", partitions=2)
        await running.placed("t")
        partitions = running.services.metadata.image.topics.by_name["t"].partitions
        for directory in running.directories:
            (name,) = in_directory(disk, directory.path)
            assert partitions[int(name[2:])].directories == (directory.meta.directory_id,)


async def test_a_failed_directory_goes_offline_and_the_node_lives_on_with_the_others() -> None:
    disk = SimFileSystem()
    async with node(disk, TWO, clean=False) as running:
        await running.create("t", partitions=4)
        lost = [int(name[2:]) for name in in_directory(disk, "b")]
        kept = [int(name[2:]) for name in in_directory(disk, "a")]
        await running.placed("t")
        disk.failing_syncs = lambda path: path.startswith("b/")
        broken = running.services.partitions.get("t", lost[0])
        running.append("t", b"x", partition=lost[0])
        with pytest.raises(KafkaStorageError):
            await running.services.log_flusher.flush_to(broken.log, 1)
        await asyncio.sleep(0)
        with pytest.raises(KafkaStorageError, match="is offline"):
            running.services.partitions.get("t", lost[1])
        assert running.append("t", b"x", partition=kept[0]) == 0
        async with asyncio.timeout(LONG_ENOUGH_S):
            while running.leaders("t") != [  # noqa: ASYNC110 - the controller answers, it does not call
                1 if n in kept else -1 for n in range(4)
            ]:
                await asyncio.sleep(0)
    disk.crash()
    disk.failing_syncs = lambda _path: False
    async with node(disk, TWO) as running:
        assert running.leaders("t") == [1, 1, 1, 1]


async def test_a_directory_that_is_not_there_at_the_start_is_set_aside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    disk = SimFileSystem()
    async with node(disk, TWO) as running:
        await running.create("t", partitions=2)
        lost, kept = (int(in_directory(disk, path)[0][2:]) for path in "ba")
        await running.placed("t")
    make_directory = disk.make_directory

    def refusing(path: str) -> None:
        if path == "b":
            raise OSError(errno.EIO, "Input/output error", path)
        make_directory(path)

    monkeypatch.setattr(disk, "make_directory", refusing)
    async with node(disk, TWO) as running:
        assert running.append("t", b"x", partition=kept) == 0
        with pytest.raises(KafkaStorageError):
            running.services.partitions.get("t", lost)
        assert running.leaders("t")[lost] == -1
        await running.create("u")
        assert running.append("u", b"x") == 0
    monkeypatch.undo()
    async with node(disk, TWO) as running:
        assert running.leaders("t") == [1, 1]


async def test_a_topic_that_a_full_disk_refused_is_there_once_there_is_space(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    disk = SimFileSystem()
    make_directory = disk.make_directory

    def full(path: str) -> None:
        if "/t-" in path:
            raise OSError(errno.ENOSPC, "No space left on device", path)
        make_directory(path)

    async with node(disk) as running:
        monkeypatch.setattr(disk, "make_directory", full)
        await running.create("t")
        with pytest.raises(KafkaStorageError, match="free some space"):
            running.append("t", b"x")
        monkeypatch.undo()
        assert running.append("t", b"x") == 0


async def test_a_damaged_partition_metadata_takes_only_its_partition_offline() -> None:
    disk = SimFileSystem()
    async with node(disk) as running:
        await running.create("t", partitions=2)
    disk.corrupt("data/t-1/partition.metadata", 0, b"nonsense")
    disk.remove("data/segment-checkpoint")  # which would tell of which topic the directory is
    async with node(disk) as running:
        assert running.append("t", b"x") == 0
        with pytest.raises(KafkaStorageError):
            running.services.partitions.get("t", 1)
