"""What DeleteRecords and AlterReplicaLogDirs answer when a whole request failed: the error in every partition asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from millstream.errors import KafkaError
from millstream.protocol.api import ApiKey
from millstream.protocol.generated import alter_replica_log_dirs, delete_records

_Build = Callable[[Any, KafkaError], Any]  # Any: request and response of the key it is for
_UNKNOWN_LOW_WATERMARK: Final = -1


def _delete_records(
    request: delete_records.DeleteRecordsRequest, error: KafkaError
) -> delete_records.DeleteRecordsResponse:
    return delete_records.DeleteRecordsResponse(
        topics=[
            delete_records.DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[
                    delete_records.DeleteRecordsPartitionResult(
                        partition_index=asked.partition_index,
                        low_watermark=_UNKNOWN_LOW_WATERMARK,
                        error_code=error.code,
                    )
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _alter_replica_log_dirs(
    request: alter_replica_log_dirs.AlterReplicaLogDirsRequest, error: KafkaError
) -> alter_replica_log_dirs.AlterReplicaLogDirsResponse:
    results: dict[str, list[alter_replica_log_dirs.AlterReplicaLogDirPartitionResult]] = {}
    for directory in request.dirs:
        for topic in directory.topics:
            results.setdefault(topic.name, []).extend(
                alter_replica_log_dirs.AlterReplicaLogDirPartitionResult(
                    partition_index=number, error_code=error.code
                )
                for number in topic.partitions
            )
    return alter_replica_log_dirs.AlterReplicaLogDirsResponse(
        results=[
            alter_replica_log_dirs.AlterReplicaLogDirTopicResult(
                topic_name=name, partitions=partitions
            )
            for name, partitions in results.items()
        ]
    )


LOG_DIRS: Final[Mapping[ApiKey, _Build]] = MappingProxyType(
    {
        ApiKey.DELETE_RECORDS: _delete_records,
        ApiKey.ALTER_REPLICA_LOG_DIRS: _alter_replica_log_dirs,
    }
)
