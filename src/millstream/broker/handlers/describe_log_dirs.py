"""DescribeLogDirs: the data directories of this broker, how full they are, and the sizes of the logs in them.

Versions 1-5, flexible from 2; 3 has an error of the whole request, 4 the bytes of the disk, 5 tells which
directories are cordoned. Without a list of topics: all of them. A size counts the log files. A replica that
is on its way to another directory is in both, there with `is_future_key` and the number of records it lacks.
An offline directory is KAFKA_STORAGE_ERROR.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from millstream.broker.long_work import LongWork
from millstream.broker.requests.api_spec import ApiSpec, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import Partitions
from millstream.errors import KafkaStorageError
from millstream.log.directory.log_directories import LogDirectories
from millstream.log.directory.log_directory import METADATA_TOPIC, LogDirectory
from millstream.log.partition_log import PartitionLog
from millstream.model import TopicPartition
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from millstream.replication.partition import Partition
from millstream.runtime import FileSystem
from millstream.security.acl import Operation

API = ApiSpec(
    ApiKey.DESCRIBE_LOG_DIRS,
    versions=range(1, 6),
    permissions=(cluster_permission(Operation.DESCRIBE),),
    kept_whole="answered by directory, in turns; what is asked for becomes a set",
    tells_all=True,
    answer_lists=("results", "topics", "partitions"),
)

_UNKNOWN_BYTES: Final = -1


class _Found(NamedTuple):
    log: PartitionLog
    is_future: bool


async def handle(
    request: DescribeLogDirsRequest,
    _context: RequestContext,
    *,
    file_system: FileSystem,
    log_directories: LogDirectories,
    long_work: LongWork,
    partitions: Partitions,
) -> DescribeLogDirsResponse:
    """Describes the logs that exist when it begins, in turns with other requests if there are thousands."""
    wanted = _wanted(request)
    response = DescribeLogDirsResponse()
    hosted = dict(partitions.all())
    found_logs = [(directory, _logs(directory)) for directory in log_directories.for_partitions]
    for directory, logs in found_logs:
        found = DescribeLogDirsResult(
            log_dir=file_system.absolute(directory.path),
            topics=await _topics(logs, wanted, hosted, long_work),
            is_cordoned=directory.path in log_directories.cordoned,
        )
        try:
            found.total_bytes, found.usable_bytes = file_system.space(directory.path)
        except OSError:
            found.total_bytes = found.usable_bytes = _UNKNOWN_BYTES
        response.results.append(found)
    for path in log_directories.offline:
        response.results.append(
            DescribeLogDirsResult(
                log_dir=file_system.absolute(path), error_code=KafkaStorageError.code
            )
        )
    return response


def _wanted(request: DescribeLogDirsRequest) -> set[tuple[str, int]] | None:
    """None for everything."""
    if request.topics is None:
        return None
    return {(topic.topic, number) for topic in request.topics for number in topic.partitions}


def _logs(directory: LogDirectory) -> list[_Found]:
    current = [_Found(log, is_future=False) for log in directory]
    return current + [_Found(log, is_future=True) for log in directory.future_logs]


async def _topics(
    logs: Sequence[_Found],
    wanted: set[tuple[str, int]] | None,
    hosted: Mapping[TopicPartition, Partition],
    long_work: LongWork,
) -> list[DescribeLogDirsTopic]:
    topics: dict[str, DescribeLogDirsTopic] = {}
    async for found in long_work.in_turns(logs):
        name = found.log.partition
        if name.topic != METADATA_TOPIC and (wanted is None or name in wanted):
            topic = topics.get(name.topic)
            if topic is None:
                topic = topics[name.topic] = DescribeLogDirsTopic(name=name.topic)
            topic.partitions.append(_described(found, hosted.get(name)))
    return list(topics.values())


def _described(found: _Found, hosted: Partition | None) -> DescribeLogDirsPartition:
    log, end_offset = found.log, 0
    if hosted is not None:
        end_offset = hosted.log_end_offset if found.is_future else hosted.high_watermark
    return DescribeLogDirsPartition(
        partition_index=log.partition.partition,
        partition_size=log.size_bytes,
        offset_lag=max(0, end_offset - log.log_end_offset),
        is_future_key=found.is_future,
    )
