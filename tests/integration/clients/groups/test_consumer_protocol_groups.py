"""Groups of KIP-848, where the coordinator shares out: group_protocol="consumer".

With MILLSTREAM_KAFKA_BOOTSTRAP=HOST:PORT the same tests run against an Apache Kafka, at the pace it tells its members.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator

import pytest

from millstream.clients import Admin, Consumer, Producer
from millstream.errors import (
    ConfigError,
    InvalidRegularExpression,
    UnreleasedInstanceId,
    UnsupportedAssignor,
    UnsupportedVersion,
)
from millstream.testing.broker import Broker
from tests.integration.clients.groups.group_steps import (
    Diary,
    polled_until,
    topic_with_partitions,
    until_shared,
)

NewName = Callable[[], str]
KAFKA = os.environ.get("MILLSTREAM_KAFKA_BOOTSTRAP")
FAST = {
    "group.consumer.min.heartbeat.interval.ms": "50",
    "group.consumer.heartbeat.interval.ms": "50",
    "group.consumer.min.session.timeout.ms": "500",
    "group.consumer.session.timeout.ms": "45000",
    "group.consumer.assignment.interval.ms": "0",
    "group.initial.rebalance.delay.ms": "0",
}


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    if KAFKA:
        yield KAFKA
        return
    with Broker(in_process=False, settings=FAST) as broker:
        yield broker.bootstrap_servers


def member(bootstrap: str, topic: str, **settings: object) -> Consumer:
    return Consumer(
        bootstrap_servers=bootstrap,
        group_id=f"g-{topic}",
        group_protocol="consumer",
        auto_offset_reset="earliest",
        **settings,
    )


async def test_partitions_move_one_after_the_other_and_the_listener_is_told(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = await topic_with_partitions(bootstrap, new_topic(), 2)
    diary = Diary()
    async with member(bootstrap, topic) as first:
        first.subscribe([topic], listener=diary)
        await until_shared([first], 2)
        async with member(bootstrap, topic) as second:
            second.subscribe([topic])
            await until_shared([first, second], 2)
            (kept,) = first.assignment()
            (moved,) = second.assignment()
        await until_shared([first], 2)
    assert diary.moves == [
        ("assigned", {0, 1}),
        ("revoked", {moved.partition}),
        ("assigned", {moved.partition}),
        ("revoked", {kept.partition, moved.partition}),
    ]


async def test_the_next_owner_reads_on_where_the_last_one_was(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = await topic_with_partitions(bootstrap, new_topic(), 2)
    seen: list[int] = []

    def take(consumers: list[Consumer], count: int) -> Callable[[], bool]:
        return lambda: len(seen) >= count and all(c.assignment() for c in consumers)

    async def read(consumers: list[Consumer], count: int) -> None:
        done = take(consumers, count)
        while not done():
            for consumer in consumers:
                records = await consumer.poll(max_records=7, timeout_ms=20)
                seen.extend(int(record.value or b"-1") for record in records)

    async with Producer(bootstrap_servers=bootstrap) as producer:
        for number in range(200):
            await producer.send(topic, b"%d" % number, partition=number % 2)
        await producer.flush()
    async with member(bootstrap, topic) as first:
        first.subscribe([topic])
        await read([first], 50)
        async with member(bootstrap, topic) as second:
            second.subscribe([topic])
            await read([first, second], 150)
        await read([first], 200)
    assert sorted(seen) == list(range(200))


async def test_a_pattern_given_as_text_is_matched_by_the_broker(
    bootstrap: str, new_topic: NewName
) -> None:
    name = new_topic()
    for kind in ("wanted", "other"):
        await topic_with_partitions(bootstrap, f"{kind}-{name}", 2)
    async with member(bootstrap, name) as consumer:
        consumer.subscribe(pattern=f"want.d-{name}")
        await until_shared([consumer], 2)
        assert {tp.topic for tp in consumer.assignment()} == {f"wanted-{name}"}
        consumer.subscribe([f"other-{name}"])
        await polled_until(
            [consumer], lambda: {tp.topic for tp in consumer.assignment()} == {f"other-{name}"}
        )


async def test_a_compiled_pattern_is_matched_here(bootstrap: str, new_topic: NewName) -> None:
    name = new_topic()
    await topic_with_partitions(bootstrap, f"{name}-1", 1)
    async with member(bootstrap, name, metadata_max_age_ms=200) as consumer:
        consumer.subscribe(pattern=re.compile(rf"(?=.*1$|.*2$){name}-."))  # RE2 has no lookahead
        await until_shared([consumer], 1)
        await topic_with_partitions(bootstrap, f"{name}-2", 1)
        await until_shared([consumer], 2)
        assert consumer.subscription() == {f"{name}-1", f"{name}-2"}


async def test_what_the_broker_cannot_match_is_raised_and_another_subscription_cures_it(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = await topic_with_partitions(bootstrap, new_topic(), 1)
    async with member(bootstrap, topic) as consumer:
        consumer.subscribe(pattern="(unclosed")
        with pytest.raises(InvalidRegularExpression):
            await polled_until([consumer], lambda: False)
        consumer.subscribe([topic])
        await until_shared([consumer], 1)


async def test_an_assignor_that_the_broker_does_not_have_is_raised(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = await topic_with_partitions(bootstrap, new_topic(), 1)
    async with member(bootstrap, topic, group_remote_assignor="mystery") as consumer:
        consumer.subscribe([topic])
        with pytest.raises(UnsupportedAssignor):
            await polled_until([consumer], lambda: False)


async def test_who_does_not_poll_loses_its_partitions_and_is_told_when_it_is_back(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = await topic_with_partitions(bootstrap, new_topic(), 2)
    diary = Diary()
    async with (
        member(bootstrap, topic, max_poll_interval_ms=1_500) as stuck,
        member(bootstrap, topic) as other,
    ):
        stuck.subscribe([topic], listener=diary)
        await until_shared([stuck], 2)
        other.subscribe([topic])
        await until_shared([other], 2)
        await polled_until([stuck], lambda: len(diary.moves) > 1)
        assert diary.moves[:2] == [("assigned", {0, 1}), ("lost", {0, 1})]
        await until_shared([stuck, other], 2)


async def test_a_static_member_comes_back_to_its_partitions(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = await topic_with_partitions(bootstrap, new_topic(), 2)
    diary = Diary()
    async with member(bootstrap, topic, group_instance_id="b") as steady:
        steady.subscribe([topic], listener=diary)
        async with member(bootstrap, topic, group_instance_id="a") as first:
            first.subscribe([topic])
            await until_shared([first, steady], 2)
            before = first.assignment()
        told = diary.moves
        async with member(bootstrap, topic, group_instance_id="a") as again:
            again.subscribe([topic])
            await until_shared([again, steady], 2)
            assert again.assignment() == before
            async with member(bootstrap, topic, group_instance_id="a") as double:
                double.subscribe([topic])
                with pytest.raises(UnreleasedInstanceId):
                    await polled_until([double], lambda: False)
        assert diary.moves == told


async def test_members_of_both_protocols_share_while_a_group_is_upgraded(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = await topic_with_partitions(bootstrap, new_topic(), 4)
    settings = {"bootstrap_servers": bootstrap, "group_id": f"g-{topic}"}
    old = Consumer(
        **settings,
        partition_assignment_strategy="cooperative-sticky",
        heartbeat_interval_ms=100,
    )
    async with old, member(bootstrap, topic) as new:
        old.subscribe([topic])
        await until_shared([old], 4)
        new.subscribe([topic])
        await until_shared([old, new], 4)
        assert len(old.assignment()) == len(new.assignment()) == 2
        await old.unsubscribe()
        await until_shared([new], 4)


async def test_settings_of_the_other_protocol_are_refused() -> None:
    for name, value in (
        ("session_timeout_ms", 10_000),
        ("heartbeat_interval_ms", 100),
        ("partition_assignment_strategy", "range"),
    ):
        with pytest.raises(ConfigError, match=f"{name} does not apply"):
            Consumer(
                bootstrap_servers="a:1", group_id="g", group_protocol="consumer", **{name: value}
            )
    with pytest.raises(ConfigError, match="group_remote_assignor does not apply"):
        Consumer(bootstrap_servers="a:1", group_id="g", group_remote_assignor="uniform")


@pytest.mark.skipif(bool(KAFKA), reason="starts brokers of its own")
async def test_a_broker_without_the_protocol_is_told_apart(new_topic: NewName) -> None:
    settings = {"group.coordinator.rebalance.protocols": "classic"}
    with Broker(in_process=False, settings=settings) as broker:
        async with member(broker.bootstrap_servers, new_topic()) as consumer:
            consumer.subscribe(["t"])
            with pytest.raises(UnsupportedVersion, match="use group_protocol='classic'"):
                await polled_until([consumer], lambda: False)


@pytest.mark.skipif(bool(KAFKA), reason="starts brokers of its own")
async def test_members_outlive_a_restart_of_their_coordinator(new_topic: NewName) -> None:
    with Broker(in_process=False, settings=FAST) as broker:
        bootstrap = broker.bootstrap_servers
        topic = await topic_with_partitions(bootstrap, new_topic(), 2)
        diary = Diary()
        async with member(bootstrap, topic) as consumer, Admin(bootstrap_servers=bootstrap):
            consumer.subscribe([topic], listener=diary)
            await until_shared([consumer], 2)
            epoch = consumer.group_metadata().generation_id
            broker.restart()
            await consumer.commit(dict.fromkeys(consumer.assignment(), 0))
            await until_shared([consumer], 2)
            assert consumer.group_metadata().generation_id == epoch
            assert diary.entries == [("assigned", {0, 1})]
