"""Appends that wait for the transaction coordinator: in order for each producer, whatever becomes of their connections."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from types import SimpleNamespace

import pytest

from millstream.broker.node_tasks import NodeTasks
from millstream.broker.transaction_claims import (
    ClaimKind,
    OrderedAppends,
    TransactionClaim,
    claim_partitions,
)
from millstream.errors import (
    InvalidProducerEpoch,
    InvalidTxnState,
    KafkaError,
    NotEnoughReplicas,
    ProducerFenced,
    TransactionAbortable,
)
from millstream.model import TopicPartition
from millstream.protocol.generated.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def work(log: list[str], name: str, gate: asyncio.Event | None = None) -> Callable[[], object]:
    async def run() -> str:
        if gate is not None:
            await gate.wait()
        log.append(name)
        return name

    return run


async def test_appends_of_one_producer_keep_their_order() -> None:
    log: list[str] = []
    gate = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        appends = OrderedAppends(NodeTasks(group))
        first = appends.run(7, work(log, "first", gate))
        second = appends.run(7, work(log, "second"))
        other = appends.run(8, work(log, "other"))
        assert await other == "other"
        assert (appends.is_waiting(7), appends.is_waiting(8)) == (True, False)
        gate.set()
        assert (await first, await second) == ("first", "second")
    assert log == ["other", "first", "second"]
    assert not appends.is_waiting(7)


async def test_an_append_goes_on_when_nobody_waits_for_it_any_more() -> None:
    log: list[str] = []
    gate = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        appends = OrderedAppends(NodeTasks(group))
        waiter = group.create_task(_shielded(appends.run(7, work(log, "first", gate))))
        await asyncio.sleep(0)
        waiter.cancel()
        gate.set()
    assert log == ["first"]


async def _shielded(future: asyncio.Future[str]) -> str:
    return await asyncio.shield(future)


async def test_what_one_append_fails_with_is_its_own_matter() -> None:
    log: list[str] = []

    async def fail() -> str:
        raise NotEnoughReplicas

    async with asyncio.TaskGroup() as group:
        appends = OrderedAppends(NodeTasks(group))
        failed, next_one = appends.run(7, fail), appends.run(7, work(log, "next"))
        with pytest.raises(NotEnoughReplicas):
            await failed
        assert await next_one == "next"


def claim(kind: ClaimKind) -> TransactionClaim:
    return TransactionClaim("x", 1000, 3, kind)


class Coordinator:
    """Answers with these codes, or refuses; remembers what it was asked."""

    def __init__(self, codes: Mapping[TopicPartition, int], refusal: KafkaError | None) -> None:
        self.codes = codes
        self.refusal = refusal
        self.asked: list[AddPartitionsToTxnTransaction] = []

    async def ask(self, _id: str, _handle: object, request: object, *_rest: object) -> object:
        assert isinstance(request, AddPartitionsToTxnTransaction)
        self.asked.append(request)
        if self.refusal is not None:
            raise self.refusal
        return AddPartitionsToTxnResult(
            "x",
            [
                AddPartitionsToTxnTopicResult(
                    topic.name,
                    [
                        AddPartitionsToTxnPartitionResult(
                            n, self.codes.get(TopicPartition(topic.name, n), 0)
                        )
                        for n in topic.partitions
                    ],
                )
                for topic in request.topics
            ],
        )


async def refusals(
    kind: ClaimKind,
    codes: Mapping[TopicPartition, int] | None = None,
    refusal: KafkaError | None = None,
) -> dict[TopicPartition, type[KafkaError]]:
    coordinator = Coordinator(codes or {}, refusal)
    found = await claim_partitions(
        SimpleNamespace(ask=coordinator.ask),  # type: ignore[arg-type]  # the one method that is called
        claim(kind),
        [T1, T0],
    )
    (asked,) = coordinator.asked
    assert (asked.verify_only, asked.topics[0].partitions) == (kind is not ClaimKind.ADDS, [0, 1])
    return {partition: type(error) for partition, error in found.items()}


@pytest.mark.parametrize("kind", list(ClaimKind))
async def test_what_may_be_written_is_not_mentioned(kind: ClaimKind) -> None:
    assert await refusals(kind) == {}


async def test_a_fenced_producer_hears_of_its_epoch() -> None:
    expected = {T0: InvalidProducerEpoch, T1: InvalidProducerEpoch}
    assert await refusals(ClaimKind.ADDS, refusal=ProducerFenced()) == expected


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (ClaimKind.VERIFIES, TransactionAbortable),
        (ClaimKind.VERIFIES_FOR_OLD_CLIENTS, InvalidTxnState),
    ],
)
async def test_a_partition_that_was_not_added_is_told_in_words_the_client_knows(
    kind: ClaimKind, error: type[KafkaError]
) -> None:
    assert await refusals(kind, {T1: TransactionAbortable.code}) == {T1: error}
