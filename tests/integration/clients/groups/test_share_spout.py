"""The spout over a share group on a running broker: ack accepts, fail releases, giving up rejects, and locks are renewed.

With MILLSTREAM_KAFKA_BOOTSTRAP=HOST:PORT the same tests run against an Apache Kafka.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator

import pytest

from millstream.clients import (
    Admin,
    Consumer,
    Producer,
    ShareConsumer,
    ShareSpout,
    SpoutHooks,
    SpoutMessage,
    TooManyFailures,
    TopicPartition,
)
from millstream.errors import ConfigError
from millstream.testing.broker import Broker
from tests.patience import LONG_ENOUGH_MS, LONG_ENOUGH_S, eventually, until
from tests.support.clients.raw_client import RawClient
from tests.support.clients.raw_share_member import configure_group

NewName = Callable[[], str]
IS_KAFKA = "MILLSTREAM_KAFKA_BOOTSTRAP" in os.environ
SHORTEST_LOCK_MS = 15_000 if IS_KAFKA else 1_000
QUICK = {
    "group.share.heartbeat.interval.ms": "100",
    "group.share.min.heartbeat.interval.ms": "100",
    "group.share.assignment.interval.ms": "0",
    "group.share.min.record.lock.duration.ms": "1000",
}


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    if IS_KAFKA:
        yield os.environ["MILLSTREAM_KAFKA_BOOTSTRAP"]
        return
    with Broker(in_process=False, settings=QUICK) as broker:
        yield broker.bootstrap_servers


class Queue:
    """A topic, and a share group of the same name that reads it from the start."""

    def __init__(self, bootstrap: str, name: str) -> None:
        self.bootstrap = bootstrap
        self.name = name
        with RawClient(bootstrap.split(",", maxsplit=1)[0]) as client:
            client.create_topic(name, partitions=1)
            configure_group(client, name, auto_offset_reset="earliest")

    def lock_for(self, lock_ms: int) -> None:
        with RawClient(self.bootstrap.split(",")[0]) as client:
            configure_group(client, self.name, record_lock_duration_ms=lock_ms)

    async def produce(self, *numbers: int) -> None:
        async with Producer(bootstrap_servers=self.bootstrap) as producer:
            for number in numbers:
                await producer.send(self.name, b"%d" % number, headers=[("n", b"%d" % number)])

    def spout(self, **settings: object) -> ShareSpout:
        return ShareSpout(
            self.name,
            bootstrap_servers=self.bootstrap,
            group_id=self.name,
            fetch_max_wait_ms=50,
            **settings,
        )

    async def is_done(self) -> bool:
        """Whether nobody gets anything any more."""
        async with ShareConsumer(bootstrap_servers=self.bootstrap, group_id=self.name) as consumer:
            consumer.subscribe([self.name])
            await self.produce(999)
            async with asyncio.timeout(LONG_ENOUGH_S):
                return (await anext(consumer)).value == b"999"


@pytest.fixture
def queue(bootstrap: str, new_topic: NewName) -> Queue:
    return Queue(bootstrap, new_topic())


async def take(spout: ShareSpout, count: int) -> list[SpoutMessage]:
    async with asyncio.timeout(LONG_ENOUGH_S):
        return [await anext(spout) for _ in range(count)]


def places(messages: list[SpoutMessage]) -> list[tuple[int, int]]:
    return [(message.offset, message.attempt) for message in messages]


async def test_what_is_acked_is_accepted_and_closing_returns_the_rest(queue: Queue) -> None:
    await queue.produce(0, 1, 2, 3)
    async with queue.spout() as spout:
        messages = await take(spout, 4)
        assert places(messages) == [(0, 1), (1, 1), (2, 1), (3, 1)]
        assert messages[2].id == (TopicPartition(queue.name, 0), 2)
        messages[0].ack()
        messages[2].ack()
    async with queue.spout() as successor:
        again = await take(successor, 2)
        assert places(again) == [(1, 2), (3, 2)]
        for message in again:
            message.ack()
    assert await queue.is_done()


async def test_what_fails_is_delivered_again_also_to_another_member(queue: Queue) -> None:
    await queue.produce(0)
    retried: list[int] = []
    hooks = SpoutHooks(on_retry=lambda message_id, _: retried.append(message_id.offset))
    async with queue.spout(hooks=hooks) as first:
        (message,) = await take(first, 1)
        first.pause()  # so that it is the other one who gets it
        message.fail()
        async with queue.spout() as second:
            (again,) = await take(second, 1)
            assert places([again]) == [(0, 2)]
            again.ack()
        assert retried == [0]
    assert await queue.is_done()


async def test_a_delay_is_waited_for_longer_than_the_lock_and_nobody_gets_the_record_before(
    queue: Queue,
) -> None:
    queue.lock_for(SHORTEST_LOCK_MS)
    delay_ms = SHORTEST_LOCK_MS * 3 // 2
    await queue.produce(0)
    clock = asyncio.get_running_loop().time
    async with queue.spout() as first, queue.spout() as second:
        both = asyncio.ensure_future(anext(first)), asyncio.ensure_future(anext(second))
        done, (waiting,) = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        began = clock()
        done.pop().result().fail(delay_ms=delay_ms)
        idle = asyncio.ensure_future(anext(first if waiting is both[1] else second))
        async with asyncio.timeout(LONG_ENOUGH_S):
            (winner,), (loser,) = await asyncio.wait(
                (waiting, idle), return_when=asyncio.FIRST_COMPLETED
            )
        loser.cancel()
        assert clock() - began >= delay_ms / 1000
        assert places([winner.result()]) == [(0, 2)], "no lock had run out in between"
        winner.result().ack()


async def test_a_handler_that_takes_longer_than_the_lock_keeps_its_record(queue: Queue) -> None:
    """While others are done: one slow record stops nothing."""
    queue.lock_for(SHORTEST_LOCK_MS)
    await queue.produce(0, 1)
    done: list[tuple[int, int]] = []

    async def handle(message: SpoutMessage) -> None:
        if message.offset == 0:
            await asyncio.sleep(SHORTEST_LOCK_MS / 1000 * 2.5)
        done.append((message.offset, message.attempt))
        if message.offset == 0:
            spout.stop()

    async with queue.spout() as spout:
        running = asyncio.ensure_future(spout.run(handle, concurrency=2))
        await until(lambda: done == [(1, 1)])
        await queue.produce(2)
        await until(lambda: len(done) == 2)
        async with queue.spout() as idle:
            other = asyncio.ensure_future(idle.run(handle))
            await queue.produce(3)
            async with asyncio.timeout(LONG_ENOUGH_S):
                await running
                idle.stop()
                await other
        assert sorted(done) == [(0, 1), (1, 1), (2, 1), (3, 1)]
        assert done[-1] == (0, 1)
    assert await queue.is_done()


async def test_the_records_of_a_handler_that_died_go_to_another(queue: Queue) -> None:
    queue.lock_for(SHORTEST_LOCK_MS)
    await queue.produce(0, 1)
    died = await asyncio.create_subprocess_exec(
        sys.executable, "-c", DEATH, queue.bootstrap, queue.name
    )
    assert await died.wait() == -signal.SIGKILL
    async with queue.spout() as spout:
        (again,) = await take(spout, 1)
        assert places([again]) == [(1, 2)]
        again.ack()
    assert await queue.is_done()


DEATH = """
import asyncio, os, signal, sys
from millstream.clients import ShareSpout

