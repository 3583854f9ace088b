"""DeleteRecords: the log start offset of partitions moves, and what comes before it is gone.

Versions 0-2, flexible from 2. Offset -1 means the high watermark. The answer's low watermark is the smallest log start offset of
the replicas. The leader only; internal topics are INVALID_TOPIC_EXCEPTION, topics that are compacted and not deleted
POLICY_VIOLATION, an offset beyond the high watermark OFFSET_OUT_OF_RANGE. Segments that are wholly below the new start leave
with the next retention check.
Not supported: the time limit is not needed: there are no followers yet that the answer would wait for.
"""

from __future__ import annotations

from millstream.broker.api_spec import ApiSpec
from millstream.broker.request_context import RequestContext
from millstream.errors import InvalidTopic, KafkaError
from millstream.metadata.topic_names import is_internal
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

API = ApiSpec(ApiKey.DELETE_RECORDS, versions=range(3))

_UNKNOWN_LOW_WATERMARK = -1


def handle(request: DeleteRecordsRequest, context: RequestContext) -> DeleteRecordsResponse:
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[_delete(topic.name, asked, context) for asked in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _delete(
    topic: str, asked: DeleteRecordsPartition, context: RequestContext
) -> DeleteRecordsPartitionResult:
    try:
        if is_internal(topic):
            raise InvalidTopic(f"records of the internal topic {topic} cannot be deleted")
        partition = context.node.partitions.get(topic, asked.partition_index)
        low_watermark = partition.delete_records_before(asked.offset)
    except KafkaError as error:
        return DeleteRecordsPartitionResult(
            partition_index=asked.partition_index,
            low_watermark=_UNKNOWN_LOW_WATERMARK,
            error_code=error.code,
        )
    return DeleteRecordsPartitionResult(
        partition_index=asked.partition_index, low_watermark=low_watermark
    )
