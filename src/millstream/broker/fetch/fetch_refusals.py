"""Answers to fetches that are refused, as a whole or for one partition."""

from __future__ import annotations

from typing import Final

from millstream.broker.cluster.leader_hints import leader_hint
from millstream.broker.fetch.fetch_guard import TOLD_BEFORE_LOGS
from millstream.broker.fetch.fetch_session import FetchKey
from millstream.broker.services import Metadata
from millstream.errors import KafkaError
from millstream.model import ZERO_UUID
from millstream.protocol.generated.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    PartitionData,
)

_LEADER_HINT_VERSION: Final = 16


def failed_fetch(request: FetchRequest, version: int, error: KafkaError) -> FetchResponse:
    """Returns the response; from version 7 on, it is the top-level error alone."""
    if version >= 7:
        return FetchResponse(error_code=error.code)
    return FetchResponse(
        responses=[
            FetchableTopicResponse(
                topic=topic.topic,
                topic_id=topic.topic_id,
                partitions=[
                    PartitionData(
                        partition_index=asked.partition, error_code=error.code, high_watermark=-1
                    )
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def refused(key: FetchKey, error: KafkaError, version: int, metadata: Metadata) -> PartitionData:
    """Returns the answer for one partition, with its leader where the error says that it is another node."""
    data = PartitionData(
        partition_index=key.partition,
        error_code=error.code,
        high_watermark=-1,
        aborted_transactions=[] if isinstance(error, TOLD_BEFORE_LOGS) else None,
        records=b"",
    )
    if version >= _LEADER_HINT_VERSION:
        hint = leader_hint(error, topic_name(key, metadata), key.partition, metadata)
        if hint is not None:
            data.current_leader = LeaderIdAndEpoch(hint.leader_id, hint.leader_epoch)
    return data


def topic_name(key: FetchKey, metadata: Metadata) -> str:
    """Returns the name of the topic; empty where an id is of none any more."""
    if key.topic_id == ZERO_UUID:
        return key.topic
    found = metadata.image.topic_by_id(key.topic_id)
    return found.name if found is not None else ""
