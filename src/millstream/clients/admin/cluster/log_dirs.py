"""Log directories: what lies where on the brokers' disks, and moving replicas between them (KIP-113)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from millstream.clients.admin.core.call import Asked, Call
from millstream.clients.admin.core.results import Results, check, done, item_error
from millstream.clients.admin.core.routes import Node, itself
from millstream.clients.admin.driver import AdminCalls
from millstream.clients.admin.groups.offsets import by_topic
from millstream.errors import ClusterAuthorizationFailed, KafkaError
from millstream.model import TopicPartition
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)
from millstream.protocol.generated.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)


class TopicPartitionReplica(NamedTuple):
    """The replica of a partition on one broker."""

    topic: str
    partition: int
    broker_id: int

    @property
    def topic_partition(self) -> TopicPartition:
        """The same without the broker."""
        return TopicPartition(self.topic, self.partition)


class ReplicaInfo(NamedTuple):
    """`offset_lag` is how far a future replica is behind the current one, or a current one behind
    its high watermark.
    """

    size_bytes: int
    offset_lag: int
    is_future: bool
    """Being moved to this directory, and not yet in use."""


@dataclass(frozen=True, slots=True)
class LogDirDescription:
    """Bytes are None before Kafka 3.3. A directory with an error (KafkaStorageError: offline) has no replicas."""

    replicas: Mapping[TopicPartition, ReplicaInfo]
    total_bytes: int | None
    usable_bytes: int | None
    is_cordoned: bool
    """Gets no new replicas (Kafka 4.3)."""


@dataclass(frozen=True, slots=True)
class ReplicaLogDirs:
    """The directory of a replica, and the one that it is being moved to; None: nowhere. Lags are as in ReplicaInfo."""

    current: str | None = None
    current_offset_lag: int = -1
    future: str | None = None
    future_offset_lag: int = -1


LogDirs = Results[str, LogDirDescription]


async def describe_log_dirs(
    admin: AdminCalls,
    broker_ids: Iterable[int],
    partitions: Iterable[TopicPartition] | None = None,
    *,
    timeout_ms: int | None = None,
) -> Results[int, LogDirs]:
    """Describes log directories by broker and path, with the replicas of these partitions, or of all."""
    topics = None
    if partitions is not None:
        topics = [DescribableLogDirTopic(*topic) for topic in by_topic(partitions).items()]

    def read(response: DescribeLogDirsResponse, asked: Asked[int]) -> dict[int, LogDirs]:
        check(response.error_code, "describe_log_dirs")
        if not response.results:  # how brokers before 3.3 refuse
            raise ClusterAuthorizationFailed
        return dict.fromkeys(
            asked.keys, Results({each.log_dir: _described(each) for each in response.results})
        )

    call = Call(
        api=ApiKey.DESCRIBE_LOG_DIRS,
        response=DescribeLogDirsResponse,
        route=Node[int](itself),
        build=lambda _: DescribeLogDirsRequest(topics=topics),
        read=read,
    )
    return await admin._driver.run(call, broker_ids, admin._driver.deadline(timeout_ms))


async def alter_replica_log_dirs(
    admin: AdminCalls,
    moves: Mapping[TopicPartitionReplica, str],
    *,
    timeout_ms: int | None = None,
) -> Results[TopicPartitionReplica, None]:
    """Move replicas to these directories (paths on their brokers).

    A broker that has no replica yet will create it there.
    """

    def build(asked: Asked[TopicPartitionReplica]) -> AlterReplicaLogDirsRequest:
        by_path: dict[str, list[TopicPartition]] = {}
        for key in asked.keys:
            by_path.setdefault(moves[key], []).append(key.topic_partition)
        dirs = [
            AlterReplicaLogDir(
                path=path,
                topics=[AlterReplicaLogDirTopic(*topic) for topic in by_topic(moved).items()],
            )
            for path, moved in by_path.items()
        ]
        return AlterReplicaLogDirsRequest(dirs=dirs)

    def read(
        response: AlterReplicaLogDirsResponse, asked: Asked[TopicPartitionReplica]
    ) -> dict[TopicPartitionReplica, KafkaError | None]:
        codes = {
            TopicPartition(topic.topic_name, each.partition_index): each.error_code
            for topic in response.results
            for each in topic.partitions
        }
        return {
            key: done(codes[key.topic_partition], key.topic_partition)
            for key in asked.keys
            if key.topic_partition in codes
        }

    call = Call(
        api=ApiKey.ALTER_REPLICA_LOG_DIRS,
        response=AlterReplicaLogDirsResponse,
        route=_HOLDER,
        build=build,
        read=read,
    )
    return await admin._driver.run(call, moves, admin._driver.deadline(timeout_ms))


async def describe_replica_log_dirs(
    admin: AdminCalls, replicas: Iterable[TopicPartitionReplica], *, timeout_ms: int | None = None
) -> Results[TopicPartitionReplica, ReplicaLogDirs]:
    """Returns the directories of replicas; ReplicaLogDirs() for one that the broker does not have."""

    def build(asked: Asked[TopicPartitionReplica]) -> DescribeLogDirsRequest:
        topics = by_topic(key.topic_partition for key in asked.keys)
        return DescribeLogDirsRequest(
            topics=[DescribableLogDirTopic(*topic) for topic in topics.items()]
        )

    def read(
        response: DescribeLogDirsResponse, asked: Asked[TopicPartitionReplica]
    ) -> dict[TopicPartitionReplica, ReplicaLogDirs]:
        check(response.error_code, "describe_replica_log_dirs")
        return {key: replica_log_dirs(key.topic_partition, response) for key in asked.keys}

    call = Call(
        api=ApiKey.DESCRIBE_LOG_DIRS,
        response=DescribeLogDirsResponse,
        route=_HOLDER,
        build=build,
        read=read,
    )
    return await admin._driver.run(call, replicas, admin._driver.deadline(timeout_ms))


_HOLDER = Node[TopicPartitionReplica](lambda replica: replica.broker_id)


def replica_log_dirs(
    partition: TopicPartition, response: DescribeLogDirsResponse
) -> ReplicaLogDirs:
    found = ReplicaLogDirs()
    for directory in response.results:
        info = _replicas(directory).get(partition)
        if info is None:
            continue
        if info.is_future:
            found = replace(found, future=directory.log_dir, future_offset_lag=info.offset_lag)
        else:
            found = replace(found, current=directory.log_dir, current_offset_lag=info.offset_lag)
    return found


def _described(directory: DescribeLogDirsResult) -> LogDirDescription | KafkaError:
    if directory.error_code:
        return item_error(directory.error_code, directory.log_dir)
    return LogDirDescription(
        _replicas(directory),
        directory.total_bytes if directory.total_bytes >= 0 else None,
        directory.usable_bytes if directory.usable_bytes >= 0 else None,
        directory.is_cordoned,
    )


def _replicas(directory: DescribeLogDirsResult) -> dict[TopicPartition, ReplicaInfo]:
    return {
        TopicPartition(topic.name, each.partition_index): ReplicaInfo(
            each.partition_size, each.offset_lag, each.is_future_key
        )
        for topic in directory.topics
        for each in topic.partitions
    }