async def main(bootstrap, name):
    async with ShareSpout(name, bootstrap_servers=bootstrap, group_id=name) as spout:
        first, second = await anext(spout), await anext(spout)
        first.ack()
        while spout.metrics().counts.commits_succeeded == 0:
            await asyncio.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main(*sys.argv[1:]))
"""


async def test_a_record_that_had_its_retries_goes_to_the_dead_letters_and_is_rejected(
    queue: Queue, new_topic: NewName
) -> None:
    await queue.produce(0, 1)
    dead = new_topic()
    given_up: list[int] = []
    hooks = SpoutHooks(on_max_retry=lambda record, _: given_up.append(record.offset))

    def handle(message: SpoutMessage) -> None:
        if message.value == b"1":
            raise ValueError("never")

    async with queue.spout(retries_max=2, dead_letters=dead, hooks=hooks) as spout:
        running = asyncio.ensure_future(spout.run(handle))
        await until(lambda: spout.metrics().counts.dead_lettered == 1)
        spout.stop()
        await running
        counts = spout.metrics().counts
        assert (counts.acked, counts.failed, counts.retried, counts.lost) == (1, 3, 2, 0)
    assert given_up == [1]
    assert await queue.is_done()
    async with Consumer(bootstrap_servers=queue.bootstrap) as consumer:
        consumer.assign([TopicPartition(dead, 0)])
        consumer.seek_to_beginning()
        (letter,) = await consumer.poll(timeout_ms=LONG_ENOUGH_MS)
    assert (letter.value, dict(letter.headers)) == (
        b"1",
        {
            "n": b"1",
            "dead_letter.topic": queue.name.encode(),
            "dead_letter.partition": b"0",
            "dead_letter.offset": b"1",
            "dead_letter.error": b"ValueError: never",
            "dead_letter.attempts": b"3",
        },
    )


async def test_no_more_records_are_held_than_the_limit_says(queue: Queue) -> None:
    """Also where a batch has more: the others are left for other members."""
    await queue.produce(*range(10))
    async with queue.spout(max_spout_pending=3) as spout:
        messages = await take(spout, 3)
        assert places(messages) == [(0, 1), (1, 1), (2, 1)]
        async with queue.spout() as other:
            taken = await take(other, 7)
            assert places(taken) == [(offset, 1) for offset in range(3, 10)]
            for message in taken[:-1]:
                message.ack()
            assert other.metrics().partitions[TopicPartition(queue.name, 0)].pending == 1
            messages[1].ack()
            taken[-1].fail()
            other.pause()
            (again,) = await take(spout, 1)
            assert places([again]) == [(9, 2)]


async def test_values_of_one_record_are_accepted_together(queue: Queue) -> None:
    await queue.produce(0, 2)

    def translate(record: object) -> list[str]:
        number = int(getattr(record, "value", b"0"))
        return [f"{number}-{n}" for n in range(number)]

    async with queue.spout(translate=translate) as spout:
        one, two = await take(spout, 2)
        assert [one.value, two.value] == ["2-0", "2-1"]
        one.ack()
        two.fail()
        again = await take(spout, 2)
        assert [(message.value, message.attempt) for message in again] == [("2-0", 2), ("2-1", 2)]
        for message in again:
            message.ack()
    assert await queue.is_done()


async def test_when_everything_fails_the_spout_ends(queue: Queue) -> None:
    await queue.produce(0, 1, 2)

    async def handle(_: SpoutMessage) -> None:
        raise ValueError("never")

    async with queue.spout(failures_max=3) as spout:
        with pytest.raises(TooManyFailures, match="3 records in a row failed"):
            async with asyncio.timeout(LONG_ENOUGH_S):
                await spout.run(handle)
    async with queue.spout() as successor:
        assert sorted(m.offset for m in await take(successor, 3)) == [0, 1, 2]


@pytest.mark.parametrize(
    ("topics", "settings", "message"),
    [
        ("t", {}, "a spout needs a group_id"),
        ("t", {"group_id": "g", "share_acknowledgement_mode": "implicit"}, "does not apply"),
        ("t", {"group_id": "g", "processing_guarantee": "none"}, "no setting processing_guarantee"),
        ("t", {"group_id": "g", "max_spout_pending": 0}, "max_spout_pending must be between 1"),
        ("t", {"group_id": "g", "dead_letters": "d"}, "dead_letters needs retries_max"),
        ([], {"group_id": "g"}, "topics must be a name"),
    ],
)
async def test_settings_that_cannot_be_used_are_refused(
    topics: str | list[str], settings: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        ShareSpout(topics, **settings)


async def test_records_of_a_leader_that_has_moved_are_delivered_again_and_new_ones_come(
    queue: Queue,
) -> None:
    """Against a cluster of three brokers or more: MILLSTREAM_KAFKA_BOOTSTRAP."""
    where = TopicPartition(queue.name, 0)
    async with Admin(bootstrap_servers=queue.bootstrap) as admin:
        nodes = [node.node_id for node in (await admin.describe_cluster()).nodes]
        if len(nodes) < 3:
            pytest.skip("the cluster has fewer than three brokers")

        async def leader() -> int | None:
            described = (await admin.describe_topics([queue.name])).result(queue.name)
            return described.partitions[0].leader

        before = await leader()
        target = next(each for each in nodes if each != before)
        queue.lock_for(SHORTEST_LOCK_MS)
        await queue.produce(0, 1)
        async with queue.spout() as spout:
            first, second = await take(spout, 2)
            (await admin.alter_partition_reassignments({where: [target]})).raise_errors()

            async def has_moved() -> bool:
                return await leader() == target

            await eventually(has_moved)
            first.ack()
            await queue.produce(2)
            again: set[int] = set()
            while not again >= {1, 2}:
                (message,) = await take(spout, 1)
                again.add(message.offset)
                message.ack()
            second.ack()  # of nobody's record any more
            assert again <= {0, 1, 2}
    assert await queue.is_done()
