"""WriteTxnMarkers: ends transactions in partitions this broker leads.

Sent by transaction coordinators and by administrators.

Versions 1-2. Version 2 says which transaction.version the marker follows (KIP-1228): from 2 on its epoch must be above
that of the records. Every partition has its own error; a marker that is written a second time is not one. Offsets that
were committed in the transaction count, or are forgotten, when the marker is in `__consumer_offsets`.
"""

from __future__ import annotations

import asyncio

from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Lists, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.requests.turns import turns_of
from millstream.broker.transactions.markers import TransactionMarkers
from millstream.errors import KafkaError
from millstream.model import TopicPartition
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from millstream.records.control import TransactionMarker
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.WRITE_TXN_MARKERS,
    versions=range(1, 3),
    permissions=(
        Permission(Operation.ALTER, ResourceType.CLUSTER),
        Permission(Operation.CLUSTER_ACTION, ResourceType.CLUSTER),
    ),
    lists=(Lists(("markers", "topics", "partition_indexes"), ("markers", "topics", "partitions")),),
)


async def handle(
    request: WriteTxnMarkersRequest,
    context: RequestContext,
    *,
    access: Access,
    transaction_markers: TransactionMarkers,
) -> WriteTxnMarkersResponse:
    """Writes markers. Raises ClusterAuthorizationFailed."""
    if not access.allows_on_cluster(context, Operation.ALTER, quiet=True):
        access.check_cluster(context, Operation.CLUSTER_ACTION)
    results: list[WritableTxnMarkerResult] = []
    # Many together: each waits for the replicas of its partitions.
    for some in turns_of(request.markers):
        results += await asyncio.gather(*(_write(each, transaction_markers) for each in some))
    return WriteTxnMarkersResponse(markers=results)


def failed(
    request: WriteTxnMarkersRequest, _version: int, error: KafkaError
) -> WriteTxnMarkersResponse:
    return WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(
                marker.producer_id,
                [
                    WritableTxnMarkerTopicResult(
                        topic.name,
                        [
                            WritableTxnMarkerPartitionResult(number, error.code)
                            for number in topic.partition_indexes
                        ],
                    )
                    for topic in marker.topics
                ],
            )
            for marker in request.markers
        ]
    )


async def _write(asked: WritableTxnMarker, markers: TransactionMarkers) -> WritableTxnMarkerResult:
    marker = TransactionMarker(
        asked.producer_id,
        asked.producer_epoch,
        asked.coordinator_epoch,
        asked.transaction_result,
        asked.transaction_version,
    )
    named = [
        TopicPartition(topic.name, number)
        for topic in asked.topics
        for number in topic.partition_indexes
    ]
    refusals = await markers.write(named, marker)
    return WritableTxnMarkerResult(
        asked.producer_id,
        [
            WritableTxnMarkerTopicResult(
                topic.name,
                [
                    WritableTxnMarkerPartitionResult(
                        number, _code(refusals[TopicPartition(topic.name, number)])
                    )
                    for number in topic.partition_indexes
                ],
            )
            for topic in asked.topics
        ],
    )


def _code(refusal: KafkaError | None) -> int:
    return 0 if refusal is None else refusal.code
