"""Clients with the rights of the guide's tables, and without each of them: one error, which names the resource and the operation."""

from __future__ import annotations

from typing import Final

import pytest

from millstream.clients import (
    Admin,
    Consumer,
    ConsumerRecord,
    OffsetAndMetadata,
    Producer,
    ShareConsumer,
    ShareSpout,
    Spout,
)
from millstream.clients.admin import AlterConfig, ConfigResource, ConfigResourceType, Operation
from millstream.errors import ClusterAuthorizationFailed, KafkaError
from millstream.model import TopicPartition
from tests.compat.permissions.users import KafkaWithUsers
from tests.integration.rights.cases import Case, Run, is_refusal_of
from tests.patience import LONG_ENOUGH_MS
from tests.support.rights import Right, rights

RECORDS = 3


async def produce(case: Case) -> None:
    await case.create("orders")
    async with Producer(**case.settings) as producer:
        await (await producer.send(case.name("orders"), b"x"))


async def produce_plainly(case: Case) -> None:
    await case.create("orders")
    async with Producer(**case.settings, enable_idempotence=False, acks=1) as producer:
        await (await producer.send(case.name("orders"), b"x"))


async def produce_in_a_transaction(case: Case) -> None:
    await case.create("orders")
    async with Producer(**case.settings, transactional_id=case.name("loader")) as producer:
        await producer.init_transactions()
        async with producer.transaction():
            await (await producer.send(case.name("orders"), b"x"))


async def read_and_produce_in_a_transaction(case: Case) -> None:
    await case.create("orders", records=RECORDS)
    await case.create("totals")
    async with (
        Consumer(
            **case.settings,
            group_id=case.name("totals"),
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        ) as consumer,
        Producer(**case.settings, transactional_id=case.name("totals")) as producer,
    ):
        await producer.init_transactions()
        consumer.subscribe([case.name("orders")])
        records = await consumer.poll(timeout_ms=LONG_ENOUGH_MS)
        async with producer.transaction():
            await (await producer.send(case.name("totals"), b"%d" % len(records)))
            await producer.send_offsets_to_transaction(
                {TopicPartition(case.name("orders"), 0): OffsetAndMetadata(len(records))},
                consumer.group_metadata(),
            )


async def consume_in_a_classic_group(case: Case) -> None:
    await _consume(case, "classic")


async def consume_in_a_group_of_the_new_protocol(case: Case) -> None:
    await _consume(case, "consumer")


async def _consume(case: Case, protocol: str) -> None:
    await case.create("orders", records=RECORDS)
    async with Consumer(
        **case.settings,
        group_id=case.name("billing"),
        group_protocol=protocol,
        auto_offset_reset="earliest",
    ) as consumer:
        consumer.subscribe([case.name("orders")])
        records: list[ConsumerRecord[bytes, bytes]] = []
        while len(records) < RECORDS:
            records += await consumer.poll(timeout_ms=LONG_ENOUGH_MS)
        await consumer.commit()


async def share(case: Case) -> None:
    await case.create("orders", records=RECORDS)
    await begin_with_the_earliest(case, "billing")
    async with ShareConsumer(**case.settings, group_id=case.name("billing")) as consumer:
        consumer.subscribe([case.name("orders")])
        assert await consumer.poll(timeout_ms=LONG_ENOUGH_MS)


async def begin_with_the_earliest(case: Case, group: str) -> None:
    resource = ConfigResource(ConfigResourceType.GROUP, case.name(group))
    earliest = AlterConfig("share.auto.offset.reset", "earliest")
    async with Admin(**case.kafka.admin_settings) as admin:
        (await admin.incremental_alter_configs({resource: [earliest]})).raise_errors()


async def spout(case: Case) -> None:
    await case.create("orders", records=RECORDS)
    async with Spout(
        case.name("orders"), **case.settings, group_id=case.name("billing")
    ) as messages:
        async for message in messages:
            message.ack()
            break


async def share_spout(case: Case) -> None:
    await case.create("orders", records=RECORDS)
    await begin_with_the_earliest(case, "billing")
    async with ShareSpout(
        case.name("orders"), **case.settings, group_id=case.name("billing")
    ) as messages:
        async for message in messages:
            message.ack()
            break


WAYS: Final[dict[str, tuple[Run, ...]]] = {
    "A producer": (produce, produce_plainly),
    "A transactional producer": (produce_in_a_transaction,),
    "A producer whose transactions take offsets": (read_and_produce_in_a_transaction,),
    "A consumer": (
        consume_in_a_classic_group,
        consume_in_a_group_of_the_new_protocol,
        share,
        spout,
        share_spout,
    ),
}
EACH = [(kind, way) for kind, ways in WAYS.items() for way in ways]
LACKING = [(kind, way, right) for kind, way in EACH for right in rights(kind)]


@pytest.mark.parametrize(("kind", "way"), EACH, ids=[way.__name__ for _, way in EACH])
async def test_with_these_rights(kafka: KafkaWithUsers, kind: str, way: Run) -> None:
    await way(await Case.of(kafka, rights(kind)))


@pytest.mark.parametrize(
    ("kind", "way", "lacking"),
    LACKING,
    ids=[f"{way.__name__}-{right}" for _, way, right in LACKING],
)
async def test_without_one_of_them(
    kafka: KafkaWithUsers, kind: str, way: Run, lacking: Right
) -> None:
    case = await Case.of(kafka, [each for each in rights(kind) if each != lacking])
    with pytest.raises(KafkaError) as refused:
        await way(case)
    if way is produce and isinstance(refused.value, ClusterAuthorizationFailed):
        # Who may write nowhere gets no producer id: brokers ask for that before they hear of a topic.
        assert f"{Operation.WRITE.name} on any topic is enough" in str(refused.value)
    else:
        assert is_refusal_of(refused.value, lacking, case), repr(refused.value)
