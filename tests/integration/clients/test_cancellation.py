"""Each public coroutine of the clients, cancelled at each of its suspensions, at both moments of it.

After that the client still works, nothing is lost or there twice, and nothing is left running. A plain run takes some
of the suspensions only; `make faults` takes all.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pyarrow as pa
import pytest

from millstream.clients import (
    Consumer,
    OffsetAndMetadata,
    Producer,
    RangeReader,
    ShareConsumer,
    TopicPartition,
)
from millstream.clients.core.illegal_state import IllegalState
from millstream.testing.broker import Broker
from tests.integration.clients.suspensions import (
    MOMENTS,
    Moment,
    cancelled_at,
    check_at_each_step,
    create,
    nothing_is_left_running,
)
from tests.patience import LONG_ENOUGH_MS
from tests.support.clients.raw_client import RawClient
from tests.support.clients.raw_share_member import configure_group

NewName = Callable[[], str]
ROWS = pa.RecordBatch.from_pydict({"value": pa.array([b"rows"] * 3, pa.binary())})


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    kafka = os.environ.get("MILLSTREAM_KAFKA_BOOTSTRAP")
    if kafka:
        yield kafka
        return
    soon = {
        "group.share.assignment.interval.ms": "0",
        "group.share.heartbeat.interval.ms": "100",
        "group.share.min.heartbeat.interval.ms": "100",
    }
    with Broker(in_process=False, settings={"num.partitions": "1", **soon}) as broker:
        yield broker.bootstrap_servers


async def read_all(bootstrap: str, partition: TopicPartition) -> list[bytes | None]:
    values: list[bytes | None] = []
    async with Consumer(
        bootstrap_servers=bootstrap,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
    ) as consumer:
        consumer.assign([partition])
        end = (await consumer.end_offsets([partition]))[partition]
        while await consumer.position(partition) < end:
            values += [record.value for record in await consumer.poll(timeout_ms=100)]
    return values


# ---- the producer


@MOMENTS
async def test_send_queues_a_record_or_does_not_and_those_after_it_stay_in_order(
    bootstrap: str, new_topic: NewName, moment: Moment
) -> None:
    partition = await create(bootstrap, new_topic())
    sent: list[bytes] = []

    async def attempt(step: int) -> bool:
        async with Producer(bootstrap_servers=bootstrap, linger_ms=0) as producer:
            reached = await cancelled_at(
                producer.send(partition.topic, b"cancelled %d" % step), step, moment
            )
            await (await producer.send(partition.topic, b"%d" % step))
            sent.append(b"%d" % step)
        return reached

    await check_at_each_step(moment, attempt)
    found = await read_all(bootstrap, partition)
    assert [value for value in found if not value.startswith(b"cancelled")] == sent
    assert len(set(found)) == len(found)


@MOMENTS
async def test_a_cancelled_wait_for_a_delivery_leaves_the_delivery(
    bootstrap: str, new_topic: NewName, moment: Moment
) -> None:
    partition = await create(bootstrap, new_topic())
    offsets: list[int] = []

    async def attempt(step: int) -> bool:
        async with Producer(bootstrap_servers=bootstrap) as producer:
            delivery = await producer.send(partition.topic, b"%d" % step)

            async def wait() -> None:
                await delivery

            reached = await cancelled_at(wait(), step, moment)
            offsets.append((await delivery).offset)
        return reached

    await check_at_each_step(moment, attempt)
    assert offsets == list(range(len(offsets)))


@MOMENTS
async def test_send_batch_queues_its_rows_once_or_not_at_all(
    bootstrap: str, new_topic: NewName, moment: Moment
) -> None:
    partition = await create(bootstrap, new_topic())
    attempts: list[bool] = []

    async def attempt(step: int) -> bool:
        async with Producer(bootstrap_servers=bootstrap) as producer:
            reached = await cancelled_at(producer.send_batch(partition.topic, ROWS), step, moment)
            await (await producer.send(partition.topic, b"after"))
        attempts.append(reached)
        return reached

    await check_at_each_step(moment, attempt)
    found = b" ".join(value or b"" for value in await read_all(bootstrap, partition))
    parts = [part.split() for part in found.split(b"after")[:-1]]
    assert len(parts) == len(attempts)
    assert all(part in ([], [b"rows"] * 3) for part in parts)
    assert parts[-1] == [b"rows"] * 3


@MOMENTS
@pytest.mark.parametrize("call", ["flush", "close", "partitions_for"])
async def test_what_was_sent_is_there_once_whenever_a_producer_is_cancelled(
    bootstrap: str, new_topic: NewName, moment: Moment, call: str
) -> None:
    partition = await create(bootstrap, new_topic())
    sent: list[bytes] = []

    async def attempt(step: int) -> bool:
        producer = Producer(bootstrap_servers=bootstrap)
        arguments = (partition.topic,) if call == "partitions_for" else ()
        if call != "partitions_for":
            await producer.send(partition.topic, b"%d" % step)
            sent.append(b"%d" % step)
        reached = await cancelled_at(getattr(producer, call)(*arguments), step, moment)
        if call != "close":
            await (await producer.send(partition.topic, b"later %d" % step))
            sent.append(b"later %d" % step)
        await producer.close()
        return reached

    await check_at_each_step(moment, attempt)
    found = await read_all(bootstrap, partition)
    if call == "close":  # a record that was not acknowledged before may be given up
        assert set(found) <= set(sent)
        assert len(found) == len(set(found))
    else:
        assert found == sent


@MOMENTS
async def test_a_transaction_block_is_there_as_a_whole_or_not_at_all(
    bootstrap: str, new_topic: NewName, moment: Moment
) -> None:
    partition = await create(bootstrap, new_topic())
    steps: list[int] = []

    async def attempt(step: int) -> bool:
        async with Producer(
            bootstrap_servers=bootstrap, transactional_id=partition.topic, retry_backoff_ms=5
        ) as producer:

            async def work(name: bytes) -> None:
                async with producer.transaction():
                    for part in (b"a", b"b"):
                        await producer.send(partition.topic, name + part)

            reached = await cancelled_at(work(b"cancelled %d " % step), step, moment)
            try:
                await work(b"whole %d " % step)
            except (
                IllegalState
            ):  # cancelled while it was being committed: that can only be finished
                await producer.commit_transaction()
                await work(b"whole %d " % step)
        steps.append(step)
        return reached

    await check_at_each_step(moment, attempt)
    found = await read_all(bootstrap, partition)
    for step in steps:
        assert [value for value in found if value.startswith(b"whole %d " % step)] == [
            b"whole %d a" % step,
            b"whole %d b" % step,
        ]
        cancelled = [value for value in found if value.startswith(b"cancelled %d " % step)]
        assert cancelled in ([], [b"cancelled %d a" % step, b"cancelled %d b" % step])


@MOMENTS
@pytest.mark.parametrize(
    "call",
    ["init_transactions", "commit_transaction", "abort_transaction", "send_offsets_to_transaction"],
)
async def test_a_cancelled_call_of_a_transaction_may_be_made_again(
    bootstrap: str, new_topic: NewName, moment: Moment, call: str
) -> None:
    """But for offsets: then the transaction must be aborted, and its work done again."""
    partition = await create(bootstrap, new_topic())
    group = f"g-{partition.topic}"
    committed: list[bytes] = []

    async def attempt(step: int) -> bool:
        async with (
            Producer(
                bootstrap_servers=bootstrap, transactional_id=partition.topic, retry_backoff_ms=5
            ) as producer,
            Consumer(
                bootstrap_servers=bootstrap, group_id=group, isolation_level="read_committed"
            ) as consumer,
        ):
            consumer.assign([partition])
            arguments = (
                ({partition: OffsetAndMetadata(step)}, consumer.group_metadata())
                if call == "send_offsets_to_transaction"
                else ()
            )
            if call != "init_transactions":
                await producer.init_transactions()
                await producer.begin_transaction()
                await producer.send(partition.topic, b"%d" % step)
            method = getattr(producer, call)
            reached = await cancelled_at(method(*arguments), step, moment)
            if reached and call == "send_offsets_to_transaction":
                await producer.abort_transaction()  # whether they are in it nobody knows
                await producer.begin_transaction()
                await producer.send(partition.topic, b"%d" % step)
            if reached:
                await method(*arguments)
            if call == "init_transactions":
                await producer.begin_transaction()
                await producer.send(partition.topic, b"%d" % step)
            if call in ("init_transactions", "send_offsets_to_transaction"):
                await producer.commit_transaction()
            if call != "abort_transaction":
                committed.append(b"%d" % step)
            if call == "send_offsets_to_transaction":
                assert (await consumer.committed([partition]))[partition].offset == step
        return reached

    await check_at_each_step(moment, attempt)
    assert await read_all(bootstrap, partition) == committed


# ---- the consumer


@asynccontextmanager
async def assigned(bootstrap: str, partition: TopicPartition) -> AsyncIterator[Consumer]:
    async with Consumer(
        bootstrap_servers=bootstrap,
        group_id=f"g-{partition.topic}",
        auto_offset_reset="earliest",
        fetch_max_wait_ms=20,
    ) as consumer:
        consumer.assign([partition])
        yield consumer


Reading = Callable[[Consumer], Awaitable[list[int]]]
"""Some next records' offsets."""


