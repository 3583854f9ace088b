"""The asyncio producer: records and Arrow batches into topics.

Owns what callers see: checks, waiting for metadata and memory, transactions. What goes on behind it is in `sender.py`.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Generic, Self, Unpack, cast

from millstream.clients.async_client import refuse_copy
from millstream.clients.cluster.cluster import Cluster
from millstream.clients.config import ProducerConfig, ProducerSettings
from millstream.clients.config.settings import parse_settings
from millstream.clients.core import arguments
from millstream.clients.core.client_names import described, named
from millstream.clients.core.illegal_state import IllegalState
from millstream.clients.core.values import (
    ConsumerGroupMetadata,
    Headers,
    Key,
    OffsetAndMetadata,
    Value,
)
from millstream.clients.producer.core.accumulator import AccumulatorLimits, RecordAccumulator
from millstream.clients.producer.core.default_partitioner import DefaultPartitioner, PartitionLoad
from millstream.clients.producer.core.interceptors import (
    DeliveryCallback,
    ProducerInterceptor,
)
from millstream.clients.producer.core.outgoing import (
    AnySerializer,
    Outgoing,
    checked_headers,
    explained_type_error,
)
from millstream.clients.producer.core.partitioner import CustomPartitioner, PartitionChooser
from millstream.clients.producer.core.produce_planner import ProducePlanner
from millstream.clients.producer.core.sender_policy import SenderPolicy
from millstream.clients.producer.delivery import BatchDelivery, Delivery
from millstream.clients.producer.record_appender import RecordAppender
from millstream.clients.producer.record_serializer import RecordSerializer
from millstream.clients.producer.sender import Sender
from millstream.clients.producer.transaction.core.transaction import SharedTransaction, Transaction
from millstream.clients.producer.transaction.transactions import Transactions
from millstream.foreign_names.explanation import explain_construction
from millstream.model import TopicPartition
from millstream.net.client.tasks import ClientClosed, TaskScope
from millstream.net.network import Environment, system_environment
from millstream.runtime import Random

if TYPE_CHECKING:
    import pyarrow as pa

    from millstream.clients.producer.record_appender import Waiting
    from millstream.records.record import Header


@explain_construction
class Producer(Generic[Key, Value]):
    """Use as `async with Producer(bootstrap_servers="localhost:9092") as producer`, or call `close()` in the end.

    Settings are keyword arguments with Kafka's names: see ProducerConfig. Keys and values are bytes unless serializers
    are given: functions of one value, objects with `encode(value)`, or with `serialize(topic, data, headers)`.
    """

    def __init__(
        self,
        *,
        key_serializer: AnySerializer[Key] | None = None,
        value_serializer: AnySerializer[Value] | None = None,
        partitioner: PartitionChooser | None = None,
        interceptors: Sequence[ProducerInterceptor[Key, Value]] | None = None,
        environment: Environment | None = None,
        **settings: Unpack[ProducerSettings],
    ) -> None:
        """`partitioner` chooses for every record that names no partition itself, e.g. RoundRobinPartitioner()."""
        config = named(parse_settings(ProducerConfig, settings))
        self.config = config
        environment = system_environment() if environment is None else environment
        clock, random = environment.clock, environment.random
        self._scope = TaskScope("producer", self._on_background_failure)
        self._cluster = Cluster(
            config, self._scope, environment, metadata_observer=self._observe_metadata
        )
        self._transaction = (
            None if config.transactional_id is None else Transaction(config.transactional_id)
        )
        accumulator = RecordAccumulator(
            AccumulatorLimits(config.batch_size, config.buffer_memory, config.delivery_timeout_ms)
        )
        planner = ProducePlanner(
            _policy(config, self._cluster), accumulator, random, self._transaction
        )
        self._sender = Sender(self._cluster, self._scope, planner, accumulator)
        self._appender = RecordAppender(
            config,
            self._sender,
            _default_partitioner(config, self._sender, random)
            if partitioner is None
            else CustomPartitioner(partitioner, lambda: self._cluster.snapshot),
            self._transaction,
            clock,
        )
        self._outgoing = Outgoing(key_serializer, value_serializer, interceptors or ())
        self._records: RecordAppender | RecordSerializer[Key, Value] = self._appender
        if not self._outgoing.is_plain:
            self._records = RecordSerializer(self._outgoing, self._appender, self._cluster.now_ms)
        self._append = self._records.append
        self._transactions: Transactions | None = None
        if self._transaction is not None:
            self._transactions = Transactions(
                config, self._cluster, self._transaction, self._sender, self._scope
            )
            self._sender.after_drain = self._transactions.add_wanted

    __reduce_ex__ = refuse_copy

    def __repr__(self) -> str:
        return described(
            self,
            self.config,
            is_closed=self._scope.is_closed,
            transactional_id=self.config.transactional_id,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Sends what is left; after an exception inside the block it does not wait for records to be written."""
        await self.close(timeout_ms=None if error is None else 0)

    async def send(
        self,
        topic: str,
        value: Value | None = None,
        *,
        key: Key | None = None,
        headers: Headers | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        on_delivery: DeliveryCallback | None = None,
    ) -> Delivery:
        """Queue one record.

        Await the result for its RecordMetadata; an error that no call awaited is raised by `flush`.

        Waits while the topic is unknown or memory is full, up to max_block_ms. A null value is a tombstone.
        `on_delivery(metadata, error)` is called on the event loop, in the order of a partition's records, unless this
        call itself raises.
        """
        try:
            appended = self._append(
                topic, value, key, headers, partition, timestamp_ms, on_delivery
            )
            if isinstance(appended, Delivery):
                return appended
            return cast("Delivery", await cast("Waiting", appended))
        except TypeError:
            told = explained_type_error(topic, partition, timestamp_ms)
            if told is None:
                raise
            raise told from None
        except IllegalState:
            self._scope.check()  # one that is closed has no transaction, either
            raise

    async def send_batch(
        self,
        topic: str,
        records: pa.RecordBatch,
        *,
        partition: int | None = None,
        batch_headers: Sequence[Header] = (),
    ) -> BatchDelivery:
        """Queue an Arrow batch with the columns `value` and, if wanted, `key`, `timestamp` (ms) and `headers`.

        Without `partition` rows with a key go where their key says, the others to one partition. The order of rows
        within a partition is kept. `batch_headers`: the first record of each record batch that is made has them before
        its own. No Python object is made per record.
        """
        told = explained_type_error(topic, partition)
        if told is None and not hasattr(records, "nbytes"):
            told = TypeError(f"records takes an Arrow batch, got {type(records).__name__}")
        if told is not None:
            raise told
        number = None if partition is None else operator.index(partition)
        headers = checked_headers(batch_headers)
        return await self._appender.append_rows(topic, records, number, headers)

    async def client_instance_id(self, *, timeout_ms: int = 60_000) -> str:
        """Returns the id that the cluster knows this client by (KIP-714).

        Raises IllegalState without enable_metrics_push.
        """
        self._scope.check()
        return await self._cluster.telemetry.client_instance_id(timeout_ms)

    async def partitions_for(self, topic: str) -> list[int]:
        """Returns the numbers of the partitions of a topic. Raises UnknownTopicOrPartition within max_block_ms."""
        return list(
            (await self._cluster.topic(topic, self._appender.block_deadline_ms())).partitions
        )

    async def flush(self, timeout_ms: int | None = None) -> None:
        """Wait until everything sent so far is acknowledged or has failed.

        Raises the first error that no caller was told of, with a note how many more there are, or that of the
        transaction; RequestTimedOut at the time limit.
        """
        self._scope.check()
        deadline_ms = None
        if timeout_ms is not None:
            deadline_ms = self._cluster.now_ms() + arguments.timeout(timeout_ms)
        await self._sender.settle_all(deadline_ms)
        if self._transaction is not None:
            self._transaction.raise_failure()
        else:
            self._sender.raise_unseen_failures()

    async def init_transactions(self) -> None:
        """Take over `transactional_id`: what others began under it is aborted, and they are fenced.

        To be called before the first transaction, and again whenever a fresh fence is wanted: by a task that is
        run anew, or after a fatal error. One round trip to the coordinator once that is known. Raises
        RequestTimedOut after max_block_ms; then call it again.
        """
        await self._transactional.initialize()

    async def begin_transaction(self) -> None:
        """Begins a transaction.

        Waits only when the last transaction ended so that the producer needs a new epoch (older brokers).
        """
        await self._transactional.begin()

    async def share_transaction(self) -> SharedTransaction:
        """Returns the open transaction as a value that other producers, in any process, join with `join_transaction`.

        No two of them may write to the same partition: sequence numbers count from 0 for each. So the transaction must
        be the first one after `init_transactions`, or the cluster one that gives each its own epoch. When all have
        flushed, this producer commits. Where any has failed, call `init_transactions()`: it aborts what all have
        written, and fences them.
        """
        return self._transactional.share()

    async def join_transaction(self, shared: SharedTransaction) -> None:
        """Sends records in a transaction that another producer has begun, who ends it, too.

        `flush` says whether all are written.

        For a producer with the same transactional_id that never calls `init_transactions`. Joining another
        transaction leaves the one before, whose records fail where they are not sent yet.
        """
        await self._transactional.join(shared)

    async def hand_over_transaction(self) -> SharedTransaction:
        """Sends what is left and gives the open transaction away: a producer in any process ends
        it, after `take_over_transaction`.

        This producer has no transaction then, and closing it aborts none; `init_transactions` comes before its next
        one. Raises TransactionFailed when a record could not be written: abort.
        """
        return await self._transactional.hand_over()

    async def take_over_transaction(self, shared: SharedTransaction) -> None:
        """Takes a transaction that another producer has handed over, to commit or to abort it.

        Its records are all sent.

        For a producer with the same transactional_id that has not called `init_transactions`.
        """
        self._transactional.take_over(shared)

    async def send_offsets_to_transaction(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        group_metadata: ConsumerGroupMetadata,
    ) -> None:
        """Commit consumed positions with the transaction: next offsets to read, and `consumer.group_metadata()`.

        The consumer itself must not commit (enable_auto_commit=False). Any error means: abort_transaction().
        """
        await self._transactional.send_offsets(offsets, group_metadata)

    async def commit_transaction(self) -> None:
        """Send what is left, then make all of the transaction visible.

        Raises TransactionFailed when a record or an offset could not be written: abort, then do the work again.
        ProducerFenced when another producer has taken over. RequestTimedOut after max_block_ms, when the outcome is
        unknown: call it again until it is known, or init_transactions() to give it up.
        """
        await self._transactional.commit()

    async def abort_transaction(self) -> None:
        """Discard the transaction; its records that are not written yet fail with TransactionAborted."""
        await self._transactional.abort()

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[Self]:
        """A transaction as a block: committed at its end, aborted by an exception.

        Initializes when `init_transactions` was not called.
        """
        transactions = self._transactional
        if transactions.is_new:
            await transactions.initialize()
        await transactions.begin()
        try:
            yield self
            await transactions.commit()
        except BaseException as error:
            await transactions.abort_after(error)
            raise

    async def close(self, timeout_ms: int | None = None) -> None:
        """Flush within `timeout_ms` (default: as long as delivery takes), fail the rest, disconnect. Idempotent.

        An open transaction is aborted.
        """
        if timeout_ms is not None:
            arguments.timeout(timeout_ms)
        if self._scope.is_closed:
            return
        self._scope.check_place()
        try:
            if self._transactions is not None:
                await self._transactions.leave(timeout_ms)
            elif timeout_ms != 0:
                await self.flush(timeout_ms)
        finally:
            try:
                await self._scope.close()
            finally:
                self._sender.end(
                    ClientClosed("the producer was closed before the record was acknowledged")
                )
                self._sender.forget_failures()
                self._outgoing.close()
                await self._cluster.close()

    @property
    def _transactional(self) -> Transactions:
        self._scope.check()
        if self._transactions is None:
            raise IllegalState(
                "the producer has no transactions; give it a transactional_id that no other live producer has"
            )
        return self._transactions

    def _observe_metadata(self) -> None:
        self._sender.observe_metadata()

    def _on_background_failure(self) -> None:
        """Tells all callers that wait that nothing will be sent any more."""
        self._sender.end(ClientClosed("the producer ended: one of its background tasks failed"))
        self._cluster.wake_waiters()


def _policy(config: ProducerConfig, cluster: Cluster) -> SenderPolicy:
    return SenderPolicy(
        acks=config.acks,
        idempotent=config.enable_idempotence,
        codec=config.codec,
        linger_ms=config.linger_ms,
        request_bytes_max=config.max_request_size,
        request_timeout_ms=config.request_timeout_ms,
        in_flight_max=config.max_in_flight_requests_per_connection,
        retries=config.retries,
        backoff=cluster.backoff,
        availability_timeout_ms=config.partitioner_availability_timeout_ms,
        compression_level=config.compression_level,
    )


def _default_partitioner(
    config: ProducerConfig, sender: Sender, random: Random
) -> DefaultPartitioner:
    load = PartitionLoad(sender.accumulator.queue_lengths, sender.avoided_nodes)
    return DefaultPartitioner(
        random,
        config.batch_size,
        ignore_keys=config.partitioner_ignore_keys,
        load=load if config.partitioner_adaptive_partitioning_enable else None,
    )
