"""Consumers and producers whose users lack a permission on Apache Kafka: one error, which names the resource and what to allow."""

from __future__ import annotations

import asyncio

import pytest

from millstream.clients import Consumer, ConsumerRecord, Producer, ShareConsumer, TransactionFailed
from millstream.errors import (
    ClusterAuthorizationFailed,
    GroupAuthorizationFailed,
    KafkaError,
    TopicAuthorizationFailed,
    TransactionalIdAuthorizationFailed,
)
from tests.compat.permissions.users import (
    Allowed,
    KafkaWithUsers,
    describe_topic,
    read_group,
    read_topic,
    write_topic,
    write_transactions,
)
from tests.oracle.clients.kafka_cluster import is_available
from tests.patience import LONG_ENOUGH_MS, LONG_ENOUGH_S

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(
        not is_available(), reason="needs Java and MILLSTREAM_KAFKA_CLASSPATH, where the jars are"
    ),
]

PROTOCOLS = ("classic", "consumer")
NEEDS = "its user needs READ on it"


async def first_poll(
    kafka: KafkaWithUsers, topic: str, group: str, protocol: str, *allowed: Allowed
) -> None:
    """Polls until something comes, or an error."""
    settings = await asyncio.to_thread(kafka.user, *allowed)
    async with Consumer(
        **settings, group_id=group, group_protocol=protocol, auto_offset_reset="earliest"
    ) as consumer:
        consumer.subscribe([topic])
        await consumer.poll(timeout_ms=LONG_ENOUGH_MS)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_member_without_its_group(kafka: KafkaWithUsers, protocol: str) -> None:
    topic = await asyncio.to_thread(kafka.new_topic, 1)
    with pytest.raises(GroupAuthorizationFailed, match=f"group 'mine': Not authorized .* {NEEDS}"):
        await first_poll(kafka, topic, "mine", protocol, describe_topic(topic))


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_member_that_may_describe_a_topic_and_not_read_it(
    kafka: KafkaWithUsers, protocol: str
) -> None:
    topic = await asyncio.to_thread(kafka.new_topic, 1)
    with pytest.raises(TopicAuthorizationFailed, match=f"{topic}-0: Not authorized .* {NEEDS}"):
        await first_poll(kafka, topic, "mine", protocol, describe_topic(topic), read_group("mine"))


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_member_that_may_not_see_its_topic(kafka: KafkaWithUsers, protocol: str) -> None:
    topic = await asyncio.to_thread(kafka.new_topic, 1)
    with pytest.raises(TopicAuthorizationFailed, match=f"topic '{topic}'.*: .* {NEEDS}"):
        await first_poll(kafka, topic, "mine", protocol, read_group("mine"))


async def test_an_assigned_partition_of_a_topic_that_may_not_be_seen(
    kafka: KafkaWithUsers,
) -> None:
    topic = await asyncio.to_thread(kafka.new_topic, 1)
    async with Consumer(**await asyncio.to_thread(kafka.user)) as consumer:
        consumer.assign([(topic, 0)])
        consumer.seek((topic, 0), 0)
        with pytest.raises(TopicAuthorizationFailed, match=f"topic '{topic}': .* {NEEDS}"):
            await consumer.poll(timeout_ms=LONG_ENOUGH_MS)


async def test_a_subscriber_reads_on_what_it_may_after_each_refusal(kafka: KafkaWithUsers) -> None:
    seen, hidden = [await asyncio.to_thread(kafka.new_topic, 1) for _ in range(2)]
    settings = await asyncio.to_thread(kafka.user, read_topic(seen), read_group("mine"))
    records: list[ConsumerRecord[bytes, bytes]] = []
    async with Consumer(**settings, group_id="mine", auto_offset_reset="earliest") as consumer:
        consumer.subscribe([seen, hidden])
        refusals = 0
        async with asyncio.timeout(LONG_ENOUGH_S):
            while not (records and refusals):
                try:
                    records += await consumer.poll(timeout_ms=500)
                except TopicAuthorizationFailed:
                    refusals += 1
    assert [record.topic for record in records] == [seen]


async def test_a_member_of_a_share_group_without_it(kafka: KafkaWithUsers) -> None:
    topic = await asyncio.to_thread(kafka.new_topic, 1)
    settings = await asyncio.to_thread(kafka.user, describe_topic(topic))
    async with ShareConsumer(**settings, group_id="shared") as consumer:
        consumer.subscribe([topic])
        with pytest.raises(GroupAuthorizationFailed, match=f"group 'shared': .* {NEEDS}"):
            await consumer.poll(timeout_ms=LONG_ENOUGH_MS)


async def refusal_of_a_record(
    kafka: KafkaWithUsers, topic: str, *allowed: Allowed
) -> BaseException:
    settings = await asyncio.to_thread(kafka.user, *allowed)
    async with Producer(**settings) as producer:
        with pytest.raises(KafkaError) as refused:
            await (await producer.send(topic, b"x"))
    return refused.value


async def test_a_producer_that_may_describe_a_topic_and_not_write_to_it(
    kafka: KafkaWithUsers,
) -> None:
    topic, other = [await asyncio.to_thread(kafka.new_topic) for _ in range(2)]
    error = await refusal_of_a_record(kafka, topic, describe_topic(topic), write_topic(other))
    assert isinstance(error, TopicAuthorizationFailed)
    assert str(error).startswith(f"{topic}-0: Not authorized for this topic: its user needs")


async def test_a_producer_that_may_not_see_its_topic(kafka: KafkaWithUsers) -> None:
    topic, other = [await asyncio.to_thread(kafka.new_topic) for _ in range(2)]
    error = await refusal_of_a_record(kafka, topic, write_topic(other))
    assert isinstance(error, TopicAuthorizationFailed)
    assert str(error).startswith(f"topic '{topic}': Not authorized for this topic: its user needs")


async def test_a_producer_that_may_write_nowhere(kafka: KafkaWithUsers) -> None:
    topic = await asyncio.to_thread(kafka.new_topic)
    error = await refusal_of_a_record(kafka, topic, describe_topic(topic))
    assert isinstance(error, ClusterAuthorizationFailed)
    assert "idempotent producer, for which WRITE on any topic is enough" in str(error)


async def test_a_transactional_id_that_is_not_the_users(kafka: KafkaWithUsers) -> None:
    topic = await asyncio.to_thread(kafka.new_topic)
    settings = await asyncio.to_thread(kafka.user, write_topic(topic))
    async with Producer(**settings, transactional_id="hers") as producer:
        with pytest.raises(
            TransactionalIdAuthorizationFailed,
            match=r"transactional id 'hers': Not authorized .* its user needs WRITE on it",
        ):
            await producer.init_transactions()


async def test_a_transaction_that_may_not_write_to_a_topic(kafka: KafkaWithUsers) -> None:
    topic = await asyncio.to_thread(kafka.new_topic)
    allowed = describe_topic(topic), write_transactions("mine")
    settings = await asyncio.to_thread(kafka.user, *allowed)
    async with Producer(**settings, transactional_id="mine") as producer:
        await producer.init_transactions()
        await producer.begin_transaction()
        with pytest.raises((TopicAuthorizationFailed, TransactionFailed)) as refused:
            await (await producer.send(topic, b"x"))
        assert f"{topic}-0: Not authorized for this topic: its user needs" in str(refused.value)
        await producer.abort_transaction()