async def poll(consumer: Consumer) -> list[int]:
    return [
        record.offset for record in await consumer.poll(max_records=2, timeout_ms=LONG_ENOUGH_MS)
    ]


async def poll_arrow(consumer: Consumer) -> list[int]:
    return [
        offset
        for batch in await consumer.poll_arrow(timeout_ms=LONG_ENOUGH_MS)
        for offset in batch.records.column("offset").to_pylist()
    ]


async def next_record(consumer: Consumer) -> list[int]:
    return [(await anext(consumer)).offset]


@MOMENTS
@pytest.mark.parametrize("read", [poll, poll_arrow, next_record], ids=lambda read: read.__name__)
async def test_a_cancelled_read_leaves_out_nothing(
    bootstrap: str, new_topic: NewName, moment: Moment, read: Reading
) -> None:
    partition = await create(bootstrap, new_topic(), values=10)

    async def attempt(step: int) -> bool:
        offsets: list[int] = []
        async with assigned(bootstrap, partition) as consumer:
            consumer.seek(partition, 0)

            async def call() -> None:
                offsets.extend(await read(consumer))

            reached = await cancelled_at(call(), step, moment)
            while not offsets or offsets[-1] < 9:
                offsets += await read(consumer)
        assert offsets == list(range(10))
        return reached

    await check_at_each_step(moment, attempt)


