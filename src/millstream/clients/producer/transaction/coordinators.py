"""Requests of a transactional producer to coordinators, its own and those of groups, each repeated
until there is an answer.

Counts what stays without an answer, because it may be carried out late. What an error means is for `transactions`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from millstream.clients.cluster.cluster import Cluster
from millstream.clients.config import ProducerConfig
from millstream.clients.core.named_errors import named_error
from millstream.clients.core.values import ConsumerGroupMetadata, OffsetAndMetadata
from millstream.clients.producer.transaction.core.errors import TransactionalProducerFailed
from millstream.clients.producer.transaction.core.requests import (
    ADD_PARTITIONS_VERSION_MAX,
    EXPLICIT_END_VERSION_MAX,
    EXPLICIT_OFFSET_COMMIT_VERSION_MAX,
    FIRST_INIT_WITH_IDENTITY,
    add_partitions_error,
    add_partitions_request,
    offset_commit_error,
    offset_commit_request,
)
from millstream.clients.producer.transaction.core.transaction import (
    NOBODY,
    ProducerIdentity,
    Transaction,
)
from millstream.errors import ConcurrentTransactions
from millstream.model import TopicPartition
from millstream.net.client.connection import AnyResponse
from millstream.net.client.core.outages import Backoff
from millstream.protocol.api import ApiKey, Message
from millstream.protocol.enums import CoordinatorType
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

_CONCURRENT = Backoff(2, 20)
"""The markers of the transaction before are being written, which takes moments; Java waits 20 ms each time."""
_ANY_VERSION = 2**15


class TransactionCoordinators:
    def __init__(self, config: ProducerConfig, cluster: Cluster, transaction: Transaction) -> None:
        self._config = config
        self._cluster = cluster
        self._transaction = transaction
        self.announce_implicit = False
        """What the cluster said last: partitions and groups join by themselves (transaction.version 2)."""

    @property
    def _name(self) -> str:
        return f"transactional id {self._transaction.transactional_id!r}"

    async def fetch_identity(self, deadline_ms: int, *, renew: bool) -> ProducerIdentity:
        """Returns a new epoch.

        With `renew` the coordinator refuses when another producer has come in between (KIP-360).
        """
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
            _raise(response.error_code, self._name)
            return response

        response = await self._with_coordinator(ask, deadline_ms)
        return response.producer_id, response.producer_epoch

    async def add_partitions(self, partitions: frozenset[TopicPartition], deadline_ms: int) -> None:
        transaction = self._transaction
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
            error = add_partitions_error(response, transaction.transactional_id)
            if error is not None:
                raise error

        await self._with_coordinator(ask, deadline_ms)

    async def commit_offsets(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        group: ConsumerGroupMetadata,
        deadline_ms: int,
    ) -> None:
        """Adds the group first, where it does not join by itself."""
        transaction = self._transaction
        if not transaction.is_implicit:
            await self._add_group(group.group_id, deadline_ms)
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
            error = offset_commit_error(response, group.group_id, transaction.transactional_id)
            if error is not None:
                raise error

        await self._with_coordinator(ask, deadline_ms, (group.group_id, CoordinatorType.GROUP))

    async def end(self, deadline_ms: int, *, committed: bool) -> ProducerIdentity | None:
        """Returns the identity for the next transaction, where the coordinator gives one."""
        transaction = self._transaction
        request = EndTxnRequest(
            transactional_id=transaction.transactional_id,
            producer_id=transaction.identity[0],
            producer_epoch=transaction.identity[1],
            committed=committed,
        )
        version_max = _ANY_VERSION if transaction.is_implicit else EXPLICIT_END_VERSION_MAX

        async def ask(node_id: int) -> EndTxnResponse:
            transaction.note_end_sent()
            response = await self._ask(
                node_id, ApiKey.END_TXN, request, EndTxnResponse, version_max=version_max
            )
            _raise(response.error_code, self._name)
            return response

        response = await self._with_coordinator(ask, deadline_ms)
        if response.producer_id < 0:
            return None
        return response.producer_id, response.producer_epoch

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
            _raise(response.error_code, f"{self._name} in group {group_id!r}")

        await self._with_coordinator(ask, deadline_ms)

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
            self.announce_implicit = versions.features.get(
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


def _raise(error_code: int, subject: str) -> None:
    if error_code:
        raise named_error(error_code, subject)
