"""What poll() makes of records: deserializers, interceptors, large ones, and topics that change underneath."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Callable, Mapping
from typing import cast

import pytest

from millstream.clients import (
    Admin,
    Consumer,
    ConsumerInterceptor,
    ConsumerRecord,
    NewTopic,
    OffsetAndMetadata,
    Producer,
    RecordDeserializationError,
    TopicPartition,
    blocking,
)
from millstream.clients.core.serialization import LookupNeeded
from millstream.clients.core.values import Headers
from tests.patience import LONG_ENOUGH_MS, LONG_ENOUGH_S

NewName = Callable[[], str]
Flight = dict[str, str]


def flight(data: bytes) -> Flight:
    return cast("Flight", json.loads(data))


async def filled(bootstrap: str, topic: str, *values: bytes) -> TopicPartition:
    async with Producer(bootstrap_servers=bootstrap) as producer:
        for value in values:
            await producer.send(topic, value, key=b"%d" % len(value))
    return TopicPartition(topic, 0)


async def test_values_come_as_a_deserializer_makes_them(bootstrap: str, new_topic: NewName) -> None:
    """K4.11."""
    partition = await filled(bootstrap, new_topic(), b'{"from": "JFK"}', b'{"from": "SFO"}')
    async with Consumer(
        bootstrap_servers=bootstrap,
        auto_offset_reset="earliest",
        key_deserializer=int,
        value_deserializer=flight,
    ) as consumer:
        consumer.assign([partition])
        found = []
        async for record in consumer:
            assert record.value is not None
            found.append((record.key, record.value["from"]))
            if len(found) == 2:
                break
    assert found == [(15, "JFK"), (15, "SFO")]


async def test_a_poison_record_is_raised_with_its_place_and_can_be_passed_over(
    bootstrap: str, new_topic: NewName
) -> None:
    """KIP-334, KIP-1036; nothing of it is committed."""
    partition = await filled(bootstrap, new_topic(), b"{}", b"poison", b"{}")
    async with Consumer(
        bootstrap_servers=bootstrap,
        group_id=f"g-{partition.topic}",
        auto_offset_reset="earliest",
        value_deserializer=flight,
    ) as consumer:
        consumer.assign([partition])
        assert [record.offset for record in await consumer.poll(timeout_ms=LONG_ENOUGH_MS)] == [0]
        for _ in range(2):
            with pytest.raises(RecordDeserializationError, match="JSONDecodeError") as error:
                await consumer.poll(timeout_ms=LONG_ENOUGH_MS)
            assert (error.value.topic_partition, error.value.offset) == (partition, 1)
            assert error.value.record is not None
            assert error.value.record.value == b"poison"
        await consumer.commit()
        assert (await consumer.committed([partition]))[partition] == OffsetAndMetadata(1, "", 0)
        consumer.seek(partition, error.value.offset + 1)
        assert [record.offset for record in await consumer.poll(timeout_ms=LONG_ENOUGH_MS)] == [2]


async def test_poison_records_can_be_skipped_and_are_counted(
    bootstrap: str, new_topic: NewName, caplog: pytest.LogCaptureFixture
) -> None:
    partition = await filled(bootstrap, new_topic(), b"poison", b"{}", b"poison")
    async with Consumer(
        bootstrap_servers=bootstrap,
        auto_offset_reset="earliest",
        value_deserializer=flight,
        deserialization_error="skip",
    ) as consumer:
        consumer.assign([partition])
        with caplog.at_level(logging.WARNING):
            assert [record.offset for record in await consumer.poll(timeout_ms=LONG_ENOUGH_MS)] == [
                1
            ]
            assert await consumer.position(partition) == 3
        assert consumer.metrics().counters.records_skipped == 2
        assert caplog.text.count("passed over") == 2


class Registry:
    """Knows what it was asked for; an answer may take long, or not come."""

    def __init__(self) -> None:
        self.known: set[bytes] = set()
        self.answers = asyncio.Event()
        self.fails = False
        self.asked_count = 0
        self.met: set[bytes] = set()

    def deserialize(self, topic: str, data: bytes, headers: Headers) -> str:
        self.met.add(data)
        if data not in self.known:

            async def look_up() -> None:
                self.asked_count += 1
                await self.answers.wait()
                if self.fails:
                    raise OSError("the registry is down")
                self.known.add(data)

            raise LookupNeeded(f"schema of {data!r}", look_up)
        return data.decode()


async def test_a_look_up_is_awaited_across_polls_and_records_before_it_come_first(
    bootstrap: str, new_topic: NewName
) -> None:
    partition = await filled(bootstrap, new_topic(), b"known", b"new", b"known")
    registry = Registry()
    registry.known.add(b"known")
    async with Consumer(
        bootstrap_servers=bootstrap, auto_offset_reset="earliest", value_deserializer=registry
    ) as consumer:
        consumer.assign([partition])
        assert [record.value for record in await consumer.poll(timeout_ms=LONG_ENOUGH_MS)] == [
            "known"
        ]
        assert await consumer.poll(timeout_ms=20) == []
        assert await consumer.position(partition) == 1
        registry.answers.set()
        assert [record.value for record in await consumer.poll(timeout_ms=LONG_ENOUGH_MS)] == [
            "new",
            "known",
        ]


async def test_a_look_up_that_fails_is_not_blamed_on_the_record_that_is_read_by_then(
    bootstrap: str, new_topic: NewName
) -> None:
    """Whoever passes over what cannot be read would pass over a good one."""
    partition = await filled(bootstrap, new_topic(), b"new", b"newer")
    registry = Registry()
    registry.fails = True
    async with Consumer(
        bootstrap_servers=bootstrap, auto_offset_reset="earliest", value_deserializer=registry
    ) as consumer:
        consumer.assign([partition])
        async with asyncio.timeout(LONG_ENOUGH_S):
            while registry.asked_count == 0:
                assert await consumer.poll(timeout_ms=20) == []
        consumer.seek(partition, 1)
        async with asyncio.timeout(LONG_ENOUGH_S):
            while b"newer" not in registry.met:
                assert await consumer.poll(timeout_ms=20) == []
        registry.answers.set()
        with pytest.raises(RecordDeserializationError) as raised:
            await consumer.poll(timeout_ms=LONG_ENOUGH_MS)
        assert (raised.value.offset, registry.asked_count) == (1, 2)


async def test_a_look_up_that_fails_is_raised_and_never_skipped(
    bootstrap: str, new_topic: NewName
) -> None:
    partition = await filled(bootstrap, new_topic(), b"new")
    registry = Registry()
    registry.fails = True
    registry.answers.set()
    async with Consumer(
        bootstrap_servers=bootstrap,
        auto_offset_reset="earliest",
        value_deserializer=registry,
        deserialization_error="skip",
    ) as consumer:
        consumer.assign([partition])
        with pytest.raises(RecordDeserializationError, match="the registry is down"):
            await consumer.poll(timeout_ms=LONG_ENOUGH_MS)
        registry.fails = False
        assert [record.value for record in await consumer.poll(timeout_ms=LONG_ENOUGH_MS)] == [
            "new"
        ]


class Watching(ConsumerInterceptor[bytes, bytes]):
    def __init__(self) -> None:
        self.committed: list[Mapping[TopicPartition, OffsetAndMetadata]] = []

    def on_consume(self, records: list[ConsumerRecord]) -> list[ConsumerRecord]:
        return [record for record in records if record.value != b"hidden"]

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        self.committed.append(offsets)


class Failing(ConsumerInterceptor[bytes, bytes]):
    def on_consume(self, records: list[ConsumerRecord]) -> list[ConsumerRecord]:
        raise RuntimeError("on_consume is broken")

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        raise RuntimeError("on_commit is broken")


async def test_interceptors_see_what_is_returned_and_committed_and_their_errors_are_logged(
    bootstrap: str, new_topic: NewName, caplog: pytest.LogCaptureFixture
) -> None:
    """K4.30."""
    partition = await filled(bootstrap, new_topic(), b"shown", b"hidden", b"shown")
    watching = Watching()
    async with Consumer(
        bootstrap_servers=bootstrap,
        group_id=f"g-{partition.topic}",
        auto_offset_reset="earliest",
        interceptors=[Failing(), watching],
    ) as consumer:
        consumer.assign([partition])
        assert [record.offset for record in await consumer.poll(timeout_ms=LONG_ENOUGH_MS)] == [
            0,
            2,
        ]
        await consumer.commit()
    assert watching.committed[0] == {partition: OffsetAndMetadata(3, "", 0)}
    assert "on_consume failed" in caplog.text
    assert "on_commit failed" in caplog.text


async def test_a_record_larger_than_every_limit_is_delivered(
    bootstrap: str, new_topic: NewName
) -> None:
    """K4.08."""
    topic = new_topic()
    async with Admin(bootstrap_servers=bootstrap) as admin:
        large = NewTopic(topic, 1, configs={"max.message.bytes": "3000000"})
        (await admin.create_topics([large])).raise_errors()
    async with Producer(bootstrap_servers=bootstrap, max_request_size=3_000_000) as producer:
        await producer.send(topic, b"x" * 2_000_000)
        await producer.send(topic, b"small")
    async with Consumer(
        bootstrap_servers=bootstrap,
        auto_offset_reset="earliest",
        fetch_max_bytes=1_000_000,
        max_partition_fetch_bytes=1_000,
    ) as consumer:
        consumer.assign([(topic, 0)])
        sizes = [len(record.value or b"") for record in [await anext(consumer) for _ in range(2)]]
    assert sizes == [2_000_000, 5]


async def test_a_topic_that_is_deleted_and_created_again_is_read_from_where_the_policy_says(
    bootstrap: str, new_topic: NewName
) -> None:
    partition = await filled(bootstrap, new_topic(), *[b"old"] * 3)
    async with (
        Admin(bootstrap_servers=bootstrap) as admin,
        Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer,
    ):
        consumer.assign([partition])
        assert len(await consumer.poll(timeout_ms=LONG_ENOUGH_MS)) == 3
        (await admin.delete_topics([partition.topic])).raise_errors()
        await consumer.poll(timeout_ms=100)
        await filled(bootstrap, partition.topic, *[b"new"] * 5)
        async with asyncio.timeout(LONG_ENOUGH_S):
            found: list[ConsumerRecord] = []
            while len(found) < 5:
                found += await consumer.poll(timeout_ms=LONG_ENOUGH_MS)
    assert [(record.offset, record.value) for record in found] == [(n, b"new") for n in range(5)]


async def test_a_new_topic_is_found_by_subscribers_without_waiting_for_old_metadata(
    bootstrap: str, new_topic: NewName
) -> None:
    """K4.23."""
    topic = new_topic()
    async with Consumer(
        bootstrap_servers=bootstrap, group_id=f"g-{topic}", auto_offset_reset="earliest"
    ) as consumer:
        consumer.subscribe([topic])
        await consumer.poll(timeout_ms=50)
        await filled(bootstrap, topic, b"first")
        async with asyncio.timeout(LONG_ENOUGH_S):
            assert (await anext(consumer)).value == b"first"


async def test_patterns_match_new_topics_and_pass_over_internal_ones(
    bootstrap: str, new_topic: NewName
) -> None:
    """K4.14."""
    prefix = new_topic()
    await filled(bootstrap, f"{prefix}-a", b"a")
    async with Consumer(
        bootstrap_servers=bootstrap,
        group_id=f"g-{prefix}",
        auto_offset_reset="earliest",
        metadata_max_age_ms=200,
        heartbeat_interval_ms=100,
    ) as consumer:
        consumer.subscribe(pattern=re.compile(f"{prefix}-.*|__consumer_offsets"))
        async with asyncio.timeout(LONG_ENOUGH_S):
            assert (await anext(consumer)).value == b"a"
            await filled(bootstrap, f"{prefix}-b", b"b")
            assert (await anext(consumer)).value == b"b"
        assert {partition.topic for partition in consumer.assignment()} == {
            f"{prefix}-a",
            f"{prefix}-b",
        }


def test_the_blocking_twin_deserializes_and_counts(bootstrap: str, new_topic: NewName) -> None:
    partition = asyncio.run(filled(bootstrap, new_topic(), b'{"from": "JFK"}'))
    with blocking.Consumer(
        bootstrap_servers=bootstrap,
        auto_offset_reset="earliest",
        value_deserializer=flight,
        fetch_max_wait_ms=50,
    ) as consumer:
        consumer.assign([partition])
        record = next(iter(consumer))
        assert record.value == {"from": "JFK"}
        # The fetch that brought the record may take less than a millisecond, the next waits for
        # more records at the broker.
        while (metrics := consumer.metrics()).counters.fetches < 2:
            assert consumer.poll(timeout_ms=50) == []
    assert (metrics.counters.records_consumed, metrics.records_lag_max) == (1, 0)
    assert metrics.counters.fetch_ms_max >= 40, "what the broker waits is part of it"
    assert 0 < metrics.fetch_ms_average <= metrics.counters.fetch_ms_max
