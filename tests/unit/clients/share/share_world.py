"""A share consumer's core, with brokers that answer as a test says."""

from __future__ import annotations

from millstream.clients.cluster.core.cluster_metadata import (
    BrokerNode,
    ClusterMetadata,
    PartitionMetadata,
    TopicMetadata,
)
from millstream.clients.share.core.buffer import ShareBuffer
from millstream.clients.share.core.commit import ShareCommit
from millstream.clients.share.core.fetch_planner import ShareFetchPlanner
from millstream.clients.share.core.in_flight_records import ShareInFlightRecords
from millstream.clients.share.core.planned_requests import (
    PlannedAcknowledge,
    PlannedShareFetch,
    PlannedShareRequest,
)
from millstream.clients.share.core.requests import SharePolicy
from millstream.clients.share.core.values import NodeAcknowledgements, TopicIdPartition
from millstream.errors import (
    KafkaError,
)
from millstream.model import Uuid
from millstream.net.client.core.addresses import Address
from millstream.net.client.core.outages import Backoff
from millstream.protocol.enums import AcknowledgeType
from millstream.protocol.generated import share_acknowledge, share_fetch
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.record import Record
from millstream.testing.sim_random import SimRandom

ACCEPT, RELEASE, REJECT, RENEW = AcknowledgeType
TOPIC_ID = Uuid(b"t" * 16)
P0, P1, P2 = (TopicIdPartition(TOPIC_ID, "t", number) for number in range(3))
FOREVER_MS = 10**9
Range = tuple[int, int, int]


class World:
    """Topic `t`; partition n is led by `leaders[n]` and assigned."""

    def __init__(self, *leaders: int, record_limit: bool = False) -> None:
        self.buffer = ShareBuffer()
        policy = SharePolicy("g", "m", 1, 500, 10_000, record_limit)
        self.fetcher = ShareFetchPlanner(policy, self.buffer, Backoff(100, 1_000), SimRandom(0))
        self.in_hand = ShareInFlightRecords()
        self.now_ms = 0
        self.lead(*(leaders or (1,)))
        self.assigned = [TopicIdPartition(TOPIC_ID, "t", p) for p in range(len(leaders or (1,)))]

    def lead(self, *leaders: int) -> None:
        partitions = {p: PartitionMetadata(p, n, 4) for p, n in enumerate(leaders)}
        self.cluster = ClusterMetadata(
            nodes={node: BrokerNode(node, Address("h", node)) for node in (1, 2, 3)},
            topics={"t": TopicMetadata("t", TOPIC_ID, partitions=partitions)},
        )

    def plan(self) -> list[PlannedShareRequest]:
        return self.fetcher.plan(self.assigned, self.cluster, self.now_ms)

    def fetches(self) -> list[PlannedShareFetch]:
        requests = self.plan()
        assert all(isinstance(planned, PlannedShareFetch) for planned in requests)
        return [planned for planned in requests if isinstance(planned, PlannedShareFetch)]

    def fetch(self) -> PlannedShareFetch:
        (planned,) = self.fetches()
        return planned

    def want(self, *said: NodeAcknowledgements, count: int = 10) -> None:
        self.fetcher.fetch(said, count)

    def answer(
        self,
        planned: PlannedShareFetch,
        *partitions: share_fetch.PartitionData,
        error: type[KafkaError] | None = None,
        lock_ms: int = 30_000,
    ) -> None:
        response = share_fetch.ShareFetchResponse(
            error_code=error.code if error else 0,
            acquisition_lock_timeout_ms=lock_ms,
            responses=[share_fetch.ShareFetchableTopicResponse(TOPIC_ID, list(partitions))],
        )
        self.fetcher.handle_fetch(planned, response, self.now_ms)

    def open_session(self, *ranges: Range) -> None:
        """Of the one broker there is, with these records of partition 0."""
        self.want()
        self.answer(self.fetch(), data(0, *(ranges or ((0, 1, 1),))))

    def commit(self, *said: NodeAcknowledgements, deadline_ms: int = FOREVER_MS) -> ShareCommit:
        return self.fetcher.commit(said, self.cluster, deadline_ms)

    def acknowledge(self) -> PlannedAcknowledge:
        (planned,) = self.plan()
        assert isinstance(planned, PlannedAcknowledge)
        return planned

    def answer_acknowledge(
        self,
        planned: PlannedAcknowledge,
        *codes: tuple[int, type[KafkaError] | None],
        error: type[KafkaError] | None = None,
        lock_ms: int = 0,
    ) -> None:
        partitions = [
            share_acknowledge.PartitionData(partition, each.code if each else 0)
            for partition, each in codes
        ]
        response = share_acknowledge.ShareAcknowledgeResponse(
            error_code=error.code if error else 0,
            acquisition_lock_timeout_ms=lock_ms,
            responses=[share_acknowledge.ShareAcknowledgeTopicResponse(TOPIC_ID, partitions)],
        )
        self.fetcher.handle_acknowledge(planned, response, self.now_ms)

    def collect(self, count: int = 500) -> list[tuple[int, int]]:
        """(partition, offset) of what a poll would return."""
        self.buffer.collect(self.in_hand, count, None)
        return [(record.partition, record.offset) for record in self.in_hand.records()]

    def outcomes(self) -> list[tuple[int, dict[int, int], type[KafkaError] | None]]:
        return [
            (
                each.partition.partition,
                each.acknowledgements,
                type(each.error) if each.error else None,
            )
            for each in iter(self.fetcher.outcomes.take, None)
        ]


def data(
    partition: int,
    *ranges: Range,
    error: type[KafkaError] | None = None,
    refused: type[KafkaError] | None = None,
) -> share_fetch.PartitionData:
    records = b""
    if ranges:
        first, last = ranges[0][0], ranges[-1][1]
        rows = [Record(offset, 7, None, b"x") for offset in range(first, last + 1)]
        records = bytes(build_batch(rows, BatchOptions(base_offset=first)))
    return share_fetch.PartitionData(
        partition_index=partition,
        error_code=error.code if error else 0,
        acknowledge_error_code=refused.code if refused else 0,
        records=records,
        acquired_records=[share_fetch.AcquiredRecords(*each) for each in ranges],
    )


def accepted(
    *offsets: int, node: int = 1, partition: TopicIdPartition = P0, kind: int = ACCEPT
) -> NodeAcknowledgements:
    return NodeAcknowledgements(node, partition, dict.fromkeys(offsets, kind))


def asked(planned: PlannedShareFetch) -> list[int]:
    return [each.partition_index for topic in planned.request.topics for each in topic.partitions]


def told(planned: PlannedShareRequest) -> dict[int, list[tuple[int, int, list[int]]]]:
    return {
        each.partition_index: [
            (b.first_offset, b.last_offset, list(b.acknowledge_types))
            for b in each.acknowledgement_batches
        ]
        for topic in planned.request.topics
        for each in topic.partitions
        if each.acknowledgement_batches
    }
