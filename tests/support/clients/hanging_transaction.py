"""Leaves a transaction that hangs: a batch in a partition that its coordinator has never heard of."""

from __future__ import annotations

import time

from millstream.clients import blocking
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.record import Record
from tests.support.clients.raw_client import RawClient

_WITHOUT_IMPLICIT_ADDITION = 9
"""From version 12 on a Produce adds its partitions to the transaction (KIP-890)."""


def leave_hanging(bootstrap: str, topic: str, transactional_id: str, *, age_ms: int) -> int:
    """Returns the producer id.

    The node must not verify (transaction.partition.verification.enable=false), as none did before Kafka 3.6.
    """
    with blocking.Producer(bootstrap_servers=bootstrap, transactional_id=transactional_id) as first:
        first.init_transactions()
    with blocking.Admin(bootstrap_servers=bootstrap) as admin:
        known = admin.describe_transactions([transactional_id]).result(transactional_id)
    record = Record(timestamp=time.time_ns() // 1_000_000 - age_ms, value=b"hangs")
    options = BatchOptions(
        producer_id=known.producer_id,
        producer_epoch=known.producer_epoch,
        base_sequence=0,
        is_transactional=True,
    )
    data = PartitionProduceData(0, memoryview(build_batch([record], options)))
    request = ProduceRequest(
        transactional_id=transactional_id,
        acks=-1,
        timeout_ms=10_000,
        topic_data=[TopicProduceData(name=topic, partition_data=[data])],
    )
    with RawClient(bootstrap) as client:
        answer = client.ask(ApiKey.PRODUCE, _WITHOUT_IMPLICIT_ADDITION, request)
    (partition,) = answer.responses[0].partition_responses
    assert partition.error_code == 0, answer
    return known.producer_id
