"""Groups of two members: share, rebalance, commit, resume; listeners are told in order."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from millstream.clients import Admin, CommitFailed, Consumer, Producer, TopicPartition
from millstream.clients.group.assignors import (
    Assignment,
    LastAssignment,
    MemberSubscription,
    TopicRacks,
)
from millstream.net.client.connection import Connection
from millstream.protocol.api import ApiKey
from tests.integration.clients.groups.group_steps import (
    Diary,
    polled_until,
    topic_with_partitions,
    until_shared,
)
from tests.patience import LONG_ENOUGH_MS, LONG_ENOUGH_S

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
        async with asyncio.timeout(LONG_ENOUGH_S):
            while len(seen) < 40:
                seen += [
                    record.value
                    for record in await first.poll(max_records=20, timeout_ms=LONG_ENOUGH_MS)
                ]
        async with Consumer(**settings) as second:
            second.subscribe([topic])
            async with asyncio.timeout(LONG_ENOUGH_S):
                while len(seen) < 100 or not second.assignment():
                    for consumer in (first, second):
                        seen += [r.value for r in await consumer.poll(max_records=5, timeout_ms=50)]
        for number in range(100, 120):
            await producer.send(topic, b"%d" % number, partition=number % 2)
        await producer.flush()
    async with Consumer(**settings) as third:
        third.subscribe([topic])
        async with asyncio.timeout(LONG_ENOUGH_S):
            while len(seen) < 120:
                seen += [record.value for record in await third.poll(timeout_ms=LONG_ENOUGH_MS)]
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
            await polled_until([first, second], lambda: len(diary.entries) + 1 >= len(expected))
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


async def test_nobody_waits_for_a_topic_that_is_deleted_while_the_group_goes_on_with_others(
    bootstrap: str, new_topic: NewName
) -> None:
    """What was read of it cannot be committed any more, however long one tries: here for ten minutes."""
    gone = await topic_with_partitions(bootstrap, new_topic(), 1)
    kept = await topic_with_partitions(bootstrap, new_topic(), 1)
    async with (
        Admin(bootstrap_servers=bootstrap) as admin,
        Producer(bootstrap_servers=bootstrap) as producer,
        Consumer(
            bootstrap_servers=bootstrap,
            group_id=f"g-{kept}",
            auto_offset_reset="earliest",
            metadata_max_age_ms=100,
            request_timeout_ms=600_000,
            allow_auto_create_topics=False,
        ) as consumer,
        asyncio.timeout(LONG_ENOUGH_S),
    ):
        consumer.subscribe([gone, kept])
        for topic in (gone, kept):
            await producer.send(topic, b"first")
        await producer.flush()
        assert {(await anext(consumer)).topic for _ in range(2)} == {gone, kept}
        (await admin.delete_topics([gone])).raise_errors()
        while {partition.topic for partition in consumer.assignment()} != {kept}:
            await consumer.poll(timeout_ms=50)
        await producer.send(kept, b"second")
        assert (await anext(consumer)).value == b"second"


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
        with pytest.raises(CommitFailed):
            await stuck.commit({TopicPartition(topic, 0): 7})
        await stuck.poll(timeout_ms=0)
        assert diary.moves[:2] == [("assigned", {0, 1}), ("lost", {0, 1})]
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


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
@pytest.mark.parametrize("leads", [True, False])
async def test_a_static_member_that_comes_back_with_another_subscription_reads_what_it_subscribes_to(
    bootstrap: str, new_topic: NewName, strategy: str, leads: bool
) -> None:
    """KIP-345: the coordinator gives it what it had before, which Java's client refuses, too."""
    old = await topic_with_partitions(bootstrap, new_topic(), 2)
    new = await topic_with_partitions(bootstrap, new_topic(), 2)

    def member(instance: str) -> Consumer:
        return Consumer(
            bootstrap_servers=bootstrap,
            group_id=f"g-{old}",
            group_instance_id=instance,
            partition_assignment_strategy=[strategy],
            heartbeat_interval_ms=100,
        )

    async with member("steady") as steady:
        others = []
        if not leads:  # who joins first does
            steady.subscribe([old])
            others = [steady]
            await until_shared(others, 2)
        async with member("moved") as first:
            first.subscribe([old])
            await until_shared([first, *others], 2)
        async with member("moved") as again:
            again.subscribe([new])
            await until_shared([again, *others], 4 if others else 2)
            assert {partition.topic for partition in again.assignment()} == {new}


async def test_the_group_decides_who_reads_what_by_an_assignor_of_ones_own(
    bootstrap: str, new_topic: NewName
) -> None:
    class OddOnesFirst:
        """The first member gets the odd partitions."""

        name = "odd-ones-first"
        is_cooperative = False

        def user_data(self, topics: frozenset[str], last: LastAssignment) -> bytes:
            return b"from every member"

        def assign(
            self, topics: TopicRacks, members: Mapping[str, MemberSubscription]
        ) -> Assignment:
            assert {said.user_data for said in members.values()} == {b"from every member"}
            ordered = sorted(members)
            shares: Assignment = {member: [] for member in ordered}
            for topic, partitions in topics.items():
                for index in range(len(partitions)):
                    taker = ordered[0] if index % 2 else ordered[-1]
                    shares[taker].append(TopicPartition(topic, index))
            return shares

    topic = await topic_with_partitions(bootstrap, new_topic(), 4)

    def member(client_id: str) -> Consumer:
        return Consumer(
            bootstrap_servers=bootstrap,
            client_id=client_id,
            group_id=f"g-{topic}",
            heartbeat_interval_ms=100,
            partition_assignment_strategy=[OddOnesFirst(), "range"],
        )

    async with member("a") as first, member("b") as second:
        first.subscribe([topic])
        await until_shared([first], 4)
        second.subscribe([topic])
        await until_shared([first, second], 4)
        assert {tp.partition for tp in first.assignment()} == {1, 3}


