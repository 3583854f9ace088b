"""Asks the coordinator of a transaction, on this node or another one, whether its producer may write to partitions."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.broker.coordination.coordinator_topic import coordinator_of
from millstream.broker.coordination.internal_topics import TRANSACTION_STATE
from millstream.broker.coordination.transaction_coordination import TransactionCoordination
from millstream.broker.forwarding.broker_channel import BrokerChannel
from millstream.broker.forwarding.gathered_requests import GatheredRequests
from millstream.broker.services import BackgroundTasks, Metadata
from millstream.coordinator.result import NO_TOKEN, Caller
from millstream.errors import CoordinatorNotAvailable, MillstreamError, error_for
from millstream.metadata.image import NO_LEADER
from millstream.model import BrokerId
from millstream.net.client.connections import Lane
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTransaction,
)

_BROKER = Caller(NO_TOKEN, api_version=5)
"""The sender of these requests: a broker, in the version of AddPartitionsToTxn that brokers speak."""


class TransactionCoordinatorChannel:
    def __init__(
        self,
        coordination: TransactionCoordination,
        metadata: Metadata,
        brokers: BrokerChannel,
        tasks: BackgroundTasks,
    ) -> None:
        self._requests = GatheredRequests(
            self._ask, lambda each: each.transactional_id, tasks, "transactions"
        )
        self._coordination = coordination
        self._metadata = metadata
        self._brokers = brokers

    async def add_partitions(
        self, transaction: AddPartitionsToTxnTransaction
    ) -> AddPartitionsToTxnResult:
        """Adds or verifies partitions of a transaction. Raises the KafkaError with which all of them are refused."""
        leader = self._leader(transaction.transactional_id)
        if leader in {NO_LEADER, self._brokers.broker_id}:
            # This node's coordinator says what it means that nobody leads.
            return await self._coordination.ask(
                transaction.transactional_id, transaction, AddPartitionsToTxnResult, _BROKER
            )
        return await self._requests.ask(leader, transaction)

    async def _ask(
        self, leader: BrokerId, transactions: Sequence[AddPartitionsToTxnTransaction]
    ) -> Sequence[AddPartitionsToTxnResult]:
        request = AddPartitionsToTxnRequest(transactions=list(transactions))
        try:
            answer = await self._brokers.ask(
                leader,
                ApiKey.ADD_PARTITIONS_TO_TXN,
                request,
                AddPartitionsToTxnResponse,
                Lane.VERIFICATION,
            )
        except MillstreamError as error:
            raise CoordinatorNotAvailable(
                f"broker {leader}, which coordinates it, cannot be asked: {error}"
            ) from error
        if answer.error_code:
            raise error_for(answer.error_code)
        by_id = {result.transactional_id: result for result in answer.results_by_transaction}
        if by_id.keys() != {each.transactional_id for each in transactions}:
            raise CoordinatorNotAvailable(f"broker {leader} has not answered all that was asked")
        return [by_id[each.transactional_id] for each in transactions]

    def _leader(self, transactional_id: str) -> BrokerId:
        topic = self._metadata.image.topic(TRANSACTION_STATE)
        return NO_LEADER if topic is None else coordinator_of(topic, transactional_id)
