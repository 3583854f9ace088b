"""Where reading starts and goes on: resets, seeks, commits by hand and by themselves."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Literal

import pytest

from millstream.clients import (
    Admin,
    CommitFailed,
    Consumer,
    NewTopic,
    NoOffsetForPartition,
    OffsetAndMetadata,
    Producer,
    RebalanceListener,
    TopicPartition,
)
from millstream.errors import KafkaError, OffsetOutOfRange, UnknownTopicId
from millstream.net.client.tasks import ClientClosed
from tests.patience import LONG_ENOUGH_MS, LONG_ENOUGH_S, eventually

NewName = Callable[[], str]
MINUTE_MS = 60_000


async def filled(bootstrap: str, topic: str, count: int = 10) -> TopicPartition:
    """One record a minute up to now."""
    now_ms = time.time_ns() // 1_000_000
    async with Producer(bootstrap_servers=bootstrap) as producer:
        for number in range(count):
            await producer.send(
                topic, b"%d" % number, timestamp_ms=now_ms - (count - 1 - number) * MINUTE_MS
            )
    return TopicPartition(topic, 0)


async def offsets(consumer: Consumer, count: int) -> list[int]:
    found: list[int] = []
    async with asyncio.timeout(LONG_ENOUGH_S):
        while len(found) < count:
            found += [record.offset for record in await consumer.poll(timeout_ms=200)]
    return found


async def committed(consumer: Consumer, partition: TopicPartition) -> int | None:
    found = (await consumer.committed([partition]))[partition]
    return None if found is None else found.offset


# ---- resets


@pytest.mark.parametrize(
    ("reset", "position"),
    [
        ("earliest", 0),
        ("latest", 10),
        ("by_duration:PT150S", 7),
        ("by_duration:PT0S", 10),
        ("by_duration:P1D", 0),
    ],
)
async def test_without_a_committed_offset_the_policy_says_where_to_start(
    bootstrap: str, new_topic: NewName, reset: str, position: int
) -> None:
    """K4.07, K14.14, K14.15, KIP-1106."""
    partition = await filled(bootstrap, new_topic())
    async with Consumer(bootstrap_servers=bootstrap, auto_offset_reset=reset) as consumer:
        consumer.assign([partition])
        assert await consumer.position(partition) == position


async def test_without_a_policy_a_missing_offset_is_an_error(
    bootstrap: str, new_topic: NewName
) -> None:
    """K4.07."""
    partition = await filled(bootstrap, new_topic())
    async with Consumer(
        bootstrap_servers=bootstrap, group_id=f"g-{partition.topic}", auto_offset_reset="none"
    ) as consumer:
        consumer.assign([partition])
        for _ in range(2):
            with pytest.raises(NoOffsetForPartition, match="seek to where to start"):
                await consumer.poll(timeout_ms=LONG_ENOUGH_MS)
        consumer.seek(partition, 99)
        with pytest.raises(OffsetOutOfRange, match="offset 99 is not in the log"):
            await consumer.poll(timeout_ms=LONG_ENOUGH_MS)
        consumer.seek(partition, 9)
        assert await offsets(consumer, 1) == [9]


async def test_a_group_resumes_where_it_committed_and_starts_by_policy_only_once(
    bootstrap: str, new_topic: NewName
) -> None:
    """K14.21, K4.49."""
    partition = await filled(bootstrap, new_topic())
    for expected in ([0, 1, 2, 3], [4, 5, 6, 7]):
        async with Consumer(
            bootstrap_servers=bootstrap,
            group_id=f"g-{partition.topic}",
            auto_offset_reset="earliest",
            max_poll_records=4,
        ) as consumer:
            consumer.subscribe([partition.topic])
            assert await offsets(consumer, 4) == expected


async def test_a_committed_offset_that_was_deleted_is_reset_by_policy(
    bootstrap: str, new_topic: NewName
) -> None:
    """K4.07: deleted records, then poll."""
    partition = await filled(bootstrap, new_topic())
    async with Admin(bootstrap_servers=bootstrap) as admin:
        (await admin.delete_records({partition: 6})).raise_errors()
    async with Consumer(
        bootstrap_servers=bootstrap, group_id=f"g-{partition.topic}", auto_offset_reset="earliest"
    ) as consumer:
        await consumer.commit({partition: 2})
        consumer.assign([partition])
        assert await offsets(consumer, 4) == [6, 7, 8, 9]


# ---- seeks


async def test_a_seek_beats_what_was_committed_and_fetched(
    bootstrap: str, new_topic: NewName
) -> None:
    """K14.04, K4.46."""
    partition = await filled(bootstrap, new_topic())
    async with Consumer(
        bootstrap_servers=bootstrap,
        group_id=f"g-{partition.topic}",
        enable_auto_commit=False,
        max_poll_records=3,
    ) as consumer:
        await consumer.commit({partition: 5})
        consumer.assign([partition])
        consumer.seek(partition, 2)
        assert await offsets(consumer, 3) == [2, 3, 4]
        consumer.seek(partition, 8)
        assert await offsets(consumer, 2) == [8, 9]
        consumer.seek_to_beginning(partition)
        assert await consumer.position(partition) == 0
        consumer.seek_to_end()
        assert await consumer.position(partition) == 10
        consumer.seek(partition, OffsetAndMetadata(4, "with its epoch", 0))
        assert await offsets(consumer, 3) == [4, 5, 6]
        assert await committed(consumer, partition) == 5
        assert consumer.lag(partition) == 3
        assert consumer.metrics().records_lag == {partition: 3}


async def test_paused_partitions_return_nothing_and_go_on_where_they_were(
    bootstrap: str, new_topic: NewName
) -> None:
    """K4.40, K4.46, K14.06."""
    topic = new_topic()
    async with Admin(bootstrap_servers=bootstrap) as admin:
        (await admin.create_topics([NewTopic(topic, 2)])).raise_errors()
    async with Producer(bootstrap_servers=bootstrap) as producer:
        for number in range(10):
            await producer.send(topic, b"%d" % number, partition=number % 2)
    zero, one = TopicPartition(topic, 0), TopicPartition(topic, 1)
    async with Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([zero, one])
        read = [await anext(consumer)]
        paused = read[0].topic_partition
        consumer.pause([paused])
        assert consumer.paused() == {paused}
        rest = [await anext(consumer) for _ in range(5)]
        assert {record.topic_partition for record in rest} == {zero, one} - {paused}
        assert await consumer.poll(timeout_ms=50) == []
        consumer.resume([paused])
        read += [await anext(consumer) for _ in range(4)]
        assert [record.offset for record in read] == [0, 1, 2, 3, 4]


async def test_new_partitions_are_not_picked_up_by_who_assigns(
    bootstrap: str, new_topic: NewName
) -> None:
    """K14.08."""
    partition = await filled(bootstrap, new_topic(), 1)
    async with (
        Admin(bootstrap_servers=bootstrap) as admin,
        Consumer(
            bootstrap_servers=bootstrap, auto_offset_reset="earliest", metadata_max_age_ms=50
        ) as consumer,
    ):
        consumer.assign([partition])
        assert await offsets(consumer, 1) == [0]
        (await admin.create_partitions({partition.topic: 2})).raise_errors()
        await consumer.poll(timeout_ms=200)
        assert consumer.assignment() == {partition}


# ---- commits


async def test_an_async_commit_is_told_of_in_a_later_call_in_order(
    bootstrap: str, new_topic: NewName
) -> None:
    """K4.52, K14.18, K14.19: the first one looks for the coordinator."""
    partition = await filled(bootstrap, new_topic())
    told: list[tuple[int, KafkaError | None]] = []

    def callback(
        committed: Mapping[TopicPartition, OffsetAndMetadata], error: KafkaError | None
    ) -> None:
        told.append((committed[partition].offset, error))

    async def slow_callback(
        committed: Mapping[TopicPartition, OffsetAndMetadata], error: KafkaError | None
    ) -> None:
        await asyncio.sleep(0)
        callback(committed, error)

    async with Consumer(
        bootstrap_servers=bootstrap,
        group_id=f"g-{partition.topic}",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    ) as consumer:
        consumer.assign([partition])
        consumer.commit_async({partition: 3}, callback)
        consumer.commit_async({partition: OffsetAndMetadata(4, "note")}, slow_callback)
        consumer.commit_async({partition: 5})
        assert told == []
        consumer.seek(partition, 0)
        await offsets(consumer, 10)
        consumer.commit_async(callback=callback)
        await consumer.commit({partition: 6})
        assert told == [(3, None), (4, None), (10, None)]
        assert await committed(consumer, partition) == 6
        consumer.commit_async({partition: 7}, callback)
    assert told[-1] == (7, None)


async def test_a_commit_after_the_group_went_on_is_an_error_of_its_own(
    bootstrap: str, new_topic: NewName
) -> None:
    """K4.51, K4.06: the member was too slow, and others may have its partitions."""
    partition = await filled(bootstrap, new_topic())
    told: list[KafkaError | None] = []
    async with Consumer(
        bootstrap_servers=bootstrap,
        group_id=f"g-{partition.topic}",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        max_poll_interval_ms=300,
        heartbeat_interval_ms=100,
    ) as consumer:
        consumer.subscribe([partition.topic])
        consumer.commit_async({partition: 1}, lambda _, error: told.append(error))
        await offsets(consumer, 10)
        assert [type(error) for error in told] == [CommitFailed]

        async def is_out() -> bool:
            return consumer.group_metadata().generation_id < 0

        await eventually(is_out)
        with pytest.raises(CommitFailed, match="not a member of the group"):
            await consumer.commit()
        await offsets(consumer, 10)
        await consumer.commit()
        assert await committed(consumer, partition) == 10


async def test_auto_commit_stops_at_what_was_returned(bootstrap: str, new_topic: NewName) -> None:
    """K4.47, K4.03, K4.19: by poll() and by iteration, at the next call and not before."""
    partition = await filled(bootstrap, new_topic())
    async with Consumer(
        bootstrap_servers=bootstrap,
        group_id=f"g-{partition.topic}",
        auto_offset_reset="earliest",
        auto_commit_interval_ms=0,
    ) as consumer:
        consumer.assign([partition])
        assert [
            record.offset
            for record in await consumer.poll(max_records=3, timeout_ms=LONG_ENOUGH_MS)
        ] == [0, 1, 2]
        await asyncio.sleep(0.05)
        assert await committed(consumer, partition) in (None, 0)
        await consumer.poll(max_records=2, timeout_ms=LONG_ENOUGH_MS)

        async def is_committed() -> bool:
            return await committed(consumer, partition) not in (None, 0)

        await eventually(is_committed)
        assert await committed(consumer, partition) == 3
        for _ in range(3):
            await anext(consumer)
        await consumer.commit()
        assert await committed(consumer, partition) == 8


@pytest.mark.parametrize("how", ["close", "unsubscribe", "exception"])
async def test_what_is_committed_at_the_end(bootstrap: str, new_topic: NewName, how: str) -> None:
    """K4.49: what was returned, but not what an exception interrupted."""
    partition = await filled(bootstrap, new_topic())
    settings = {
        "bootstrap_servers": bootstrap,
        "group_id": f"g-{partition.topic}",
        "auto_offset_reset": "earliest",
    }
    consumer = Consumer(**settings)
    consumer.subscribe([partition.topic])
    try:
        async with consumer:
            for _ in range(4):
                await anext(consumer)
            if how == "unsubscribe":
                await consumer.unsubscribe()
            if how == "exception":
                _ = 1 // 0
    except ZeroDivisionError:
        pass
    async with Consumer(**settings) as reader:
        assert await committed(reader, partition) == (None if how == "exception" else 4)


async def test_arrow_batches_are_committed_when_they_were_returned(
    bootstrap: str, new_topic: NewName
) -> None:
    """K4.47."""
    partition = await filled(bootstrap, new_topic())
    async with Consumer(
        bootstrap_servers=bootstrap, group_id=f"g-{partition.topic}", auto_offset_reset="earliest"
    ) as consumer:
        consumer.assign([partition])
        await anext(consumer)
        (rows,) = await consumer.poll_arrow(timeout_ms=LONG_ENOUGH_MS)
        assert rows.records.column("offset").to_pylist() == list(range(1, 10))
        await consumer.commit()
        assert await committed(consumer, partition) == 10


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize("how", ["unsubscribe", "subscribe", "close"])
async def test_a_listener_may_commit_what_is_about_to_be_given_up(
    bootstrap: str, new_topic: NewName, how: str, protocol: Literal["classic", "consumer"]
) -> None:
    partition = await filled(bootstrap, new_topic())

    class Committing(RebalanceListener):
        async def on_partitions_revoked(self, partitions: set[TopicPartition]) -> None:
            await consumer.commit(dict.fromkeys(partitions, 7))

    settings = {"bootstrap_servers": bootstrap, "group_id": f"g-{partition.topic}"}
    async with Consumer(
        **settings,
        group_protocol=protocol,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    ) as consumer:
        consumer.subscribe([partition.topic], listener=Committing())
        await offsets(consumer, 10)
        if how == "unsubscribe":
            await consumer.unsubscribe()
        if how == "subscribe":
            consumer.subscribe([])
    async with Consumer(**settings) as reader:
        assert await committed(reader, partition) == 7


@pytest.mark.parametrize("how", ["unsubscribe", "subscribe", "close"])
async def test_a_listener_may_close_the_consumer_that_waits_for_it(
    bootstrap: str, new_topic: NewName, how: str
) -> None:
    partition = await filled(bootstrap, new_topic())
    revoked: list[TopicPartition] = []

    class Closing(RebalanceListener):
        async def on_partitions_revoked(self, partitions: set[TopicPartition]) -> None:
            revoked.extend(partitions)
            await consumer.close()

    consumer = Consumer(
        bootstrap_servers=bootstrap,
        group_id=f"g-{partition.topic}",
        auto_offset_reset="earliest",
        default_api_timeout_ms=LONG_ENOUGH_MS,
    )
    consumer.subscribe([partition.topic], listener=Closing())
    await offsets(consumer, 10)
    if how == "unsubscribe":
        with contextlib.suppress(ClientClosed):
            await consumer.unsubscribe()
    if how == "subscribe":
        consumer.subscribe([])
    async with asyncio.timeout(LONG_ENOUGH_S):
        await consumer.close(timeout_ms=10 * LONG_ENOUGH_MS)
    assert set(revoked) == {partition}


# ---- a topic that is deleted and created anew


@pytest.mark.parametrize("how", ["commit", "commit_async", "close"])
async def test_what_was_read_of_a_deleted_topic_is_not_committed_for_the_one_that_has_its_name(
    bootstrap: str, new_topic: NewName, how: str
) -> None:
    """Else the next reader would begin behind records that nobody has read."""
    partition = await filled(bootstrap, new_topic(), 4)
    told: list[KafkaError | None] = []
    settings = {
        "bootstrap_servers": bootstrap,
        "group_id": f"g-{partition.topic}",
        "auto_offset_reset": "earliest",
    }
    async with (
        Admin(bootstrap_servers=bootstrap) as admin,
        Consumer(**settings, enable_auto_commit=how == "close") as consumer,
    ):
        consumer.assign([partition])
        assert await offsets(consumer, 4) == [0, 1, 2, 3]
        consumer.pause([partition])  # so that no fetch tells that the topic is gone
        consumer.seek(partition, 4)
        (await admin.delete_topics([partition.topic])).raise_errors()
        await filled(bootstrap, partition.topic, 6)
        if how == "commit":
            with pytest.raises(UnknownTopicId, match="deleted"):
                await consumer.commit()
        if how == "commit_async":
            consumer.commit_async(callback=lambda _, error: told.append(error))
    assert [type(error) for error in told] == [UnknownTopicId] * (how == "commit_async")
    async with Consumer(**settings) as successor:
        assert await committed(successor, partition) is None
        successor.assign([partition])
        assert await offsets(successor, 6) == [0, 1, 2, 3, 4, 5]
