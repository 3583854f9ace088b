"""Which batches go out now, and what an answer, or none, means for them.

`drain` plans requests; `handle_response` and `handle_failure` take in what became of them and return the batches that
are settled. Order and uniqueness live in `partition_queue`. Knows no sockets and no clock: every call is told the time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from millstream.clients.core.accumulator import RecordAccumulator
from millstream.clients.core.backoff import Backoff
from millstream.clients.core.batch_encoding import columns_of, encode_batch
from millstream.clients.core.cluster_metadata import ClusterMetadata
from millstream.clients.core.partition_queue import PartitionQueue
from millstream.clients.core.produce_request import ProduceIntent, topic_ids_of
from millstream.clients.core.producer_batch import BatchOutcome, ProducerBatch, RecordColumns
from millstream.clients.core.transaction import Transaction
from millstream.errors import (
    CorruptMessage,
    DuplicateSequenceNumber,
    InvalidProducerEpoch,
    KafkaError,
    KafkaStorageError,
    MessageTooLarge,
    MillstreamError,
    NetworkException,
    NotEnoughReplicasAfterAppend,
    OutOfOrderSequenceNumber,
    ProducerFenced,
    RecordListTooLarge,
    RequestTimedOut,
    UnknownProducerId,
    UnknownServerError,
    error_for,
)
from millstream.model import TopicPartition
from millstream.protocol.generated.produce import PartitionProduceResponse, ProduceResponse
from millstream.records.builder import BatchOptions
from millstream.records.compression import Codec
from millstream.runtime import Random

_FATE_UNKNOWN = (
    NetworkException,
    RequestTimedOut,
    NotEnoughReplicasAfterAppend,
    KafkaStorageError,
    UnknownServerError,
)
"""After these the batch may or may not be in the log."""
_NEEDS_METADATA = (3, 5, 6, 13, 56, 72, 74, 75, 100, 103)
_IDENTITY_LOST = (UnknownProducerId, InvalidProducerEpoch, ProducerFenced)


@dataclass(frozen=True, slots=True)
class SenderPolicy:
    acks: int
    idempotent: bool
    codec: Codec
    linger_ms: int
    request_bytes_max: int
    request_timeout_ms: int
    in_flight_max: int
    retries: int
    backoff: Backoff
    availability_timeout_ms: int = 0
    compression_level: int | None = None


class Sender:
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
        self._random = random
        self._transaction = transaction
        self._in_flight_by_node: dict[int, int] = {}
        self._stuck_since: dict[int, int] = {}
        self._batch_options = BatchOptions(
            codec=policy.codec,
            level=policy.compression_level,
            is_transactional=transaction is not None,
        )
        self._identity: tuple[int, int] | None = None
        self._turn = 0
        self.metadata_wanted = False
        """Set when a leader is unknown or has moved; whoever refreshes metadata clears it."""

    @property
    def producer_id_wanted(self) -> bool:
        """Transactional producers get theirs by init_transactions()."""
        return self._policy.idempotent and self._identity is None and self._transaction is None

    @property
    def _refusal(self) -> MillstreamError | None:
        return None if self._transaction is None else self._transaction.refusal

    def set_producer_id(self, producer_id: int, producer_epoch: int) -> None:
        self._identity = (producer_id, producer_epoch)

    def drain(
        self,
        cluster: ClusterMetadata,
        now_ms: int,
        *,
        hurry: bool = False,
        is_ready: Callable[[int], bool] = lambda _: True,
    ) -> list[ProduceIntent]:
        """Requests to send now, in this order. With `hurry` (flush, close, no memory left) batches do not linger.

        Only nodes that `is_ready` get requests: what goes to a node must go over one connection, or order is lost.
        """
        if self.producer_id_wanted or self._refusal is not None:
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
        """Milliseconds until a batch's linger, backoff or deadline ends; None when nothing waits for time."""
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
        self, intent: ProduceIntent, response: ProduceResponse | None, now_ms: int
    ) -> list[ProducerBatch]:
        """`response` is None with acks=0. Returns the batches that are settled now."""
        self._arrived(intent)
        answers = {} if response is None else intent.answers(response)
        settled: list[ProducerBatch] = []
        for topic_partition, batch in intent.batches.items():
            queue = self._accumulator.queue(*topic_partition)
            queue.in_flight.remove(batch)
            answer = answers.get(topic_partition)
            if response is None:
                settled += self._succeed(batch, -1, -1)
            elif answer is None:
                settled += self._fail(
                    queue,
                    batch,
                    UnknownServerError("the broker's answer leaves this partition out"),
                    now_ms,
                )
            elif answer.error_code in (0, DuplicateSequenceNumber.code):
                settled += self._succeed(batch, answer.base_offset, answer.log_append_time_ms)
            else:
                settled += self._fail(queue, batch, _error_of(answer), now_ms)
            self._maybe_reset(queue)
        return settled

    def handle_failure(
        self, intent: ProduceIntent, error: KafkaError, now_ms: int
    ) -> list[ProducerBatch]:
        """The request was not answered, or could not be sent at all. Returns the batches that are settled now."""
        self._arrived(intent)
        settled: list[ProducerBatch] = []
        for topic_partition, batch in intent.batches.items():
            queue = self._accumulator.queue(*topic_partition)
            queue.in_flight.remove(batch)
            settled += self._fail(queue, batch, error, now_ms)
            self._maybe_reset(queue)
        return settled

    def handle_unreachable(self, node_id: int, cluster: ClusterMetadata, error: KafkaError) -> None:
        """No connection came about: remembered for the message, should the delivery time end so."""
        self.metadata_wanted = True
        for queue in self._accumulator.busy_queues:
            if cluster.leader(queue.topic_partition) == node_id:
                for batch in queue.waiting:
                    batch.last_error = error

    def expire(self, now_ms: int) -> list[ProducerBatch]:
        """Fail the waiting batches whose delivery time is over, or whose transaction has failed."""
        settled: list[ProducerBatch] = []
        for queue in self._accumulator.busy_queues:
            while queue.waiting:  # the oldest are first
                batch = queue.waiting[0]
                error = self._refusal or (_expired(batch) if batch.deadline_ms <= now_ms else None)
                if error is None:
                    break
                settled += self._give_up(queue, batch, error, waiting=True)
            self._maybe_reset(queue)
        return settled

    def abandon(self, error: MillstreamError) -> list[ProducerBatch]:
        """Fail everything that is not settled, at a close that does not wait."""
        settled: list[ProducerBatch] = []
        for queue in self._accumulator.busy_queues:
            for batch in [*queue.in_flight, *queue.waiting]:
                settled += self._settle(batch, BatchOutcome(error=error))
            queue.in_flight.clear()
            queue.waiting.clear()
        return settled

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
    ) -> ProduceIntent:
        for topic_partition, batch in batches.items():
            queue = self._accumulator.queue(*topic_partition)
            queue.take(batch)
            if self._policy.idempotent:
                self._number(queue, batch)
            encode_batch(batch, self._batch_options)
        self._in_flight_by_node[node_id] = self._in_flight_by_node.get(node_id, 0) + 1
        patience_ms = min(batch.deadline_ms for batch in batches.values()) - now_ms
        return ProduceIntent(
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
            assert self._identity is not None, "drain waits for a producer id"
            queue.adopt(*self._identity)
        queue.number(batch)

    def _arrived(self, intent: ProduceIntent) -> None:
        self._in_flight_by_node[intent.node_id] -= 1

    def _succeed(
        self, batch: ProducerBatch, offset: int, append_time_ms: int
    ) -> list[ProducerBatch]:
        self._accumulator.queue(*batch.topic_partition).acknowledged = True
        return self._settle(batch, BatchOutcome(offset, append_time_ms))

    def _fail(
        self, queue: PartitionQueue, batch: ProducerBatch, error: KafkaError, now_ms: int
    ) -> list[ProducerBatch]:
        batch.last_error = error
        if error.code in _NEEDS_METADATA:
            self.metadata_wanted = True
        if isinstance(error, _FATE_UNKNOWN):
            batch.maybe_appended = True
        if isinstance(error, MessageTooLarge | RecordListTooLarge) and batch.record_count > 1:
            self._accumulator.split(batch, columns_of(batch))
            return [batch]
        if self._policy.idempotent and self._lost_its_place(queue, batch, error):
            return self._try_again(queue, batch, error, now_ms)
        if error.retriable or isinstance(error, UnknownServerError | CorruptMessage):
            return self._try_again(queue, batch, error, now_ms)
        return self._give_up(queue, batch, error)

    def _lost_its_place(
        self, queue: PartitionQueue, batch: ProducerBatch, error: KafkaError
    ) -> bool:
        """True when the broker refused the batch's numbers: it is not in the log and may be sent again.

        Behind an earlier unsettled batch that is only a matter of order. Otherwise the broker will never take these
        numbers, and the partition must start over; a transaction is aborted then.
        """
        if self._transaction is not None:
            return isinstance(error, OutOfOrderSequenceNumber) and not queue.is_oldest(batch)
        if isinstance(error, _IDENTITY_LOST):
            self._identity = None
            queue.producer_epoch = _EPOCH_SPENT
            queue.reset_wanted = True
        elif isinstance(error, OutOfOrderSequenceNumber):
            queue.reset_wanted = queue.reset_wanted or queue.is_oldest(batch)
        else:
            return False
        batch.maybe_appended = False
        return True

    def _try_again(
        self, queue: PartitionQueue, batch: ProducerBatch, error: KafkaError, now_ms: int
    ) -> list[ProducerBatch]:
        if self._refusal is not None:
            return self._give_up(queue, batch, self._refusal)
        if now_ms >= batch.deadline_ms:
            return self._give_up(queue, batch, _expired(batch))
        if batch.attempts > self._policy.retries:
            return self._give_up(queue, batch, error)
        batch.retry_at_ms = now_ms + self._policy.backoff.delay_ms(batch.attempts, self._random)
        queue.put_back(batch)
        return []

    def _give_up(
        self,
        queue: PartitionQueue,
        batch: ProducerBatch,
        error: MillstreamError,
        *,
        waiting: bool = False,
    ) -> list[ProducerBatch]:
        """What had numbers leaves a hole. If it may be in the log, the next answer will tell; else start over."""
        if waiting:
            queue.waiting.remove(batch)
        if self._transaction is not None:
            self._transaction.batch_failed(error, has_numbers=batch.base_sequence >= 0)
        elif batch.base_sequence >= 0 and not batch.maybe_appended:
            queue.reset_wanted = True
        return self._settle(batch, BatchOutcome(error=error))

    def _maybe_reset(self, queue: PartitionQueue) -> None:
        if queue.may_reset() and not queue.reset():
            self._identity = None

    def _settle(self, batch: ProducerBatch, outcome: BatchOutcome) -> list[ProducerBatch]:
        batch.outcome = outcome
        batch.encoded = None
        if batch.columns is not None:  # whoever holds a delivery may still ask for timestamps
            batch.columns = RecordColumns(timestamps=batch.columns.timestamps)
        self._accumulator.settle(batch)
        return [batch]


_EPOCH_SPENT = 32_767
"""No epoch follows it, so the next reset takes a new producer id."""


def _error_of(answer: PartitionProduceResponse) -> KafkaError:
    detail = answer.error_message
    if answer.record_errors:
        first = answer.record_errors[0]
        detail = (
            f"record {first.batch_index} of the batch: {first.batch_index_error_message or detail}"
        )
    return error_for(answer.error_code, detail)


def _expired(batch: ProducerBatch) -> RequestTimedOut:
    waited = batch.deadline_ms - batch.created_ms
    cause = f"; the last attempt ended with: {batch.last_error}" if batch.last_error else ""
    certainty = "may have been" if batch.maybe_appended else "were not"
    return RequestTimedOut(
        f"{batch.record_count} records for {batch.topic_partition} {certainty} written within delivery_timeout_ms"
        f" ({waited} ms), {batch.attempts} attempts{cause}"
    )