@MOMENTS
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
async def test_a_member_whose_poll_is_cancelled_leaves_out_nothing(
    bootstrap: str, new_topic: NewName, moment: Moment, protocol: str
) -> None:
    partition = await create(bootstrap, new_topic(), values=10)
    numbers = itertools.count()

    async def attempt(step: int) -> bool:
        offsets: list[int] = []
        async with Consumer(
            bootstrap_servers=bootstrap,
            group_id=f"g-{partition.topic}-{next(numbers)}",
            group_protocol=protocol,
            auto_offset_reset="earliest",
            fetch_max_wait_ms=20,
        ) as consumer:
            consumer.subscribe([partition.topic])

            async def until_some() -> None:
                while not offsets:
                    offsets.extend(await poll(consumer))

            reached = await cancelled_at(until_some(), step, moment)
            while not offsets or offsets[-1] < 9:
                offsets += await poll(consumer)
        assert offsets == list(range(10))
        return reached

    await check_at_each_step(moment, attempt)


CONSUMER_CALLS: dict[str, Callable[[Consumer, TopicPartition], Awaitable[object]]] = {
    "commit": lambda c, tp: c.commit({tp: OffsetAndMetadata(4)}),
    "committed": lambda c, tp: c.committed([tp]),
    "position": lambda c, tp: c.position(tp),
    "beginning_offsets": lambda c, tp: c.beginning_offsets([tp]),
    "end_offsets": lambda c, tp: c.end_offsets([tp]),
    "offsets_for_times": lambda c, tp: c.offsets_for_times({tp: 0}),
    "partitions_for": lambda c, tp: c.partitions_for(tp.topic),
    "unsubscribe": lambda c, _: c.unsubscribe(),
    "close": lambda c, _: c.close(),
}


