from __future__ import annotations

import asyncio

import pytest

from millstream.broker.handlers import init_producer_id
from millstream.broker.transactions.producer_ids import ProducerIds
from millstream.errors import CoordinatorLoadInProgress, InvalidRequest, NotController
from millstream.model import BrokerId
from millstream.protocol.generated.allocate_producer_ids import AllocateProducerIdsResponse
from millstream.protocol.generated.init_producer_id import InitProducerIdRequest


class BlocksOfTwo:
    """A controller that is away for the first `failures` requests."""

    def __init__(self, failures: int = 0) -> None:
        self.failures = failures
        self.allocated = 0

    async def ask(self, _api, _request) -> AllocateProducerIdsResponse:
        await asyncio.sleep(0)
        if self.failures:
            self.failures -= 1
            raise NotController
        self.allocated += 1
        return AllocateProducerIdsResponse(producer_id_start=2 * self.allocated, producer_id_len=2)


def producer_ids(controller: BlocksOfTwo) -> ProducerIds:
    return ProducerIds(controller, BrokerId(1))


async def test_ids_come_out_of_blocks_and_never_twice():
    blocks = BlocksOfTwo()
    ids = producer_ids(blocks)
    assert [await ids.next() for _ in range(5)] == [2, 3, 4, 5, 6]
    assert blocks.allocated == 3


async def test_those_who_wait_together_share_one_block():
    blocks = BlocksOfTwo()
    ids = producer_ids(blocks)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(ids.next()) for _ in range(4)]
    assert sorted(task.result() for task in tasks) == [2, 3, 4, 5]
    assert blocks.allocated == 2


async def test_a_controller_that_is_away_means_to_ask_again_and_the_next_try_works(plane):
    """As Kafka: NOT_CONTROLLER is no answer that a client expects of a broker here."""
    plane.give(producer_ids=producer_ids(BlocksOfTwo(failures=1)))
    request = InitProducerIdRequest(None, producer_id=-1, producer_epoch=-1)
    with pytest.raises(CoordinatorLoadInProgress, match="no producer id is at hand"):
        await plane.ask(init_producer_id, request, 5)
    assert (await plane.ask(init_producer_id, request, 5)).producer_id == 2


async def test_an_idempotent_producer_gets_an_id_with_epoch_zero(plane):
    plane.give(producer_ids=producer_ids(BlocksOfTwo()))
    request = InitProducerIdRequest(transactional_id=None, producer_id=99, producer_epoch=4)
    response = await plane.ask(init_producer_id, request, 5)
    assert (response.error_code, response.producer_id, response.producer_epoch) == (0, 2, 0)


async def test_a_transactional_id_must_not_be_empty(plane):
    with pytest.raises(InvalidRequest, match="must not be empty"):
        await plane.ask(init_producer_id, InitProducerIdRequest(transactional_id=""), 5)


@pytest.mark.parametrize(("producer_id", "epoch"), [(7, -1), (-1, 0)])
async def test_a_producer_names_its_id_and_its_epoch_or_neither(plane, producer_id, epoch):
    request = InitProducerIdRequest(None, producer_id=producer_id, producer_epoch=epoch)
    with pytest.raises(InvalidRequest, match="or neither"):
        await plane.ask(init_producer_id, request, 5)


async def test_an_id_is_taken_without_waiting_once_a_block_is_there():
    ids = producer_ids(BlocksOfTwo())
    with pytest.raises(CoordinatorLoadInProgress):
        ids.take()
    await ids.reserve()
    assert [ids.take(), ids.take()] == [2, 3]
    with pytest.raises(CoordinatorLoadInProgress):
        ids.take()
