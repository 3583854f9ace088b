"""The spout when clocks, brokers, logs and other members do what they should not: it loses nothing and goes on.

With MILLSTREAM_KAFKA_BOOTSTRAP=HOST:PORT the same tests run against an Apache Kafka.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
from collections.abc import Callable, Iterator

import pytest

from millstream.clients import (
    Admin,
    Consumer,
    NewTopic,
    OffsetAndMetadata,
    Producer,
    Spout,
    SpoutHooks,
    SpoutMessage,
    TopicPartition,
)
from millstream.net.network import system_environment
from millstream.runtime.interfaces import Instant
from millstream.testing.broker import Broker
from tests.patience import LONG_ENOUGH_MS, LONG_ENOUGH_S, eventually, until
from tests.support.clients.spouts import (
    FAST,
    committed,
    filled,
    produce,
    quick_bootstrap,
    spout_of,
    take,
    values,
)

NewName = Callable[[], str]


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    yield from quick_bootstrap()


async def test_progress_is_committed_at_its_interval_and_not_with_each_ack(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = await filled(bootstrap, new_topic(), 5)
    async with Spout(
        topic, bootstrap_servers=bootstrap, group_id=f"g-{topic}", commit_interval_ms=600_000
    ) as spout:
        for message in await take(spout, 5):
            message.ack()
        await produce(bootstrap, topic, range(5, 6))
        await take(spout, 1)
        assert spout.metrics().counts.commits_succeeded == 0
    assert await committed(bootstrap, topic) == 5


async def test_a_clock_that_is_set_back_does_not_stop_commits(
    bootstrap: str, new_topic: NewName
) -> None:
    """Nor retries."""
    topic = await filled(bootstrap, new_topic(), 2)
    clock = AdjustableClock()
    environment = dataclasses.replace(system_environment(), clock=clock)
    async with spout_of(bootstrap, topic, environment=environment) as spout:
        first, second = await take(spout, 2)
        clock.set_back_ms = 86_400_000
        first.ack()

        async def one_is() -> bool:
            return await committed(bootstrap, topic) == 1

        await eventually(one_is)
        second.fail(delay_ms=20)
        assert values(await take(spout, 1)) == [1]


class AdjustableClock:
    """The system's clock, whose wall clock somebody sets back."""

    def __init__(self) -> None:
        self._system = system_environment().clock
        self.set_back_ms = 0

    def now(self) -> Instant:
        now = self._system.now()
        return now._replace(wall_ms=now.wall_ms - self.set_back_ms)

    def wall_ms(self) -> int:
        return self.now().wall_ms


