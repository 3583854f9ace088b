"""An application that stands still past the time-out of its transactions goes on, and loses nothing."""

from __future__ import annotations

import time

import pytest

from millstream.clients import Producer
from millstream.errors import InvalidProducerEpoch, MillstreamError
from millstream.streams import StreamsBuilder
from millstream.streams.application.states import ApplicationState
from millstream.streams.runtime.failures import is_retriable
from millstream.streams.serdes import long, string
from tests.integration.streams.application.instances import Instances
from tests.patience import eventually

TRANSACTION_MS = 300
PAUSE_S = 0.6
"""Longer than that, and until the broker has looked for such."""


async def until_aborted(instances: Instances, topic: str, size: int) -> None:
    """Waits until the broker has ended the transaction that has written so many records, with a marker behind them."""

    async def has_ended() -> bool:
        return (await instances.reader.offsets(topic, -1))[0] > size

    await eventually(has_ended)


async def test_a_producer_whose_transaction_was_aborted_meanwhile_is_told_so_and_may_begin_anew(
    instances: Instances,
) -> None:
    """KAFKA-19690: it was told INVALID_TXN_STATE, which Kafka Streams takes for fatal.

    1. A thread stands still in the middle of a transaction. 2. Its coordinator aborts the transaction at its time-out, and raises the epoch. 3. The
    thread goes on and writes. 4. The broker misses an open transaction before it looks at the epoch, and answers INVALID_TXN_STATE instead of
    INVALID_PRODUCER_EPOCH: the application ends. Where the partition had no part in the transaction, its coordinator is asked, with the same end.
    """
    topic = instances.source
    for partition in (0, 1):
        async with Producer(
            bootstrap_servers=instances.servers,
            transactional_id=instances.application,
            transaction_timeout_ms=TRANSACTION_MS,
            linger_ms=0,
        ) as producer:
            await producer.init_transactions()
            await producer.begin_transaction()
            before = (await instances.reader.offsets(topic, -1))[0]
            await producer.send(topic, b"early", partition=0)
            await until_aborted(instances, topic, before + 1)
            late = await producer.send(topic, b"late", partition=partition)
            with pytest.raises(MillstreamError) as failed:
                await late
            assert isinstance(failed.value, InvalidProducerEpoch)
            assert is_retriable(failed.value), "the task is started anew"
            with pytest.raises(MillstreamError) as failed:
                await producer.commit_transaction()
            assert is_retriable(failed.value)


async def test_a_function_that_takes_longer_than_a_transaction_may_is_in_none(
    instances: Instances,
) -> None:
    """KAFKA-19690, as an application would meet it: a transaction begins once all functions have returned."""

    def slow(value: str) -> str:
        time.sleep(PAUSE_S)
        return value

    builder = StreamsBuilder()
    stream = builder.stream(instances.source, key=string(), value=string())
    stream.map_values(slow).map_values(len).to(instances.sink, value=long())
    clients = {"transaction_timeout_ms": TRANSACTION_MS}
    async with instances.new(builder.build(), clients=clients) as app:
        await instances.put(["a"])
        await instances.until_written(1)
        await instances.put(["bb"])
        await instances.until_written(2)
        assert app.state is ApplicationState.RUNNING
    assert sorted(number for _, number in await instances.updates()) == [1, 2]
