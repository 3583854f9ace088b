"""What the delivery of an Arrow batch tells of batches that were cut in two on their way."""

from __future__ import annotations

import asyncio

import pytest

from millstream.clients.producer.core.producer_batch import BatchOutcome, ProducerBatch
from millstream.clients.producer.delivery import BatchDelivery, Delivery, Settlements
from millstream.errors import MessageTooLarge
from millstream.model import TopicPartition


def batch(records: int) -> ProducerBatch:
    place = TopicPartition("t", 0)
    return ProducerBatch(place, (0,), 0, 1_000, record_count=records)


async def test_a_batch_has_failed_where_its_second_half_has() -> None:
    settlements, whole = Settlements(), batch(3)
    delivery = BatchDelivery([Delivery(whole, 0, settlements)])
    waiting = asyncio.ensure_future(_awaited(delivery))
    await asyncio.sleep(0)
    first, second = whole.halves = batch(1), batch(2)
    first.outcome = BatchOutcome(base_offset=7)
    settlements.announce([whole, first])
    await asyncio.sleep(0)
    assert (delivery.is_done, waiting.done()) == (False, False)
    second.outcome = BatchOutcome(error=MessageTooLarge("of the second half"))
    settlements.announce([second])
    with pytest.raises(MessageTooLarge, match="of the second half"):
        await waiting
    assert delivery.is_done
    assert second.error_seen
    with pytest.raises(MessageTooLarge):
        delivery.result()


async def test_halves_that_are_written_give_the_first_and_the_last_record() -> None:
    settlements, whole = Settlements(), batch(3)
    delivery = BatchDelivery([Delivery(whole, 0, settlements)])
    first, second = whole.halves = batch(1), batch(2)
    first.outcome, second.outcome = BatchOutcome(base_offset=7), BatchOutcome(base_offset=9)
    assert [each.offset for each in await delivery] == [7]
    assert delivery.last_record().offset == 10


async def _awaited(delivery: BatchDelivery) -> None:
    await delivery