async def test_each_member_gets_of_its_own_topics_and_new_partitions_are_shared_out(
    bootstrap: str, new_topic: NewName
) -> None:
    """The leader, which is the first member, does not read the topic that grows."""
    theirs = await topic_with_partitions(bootstrap, new_topic(), 1)
    ours = await topic_with_partitions(bootstrap, new_topic(), 1)
    settings = {
        "bootstrap_servers": bootstrap,
        "group_id": f"g-{ours}",
        "heartbeat_interval_ms": 100,
        "metadata_max_age_ms": 200,
    }
    async with Consumer(**settings) as leader, Consumer(**settings) as other:
        leader.subscribe([ours])
        await until_shared([leader], 1)
        other.subscribe([theirs])
        await until_shared([leader, other], 2)
        async with Admin(bootstrap_servers=bootstrap) as admin:
            (await admin.create_partitions({theirs: 3})).raise_errors()
        await until_shared([leader, other], 4)
        assert {tp.topic for tp in leader.assignment()} == {ours}


async def test_who_waits_without_partitions_takes_over_when_an_owner_goes(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = await topic_with_partitions(bootstrap, new_topic(), 1)
    settings = {
        "bootstrap_servers": bootstrap,
        "group_id": f"g-{topic}",
        "heartbeat_interval_ms": 100,
    }
    async with Consumer(**settings) as idle, Consumer(**settings) as owner:
        owner.subscribe([topic])
        await until_shared([owner], 1)
        idle.subscribe([topic])
        both = [owner, idle]
        await polled_until(both, lambda: idle.group_metadata().generation_id > 0)
        await polled_until(both, lambda: sum(len(c.assignment()) for c in both) == 1)
        if idle.assignment():
            owner, idle = idle, owner
        await owner.unsubscribe()
        await until_shared([idle], 1)
        assert idle.assignment() == {TopicPartition(topic, 0)}


async def test_a_member_finds_its_coordinator_joins_syncs_and_then_shows_life(
    bootstrap: str, new_topic: NewName, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = await topic_with_partitions(bootstrap, new_topic(), 1)
    # A broker that never had a group makes __consumer_offsets at the first question for a
    # coordinator, and members ask again until it is there.
    async with Consumer(bootstrap_servers=bootstrap, group_id=f"g-{topic}") as before:
        await before.committed([TopicPartition(topic, 0)])
    said: list[ApiKey] = []
    send = Connection.request

    async def listening(self: Connection, key: ApiKey, *args: Any, **kwargs: Any) -> Any:
        said.append(key)
        return await send(self, key, *args, **kwargs)

    monkeypatch.setattr(Connection, "request", listening)
    async with Consumer(
        bootstrap_servers=bootstrap,
        group_id=f"g-{topic}",
        heartbeat_interval_ms=50,
        auto_commit_interval_ms=0,
    ) as consumer:
        consumer.subscribe([topic])
        await polled_until([consumer], lambda: ApiKey.OFFSET_COMMIT in said)
        await polled_until([consumer], lambda: said.count(ApiKey.HEARTBEAT) > 1)
    of_the_group = [
        ApiKey.FIND_COORDINATOR,
        ApiKey.JOIN_GROUP,  # answered with a member id (KIP-394)
        ApiKey.JOIN_GROUP,
        ApiKey.SYNC_GROUP,
        ApiKey.OFFSET_FETCH,
    ]
    assert [key for key in said if key in of_the_group] == of_the_group
    assert said.index(ApiKey.HEARTBEAT) > said.index(ApiKey.SYNC_GROUP)
    assert said[-1] is ApiKey.LEAVE_GROUP


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
async def test_a_pattern_passes_over_kafkas_own_topics_unless_it_is_told_not_to(
    bootstrap: str, new_topic: NewName, protocol: str
) -> None:
    group = new_topic()
    settings = {"bootstrap_servers": bootstrap, "group_protocol": protocol, "group_id": group}
    topic = await topic_with_partitions(bootstrap, f"__consumer_{group}", 1)
    pattern = re.compile("__consumer_.*")
    async with Consumer(**settings) as consumer:
        consumer.subscribe(pattern=pattern)
        await polled_until([consumer], lambda: topic in consumer.subscription())
        assert "__consumer_offsets" not in consumer.subscription()
    async with Consumer(**settings, exclude_internal_topics=False) as consumer:
        consumer.subscribe(pattern=pattern)
        await polled_until([consumer], lambda: "__consumer_offsets" in consumer.subscription())
