"""AlterReplicaLogDirs: replicas of this broker move to other data directories of it.

Versions 1-2, flexible from 2. The answer says that a move has begun; DescribeLogDirs shows how far it is.
Asked again with another directory a move begins anew, with the present one it ends. LOG_DIR_NOT_FOUND for a
directory that the broker does not have, KAFKA_STORAGE_ERROR for one that is offline, INVALID_REPLICA_ASSIGNMENT for one
that is cordoned (KIP-1066).

Of a replica that is not here the directory is remembered, as in Kafka: it begins there when it comes. The answer is
REPLICA_NOT_AVAILABLE then, of which tools ask again; UNKNOWN_TOPIC_OR_PARTITION where there is no such partition.
"""

from __future__ import annotations

from dataclasses import dataclass

from millstream.broker.requests.api_spec import ApiSpec, Lists, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import Partitions
from millstream.broker.storage.replica_moves import ReplicaMoves
from millstream.errors import (
    InvalidReplicaAssignment,
    KafkaError,
    KafkaStorageError,
    LogDirNotFound,
    NotLeaderOrFollower,
    ReplicaNotAvailable,
    UnknownTopicOrPartition,
)
from millstream.log.directory.log_directories import LogDirectories
from millstream.log.directory.log_directory import LogDirectory
from millstream.metadata.topic_names import is_legal_topic_name
from millstream.model import TopicPartition
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from millstream.runtime import FileSystem
from millstream.security.acl import Operation

API = ApiSpec(
    ApiKey.ALTER_REPLICA_LOG_DIRS,
    versions=range(1, 3),
    permissions=(cluster_permission(Operation.ALTER),),
    lists=(Lists(("dirs", "topics", "partitions"), ("results", "partitions")),),
)


@dataclass(frozen=True, slots=True)
class Services:
    file_system: FileSystem
    log_directories: LogDirectories
    partitions: Partitions
    replica_moves: ReplicaMoves


def handle(
    request: AlterReplicaLogDirsRequest, _context: RequestContext, services: Services
) -> AlterReplicaLogDirsResponse:
    results: dict[str, list[AlterReplicaLogDirPartitionResult]] = {}
    for asked in request.dirs:
        for topic in asked.topics:
            for number in topic.partitions:
                results.setdefault(topic.name, []).append(
                    AlterReplicaLogDirPartitionResult(
                        partition_index=number,
                        error_code=_move(asked.path, topic.name, number, services),
                    )
                )
    return AlterReplicaLogDirsResponse(
        results=[
            AlterReplicaLogDirTopicResult(topic_name=name, partitions=partitions)
            for name, partitions in results.items()
        ]
    )


def failed(
    request: AlterReplicaLogDirsRequest, _version: int, error: KafkaError
) -> AlterReplicaLogDirsResponse:
    results: dict[str, list[AlterReplicaLogDirPartitionResult]] = {}
    for directory in request.dirs:
        for topic in directory.topics:
            results.setdefault(topic.name, []).extend(
                AlterReplicaLogDirPartitionResult(partition_index=number, error_code=error.code)
                for number in topic.partitions
            )
    return AlterReplicaLogDirsResponse(
        results=[
            AlterReplicaLogDirTopicResult(topic_name=name, partitions=partitions)
            for name, partitions in results.items()
        ]
    )


def _move(path: str, topic: str, number: int, services: Services) -> int:
    """The error code, or 0 when the replica is on its way."""
    try:
        target = _directory(path, services.log_directories, services.file_system)
        try:
            hosted = services.partitions.get(topic, number)
        except (NotLeaderOrFollower, UnknownTopicOrPartition):
            if is_legal_topic_name(topic):
                services.log_directories.prefer(TopicPartition(topic, number), target)
            raise
        services.replica_moves.move(hosted, target)
    except NotLeaderOrFollower:
        return ReplicaNotAvailable.code
    except KafkaError as error:
        return error.code
    return 0


def _directory(path: str, log_directories: LogDirectories, file_system: FileSystem) -> LogDirectory:
    for directory in log_directories.for_partitions:
        if file_system.absolute(directory.path) == path:
            if directory.path in log_directories.cordoned:
                raise InvalidReplicaAssignment(f"{path} is cordoned: nothing moves there")
            return directory
    if path in map(file_system.absolute, log_directories.offline):
        raise KafkaStorageError(f"{path} is offline")
    raise LogDirNotFound(f"this broker has no data directory {path}")
