"""Chooses the batches that go out now, and interprets an answer, or none, for them.

`drain` plans requests; `handle_response` and `handle_failure` take in what became of them and return the batches that
are settled, which `batch_completion` decides. Order and uniqueness live in `partition_queue`. Knows no sockets and no
clock: every call is told the time.
"""

from __future__ import annotations

from collections.abc import Callable

from millstream.clients.cluster.core.cluster_metadata import ClusterMetadata
from millstream.clients.core.named_errors import transaction_error
from millstream.clients.producer.core.accumulator import RecordAccumulator
from millstream.clients.producer.core.batch_completion import BatchCompletion
from millstream.clients.producer.core.batch_encoding import encode_batch
from millstream.clients.producer.core.partition_queue import PartitionQueue
from millstream.clients.producer.core.produce_request import PlannedProduce, topic_ids_of
from millstream.clients.producer.core.producer_batch import ProducerBatch
from millstream.clients.producer.core.sender_policy import SenderPolicy
from millstream.clients.producer.transaction.core.transaction import Transaction
from millstream.errors import (
    DuplicateSequenceNumber,
    FencedLeaderEpoch,
    InconsistentTopicId,
    KafkaError,
    KafkaStorageError,
    LeaderNotAvailable,
    ListenerNotFound,
    MillstreamError,
    NetworkException,
    NotLeaderOrFollower,
    UnknownLeaderEpoch,
    UnknownServerError,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from millstream.model import TopicPartition
from millstream.protocol.generated.produce import PartitionProduceResponse, ProduceResponse
from millstream.records.builder import BatchOptions
from millstream.runtime import Random

_NEEDS_METADATA = (
    UnknownTopicOrPartition,
    UnknownTopicId,
    InconsistentTopicId,
    LeaderNotAvailable,
    NotLeaderOrFollower,
    ListenerNotFound,
    FencedLeaderEpoch,
    UnknownLeaderEpoch,
    KafkaStorageError,
    NetworkException,
)
"""Errors after which the leader may be another one (Java's InvalidMetadataException)."""


class ProducePlanner:
    def __init__(
        self,
        policy: SenderPolicy,
        accumulator: RecordAccumulator,
        random: Random,
        transaction: Transaction | None = None,
    ) -> None:
        """With a transaction batches go out only in it, and one that fails fails it."""
        self._policy = policy
        self._accumulator = accumulator
        self._transaction = transaction
        self._in_flight_by_node: dict[int, int] = {}
        self._stuck_since: dict[int, int] = {}
        self._batch_options = BatchOptions(
            codec=policy.codec,
            level=policy.compression_level,
            is_transactional=transaction is not None,
        )
        self._completion = BatchCompletion(policy, accumulator, random, transaction)
        self._turn = 0
        self.metadata_wanted = False
        """Set when a leader is unknown or has moved; the refresh of metadata clears it."""

    @property
    def producer_id_wanted(self) -> bool:
        """Transactional producers get theirs by init_transactions()."""
        return (
            self._policy.idempotent
            and self._completion.identity is None
            and self._transaction is None
        )

    def set_producer_id(self, producer_id: int, producer_epoch: int) -> None:
        self._completion.identity = (producer_id, producer_epoch)

    def drain(
        self,
        cluster: ClusterMetadata,
        now_ms: int,
        *,
        hurry: bool = False,
        is_ready: Callable[[int], bool] = lambda _: True,
    ) -> list[PlannedProduce]:
        """Requests to send now, in this order. With `hurry` (flush, close, no memory left) batches do not linger.

        Only nodes that `is_ready` get requests: what goes to a node must go over one connection, or order is lost.
        """
        if self.producer_id_wanted or self._completion.refusal is not None:
            return []
        chosen: dict[int, dict[TopicPartition, ProducerBatch]] = {}
        sizes: dict[int, int] = {}
        for queue in self._queues_in_turn():
            batch = self._sendable(queue, now_ms, hurry=hurry)
            if batch is None:
                continue
            leader = cluster.leader(queue.topic_partition)
            if leader is None:
                self.metadata_wanted = True
                self._completion.note_waiting(
                    queue.topic_partition, None, "it has no leader", now_ms
                )
                continue
            if not is_ready(leader):
                self._stuck_since.setdefault(leader, now_ms)
                continue
            size = sizes.get(leader, 0) + batch.size_bytes
            is_full = leader in chosen and size > self._policy.request_bytes_max
            if self._in_flight_by_node.get(leader, 0) >= self._policy.in_flight_max:
                self._stuck_since.setdefault(leader, now_ms)
                continue
            if is_full:
                continue
            if self._transaction is not None and not self._transaction.admit(queue.topic_partition):
                continue
            sizes[leader] = size
            self._stuck_since.pop(leader, None)
            chosen.setdefault(leader, {})[queue.topic_partition] = batch
        return [self._depart(node, batches, cluster, now_ms) for node, batches in chosen.items()]

    def avoided_nodes(self, now_ms: int) -> set[int]:
        """Brokers that had something to take for longer than `availability_timeout_ms` and took nothing (KIP-794)."""
        limit_ms = self._policy.availability_timeout_ms
        if limit_ms <= 0:
            return set()
        return {node for node, since in self._stuck_since.items() if now_ms - since >= limit_ms}

    def next_wake_ms(self, now_ms: int) -> int | None:
        """Returns the milliseconds until a batch's linger, backoff or deadline ends; None when
        nothing waits for time.
        """
        due: int | None = None
        for queue in self._accumulator.busy_queues:
            if not queue.waiting:
                continue
            head = queue.waiting[0]
            moment = head.retry_at_ms if head.attempts else head.created_ms + self._policy.linger_ms
            if (
                moment <= now_ms
            ):  # it waits for a leader or for room; only its deadline is left to time
                moment = head.deadline_ms
            due = moment if due is None else min(due, moment)
        return None if due is None else max(0, due - now_ms)

    def handle_response(
        self, planned: PlannedProduce, response: ProduceResponse | None, now_ms: int
    ) -> list[ProducerBatch]:
        """Takes in a response, None with acks=0. Returns the batches that are settled now."""
        answers = {} if response is None else planned.answers(response)
        settled: list[ProducerBatch] = []
        for topic_partition, batch in self._arrived(planned):
            answer = answers.get(topic_partition)
            if response is None:
                settled += self._completion.succeed(batch, -1, -1, now_ms)
            elif answer is None:
                error = UnknownServerError("the broker's answer leaves this partition out")
                settled += self._fail(batch, error, now_ms)
            elif answer.error_code in (0, DuplicateSequenceNumber.code):
                settled += self._completion.succeed(
                    batch, answer.base_offset, answer.log_append_time_ms, now_ms
                )
            else:
                refusal = _error_of(topic_partition, answer, planned.transactional_id)
                settled += self._fail(batch, refusal, now_ms)
        return settled

    def handle_failure(
        self, planned: PlannedProduce, error: KafkaError, now_ms: int
    ) -> list[ProducerBatch]:
        """The request was not answered, or could not be sent at all. Returns the batches that are settled now."""
        settled: list[ProducerBatch] = []
        for _, batch in self._arrived(planned):
            settled += self._fail(batch, error, now_ms)
        return settled

    def handle_unreachable(self, node_id: int, cluster: ClusterMetadata, error: KafkaError) -> None:
        """Remembers that no connection came about, for the message in case the delivery time ends so."""
        self.metadata_wanted = True
        for queue in self._accumulator.busy_queues:
            if cluster.leader(queue.topic_partition) == node_id:
                for batch in queue.waiting:
                    batch.last_error = error

    def expire(self, now_ms: int) -> list[ProducerBatch]:
        """Fail the waiting batches whose delivery time is over, or whose transaction has failed."""
        return self._completion.expire(now_ms)

    def abandon(self, error: MillstreamError) -> list[ProducerBatch]:
        """Fail everything that is not settled, at a close that does not wait."""
        return self._completion.abandon(error)

    def _queues_in_turn(self) -> list[PartitionQueue]:
        """Each call starts one further, so that a full request does not starve the same partitions for ever."""
        queues = self._accumulator.busy_queues
        if not queues:
            return queues
        self._turn = (self._turn + 1) % len(queues)
        return queues[self._turn :] + queues[: self._turn]

    def _sendable(self, queue: PartitionQueue, now_ms: int, *, hurry: bool) -> ProducerBatch | None:
        batch = queue.next_candidate(self._policy.in_flight_max)
        if batch is None or now_ms < batch.retry_at_ms:
            return None
        ready = (
            hurry
            or batch.attempts > 0
            or len(queue.waiting) > 1
            or self._accumulator.is_full(batch)
            or now_ms - batch.created_ms >= self._policy.linger_ms
        )
        return batch if ready else None

    def _depart(
        self,
        node_id: int,
        batches: dict[TopicPartition, ProducerBatch],
        cluster: ClusterMetadata,
        now_ms: int,
    ) -> PlannedProduce:
        for topic_partition, batch in batches.items():
            queue = self._accumulator.queue(*topic_partition)
            queue.take(batch)
            if self._policy.idempotent:
                self._number(queue, batch)
            encode_batch(batch, self._batch_options)
        self._in_flight_by_node[node_id] = self._in_flight_by_node.get(node_id, 0) + 1
        patience_ms = min(batch.deadline_ms for batch in batches.values()) - now_ms
        return PlannedProduce(
            node_id,
            batches,
            topic_ids_of(cluster, batches),
            self._policy.acks,
            max(1, min(self._policy.request_timeout_ms, patience_ms)),
            self._transaction.transactional_id if self._transaction is not None else None,
            joins_implicitly=self._transaction is not None and self._transaction.is_implicit,
        )

    def _number(self, queue: PartitionQueue, batch: ProducerBatch) -> None:
        """Transactions renew the identity of all partitions; without one each partition bumps its own epoch."""
        if self._transaction is not None:
            if (queue.producer_id, queue.producer_epoch) != self._transaction.identity:
                queue.adopt(*self._transaction.identity)
        elif queue.producer_id < 0:
            assert self._completion.identity is not None, "drain waits for a producer id"
            queue.adopt(*self._completion.identity)
        queue.number(batch)

    def _arrived(self, planned: PlannedProduce) -> list[tuple[TopicPartition, ProducerBatch]]:
        """Returns the batches that nothing is known of yet: what was given up meanwhile is settled."""
        self._in_flight_by_node[planned.node_id] -= 1
        arrived = [each for each in planned.batches.items() if not each[1].is_settled]
        for topic_partition, batch in arrived:
            self._accumulator.queue(*topic_partition).in_flight.remove(batch)
        return arrived

    def _fail(self, batch: ProducerBatch, error: KafkaError, now_ms: int) -> list[ProducerBatch]:
        if isinstance(error, _NEEDS_METADATA):
            self.metadata_wanted = True
        return self._completion.fail(batch, error, now_ms)


def _error_of(
    topic_partition: TopicPartition,
    answer: PartitionProduceResponse,
    transactional_id: str | None,
) -> KafkaError:
    detail = answer.error_message
    if answer.record_errors:
        first = answer.record_errors[0]
        detail = (
            f"record {first.batch_index} of the batch: {first.batch_index_error_message or detail}"
        )
    return transaction_error(answer.error_code, str(topic_partition), transactional_id, detail)
