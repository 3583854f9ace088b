"""Finds the end offset of a partition, whichever broker leads it (Kafka's PartitionMetadataClient)."""

from __future__ import annotations

from millstream.broker.forwarding.broker_channel import BrokerChannel
from millstream.broker.services import Metadata, Partitions
from millstream.errors import (
    LeaderNotAvailable,
    MillstreamError,
    NetworkException,
    UnknownTopicOrPartition,
    error_for,
)
from millstream.metadata.image import NO_LEADER
from millstream.model import Offset, TopicPartition
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

_LATEST = -1
"""ListOffsets' timestamp for the end of the log."""
_CONSUMER = -1
"""The replica id of who is no replica: the end is the high watermark."""


class EndOffsets:
    def __init__(self, partitions: Partitions, metadata: Metadata, brokers: BrokerChannel) -> None:
        self._partitions = partitions
        self._metadata = metadata
        self._brokers = brokers

    async def of(self, topic_partition: TopicPartition) -> Offset:
        """Returns the high watermark.

        Raises the KafkaError with which the leader refuses, NetworkException where it cannot be asked.
        """
        found = self._metadata.image.partition(*topic_partition)
        if found is None:
            raise UnknownTopicOrPartition(f"{topic_partition} does not exist")
        if found.leader == NO_LEADER:
            raise LeaderNotAvailable(f"nobody leads {topic_partition}")
        if found.leader == self._brokers.broker_id:
            log = self._partitions.get(*topic_partition)
            log.check_leader()
            return Offset(log.latest_offset(is_read_committed=False).offset)
        topic, number = topic_partition
        asked = ListOffsetsPartition(partition_index=number, timestamp=_LATEST)
        request = ListOffsetsRequest(
            replica_id=_CONSUMER, isolation_level=0, topics=[ListOffsetsTopic(topic, [asked])]
        )
        try:
            response = await self._brokers.ask(
                found.leader, ApiKey.LIST_OFFSETS, request, ListOffsetsResponse
            )
        except MillstreamError as error:
            raise NetworkException(f"broker {found.leader}: {error}") from error
        ((answer,),) = [each.partitions for each in response.topics]
        if answer.error_code:
            raise error_for(answer.error_code)
        return Offset(answer.offset)
