"""A producer's transactions: the calls, one at a time, in the order that `core.transaction` allows.

What is asked of coordinators is in `coordinators.py`; what their refusals mean is told to the transaction here.
Every call has one time limit, max_block_ms. A call that runs into it, or is cancelled, leaves the transaction where it
was, and the same call may be made again; only offsets cannot be sent again, and their transaction must be aborted.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Iterator, Mapping
from typing import Protocol

from millstream.clients.cluster.cluster import Cluster
from millstream.clients.config import ProducerConfig
from millstream.clients.core import arguments
from millstream.clients.core.values import ConsumerGroupMetadata, OffsetAndMetadata
from millstream.clients.producer.transaction.coordinators import TransactionCoordinators
from millstream.clients.producer.transaction.core.errors import (
    TransactionAborted,
    TransactionalProducerFailed,
    TransactionFailed,
    as_fencing,
    is_fatal_for_request,
)
from millstream.clients.producer.transaction.core.transaction import (
    ProducerTransactionState,
    SharedTransaction,
    Transaction,
)
from millstream.errors import (
    BrokerNotAvailable,
    ClusterAuthorizationFailed,
    KafkaError,
    MillstreamError,
    ProducerFenced,
    RequestTimedOut,
    RetriableError,
    TransactionalIdAuthorizationFailed,
)
from millstream.model import TopicPartition
from millstream.net.client.tasks import TaskScope

Guard = contextlib.AbstractContextManager[object]

_LOGGER = logging.getLogger(__name__)

_LEAVE_MS = 2_000
"""How long a close that does not wait still tries to abort."""


class Records(Protocol):
    """The records being sent, as far as transactions must know."""

    lock: threading.Lock
    """Held while records are put into batches: a transaction that ends takes no more of them."""

    async def settle_all(self, deadline_ms: int) -> None: ...
    def wake(self) -> None: ...


class Transactions:
    def __init__(
        self,
        config: ProducerConfig,
        cluster: Cluster,
        transaction: Transaction,
        records: Records,
        scope: TaskScope,
    ) -> None:
        self._config = config
        self._cluster = cluster
        self._transaction = transaction
        self._records = records
        self._scope = scope
        self._adding: asyncio.Task[None] | None = None
        self._one_at_a_time = asyncio.Lock()
        self._coordinators = TransactionCoordinators(config, cluster, transaction)

    @property
    def is_new(self) -> bool:
        return self._transaction.state is ProducerTransactionState.UNINITIALIZED

    async def initialize(self) -> None:
        async with self._one_at_a_time:
            self._transaction.restart()
            deadline_ms = self._deadline_ms()
            await self._settle(deadline_ms)
            await self._fetch_identity(deadline_ms, renew=False)

    def share(self) -> SharedTransaction:
        return self._transaction.share()

    async def join(self, shared: SharedTransaction) -> None:
        async with self._one_at_a_time:
            with self._records.lock:
                is_another = self._transaction.begin_join(shared)
            if is_another:
                # What is left of the one before has its outcome first, or it would be written in this one.
                await self._settle(self._deadline_ms())
                self._transaction.join(shared)

    async def hand_over(self) -> SharedTransaction:
        async with self._one_at_a_time:
            with self._records.lock:
                self._transaction.begin_hand_over()
            await self._settle(self._deadline_ms())
            return self._transaction.hand_over()

    def take_over(self, shared: SharedTransaction) -> None:
        self._transaction.take_over(shared)

    async def begin(self) -> None:
        async with self._one_at_a_time:
            self._transaction.check_begin()
            if self._transaction.renewal_wanted:
                await self._fetch_identity(self._deadline_ms(), renew=True)
            self._transaction.begin(is_implicit=self._coordinators.announce_implicit)

    async def commit(self) -> None:
        async with self._one_at_a_time:
            with self._records.lock:
                self._transaction.begin_commit()
            deadline_ms = self._deadline_ms()
            await self._settle(deadline_ms)
            self._transaction.raise_failure()
            await self._end(committed=True, deadline_ms=deadline_ms)

    async def abort(self) -> None:
        async with self._one_at_a_time:
            await self._abort(self._deadline_ms())

    async def abort_after(self, error: BaseException) -> None:
        """Abort, if that is still possible, because of an error that is about to be raised.

        An epoch that brokers find too old is a failure like others until the coordinator tells that it is fencing.
        """
        try:
            await self._maybe_abort()
        except MillstreamError as failure:
            if isinstance(failure, ProducerFenced) and isinstance(error, TransactionFailed):
                raise
            error.add_note(f"the transaction could not be aborted either: {failure}")

    async def leave(self, timeout_ms: int | None) -> None:
        """Ends an open transaction as the producer closes, so that no reader has to wait for its time limit."""
        limit_ms = min(_LEAVE_MS, self._config.max_block_ms) if timeout_ms == 0 else timeout_ms
        try:
            await self._maybe_abort(limit_ms)
        except MillstreamError as error:
            _LOGGER.warning(
                "the open transaction of %r is left to its time limit (transaction_timeout_ms): %s",
                self._transaction.transactional_id,
                error,
            )

    async def _maybe_abort(self, limit_ms: int | None = None) -> None:
        """Aborts what is still open once the call under way, which may end it, has come to its end."""
        if not self._transaction.may_abort:
            return
        deadline_ms = self._deadline_ms(limit_ms)
        try:
            async with asyncio.timeout((deadline_ms - self._cluster.now_ms()) / 1000):
                await self._one_at_a_time.acquire()
        except TimeoutError:
            raise RequestTimedOut(
                "another call of the transaction has not come to its end"
            ) from None
        try:
            if self._transaction.may_abort:
                await self._abort(deadline_ms)
        finally:
            self._one_at_a_time.release()

    async def _abort(self, deadline_ms: int) -> None:
        with self._records.lock:
            self._transaction.begin_abort()
        await self._settle(deadline_ms)
        await self._end(committed=False, deadline_ms=deadline_ms)

    async def send_offsets(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: ConsumerGroupMetadata
    ) -> None:
        if not isinstance(group, ConsumerGroupMetadata):
            raise TypeError(f"group_metadata takes consumer.group_metadata(), got {group!r}")
        offsets = arguments.positions(offsets)
        async with self._one_at_a_time:
            self._transaction.check_open()
            if not offsets:
                return
            deadline_ms = self._deadline_ms()
            self._transaction.start()
            try:
                with self._errors_kept():
                    await self._coordinators.commit_offsets(offsets, group, deadline_ms)
            except BaseException:
                # Whether the offsets are in the transaction is unknown: it must not be committed.
                self._transaction.fail(
                    TransactionAborted("offsets could not be added to the transaction"),
                    is_fatal=False,
                )
                raise

    def add_wanted(self) -> None:
        """Add the partitions that wait for it, in the older flow. They are looked for after each drain."""
        if self._transaction.wanted and (self._adding is None or self._adding.done()):
            self._adding = self._scope.start(self._add_partitions(), "add partitions")

    async def _settle(self, deadline_ms: int) -> None:
        """All batches have their outcome, and nothing is being added any more."""
        await self._records.settle_all(deadline_ms)
        if self._adding is not None and not self._adding.done():
            # The coordinator may add them all the same: then the transaction ends in partitions without records of it.
            self._adding.cancel()
            await asyncio.wait((self._adding,))

    async def _add_partitions(self) -> None:
        transaction = self._transaction
        partitions = frozenset(transaction.wanted)
        transaction.start()
        with contextlib.suppress(KafkaError), self._errors_kept():
            await self._coordinators.add_partitions(partitions, self._deadline_ms())
            transaction.add_partitions(partitions)
        self._records.wake()

    async def _fetch_identity(self, deadline_ms: int, *, renew: bool) -> None:
        transaction = self._transaction
        try:
            identity = await self._coordinators.fetch_identity(deadline_ms, renew=renew)
        except (
            RetriableError,
            BrokerNotAvailable,
            TransactionalIdAuthorizationFailed,
            ClusterAuthorizationFailed,
        ):
            raise  # may be asked again
        except (KafkaError, TransactionalProducerFailed) as error:
            transaction.fail(error, is_fatal=True)
            transaction.raise_failure()
            raise
        transaction.complete_initialization(identity)

    async def _end(self, *, committed: bool, deadline_ms: int) -> None:
        transaction = self._transaction
        if not transaction.end_needed:
            transaction.complete()
            return
        with self._errors_kept():
            identity = await self._coordinators.end(deadline_ms, committed=committed)
        transaction.complete(identity)

    @contextlib.contextmanager
    def _errors_kept(self) -> Iterator[None]:
        """Keeps errors: what a coordinator refuses fails the transaction, or the producer.

        Retriable errors are time-outs here.
        """
        try:
            yield
        except RetriableError:
            raise
        except KafkaError as error:
            self._transaction.fail(error, is_fatal=is_fatal_for_request(error))
            self._records.wake()
            told = as_fencing(error, self._transaction.transactional_id)
            raise told from told.__cause__

    def _deadline_ms(self, limit_ms: int | None = None) -> int:
        limit_ms = self._config.max_block_ms if limit_ms is None else limit_ms
        return self._cluster.now_ms() + limit_ms
