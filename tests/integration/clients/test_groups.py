"""Groups of two members: share, rebalance, commit, resume; listeners are told in order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from millstream.clients import Consumer, Producer
from tests.integration.clients.group_steps import Diary, topic_with_partitions, until_shared

NewName = Callable[[], str]


@pytest.mark.parametrize("assignor", ["range", "roundrobin", "sticky", "cooperative-sticky"])
async def test_two_members_share_and_the_last_one_gets_everything(
    bootstrap: str, new_topic: NewName, assignor: str
) -> None:
    topic = await topic_with_partitions(bootstrap, new_topic(), 4)

    def member() -> Consumer:
        return Consumer(
            bootstrap_servers=bootstrap,
            group_id=f"g-{topic}",
            auto_offset_reset="earliest",
            heartbeat_interval_ms=100,
            partition_assignment_strategy=assignor,
        )

    async with member() as first:
        first.subscribe([topic])
        await until_shared([first], 4)
        async with member() as second:
            second.subscribe([topic])
            await until_shared([first, second], 4)
            assert len(first.assignment()) == len(second.assignment()) == 2
            assert not first.assignment() & second.assignment()
        await until_shared([first], 4)


async def test_a_group_resumes_where_it_committed_and_loses_nothing_in_a_rebalance(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = await topic_with_partitions(bootstrap, new_topic(), 2)
    seen: list[bytes | None] = []
    settings = {
        "bootstrap_servers": bootstrap,
        "group_id": f"g-{topic}",
        "auto_offset_reset": "earliest",
        "heartbeat_interval_ms": 100,
    }
    async with Producer(bootstrap_servers=bootstrap) as producer, Consumer(**settings) as first:
        first.subscribe([topic])
        for number in range(100):
            await producer.send(topic, b"%d" % number, partition=number % 2)
        await producer.flush()
        async with asyncio.timeout(30):
            while len(seen) < 40:
                seen += [record.value for record in await first.poll(max_records=20)]
        async with Consumer(**settings) as second:
            second.subscribe([topic])
            async with asyncio.timeout(30):
                while len(seen) < 100 or not second.assignment():
                    for consumer in (first, second):
                        seen += [r.value for r in await consumer.poll(max_records=5, timeout_ms=50)]
        for number in range(100, 120):
            await producer.send(topic, b"%d" % number, partition=number % 2)
        await producer.flush()
    async with Consumer(**settings) as third:
        third.subscribe([topic])
        async with asyncio.timeout(30):
            while len(seen) < 120:
                seen += [record.value for record in await third.poll()]
    assert sorted(int(value or b"-1") for value in seen) == list(range(120))


@pytest.mark.parametrize(
    ("assignor", "expected"),
    [
        ("range", [("assigned", {0, 1}), ("revoked", {0, 1}), ("assigned", {0}), ("revoked", {0})]),
        (
            "cooperative-sticky",
            [
                ("assigned", {0, 1}),
                ("revoked", {1}),
                ("assigned", set()),
                ("assigned", set()),
                ("revoked", {0}),
            ],
        ),
    ],
)
async def test_eager_members_give_up_everything_cooperative_ones_what_moves(
    bootstrap: str, new_topic: NewName, assignor: str, expected: list[tuple[str, set[int]]]
) -> None:
    topic = await topic_with_partitions(bootstrap, new_topic(), 2)
    diary = Diary()

    def member(instance: str) -> Consumer:
        return Consumer(
            bootstrap_servers=bootstrap,
            client_id=instance,
            group_id=f"g-{topic}",
            heartbeat_interval_ms=100,
            partition_assignment_strategy=assignor,
        )

    async with member("b-second") as second:
        async with member("a-first") as first:
            first.subscribe([topic], listener=diary)
            await until_shared([first], 2)
            second.subscribe([topic])
            await until_shared([first, second], 2)
            for _ in range(3):
                await first.poll(timeout_ms=100)
                await second.poll(timeout_ms=100)
        assert diary.entries == expected


async def test_a_pattern_finds_topics_that_come_later(bootstrap: str, new_topic: NewName) -> None:
    name = new_topic()
    await topic_with_partitions(bootstrap, f"p-{name}-1", 1)
    async with Consumer(
        bootstrap_servers=bootstrap, group_id=f"g-{name}", metadata_max_age_ms=200
    ) as consumer:
        consumer.subscribe(pattern=f"p-{name}-.*")
        await until_shared([consumer], 1)
        await topic_with_partitions(bootstrap, f"p-{name}-2", 1)
        await until_shared([consumer], 2)
        assert consumer.subscription() == {f"p-{name}-1", f"p-{name}-2"}


async def test_a_member_that_does_not_poll_loses_its_partitions_and_is_told(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = await topic_with_partitions(bootstrap, new_topic(), 2)
    diary = Diary()
    settings = {
        "bootstrap_servers": bootstrap,
        "group_id": f"g-{topic}",
        "heartbeat_interval_ms": 100,
    }
    async with (
        Consumer(**settings, max_poll_interval_ms=800) as stuck,
        Consumer(**settings) as other,
    ):
        stuck.subscribe([topic], listener=diary)
        await until_shared([stuck], 2)
        other.subscribe([topic])
        await until_shared([other], 2)
        await stuck.poll(timeout_ms=0)
        assert diary.entries == [("assigned", {0, 1}), ("lost", {0, 1})]
        await until_shared([stuck, other], 2)


async def test_a_static_member_comes_back_to_its_partitions_without_a_rebalance(
    bootstrap: str, new_topic: NewName
) -> None:
    """KIP-345."""
    topic = await topic_with_partitions(bootstrap, new_topic(), 2)

    def member(instance: str) -> Consumer:
        return Consumer(
            bootstrap_servers=bootstrap,
            group_id=f"g-{topic}",
            group_instance_id=instance,
            heartbeat_interval_ms=100,
        )

    async with member("b") as steady:
        async with member("a") as first:
            first.subscribe([topic])
            steady.subscribe([topic])
            await until_shared([first, steady], 2)
            before = (first.assignment(), steady.group_metadata().generation_id)
        async with member("a") as again:
            again.subscribe([topic])
            await until_shared([again, steady], 2)
            assert (again.assignment(), steady.group_metadata().generation_id) == before
