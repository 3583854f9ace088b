"""A producer's transactions: asks the coordinators for what `core.transaction` says is due.

Every call has one time limit, max_block_ms. A call that runs into it, or is cancelled, leaves the transaction where it
was, and the same call may be made again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Protocol, TypeVar

from millstream.clients.cluster import Cluster, CoordinatorType
from millstream.clients.connection import AnyResponse
from millstream.clients.core.backoff import Backoff
from millstream.clients.core.config import ProducerConfig
from millstream.clients.core.transaction import NOBODY, Transaction, TransactionState
from millstream.clients.core.transaction_errors import (
    TransactionAborted,
    TransactionalProducerFailed,
    TransactionFailed,
    as_fencing,
    is_fatal_for_request,
)
from millstream.clients.core.transaction_requests import (
    ADD_PARTITIONS_VERSION_MAX,
    EXPLICIT_END_VERSION_MAX,
    EXPLICIT_OFFSET_COMMIT_VERSION_MAX,
    FIRST_INIT_WITH_IDENTITY,
    add_partitions_error,
    add_partitions_request,
    offset_commit_error,
    offset_commit_request,
)
from millstream.clients.core.values import ConsumerGroupMetadata, OffsetAndMetadata
from millstream.clients.tasks import TaskScope
from millstream.errors import (
    ClusterAuthorizationFailed,
    ConcurrentTransactions,
    KafkaError,
    MillstreamError,
    ProducerFenced,
    RetriableError,
    TransactionalIdAuthorizationFailed,
    error_for,
)
from millstream.model import TopicPartition
from millstream.protocol.api import ApiKey, Message
from millstream.protocol.generated.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from millstream.protocol.generated.add_partitions_to_txn import AddPartitionsToTxnResponse
from millstream.protocol.generated.end_txn import EndTxnRequest, EndTxnResponse
from millstream.protocol.generated.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from millstream.protocol.generated.txn_offset_commit import TxnOffsetCommitResponse

AnyResult = TypeVar("AnyResult")

Guard = contextlib.AbstractContextManager[object]

_log = logging.getLogger(__name__)

_CONCURRENT = Backoff(2, 20)
"""The markers of the transaction before are being written, which takes moments; Java waits 20 ms each time."""
_ANY_VERSION = 2**15
_LEAVE_MS = 5_000
"""How long a close that does not wait still tries to abort."""


class Records(Protocol):
    """What is sent, as far as transactions must know."""

    guard: Guard
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
        self._announces_implicit = False

    @property
    def is_new(self) -> bool:
        return self._transaction.state is TransactionState.UNINITIALIZED

    async def initialize(self) -> None:
        async with self._one_at_a_time:
            self._transaction.restart()
            deadline_ms = self._deadline_ms()
            await self._settle(deadline_ms)
            await self._fetch_identity(deadline_ms, renew=False)

    async def begin(self) -> None:
        async with self._one_at_a_time:
            self._transaction.check_begin()
            if self._transaction.renewal_wanted:
                await self._fetch_identity(self._deadline_ms(), renew=True)
            self._transaction.begin(is_implicit=self._announces_implicit)

    async def commit(self) -> None:
        async with self._one_at_a_time:
            with self._records.guard:
                self._transaction.begin_commit()
            deadline_ms = self._deadline_ms()
            await self._settle(deadline_ms)
            self._transaction.raise_failure()
            await self._end(committed=True, deadline_ms=deadline_ms)

    async def abort(self, limit_ms: int | None = None) -> None:
        async with self._one_at_a_time:
            with self._records.guard:
                self._transaction.begin_abort()
            deadline_ms = self._deadline_ms(limit_ms)
            await self._settle(deadline_ms)
            await self._end(committed=False, deadline_ms=deadline_ms)

    async def abort_after(self, error: BaseException) -> None:
        """Abort, if that is still possible, because of an error that is about to be raised.

        An epoch that brokers find too old is a failure like others until the coordinator tells that it is fencing.
        """
        if not self._transaction.may_abort:
            return
        try:
            await self.abort()
        except MillstreamError as failure:
            if isinstance(failure, ProducerFenced) and isinstance(error, TransactionFailed):
                raise
            error.add_note(f"the transaction could not be aborted either: {failure}")

    async def leave(self, timeout_ms: int | None) -> None:
        """The producer is closing: nobody shall have to wait for the transaction's time limit."""
        if not self._transaction.may_abort:
            return
        try:
            await self.abort(_LEAVE_MS if timeout_ms == 0 else timeout_ms)
        except MillstreamError as error:
            _log.warning(
                "the open transaction of %r is left to its time limit (transaction_timeout_ms): %s",
                self._transaction.transactional_id,
                error,
            )

    async def send_offsets(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: ConsumerGroupMetadata
    ) -> None:
        async with self._one_at_a_time:
            self._transaction.check_open()
            if not offsets:
                return
            deadline_ms = self._deadline_ms()
            self._transaction.start()
            try:
                with self._errors_kept():
                    if not self._transaction.is_implicit:
                        await self._add_group(group.group_id, deadline_ms)
                    await self._commit_offsets(offsets, group, deadline_ms)
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
            self._adding.cancel()
            await asyncio.wait((self._adding,))

    async def _add_partitions(self) -> None:
        transaction = self._transaction
        partitions = frozenset(transaction.wanted)
        request = add_partitions_request(
            transaction.transactional_id, transaction.identity, partitions
        )

        async def ask(node_id: int) -> None:
            response = await self._ask(
                node_id,
                ApiKey.ADD_PARTITIONS_TO_TXN,
                request,
                AddPartitionsToTxnResponse,
                version_max=ADD_PARTITIONS_VERSION_MAX,
            )
            error = add_partitions_error(response)
            if error is not None:
                raise error

        transaction.start()
        with contextlib.suppress(KafkaError), self._errors_kept():
            await self._with_coordinator(ask, self._deadline_ms())
            transaction.added(partitions)
        self._records.wake()

    async def _fetch_identity(self, deadline_ms: int, *, renew: bool) -> None:
        """A new epoch. With `renew` the coordinator refuses when somebody else has come in between (KIP-360)."""
        transaction = self._transaction
        identity = transaction.identity if renew else NOBODY
        request = InitProducerIdRequest(
            transactional_id=transaction.transactional_id,
            transaction_timeout_ms=self._config.transaction_timeout_ms,
            producer_id=identity[0],
            producer_epoch=identity[1],
        )

        async def ask(node_id: int) -> InitProducerIdResponse:
            connection = await self._cluster.connection(node_id)
            version = connection.versions.choose(ApiKey.INIT_PRODUCER_ID)
            if renew and version < FIRST_INIT_WITH_IDENTITY:
                raise TransactionalProducerFailed(
                    "this broker cannot renew the epoch of a producer (it is older than 2.5); call"
                    " init_transactions() to start over"
                )
            response = await self._ask(
                node_id, ApiKey.INIT_PRODUCER_ID, request, InitProducerIdResponse
            )
            _raise(response.error_code)
            return response

        try:
            response = await self._with_coordinator(ask, deadline_ms)
        except (RetriableError, TransactionalIdAuthorizationFailed, ClusterAuthorizationFailed):
            raise  # may be asked again
        except (KafkaError, TransactionalProducerFailed) as error:
            transaction.fail(error, is_fatal=True)
            transaction.raise_failure()
            raise
        transaction.initialized((response.producer_id, response.producer_epoch))

    async def _add_group(self, group_id: str, deadline_ms: int) -> None:
        transaction = self._transaction
        request = AddOffsetsToTxnRequest(
            transactional_id=transaction.transactional_id,
            producer_id=transaction.identity[0],
            producer_epoch=transaction.identity[1],
            group_id=group_id,
        )

        async def ask(node_id: int) -> None:
            response = await self._ask(
                node_id, ApiKey.ADD_OFFSETS_TO_TXN, request, AddOffsetsToTxnResponse
            )
            _raise(response.error_code)

        await self._with_coordinator(ask, deadline_ms)

    async def _commit_offsets(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        group: ConsumerGroupMetadata,
        deadline_ms: int,
    ) -> None:
        transaction = self._transaction
        version_max = (
            _ANY_VERSION if transaction.is_implicit else EXPLICIT_OFFSET_COMMIT_VERSION_MAX
        )

        async def ask(node_id: int) -> None:
            connection = await self._cluster.connection(node_id)
            request = offset_commit_request(
                transaction.transactional_id,
                transaction.identity,
                offsets,
                group,
                connection.versions.choose(ApiKey.TXN_OFFSET_COMMIT, version_max),
            )
            response = await self._ask(
                node_id,
                ApiKey.TXN_OFFSET_COMMIT,
                request,
                TxnOffsetCommitResponse,
                version_max=version_max,
            )
            error = offset_commit_error(response)
            if error is not None:
                raise error

        await self._with_coordinator(ask, deadline_ms, (group.group_id, CoordinatorType.GROUP))

    async def _end(self, *, committed: bool, deadline_ms: int) -> None:
        transaction = self._transaction
        if not transaction.end_needed:
            transaction.ended()
            return
        request = EndTxnRequest(
            transactional_id=transaction.transactional_id,
            producer_id=transaction.identity[0],
            producer_epoch=transaction.identity[1],
            committed=committed,
        )
        version_max = _ANY_VERSION if transaction.is_implicit else EXPLICIT_END_VERSION_MAX

        async def ask(node_id: int) -> EndTxnResponse:
            transaction.end_is_sent()
            response = await self._ask(
                node_id, ApiKey.END_TXN, request, EndTxnResponse, version_max=version_max
            )
            _raise(response.error_code)
            return response

        with self._errors_kept():
            response = await self._with_coordinator(ask, deadline_ms)
        if response.producer_id >= 0:
            transaction.ended((response.producer_id, response.producer_epoch))
        else:
            transaction.ended()

    async def _ask(
        self,
        node_id: int,
        key: ApiKey,
        request: Message,
        response_type: type[AnyResponse],
        *,
        version_max: int = _ANY_VERSION,
    ) -> AnyResponse:
        """Counts what stays without an answer, by an error or by a cancelled wait."""
        connection = await self._cluster.connection(node_id)
        if key is ApiKey.INIT_PRODUCER_ID or key is ApiKey.END_TXN:
            versions = connection.versions
            self._announces_implicit = versions.features.get(
                "transaction.version", 0
            ) >= 2 and versions.supports(ApiKey.END_TXN, EXPLICIT_END_VERSION_MAX + 1)
        self._transaction.unanswered += 1
        response = await connection.request(key, request, response_type, version_max=version_max)
        self._transaction.unanswered -= 1
        return response

    async def _with_coordinator(
        self,
        ask: Callable[[int], Awaitable[AnyResult]],
        deadline_ms: int,
        coordinator: tuple[str, CoordinatorType] | None = None,
    ) -> AnyResult:
        """The transaction's coordinator, or another one. An earlier transaction's end is waited for in small steps."""
        key, kind = coordinator or (
            self._transaction.transactional_id,
            CoordinatorType.TRANSACTION,
        )

        async def patiently(node_id: int) -> AnyResult:
            refusals = 0
            while True:
                try:
                    return await ask(node_id)
                except ConcurrentTransactions:
                    refusals += 1
                    await asyncio.sleep(_CONCURRENT.delay_ms(refusals, self._cluster.random) / 1000)

        return await self._cluster.with_coordinator(key, patiently, deadline_ms, kind)

    @contextlib.contextmanager
    def _errors_kept(self) -> Iterator[None]:
        """What a coordinator refuses fails the transaction, or the producer. Retriable errors are time-outs here."""
        try:
            yield
        except RetriableError:
            raise
        except KafkaError as error:
            self._transaction.fail(error, is_fatal=is_fatal_for_request(error))
            self._records.wake()
            raise as_fencing(error, self._transaction.transactional_id) from error

    def _deadline_ms(self, limit_ms: int | None = None) -> int:
        limit_ms = self._config.max_block_ms if limit_ms is None else limit_ms
        return self._cluster.now_ms() + limit_ms


def _raise(error_code: int) -> None:
    if error_code:
        raise error_for(error_code)
