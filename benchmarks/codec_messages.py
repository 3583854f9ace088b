"""The messages that codec benchmarks read and write, as bytes: made by our codec, checked against Kafka's elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from millstream.model import Uuid
from millstream.protocol.api import ApiKey, Message
from millstream.protocol.generated.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from millstream.protocol.generated.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from millstream.protocol.generated.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)


class Workload(NamedTuple):
    """One message in one version. `build` makes it anew, as a broker or client would."""

    title: str
    key: ApiKey
    version: int
    is_request: bool
    build: Callable[[], Message]


def produce_request() -> ProduceRequest:
    """Three partitions of 16 KiB."""
    partitions = [PartitionProduceData(index, bytes(16 * 1024)) for index in range(3)]
    return ProduceRequest(
        acks=-1,
        timeout_ms=30_000,
        topic_data=[TopicProduceData("orders", partition_data=partitions)],
    )


def fetch_response(records: bytes | None = None) -> FetchResponse:
    """A hundred partitions of one topic; without records this is what a fetch session answers when little happens."""
    partitions = [
        PartitionData(
            partition_index=index,
            high_watermark=1_000_000 + index,
            last_stable_offset=1_000_000 + index,
            log_start_offset=index,
            aborted_transactions=None,
            records=records,
        )
        for index in range(100)
    ]
    topic = FetchableTopicResponse(topic_id=Uuid(bytes(range(1, 17))), partitions=partitions)
    return FetchResponse(session_id=77, responses=[topic])


def metadata_response() -> MetadataResponse:
    """Three brokers, a hundred topics of three partitions with three replicas."""
    brokers = [
        MetadataResponseBroker(node, f"broker-{node}.example.org", 9092, None) for node in (1, 2, 3)
    ]
    topics = [
        MetadataResponseTopic(
            name=f"topic-number-{number}",
            topic_id=Uuid(number.to_bytes(16, "big")),
            partitions=[
                MetadataResponsePartition(
                    partition_index=index,
                    leader_id=index % 3 + 1,
                    leader_epoch=5,
                    replica_nodes=[1, 2, 3],
                    isr_nodes=[1, 2, 3],
                )
                for index in range(3)
            ],
        )
        for number in range(1, 101)
    ]
    return MetadataResponse(
        brokers=brokers, cluster_id="vYbVrNZJQyGvnW1jXdNnQw", controller_id=1, topics=topics
    )


WORKLOADS: Final = (
    Workload("Produce request, 3 x 16 KiB", ApiKey.PRODUCE, 9, True, produce_request),
    Workload("Fetch response, 100 partitions", ApiKey.FETCH, 17, False, fetch_response),
    Workload(
        "Fetch response, 100 x 1 KiB", ApiKey.FETCH, 17, False, lambda: fetch_response(bytes(1024))
    ),
    Workload("Metadata response, 100 topics", ApiKey.METADATA, 12, False, metadata_response),
)
