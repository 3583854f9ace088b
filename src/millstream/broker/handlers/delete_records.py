"""DeleteRecords: the log start offset of partitions moves, and what comes before it is gone.

Versions 0-2, flexible from 2. Offset -1 means the high watermark. The answer's low watermark is the smallest log start offset of
the replicas. Of a partition named twice the last offset counts. The leader only; internal topics are INVALID_TOPIC_EXCEPTION, topics that are compacted and not deleted
POLICY_VIOLATION, an offset beyond the high watermark OFFSET_OUT_OF_RANGE. Segments that are wholly below the new start leave
with the next retention check.
Not supported: the time limit is not needed: there are no followers yet that the answer would wait for.
"""

from __future__ import annotations

from millstream.broker.node.services import Partitions
from millstream.broker.requests.api_spec import ApiSpec, Permission
from millstream.broker.requests.failure_log import FailureLog
from millstream.broker.requests.request_context import RequestContext
from millstream.errors import InvalidTopic, KafkaError
from millstream.metadata.topic_names import is_internal
from millstream.model import TopicPartition
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.DELETE_RECORDS,
    versions=range(3),
    permissions=(Permission(Operation.DELETE, ResourceType.TOPIC),),
)

_UNKNOWN_LOW_WATERMARK = -1


def handle(
    request: DeleteRecordsRequest,
    _context: RequestContext,
    *,
    failures: FailureLog,
    partitions: Partitions,
) -> DeleteRecordsResponse:
    asked: dict[str, dict[int, int]] = {}
    for topic in request.topics:
        offsets = asked.setdefault(topic.name, {})
        offsets.update((each.partition_index, each.offset) for each in topic.partitions)
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=name,
                partitions=[
                    _delete(name, number, offset, failures=failures, partitions=partitions)
                    for number, offset in offsets.items()
                ],
            )
            for name, offsets in asked.items()
        ]
    )


def failed(
    request: DeleteRecordsRequest, _version: int, error: KafkaError
) -> DeleteRecordsResponse:
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[
                    DeleteRecordsPartitionResult(
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


def _delete(
    topic: str, number: int, offset: int, *, failures: FailureLog, partitions: Partitions
) -> DeleteRecordsPartitionResult:
    try:
        _check_topic(topic)
        partition = partitions.get(topic, number)
        low_watermark = partition.delete_records_before(offset)
    except Exception as error:  # noqa: BLE001 - see FailureLog: one partition must not fail the request
        return DeleteRecordsPartitionResult(
            partition_index=number,
            low_watermark=_UNKNOWN_LOW_WATERMARK,
            error_code=failures.of(str(TopicPartition(topic, number)), error).code,
        )
    return DeleteRecordsPartitionResult(partition_index=number, low_watermark=low_watermark)


def _check_topic(topic: str) -> None:
    if is_internal(topic):
        raise InvalidTopic(f"records of the internal topic {topic} cannot be deleted")
