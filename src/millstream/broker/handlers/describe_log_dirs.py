"""DescribeLogDirs: the data directories of this broker, how full they are, and the sizes of the logs in them.

Versions 1-5, flexible from 2; 3 has an error of the whole request, 4 the bytes of the disk, 5 tells which directories are
cordoned. Without a list of topics: all of them. A size counts the log files. A replica that is on its way to another directory
is in both, there with `is_future_key` and the number of records it lacks. An offline directory is KAFKA_STORAGE_ERROR.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from millstream.broker.api_spec import ApiSpec
from millstream.broker.request_context import RequestContext
from millstream.errors import KafkaStorageError
from millstream.log.log_directory import METADATA_TOPIC, LogDirectory
from millstream.log.partition_log import PartitionLog
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

API = ApiSpec(ApiKey.DESCRIBE_LOG_DIRS, versions=range(1, 6))

_UNKNOWN_BYTES: Final = -1


def handle(request: DescribeLogDirsRequest, context: RequestContext) -> DescribeLogDirsResponse:
    directories = context.node.log_directories
    wanted = _wanted(request)
    file_system = context.node.file_system
    response = DescribeLogDirsResponse()
    for directory in directories.for_partitions:
        found = DescribeLogDirsResult(
            log_dir=file_system.absolute(directory.path),
            topics=_topics(directory, wanted, context),
            is_cordoned=directory.path in directories.cordoned,
        )
        try:
            found.total_bytes, found.usable_bytes = file_system.space(directory.path)
        except OSError:
            found.total_bytes = found.usable_bytes = _UNKNOWN_BYTES
        response.results.append(found)
    for path in directories.offline:
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


def _topics(
    directory: LogDirectory, wanted: set[tuple[str, int]] | None, context: RequestContext
) -> list[DescribeLogDirsTopic]:
    topics: dict[str, DescribeLogDirsTopic] = {}
    for log, described in _described(directory, context):
        if log.partition.topic != METADATA_TOPIC and (wanted is None or log.partition in wanted):
            topic = topics.setdefault(
                log.partition.topic, DescribeLogDirsTopic(name=log.partition.topic)
            )
            topic.partitions.append(described)
    return list(topics.values())


def _described(
    directory: LogDirectory, context: RequestContext
) -> Iterator[tuple[PartitionLog, DescribeLogDirsPartition]]:
    current = dict(context.node.partitions.all())
    for log in directory:
        hosted = current.get(log.partition)
        high_watermark = hosted.high_watermark if hosted is not None else 0
        yield log, _size(log, max(0, high_watermark - log.log_end_offset), is_future=False)
    for log in directory.future_logs:
        hosted = current.get(log.partition)
        end_offset = hosted.log_end_offset if hosted is not None else 0
        yield log, _size(log, max(0, end_offset - log.log_end_offset), is_future=True)


def _size(log: PartitionLog, lag: int, *, is_future: bool) -> DescribeLogDirsPartition:
    return DescribeLogDirsPartition(
        partition_index=log.partition.partition,
        partition_size=log.size_bytes,
        offset_lag=lag,
        is_future_key=is_future,
    )