@MOMENTS
@pytest.mark.parametrize("name", CONSUMER_CALLS)
async def test_a_consumer_works_on_after_a_cancelled_call(
    bootstrap: str, new_topic: NewName, moment: Moment, name: str
) -> None:
    partition = await create(bootstrap, new_topic(), values=3)
    call = CONSUMER_CALLS[name]

    async def attempt(step: int) -> bool:
        async with assigned(bootstrap, partition) as consumer:
            reached = await cancelled_at(call(consumer, partition), step, moment)
            if name == "close":
                await consumer.close()
            else:
                await call(consumer, partition)
                consumer.assign([partition])
                consumer.seek(partition, 2)
                assert await poll(consumer) == [2]
        return reached

    await check_at_each_step(moment, attempt)


@MOMENTS
async def test_leaving_a_group_can_be_cancelled_anywhere(
    bootstrap: str, new_topic: NewName, moment: Moment
) -> None:
    partition = await create(bootstrap, new_topic(), values=3)
    numbers = itertools.count()

    async def attempt(step: int) -> bool:
        consumer = Consumer(
            bootstrap_servers=bootstrap,
            group_id=f"g-{partition.topic}-{next(numbers)}",
            auto_offset_reset="earliest",
        )
        consumer.subscribe([partition.topic])
        await anext(consumer)
        reached = await cancelled_at(consumer.close(), step, moment)
        await consumer.close()
        return reached

    await check_at_each_step(moment, attempt)


# ---- the share consumer


@MOMENTS
async def test_records_of_a_cancelled_poll_of_a_share_consumer_come_with_the_next(
    bootstrap: str, new_topic: NewName, moment: Moment
) -> None:
    partition = await create(bootstrap, new_topic(), values=3)
    numbers = itertools.count()

    async def attempt(step: int) -> bool:
        group = f"s-{partition.topic}-{next(numbers)}"
        with RawClient(bootstrap) as raw:
            configure_group(raw, group, auto_offset_reset="earliest")
        found: list[int] = []
        async with ShareConsumer(bootstrap_servers=bootstrap, group_id=group) as consumer:
            consumer.subscribe([partition.topic])

            async def until_some() -> None:
                while not found:
                    found.extend([r.offset for r in await consumer.poll(timeout_ms=500)])

            reached = await cancelled_at(until_some(), step, moment)
            await until_some()
            await consumer.commit()
        assert found == [0, 1, 2]
        return reached

    await check_at_each_step(moment, attempt)


SHARE_CALLS: dict[str, Callable[[ShareConsumer], Awaitable[object]]] = {
    "commit": lambda c: c.commit(),
    "unsubscribe": lambda c: c.unsubscribe(),
    "close": lambda c: c.close(),
}


@MOMENTS
@pytest.mark.parametrize("name", SHARE_CALLS)
async def test_a_share_consumer_can_be_closed_after_a_cancelled_call(
    bootstrap: str, new_topic: NewName, moment: Moment, name: str
) -> None:
    partition = await create(bootstrap, new_topic(), values=3)

    async def attempt(step: int) -> bool:
        group = f"s-{partition.topic}-{step}"
        with RawClient(bootstrap) as raw:
            configure_group(raw, group, auto_offset_reset="earliest")
        async with ShareConsumer(bootstrap_servers=bootstrap, group_id=group) as consumer:
            consumer.subscribe([partition.topic])
            while not await consumer.poll(timeout_ms=500):
                pass
            return await cancelled_at(SHARE_CALLS[name](consumer), step, moment)

    await check_at_each_step(moment, attempt)


