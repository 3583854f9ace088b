"""ListOffsets: the offset of a timestamp, or of a named position, per partition.

Versions 1-11. Special timestamps: -1 latest (last stable offset at read_committed), -2 earliest, -3 maximum timestamp
(7+), -4 earliest local (8+), -5 latest tiered (9+), -6 earliest pending upload (11+); asked for in an older version
they are answered with UNSUPPORTED_VERSION, and so are lower numbers. A timestamp gives the first committed record that
is not older, exactly; none gives offset -1. Answered by the leader only; a leader epoch (4+) fences clients with old
metadata. A partition named twice is answered once, with INVALID_REQUEST. The time limit of version 10 is not needed:
nothing here waits. A consumer that asks for an end that a new leader does not know yet gets OFFSET_NOT_AVAILABLE,
LEADER_NOT_AVAILABLE below version 5. To a replica (an id that is not -1) the end is that of the log. Not supported:
tiered positions (-5, -6) answer -1, as a broker without remote storage does. Id -2, for debugging, asks the leader too.
-3 and a timestamp find a record that is still there, where Kafka may name one that was deleted, or none, as its first
segment that is late enough holds deleted records only.
"""

from __future__ import annotations

from typing import Final

from millstream.broker.long_work import LongWork
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Lists, Permission
from millstream.broker.requests.failure_log import FailureLog
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import Partitions
from millstream.broker.storage.disk_pool import DiskPool, first_found
from millstream.errors import (
    InvalidRequest,
    KafkaError,
    LeaderNotAvailable,
    OffsetNotAvailable,
    TopicAuthorizationFailed,
    UnsupportedVersion,
)
from millstream.log.timestamp_lookup import TimestampedOffset
from millstream.model import TopicPartition
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from millstream.replication.partition import Partition
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.LIST_OFFSETS,
    versions=range(1, 12),
    permissions=(Permission(Operation.DESCRIBE, ResourceType.TOPIC),),
    lists=(Lists(("topics", "partitions"), ("topics", "partitions")),),
)

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6
_SINCE_VERSION: Final = {
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
_READ_COMMITTED: Final = 1
_LEADER_EPOCH_VERSION: Final = 4
_OFFSET_NOT_AVAILABLE_VERSION: Final = 5
_CONSUMER: Final = -1
_NOTHING_FOUND: Final = TimestampedOffset(-1, -1, -1)


async def handle(
    request: ListOffsetsRequest,
    context: RequestContext,
    *,
    access: Access,
    disk_pool: DiskPool,
    failures: FailureLog,
    long_work: LongWork,
    partitions: Partitions,
) -> ListOffsetsResponse:
    answered: dict[str, dict[int, ListOffsetsPartitionResponse]] = {
        topic.name: {} for topic in request.topics
    }
    denied = access.denied(
        context, Operation.DESCRIBE, ResourceType.TOPIC, (topic.name for topic in request.topics)
    )
    every = ((topic.name, asked) for topic in request.topics for asked in topic.partitions)
    async for name, asked in long_work.in_turns(every):
        index, of_topic = asked.partition_index, answered[name]
        if name in denied:
            of_topic[index] = ListOffsetsPartitionResponse(index, TopicAuthorizationFailed.code)
            continue
        if index in of_topic:
            of_topic[index] = ListOffsetsPartitionResponse(index, InvalidRequest.code)
            continue
        try:
            of_topic[index] = await _answer(
                name, asked, request, context, disk_pool=disk_pool, partitions=partitions
            )
        except Exception as error:  # noqa: BLE001 - see FailureLog: one partition must not fail the request
            told = failures.of(str(TopicPartition(name, index)), error)
            if (
                isinstance(told, OffsetNotAvailable)
                and context.version < _OFFSET_NOT_AVAILABLE_VERSION
            ):
                told = LeaderNotAvailable(told.detail)
            of_topic[index] = ListOffsetsPartitionResponse(index, told.code)
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(name=name, partitions=list(of_topic.values()))
            for name, of_topic in answered.items()
        ]
    )


def failed(request: ListOffsetsRequest, _version: int, error: KafkaError) -> ListOffsetsResponse:
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    ListOffsetsPartitionResponse(
                        partition_index=asked.partition_index, error_code=error.code
                    )
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


async def _answer(
    topic: str,
    asked: ListOffsetsPartition,
    request: ListOffsetsRequest,
    context: RequestContext,
    *,
    disk_pool: DiskPool,
    partitions: Partitions,
) -> ListOffsetsPartitionResponse:
    """Raises what the partition is refused with."""
    if (
        context.version < _SINCE_VERSION.get(asked.timestamp, 0)
        or asked.timestamp < EARLIEST_PENDING_UPLOAD
    ):
        raise UnsupportedVersion(
            f"timestamp {asked.timestamp} has no meaning in version {context.version} of ListOffsets"
        )
    partition = partitions.get(topic, asked.partition_index)
    partition.check_leader(asked.current_leader_epoch)
    is_read_committed = request.isolation_level == _READ_COMMITTED
    is_replica = request.replica_id != _CONSUMER
    found = _named_position(
        partition, asked.timestamp, is_read_committed=is_read_committed, is_replica=is_replica
    )
    if found is None:
        searches = (
            partition.log.max_timestamp_searches()
            if asked.timestamp == MAX_TIMESTAMP
            else partition.log.timestamp_searches(asked.timestamp)
        )
        found = await first_found(searches, disk_pool) or _NOTHING_FOUND
        if not partition.is_visible(
            found, is_read_committed=is_read_committed, is_replica=is_replica
        ):
            if not is_replica:
                partition.check_offsets_are_available()
            found = _NOTHING_FOUND
    return ListOffsetsPartitionResponse(
        partition_index=asked.partition_index,
        offset=found.offset,
        timestamp=found.timestamp_ms,
        leader_epoch=found.leader_epoch if context.version >= _LEADER_EPOCH_VERSION else -1,
    )


def _named_position(
    partition: Partition, timestamp: int, *, is_read_committed: bool, is_replica: bool
) -> TimestampedOffset | None:
    """None for what has to be looked for in the log."""
    match timestamp:
        case -1:  # LATEST
            return partition.latest_offset(
                is_read_committed=is_read_committed, is_replica=is_replica
            )
        case -2 | -4:  # EARLIEST, EARLIEST_LOCAL: without remote storage everything is local
            return partition.earliest_offset()
        case -5 | -6:  # LATEST_TIERED, EARLIEST_PENDING_UPLOAD
            return _NOTHING_FOUND
        case _:
            return None
