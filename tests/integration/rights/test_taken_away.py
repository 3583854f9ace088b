"""A right that is taken away while an application runs: it ends, or raises, with the sentence of one that never had it."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.clients import Consumer, ConsumerRecord, Producer
from millstream.clients.admin import Operation, ResourceType
from millstream.errors import KafkaError, MillstreamError
from millstream.streams.application.states import ApplicationState
from tests.compat.permissions.users import KafkaWithUsers
from tests.integration.rights.cases import Case, is_refusal_of
from tests.integration.rights.test_streams import Counted
from tests.patience import LONG_ENOUGH_MS
from tests.support.rights import Right, rights

EXACTLY_ONCE = rights("Exactly once")
IN_USE = [
    each
    for each in EXACTLY_ONCE
    if not each.may_be_missed and each.operation is not Operation.CREATE
]


IN_CLASSIC_GROUPS = [each for each in IN_USE if each.resource_type is not ResourceType.TOPIC]
"""What the stream threads of a classic group do otherwise than those of the streams protocol."""
EACH = [
    *(("streams", each) for each in IN_USE),
    *(("classic", each) for each in IN_CLASSIC_GROUPS),
]


@pytest.mark.parametrize(
    ("protocol", "taken"), EACH, ids=[f"{protocol}-{taken}" for protocol, taken in EACH]
)
async def test_an_application_ends_with_the_right_that_it_lacks(
    kafka: KafkaWithUsers, protocol: str, taken: Right, tmp_path: Path
) -> None:
    case = await Case.of(kafka, EXACTLY_ONCE)
    async with Counted.started(case, "Exactly once", protocol, tmp_path) as counted:
        await counted.until_counted()
        await case.take_away(taken)
        await case.put("clicks", b"more")
        with pytest.raises(MillstreamError) as refused:
            await counted.application.wait_ended()
        assert counted.application.state is ApplicationState.ERROR
    assert is_refusal_of(refused.value, taken, case), repr(refused.value)


async def test_what_is_created_needs_no_right_to_create(
    kafka: KafkaWithUsers, tmp_path: Path
) -> None:
    (create,) = [each for each in EXACTLY_ONCE if each.operation is Operation.CREATE]
    case = await Case.of(kafka, EXACTLY_ONCE)
    async with Counted.started(case, "Exactly once", "streams", tmp_path / "1") as counted:
        await counted.until_counted()
    await case.take_away(create)
    again = Counted(case, "Exactly once", "streams", tmp_path / "2")
    try:
        await again.application.start()
        await again.until_counted()
    finally:
        await again.application.close()


@pytest.mark.parametrize("taken", rights("A consumer"), ids=str)
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
async def test_a_consumer_says_so_and_reads_on_when_it_may_again(
    kafka: KafkaWithUsers, protocol: str, taken: Right
) -> None:
    case = await Case.of(kafka, rights("A consumer"))
    await case.create("orders", records=1)
    soon_heard = {"heartbeat_interval_ms": 200} if protocol == "classic" else {}
    async with Consumer(
        **case.settings,
        **soon_heard,
        group_id=case.name("billing"),
        group_protocol=protocol,
        auto_offset_reset="earliest",
    ) as consumer:
        consumer.subscribe([case.name("orders")])
        records: list[ConsumerRecord[bytes, bytes]] = []
        records += await consumer.poll(timeout_ms=LONG_ENOUGH_MS)
        await case.take_away(taken)
        with pytest.raises(KafkaError) as refused:
            await consumer.poll(timeout_ms=LONG_ENOUGH_MS)
        assert is_refusal_of(refused.value, taken, case), repr(refused.value)
        await case.give(taken)
        await case.put("orders", b"more")
        while len(records) < 2:
            try:
                records += await consumer.poll(timeout_ms=LONG_ENOUGH_MS)
            except KafkaError as error:  # an answer of before
                if not is_refusal_of(error, taken, case):
                    raise
    assert [record.value for record in records] == [b"0", b"more"]


async def test_a_producer_says_so_and_writes_on_when_it_may_again(kafka: KafkaWithUsers) -> None:
    (write,) = rights("A producer")
    case = await Case.of(kafka, [write])
    await case.create("orders")
    async with Producer(**case.settings) as producer:
        await (await producer.send(case.name("orders"), b"1"))
        await case.take_away(write)
        with pytest.raises(KafkaError) as refused:
            await (await producer.send(case.name("orders"), b"2"))
        assert is_refusal_of(refused.value, write, case), repr(refused.value)
        await case.give(write)
        await (await producer.send(case.name("orders"), b"3"))


async def test_a_transaction_fails_and_the_next_one_is_committed_when_it_may_again(
    kafka: KafkaWithUsers,
) -> None:
    table = rights("A transactional producer")
    (write,) = [each for each in table if each.resource_type is ResourceType.TOPIC]
    case = await Case.of(kafka, table)
    await case.create("orders")
    async with Producer(**case.settings, transactional_id=case.name("loader")) as producer:
        await producer.init_transactions()
        async with producer.transaction():
            await producer.send(case.name("orders"), b"1")
        await case.take_away(write)
        await producer.begin_transaction()
        with pytest.raises(MillstreamError) as refused:
            await (await producer.send(case.name("orders"), b"2"))
        assert is_refusal_of(refused.value, write, case), repr(refused.value)
        await producer.abort_transaction()
        await case.give(write)
        async with producer.transaction():
            await producer.send(case.name("orders"), b"3")