# ---- the range reader


@MOMENTS
@pytest.mark.parametrize("name", ["offsets", "offset_results", "read", "batches", "close"])
async def test_a_range_reader_reads_on_after_a_cancelled_call(
    bootstrap: str, new_topic: NewName, moment: Moment, name: str
) -> None:
    partition = await create(bootstrap, new_topic(), values=3)

    async def attempt(step: int) -> bool:
        async with RangeReader(bootstrap_servers=bootstrap) as reader:

            async def count() -> int:
                return sum([rows.num_rows async for rows in reader.read(partition.topic, 0, 0, 3)])

            async def summed() -> int:
                batches = reader.batches(partition.topic, 0, 0, 3)
                return sum([each.size_bytes async for each in batches])

            calls = {
                "offsets": lambda: reader.offsets(partition.topic, -1),
                "offset_results": lambda: reader.offset_results(partition.topic, -1),
                "read": count,
                "batches": summed,
                "close": reader.close,
            }
            reached = await cancelled_at(calls[name](), step, moment)
            if name != "close":
                assert await count() == 3
        return reached

    await check_at_each_step(moment, attempt)


# ---- what is covered


NOT_CANCELLED_HERE = {
    "begin_transaction",  # waits with older brokers only, and as init_transactions does
    "share_transaction",  # waits for nothing
    "join_transaction",  # waits for nothing
    "hand_over_transaction",  # waits as flush does
    "take_over_transaction",  # waits for nothing
    "client_instance_id",  # of telemetry, with tests of its own
    "serialized",  # for the blocking twin
}


@pytest.mark.parametrize(
    ("client", "covered"),
    [
        (
            Producer,
            {"send", "send_batch", "flush", "close", "partitions_for"}
            | {"init_transactions", "commit_transaction", "abort_transaction"}
            | {"send_offsets_to_transaction"},
        ),
        (Consumer, {"poll", "poll_arrow", *CONSUMER_CALLS}),
        (ShareConsumer, {"poll", *SHARE_CALLS}),
        (RangeReader, {"offsets", "offset_results", "read", "batches", "close"}),
    ],
)
def test_every_public_coroutine_is_cancelled_by_a_test(client: type, covered: set[str]) -> None:
    public = {
        name
        for name, method in inspect.getmembers(client)
        if not name.startswith("_")
        and (inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method))
    }
    assert public - NOT_CANCELLED_HERE == covered


# ---- as applications cancel


Client = Callable[[], AbstractAsyncContextManager[object]]


async def test_a_task_group_that_fails_takes_its_clients_down_in_order(
    bootstrap: str, new_topic: NewName
) -> None:
    partition = await create(bootstrap, new_topic(), values=3)
    reading = asyncio.Event()

    async def read_for_ever() -> None:
        async with assigned(bootstrap, partition) as consumer:
            async for _ in consumer:
                reading.set()

    async def fail() -> None:
        await reading.wait()
        raise LookupError("the application's own")

    async def both() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(read_for_ever())
            group.create_task(fail())

    with pytest.raises(ExceptionGroup) as failed:
        await both()
    assert failed.group_contains(LookupError, match="the application's own")
    assert nothing_is_left_running()


async def test_a_generator_over_a_consumer_can_be_closed_in_the_middle(
    bootstrap: str, new_topic: NewName
) -> None:
    partition = await create(bootstrap, new_topic(), values=3)

    async def values() -> AsyncIterator[bytes | None]:
        async with assigned(bootstrap, partition) as consumer:
            async for record in consumer:
                yield record.value

    generator = values()
    assert await anext(generator) == b"0"
    await generator.aclose()
    assert nothing_is_left_running()
