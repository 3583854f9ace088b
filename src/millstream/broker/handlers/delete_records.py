"""DeleteRecords: the log start offset of partitions moves, and what comes before it is gone.

Versions 0-2, flexible from 2. Offset -1 means the high watermark. The answer's low watermark is the smallest log start
offset of the replicas. Of a partition named twice the last offset counts. The leader only; internal topics are
INVALID_TOPIC_EXCEPTION, topics that are compacted and not deleted POLICY_VIOLATION, an offset beyond the high watermark
OFFSET_OUT_OF_RANGE. Segments that are wholly below the new start leave with the next retention check. Answered when all
replicas that run have moved their start, which followers learn when they fetch, or else after the time limit: then
REQUEST_TIMED_OUT for those partitions, of which the records are gone for readers all the same.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass

from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Lists, Permission
from millstream.broker.requests.failure_log import FailureLog
from millstream.broker.requests.purgatory import Purgatory
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import Partitions
from millstream.errors import (
    InvalidTopic,
    KafkaError,
    NotLeaderOrFollower,
    RequestTimedOut,
    TopicAuthorizationFailed,
)
from millstream.metadata.topic_names import is_internal
from millstream.model import LeaderEpoch, TopicPartition
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from millstream.replication.partition import Partition
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.DELETE_RECORDS,
    versions=range(3),
    permissions=(Permission(Operation.DELETE, ResourceType.TOPIC),),
    lists=(Lists(("topics", "partitions"), ("topics", "partitions")),),
)

_UNKNOWN_LOW_WATERMARK = -1


@dataclass(frozen=True, slots=True)
class _Deletion:
    """Records that are deleted here, and not known to be on all followers."""

    partition: Partition
    leader_epoch: LeaderEpoch
    offset: int
    result: DeleteRecordsPartitionResult

    @property
    def is_over(self) -> bool:
        partition = self.partition
        return partition.low_watermark >= self.offset or not partition.has_led_since(
            self.leader_epoch
        )

    def tell(self) -> None:
        """Completes the result."""
        if not self.partition.has_led_since(self.leader_epoch):
            self.result.error_code = NotLeaderOrFollower.code
            self.result.low_watermark = _UNKNOWN_LOW_WATERMARK
        elif self.partition.low_watermark < self.offset:
            self.result.error_code = RequestTimedOut.code
        else:
            self.result.low_watermark = self.partition.low_watermark


def handle(
    request: DeleteRecordsRequest,
    context: RequestContext,
    *,
    access: Access,
    failures: FailureLog,
    partitions: Partitions,
    purgatory: Purgatory,
) -> DeleteRecordsResponse | Awaitable[DeleteRecordsResponse]:
    denied = access.denied(
        context, Operation.DELETE, ResourceType.TOPIC, (topic.name for topic in request.topics)
    )
    asked: dict[str, dict[int, int]] = {}
    for topic in request.topics:
        offsets = asked.setdefault(topic.name, {})
        offsets.update((each.partition_index, each.offset) for each in topic.partitions)
    waiting: list[_Deletion] = []
    response = DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=name,
                partitions=[
                    _refused(number)
                    if name in denied
                    else _delete(
                        name, number, offset, waiting, failures=failures, partitions=partitions
                    )
                    for number, offset in offsets.items()
                ],
            )
            for name, offsets in asked.items()
        ]
    )
    return _when_over(response, waiting, request.timeout_ms, purgatory) if waiting else response


async def _when_over(
    response: DeleteRecordsResponse,
    waiting: Sequence[_Deletion],
    timeout_ms: int,
    purgatory: Purgatory,
) -> DeleteRecordsResponse:
    left = {each.partition.topic_partition: each for each in waiting}

    def is_last(progressed: TopicPartition) -> bool:
        deletion = left.get(progressed)
        if deletion is not None and deletion.is_over:
            del left[progressed]
        return not left

    operation = purgatory.watch(list(left), timeout_ms, is_last)
    # Followers may have fetched between the deletion and the line above, and nothing tells of it again.
    if any(is_last(each) for each in list(left)):
        purgatory.satisfy(operation)
    await operation.wait()
    for each in waiting:
        each.tell()
    return response


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


def _refused(number: int) -> DeleteRecordsPartitionResult:
    return DeleteRecordsPartitionResult(
        partition_index=number,
        low_watermark=_UNKNOWN_LOW_WATERMARK,
        error_code=TopicAuthorizationFailed.code,
    )


def _delete(
    topic: str,
    number: int,
    offset: int,
    waiting: list[_Deletion],
    *,
    failures: FailureLog,
    partitions: Partitions,
) -> DeleteRecordsPartitionResult:
    """Deletes here, and adds to `waiting` what followers have to delete as well."""
    try:
        _check_topic(topic)
        partition = partitions.get(topic, number)
        target = partition.high_watermark if offset == -1 else offset
        partition.delete_records_before(offset)
    except Exception as error:  # noqa: BLE001 - see FailureLog: one partition must not fail the request
        return DeleteRecordsPartitionResult(
            partition_index=number,
            low_watermark=_UNKNOWN_LOW_WATERMARK,
            error_code=failures.of(str(TopicPartition(topic, number)), error).code,
        )
    low_watermark = partition.low_watermark
    result = DeleteRecordsPartitionResult(partition_index=number, low_watermark=low_watermark)
    if low_watermark < target:
        waiting.append(_Deletion(partition, partition.leader_epoch, target, result))
    return result


def _check_topic(topic: str) -> None:
    if is_internal(topic):
        raise InvalidTopic(f"records of the internal topic {topic} cannot be deleted")
