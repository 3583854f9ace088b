"""A consumer's pure core without a network: topic `t`, told who leads it and what brokers answer."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.clients.cluster.core.cluster_metadata import (
    BrokerNode,
    ClusterMetadata,
    PartitionMetadata,
    TopicMetadata,
)
from millstream.clients.consumer.core.fetch_planner import FetchPlanner, FetchPolicy, PlannedFetch
from millstream.clients.consumer.core.fetched_records import FetchedRecords
from millstream.clients.consumer.core.offset_reset import parse_offset_reset
from millstream.clients.consumer.core.partition_state import PartitionState
from millstream.clients.consumer.core.positions import Positions
from millstream.clients.consumer.core.subscription import SubscriptionState
from millstream.errors import KafkaError, NetworkException
from millstream.model import TopicPartition, Uuid
from millstream.net.client.core.addresses import Address
from millstream.protocol.generated.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from millstream.records.batch import patch_offset_and_epoch
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.compression import Codec
from millstream.records.control import ControlType, build_end_transaction_marker
from millstream.records.record import Record

TOPIC_ID = Uuid(b"t" * 16)


def batch(
    base_offset: int,
    *values: bytes,
    codec: Codec = Codec.NONE,
    producer_id: int = -1,
    leader_epoch: int = 4,
) -> bytes:
    """Transactional when it has a producer."""
    options = BatchOptions(
        codec=codec,
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=0 if producer_id >= 0 else -1,
        base_sequence=0 if producer_id >= 0 else -1,
        is_transactional=producer_id >= 0,
    )
    encoded = build_batch([Record(0, 7, None, value) for value in values], options)
    patch_offset_and_epoch(memoryview(encoded), base_offset, leader_epoch)
    return bytes(encoded)


def broken(encoded: bytes) -> bytes:
    """The same batch with a bit turned in its records."""
    damaged = bytearray(encoded)
    damaged[-2] ^= 0xFF
    return bytes(damaged)


def marker(offset: int, producer_id: int, kind: ControlType = ControlType.ABORT) -> bytes:
    options = BatchOptions(
        base_offset=offset, producer_id=producer_id, producer_epoch=0, is_transactional=True
    )
    return bytes(build_end_transaction_marker(kind, 0, 7, options))


class World:
    """All partitions are assigned and stand at offset 0. Nodes 1 to 3 are there."""

    def __init__(
        self,
        leaders: Sequence[int] = (1,),
        *,
        read_committed: bool = False,
        reset: str = "latest",
        partition_bytes: int = 1000,
        total_bytes: int = 10_000,
        check_crcs: bool = True,
    ) -> None:
        self.now_ms = 0
        self.subscription = SubscriptionState()
        self.subscription.assign(TopicPartition("t", p) for p in range(len(leaders)))
        for state in self.subscription.partitions.values():
            state.seek(0)
        policy = FetchPolicy(
            1, 500, total_bytes, partition_bytes, read_committed, parse_offset_reset(reset), "rack"
        )
        self.fetcher = FetchPlanner(policy, self.subscription)
        self.positions = Positions(self.subscription, policy.reset)
        self.records = FetchedRecords(self.subscription, check_crcs=check_crcs)
        self.lead(*leaders)

    def lead(self, *leaders: int, epoch: int = 4, topic_id: Uuid = TOPIC_ID) -> None:
        """New metadata: who leads which partition."""
        partitions = {p: PartitionMetadata(p, n, epoch) for p, n in enumerate(leaders)}
        self.cluster = ClusterMetadata(
            nodes={node: BrokerNode(node, Address("h", node)) for node in (1, 2, 3)},
            topics={"t": TopicMetadata("t", topic_id, partitions=partitions)},
        )
        self.fetcher.handle_metadata()

    def state(self, partition: int = 0) -> PartitionState:
        return self.subscription.partitions[TopicPartition("t", partition)]

    def plan(self) -> list[PlannedFetch]:
        return self.fetcher.plan(self.cluster, self.now_ms)

    def answer(
        self,
        planned: PlannedFetch,
        *records: bytes,
        partition: int = 0,
        code: int = 0,
        aborted: list[tuple[int, int]] | None = None,
        session_id: int = 0,
        preferred_read_replica: int = -1,
        topic_id: Uuid = TOPIC_ID,
    ) -> None:
        """About one partition; there is no news of the others that were asked for."""
        data = PartitionData(
            partition_index=partition,
            error_code=code,
            high_watermark=100,
            last_stable_offset=90,
            records=memoryview(b"".join(records)),
            aborted_transactions=[AbortedTransaction(p, first) for p, first in aborted or ()],
            preferred_read_replica=preferred_read_replica,
        )
        others = [
            PartitionData(partition_index=tp.partition)
            for tp in planned.generations
            if tp.partition != partition
        ]
        topic = FetchableTopicResponse(topic_id=topic_id, partitions=[data, *others])
        self.respond(planned, FetchResponse(session_id=session_id, responses=[topic]))

    def respond(self, planned: PlannedFetch, response: FetchResponse) -> KafkaError | None:
        failure = self.fetcher.handle_response(planned, response, self.now_ms)
        self.fetcher.finish(planned)
        return failure

    def lose(self, planned: PlannedFetch, error: KafkaError | None = None) -> None:
        self.fetcher.handle_failure(planned, error or NetworkException())
        self.fetcher.finish(planned)

    def values(self, count: int = 100) -> list[bytes | None]:
        return [record.value for record in self.records.take(count)]


def asked(planned: PlannedFetch) -> dict[int, int]:
    """Partition -> offset."""
    return {tp.partition: position.offset for tp, position in planned.plan.fetch.items()}
