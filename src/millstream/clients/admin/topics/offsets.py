"""Offsets of partitions: where they begin and end, what was when, and records deleted before an offset.

Leaders answer, one request to each.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Final

from millstream.clients.admin.core.call import Asked, Call
from millstream.clients.admin.core.results import Results, item_error
from millstream.clients.admin.core.routes import Leader, itself
from millstream.clients.admin.driver import AdminCalls
from millstream.clients.core.values import OffsetAndTimestamp
from millstream.errors import KafkaError, UnsupportedVersion
from millstream.model import TopicPartition
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from millstream.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

HIGH_WATERMARK: Final = -1
"""For `delete_records`: all there is."""

_LEADER: Final = Leader[TopicPartition](itself)


class OffsetSpec(IntEnum):
    """Taken by `list_offsets` in place of a timestamp."""

    LATEST = -1
    EARLIEST = -2
    MAX_TIMESTAMP = -3
    """The record with the latest timestamp (Kafka 3.0)."""
    EARLIEST_LOCAL = -4
    """The first offset on the leader's own disk (Kafka 3.5)."""
    LATEST_TIERED = -5
    """The last offset in remote storage (Kafka 3.9)."""
    EARLIEST_PENDING_UPLOAD = -6
    """The first offset not yet in remote storage (Kafka 4.2)."""


_FIRST_VERSION: Final = MappingProxyType(
    {
        OffsetSpec.MAX_TIMESTAMP: (7, "3.0"),
        OffsetSpec.EARLIEST_LOCAL: (8, "3.5"),
        OffsetSpec.LATEST_TIERED: (9, "3.9"),
        OffsetSpec.EARLIEST_PENDING_UPLOAD: (11, "4.2"),
    }
)


async def list_offsets(
    admin: AdminCalls,
    timestamps: Mapping[TopicPartition, int],
    *,
    read_committed: bool = False,
    timeout_ms: int | None = None,
) -> Results[TopicPartition, OffsetAndTimestamp]:
    """Returns for each partition the first offset at or after a timestamp (ms), or an
    OffsetSpec; -1 when there is none.

    With `read_committed` LATEST is the last stable offset.
    """

    def build(asked: Asked[TopicPartition]) -> ListOffsetsRequest:
        topics: dict[str, ListOffsetsTopic] = {}
        for key in asked.keys:
            if _too_old(timestamps[key], asked.version) is None:
                topic = topics.setdefault(key.topic, ListOffsetsTopic(name=key.topic))
                topic.partitions.append(
                    ListOffsetsPartition(partition_index=key.partition, timestamp=timestamps[key])
                )
        return ListOffsetsRequest(
            replica_id=-1,
            isolation_level=int(read_committed),
            topics=list(topics.values()),
            timeout_ms=asked.timeout_ms,
        )

    def read(
        response: ListOffsetsResponse, asked: Asked[TopicPartition]
    ) -> dict[TopicPartition, OffsetAndTimestamp | KafkaError]:
        answers: dict[TopicPartition, OffsetAndTimestamp | KafkaError] = {
            key: error
            for key in asked.keys
            if (error := _too_old(timestamps[key], asked.version)) is not None
        }
        for topic in response.topics:
            for each in topic.partitions:
                key = TopicPartition(topic.name, each.partition_index)
                answers[key] = _found(key, each)
        return answers

    call = Call(
        api=ApiKey.LIST_OFFSETS,
        response=ListOffsetsResponse,
        route=_LEADER,
        build=build,
        read=read,
    )
    return await admin._driver.run(call, timestamps, admin._driver.deadline(timeout_ms))


async def delete_records(
    admin: AdminCalls, before: Mapping[TopicPartition, int], *, timeout_ms: int | None = None
) -> Results[TopicPartition, int]:
    """Delete what is before these offsets (HIGH_WATERMARK: everything); gives back where each partition begins then."""

    def build(asked: Asked[TopicPartition]) -> DeleteRecordsRequest:
        topics: dict[str, DeleteRecordsTopic] = {}
        for key in asked.keys:
            topic = topics.setdefault(key.topic, DeleteRecordsTopic(name=key.topic))
            topic.partitions.append(DeleteRecordsPartition(key.partition, before[key]))
        return DeleteRecordsRequest(topics=list(topics.values()), timeout_ms=asked.timeout_ms)

    def read(
        response: DeleteRecordsResponse, _: Asked[TopicPartition]
    ) -> dict[TopicPartition, int | KafkaError]:
        return {
            (key := TopicPartition(topic.name, each.partition_index)): item_error(
                each.error_code, key
            )
            if each.error_code
            else each.low_watermark
            for topic in response.topics
            for each in topic.partitions
        }

    call = Call(
        api=ApiKey.DELETE_RECORDS,
        response=DeleteRecordsResponse,
        route=_LEADER,
        build=build,
        read=read,
    )
    return await admin._driver.run(call, before, admin._driver.deadline(timeout_ms))


def _too_old(timestamp: int, version: int) -> UnsupportedVersion | None:
    if timestamp not in _FIRST_VERSION:
        return None
    spec = OffsetSpec(timestamp)
    first, release = _FIRST_VERSION[spec]
    if version >= first:
        return None
    return UnsupportedVersion(f"list_offsets knows {spec.name} since Kafka {release}")


def _found(
    key: TopicPartition, found: ListOffsetsPartitionResponse
) -> OffsetAndTimestamp | KafkaError:
    if found.error_code:
        return item_error(found.error_code, key)
    return OffsetAndTimestamp(found.offset, found.timestamp, found.leader_epoch)