async def test_the_note_beside_a_commit_is_json_and_one_that_is_not_stops_nobody(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = await filled(bootstrap, new_topic(), 2)
    where = TopicPartition(topic, 0)
    async with Admin(bootstrap_servers=bootstrap) as admin:
        broken = {where: OffsetAndMetadata(1, "{no json")}
        (await admin.alter_consumer_group_offsets(f"g-{topic}", broken)).raise_errors()
    async with spout_of(bootstrap, topic, client_id="clerk") as spout:
        (message,) = await take(spout, 1)
        assert message.offset == 1
        message.ack()
    async with Consumer(bootstrap_servers=bootstrap, group_id=f"g-{topic}") as consumer:
        position = (await consumer.committed([where]))[where]
    assert position is not None
    assert (position.offset, json.loads(position.metadata)) == (2, {"clientId": "clerk"})


async def test_a_retry_of_a_record_that_was_deleted_meanwhile_is_given_up(
    bootstrap: str, new_topic: NewName, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millstream.clients.spout.pump._LOOKUP_INTERVAL_MS", 20)
    topic = await filled(bootstrap, new_topic(), 4)
    async with spout_of(bootstrap, topic) as spout:
        messages = await take(spout, 4)
        messages[0].fail(delay_ms=600_000)
        for message in messages[1:]:
            message.ack()
        async with Admin(bootstrap_servers=bootstrap) as admin:
            (await admin.delete_records({TopicPartition(topic, 0): 2})).raise_errors()
        await until(lambda: spout.metrics().counts.lost == 1)
        await produce(bootstrap, topic, range(4, 5))
        assert values(await take(spout, 1)) == [4]
    assert await committed(bootstrap, topic) == 4


async def test_a_member_without_a_partition_is_told_and_waits(
    bootstrap: str, new_topic: NewName, caplog: pytest.LogCaptureFixture
) -> None:
    topic = await filled(bootstrap, new_topic(), 1)
    settings = {"group_protocol": "consumer"}
    async with spout_of(bootstrap, topic, **settings) as first:
        await take(first, 1)
        assert "has no partition" not in caplog.text
        async with spout_of(bootstrap, topic, **settings) as second:
            await until(lambda: "has no partition" in caplog.text)
            assert (len(first.assignment()), second.assignment()) == (1, set())
            assert f"this member of group g-{topic} has no partition" in caplog.text
        assert len(first.assignment()) == 1


@pytest.mark.parametrize("is_crowded", [False, True])
async def test_what_comes_while_nobody_reads_is_read_where_latest_had_begun(
    bootstrap: str, new_topic: NewName, is_crowded: bool
) -> None:
    """Nothing was read yet, or what was read was not given out when the spout ended."""
    topic = await filled(bootstrap, new_topic(), 3, partitions=2)
    settings = {"auto_offset_reset": "latest", "group_instance_id": "one"}
    async with spout_of(bootstrap, topic, **settings) as spout:
        where = TopicPartition(topic, 1)
        await until(lambda: where in spout.metrics().partitions)
        await until(lambda: spout.metrics().partitions[where].committed_offset == 1)
        if is_crowded:
            await produce(bootstrap, topic, range(3, 6), partitions=2)
            await take(spout, 1)
    await produce(bootstrap, topic, range(6, 9), partitions=2)
    async with spout_of(bootstrap, topic, **settings) as spout:
        expected = set(range(3, 9)) if is_crowded else set(range(6, 9))
        assert set(values(await take(spout, len(expected)))) == expected


async def test_at_most_once_goes_on_behind_its_limit(bootstrap: str, new_topic: NewName) -> None:
    topic = await filled(bootstrap, new_topic(), 10)
    settings = {"processing_guarantee": "at_most_once", "max_uncommitted_offsets": 3}
    async with spout_of(bootstrap, topic, **settings) as spout:
        assert values(await take(spout, 10)) == list(range(10))
        await produce(bootstrap, topic, range(10, 12))
        assert values(await take(spout, 2)) == [10, 11]


async def test_a_handler_whose_work_was_cancelled_has_failed_and_its_worker_goes_on(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = await filled(bootstrap, new_topic(), 3)
    done: list[int] = []

    async def handle(message: SpoutMessage) -> None:
        if message.attempt == 1:
            work = asyncio.ensure_future(asyncio.sleep(600))
            asyncio.get_running_loop().call_soon(work.cancel)
            await work
        done.append(int(message.value))
        if len(done) == 3:
            spout.stop()

    async with spout_of(bootstrap, topic) as spout:
        async with asyncio.timeout(LONG_ENOUGH_S):
            await spout.run(handle, concurrency=2)
    assert sorted(done) == [0, 1, 2]
    assert await committed(bootstrap, topic) == 3


async def test_a_dead_letter_is_written_however_large_its_record_and_whatever_its_error_says(
    bootstrap: str, new_topic: NewName
) -> None:
    """The error quotes the record, and half of a character. It ended each spout that came across the record."""
    topic, dead = new_topic(), new_topic()
    async with Admin(bootstrap_servers=bootstrap) as admin:
        large = {"max.message.bytes": "4000000"}
        topics = [NewTopic(name, 1, configs=large) for name in (topic, dead)]
        (await admin.create_topics(topics)).raise_errors()
    value = os.urandom(2_000_000)
    async with Producer(bootstrap_servers=bootstrap, max_request_size=4_000_000) as producer:
        await producer.send(topic, value, key=b"k")

    def refuse(message: SpoutMessage) -> None:
        raise ValueError(f"no name: \ud800 {message.value!r}")

    async with spout_of(bootstrap, topic, retries_max=0, dead_letters=dead) as spout:
        async with asyncio.timeout(LONG_ENOUGH_S):
            running = asyncio.ensure_future(spout.run(refuse))
            await until(lambda: running.done() or spout.metrics().counts.dead_lettered == 1)
            spout.stop()
            await running
    async with Consumer(bootstrap_servers=bootstrap) as consumer:
        consumer.assign([TopicPartition(dead, 0)])
        consumer.seek_to_beginning()
        (letter,) = await consumer.poll(timeout_ms=LONG_ENOUGH_MS)
    assert (letter.key, letter.value) == (b"k", value)
    error = dict(letter.headers)["dead_letter.error"]
    assert error is not None
    assert error.startswith(b"ValueError: no name: \\ud800 b")
    assert len(error) < 2_000


@pytest.mark.parametrize("hook", ["on_ack", "on_retry"])
async def test_what_a_hook_raises_ends_the_spout_although_a_handler_was_to_hear_it(
    bootstrap: str, new_topic: NewName, hook: str
) -> None:
    topic = await filled(bootstrap, new_topic(), 3)
    handled: list[int] = []

    def refuse(*_: object) -> None:
        raise LookupError("no room for notes")

    def handle(message: SpoutMessage) -> None:
        handled.append(message.offset)
        message.ack() if hook == "on_ack" else message.fail()

    async with spout_of(bootstrap, topic, hooks=SpoutHooks(**{hook: refuse})) as spout:
        async with asyncio.timeout(LONG_ENOUGH_S):
            with pytest.raises(LookupError, match="no room for notes"):
                await spout.run(handle)
            with pytest.raises(LookupError, match="no room for notes"):
                await anext(spout)
    assert handled == [0]


async def test_acks_and_fails_reach_a_partition_whose_broker_is_another_process_by_then(
    new_topic: NewName,
) -> None:
    """Messages are known by topic, partition and offset. What cannot be fetched meanwhile is fetched later."""
    with Broker(in_process=False, settings=FAST) as broker:
        topic = await filled(broker.bootstrap_servers, new_topic(), 4)
        async with spout_of(broker.bootstrap_servers, topic) as spout:
            messages = await take(spout, 4)
            await asyncio.to_thread(broker.restart)
            for message in messages[:3]:
                message.ack()
            messages[3].fail()
            (again,) = await take(spout, 1)
            assert (again.offset, again.attempt) == (3, 2)
            again.ack()
            await produce(broker.bootstrap_servers, topic, range(4, 5))
            assert values(await take(spout, 1)) == [4]

            async def four_are() -> bool:
                return await committed(broker.bootstrap_servers, topic) == 4

            await eventually(four_are)


async def test_acks_and_fails_reach_a_partition_whose_leader_has_moved(
    bootstrap: str, new_topic: NewName
) -> None:
    """Against a cluster of three brokers or more: MILLSTREAM_KAFKA_BOOTSTRAP."""
    topic = new_topic()
    where = TopicPartition(topic, 0)
    async with Admin(bootstrap_servers=bootstrap) as admin:
        if len((await admin.describe_cluster()).nodes) < 3:
            pytest.skip("the cluster has fewer than three brokers")
        (await admin.create_topics([NewTopic(topic, assignments=[[1]])])).raise_errors()
        await produce(bootstrap, topic, range(3))
        async with spout_of(bootstrap, topic) as spout:
            messages = await take(spout, 3)
            (await admin.alter_partition_reassignments({where: [2]})).raise_errors()

            async def has_moved() -> bool:
                described = await admin.describe_topics([topic])
                return described.result(topic).partitions[0].leader == 2

            await eventually(has_moved)
            messages[0].ack()
            messages[1].fail()
            (again,) = await take(spout, 1)
            assert (again.offset, again.attempt) == (1, 2)
            again.ack()
            messages[2].ack()
            await produce(bootstrap, topic, range(3, 4))
            assert values(await take(spout, 1)) == [3]
    assert await committed(bootstrap, topic) == 3
