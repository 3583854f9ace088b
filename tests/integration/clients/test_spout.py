"""The spout against a broker: what is acked is committed, what is not is given out again.

With MILLSTREAM_KAFKA_BOOTSTRAP=HOST:PORT the same tests run against an Apache Kafka.
"""

from __future__ import annotations

import asyncio
import re
import signal
import sys
from collections.abc import Callable, Iterator

import pytest

from millstream.clients import (
    Admin,
    Consumer,
    ConsumerRecord,
    Producer,
    Spout,
    SpoutHooks,
    SpoutMessage,
    TooManyFailures,
    TopicPartition,
)
from millstream.clients.core.serialization import LookupNeeded, LookupUnavailable
from millstream.clients.spout.core.metrics import PartitionMetrics
from millstream.errors import ConfigError, OffsetOutOfRange
from tests.patience import LONG_ENOUGH_MS, LONG_ENOUGH_S, eventually, until
from tests.support.clients.looked_up_numbers import LookedUpNumbers
from tests.support.clients.spouts import (
    committed,
    filled,
    produce,
    quick_bootstrap,
    spout_of,
    take,
    values,
)

NewName = Callable[[], str]
PROTOCOLS = pytest.mark.parametrize("protocol", ["classic", "consumer"])


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    yield from quick_bootstrap()


@PROTOCOLS
async def test_what_is_acked_without_a_gap_is_committed(
    bootstrap: str, new_topic: NewName, protocol: str
) -> None:
    topic = await filled(bootstrap, new_topic(), 5)
    async with spout_of(bootstrap, topic, group_protocol=protocol) as spout:
        messages = await take(spout, 5)
        assert values(messages) == [0, 1, 2, 3, 4]
        for number in (0, 1, 3):
            messages[number].ack()

        async def two_are() -> bool:
            return await committed(bootstrap, topic) == 2

        await eventually(two_are)
        messages[2].ack()
    assert await committed(bootstrap, topic) == 4
    async with spout_of(bootstrap, topic) as spout:
        assert values(await take(spout, 1)) == [4]


@pytest.mark.parametrize("guarantee", ["at_least_once", "at_most_once"])
async def test_after_a_crash_exactly_what_was_not_committed_is_given_out_again(
    bootstrap: str, new_topic: NewName, guarantee: str
) -> None:
    """The crashed spout took 0 to 6 and acked 0, 1, 2, 4 and 5. At most once, all that was read at once is committed."""
    topic = await filled(bootstrap, new_topic(), 8)
    crashed = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CRASH, bootstrap, topic, guarantee
    )
    assert await crashed.wait() == -signal.SIGKILL
    await produce(bootstrap, topic, range(8, 10))
    settings = {"processing_guarantee": guarantee, "group_instance_id": "one"}
    async with spout_of(bootstrap, topic, **settings) as spout:
        expected = [3, 4, 5, 6, 7, 8, 9] if guarantee == "at_least_once" else [8, 9]
        messages = await take(spout, len(expected))
        assert values(messages) == expected
        assert {message.attempt for message in messages} == {1}


CRASH = """
import asyncio, os, signal, sys
from millstream.clients import Spout

async def main(bootstrap, topic, guarantee):
    async with Spout(
        topic, bootstrap_servers=bootstrap, group_id=f"g-{topic}", group_instance_id="one",
        processing_guarantee=guarantee, commit_interval_ms=10,
    ) as spout:
        messages = [await anext(spout) for _ in range(7)]
        for number in (0, 1, 2, 4, 5):
            messages[number].ack()
        partition = messages[0].id.topic_partition
        done = 3 if guarantee == "at_least_once" else 8
        while spout.metrics().partitions[partition].committed_offset != done:
            await asyncio.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main(*sys.argv[1:]))
"""


COOPERATIVE = {
    "group_protocol": "classic",
    "partition_assignment_strategy": "cooperative-sticky",
    "heartbeat_interval_ms": "100",
}


@pytest.mark.parametrize("settings", [COOPERATIVE, {"group_protocol": "consumer"}])
async def test_a_partition_goes_to_another_spout_with_what_is_not_acked(
    bootstrap: str, new_topic: NewName, settings: dict[str, str]
) -> None:
    topic = await filled(bootstrap, new_topic(), 20, partitions=2)
    async with spout_of(bootstrap, topic, **settings) as first:
        held = await take(first, 20)
        for message in held:
            if message.offset < 4:
                message.ack()
        async with spout_of(bootstrap, topic, **settings) as second:
            moved = await take(second, 6)
            (partition,) = second.assignment()
            assert first.assignment() == {TopicPartition(topic, number) for number in (0, 1)} - {
                partition
            }
            assert [message.offset for message in moved] == [4, 5, 6, 7, 8, 9]
            for message in held:  # those of the partition that has moved are ignored
                message.ack()
            assert first.metrics().counts.acked == 8 + 6
            moved[0].ack()
        assert await committed(bootstrap, topic, partition.partition) == 5
    (kept,) = {0, 1} - {partition.partition}
    assert await committed(bootstrap, topic, kept) == 10


async def test_an_eager_rebalance_gives_everything_out_again_that_is_not_acked(
    bootstrap: str, new_topic: NewName
) -> None:
    """The assignor range takes all partitions from all members, who may get them back."""
    topic = await filled(bootstrap, new_topic(), 20, partitions=2)
    settings = {"partition_assignment_strategy": "range", "heartbeat_interval_ms": "100"}
    async with spout_of(bootstrap, topic, **settings) as first:
        held = await take(first, 20)
        for message in held:
            if message.offset < 4:
                message.ack()
        async with spout_of(bootstrap, topic, **settings) as second:
            again = [*await take(second, 6), *await take(first, 6)]
            assert {(m.partition, m.offset) for m in again} == {
                (partition, offset) for partition in (0, 1) for offset in range(4, 10)
            }
            for message in held:
                message.ack()
            assert first.metrics().counts.acked == 8
            for message in again:
                message.ack()
    assert [await committed(bootstrap, topic, partition) for partition in (0, 1)] == [10, 10]


async def test_at_most_once_leaves_what_was_not_given_out_to_the_next_one(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = await filled(bootstrap, new_topic(), 5)
    async with spout_of(bootstrap, topic, processing_guarantee="at_most_once") as spout:
        messages = await take(spout, 2)
        assert values(messages) == [0, 1]
        assert await committed(bootstrap, topic) == 5
        messages[0].fail()  # not given out again
        assert values(await take(spout, 1)) == [2]
    assert await committed(bootstrap, topic) == 3


async def test_without_a_guarantee_what_was_given_out_is_committed(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = await filled(bootstrap, new_topic(), 5)
    async with spout_of(bootstrap, topic, processing_guarantee="none") as spout:
        await take(spout, 2)
    assert await committed(bootstrap, topic) == 2


async def test_a_record_that_had_its_retries_goes_to_the_dead_letters(
    bootstrap: str, new_topic: NewName
) -> None:
    topic, dead = await filled(bootstrap, new_topic(), 3), new_topic()
    retried: list[int] = []
    given_up: list[int] = []
    hooks = SpoutHooks(
        on_retry=lambda message_id, _: retried.append(message_id.offset),
        on_max_retry=lambda record, _: given_up.append(record.offset),
    )

    def handle(message: SpoutMessage) -> None:
        if message.value == b"1":
            raise ValueError("never")

    settings = {"retries_max": 2, "dead_letters": dead, "hooks": hooks}
    async with spout_of(bootstrap, topic, **settings) as spout:
        async with asyncio.timeout(LONG_ENOUGH_S):
            running = asyncio.ensure_future(spout.run(handle))
            await until(lambda: spout.metrics().counts.dead_lettered == 1)
            spout.stop()
            await running
        counts = spout.metrics().counts
        assert (counts.acked, counts.failed, counts.retried, counts.lost) == (2, 3, 2, 0)
    assert (retried, given_up) == ([1, 1], [1])
    assert await committed(bootstrap, topic) == 3
    async with Consumer(bootstrap_servers=bootstrap) as consumer:
        consumer.assign([TopicPartition(dead, 0)])
        consumer.seek_to_beginning()
        (letter,) = await consumer.poll(timeout_ms=LONG_ENOUGH_MS)
    assert letter.value == b"1"
    assert dict(letter.headers) == {
        "dead_letter.topic": topic.encode(),
        "dead_letter.partition": b"0",
        "dead_letter.offset": b"1",
        "dead_letter.error": b"ValueError: never",
        "dead_letter.attempts": b"3",
    }


async def test_without_dead_letters_a_record_is_counted_as_lost_and_passed_over(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = await filled(bootstrap, new_topic(), 2)
    async with spout_of(bootstrap, topic, retries_max=0) as spout:
        first, second = await take(spout, 2)
        first.fail(error=ValueError("never"))
        second.ack()
        await until(lambda: spout.metrics().counts.lost == 1)
    assert await committed(bootstrap, topic) == 2


async def test_at_the_limit_only_retries_are_given_out(bootstrap: str, new_topic: NewName) -> None:
    topic = await filled(bootstrap, new_topic(), 6)
    async with spout_of(bootstrap, topic, max_uncommitted_offsets=3) as spout:
        messages = await take(spout, 3)
        messages[1].ack()
        messages[2].ack()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):  # nothing is to come
                await anext(spout)
        messages[0].fail(delay_ms=20)
        (again,) = await take(spout, 1)
        assert (again.offset, again.attempt) == (0, 2)
        again.ack()
        assert values(await take(spout, 3)) == [3, 4, 5]


async def test_when_everything_fails_the_spout_ends_and_commits_nothing(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = await filled(bootstrap, new_topic(), 3)

    async def handle(_: SpoutMessage) -> None:
        raise ValueError("never")

    async with spout_of(bootstrap, topic, failures_max=10) as spout:
        with pytest.raises(TooManyFailures, match="10 records in a row failed") as raised:
            async with asyncio.timeout(LONG_ENOUGH_S):
                await spout.run(handle, concurrency=2)
        assert isinstance(raised.value.__cause__, ValueError)
        with pytest.raises(TooManyFailures):
            await anext(spout)
    assert await committed(bootstrap, topic) in {None, 0}


async def test_the_values_of_a_record_are_done_together(bootstrap: str, new_topic: NewName) -> None:
    """Record n has the values n-0 to n-(n-1): record 0 has none."""
    topic = await filled(bootstrap, new_topic(), 3)

    def translate(record: ConsumerRecord) -> list[str]:
        return [f"{int(record.value or b'0')}-{n}" for n in range(int(record.value or b"0"))]

    async with spout_of(bootstrap, topic, translate=translate) as spout:
        one, two, three = await take(spout, 3)
        assert [one.value, two.value, three.value] == ["1-0", "2-0", "2-1"]
        assert two.id == three.id
        one.ack()
        two.ack()
        three.fail()
        four, five = await take(spout, 2)
        assert [(four.value, four.attempt), (five.value, five.attempt)] == [("2-0", 2), ("2-1", 2)]
        four.ack()
        four.ack()
        assert spout.metrics().counts.acked == 2  # record 0, which has no values, and record 1
        five.ack()
        assert spout.metrics().counts.acked == 3
    assert await committed(bootstrap, topic) == 3


async def test_a_record_that_cannot_be_read_has_failed(bootstrap: str, new_topic: NewName) -> None:
    topic = await filled(bootstrap, new_topic(), 2)
    errors: list[str] = []
    hooks = SpoutHooks(on_max_retry=lambda _, error: errors.append(type(error).__name__))

    def only_ones(data: bytes) -> int:
        if data == b"0":
            raise ValueError("not a one")
        return int(data)

    settings = {"value_deserializer": only_ones, "retries_max": 1, "hooks": hooks}
    async with spout_of(bootstrap, topic, **settings) as spout:
        (message,) = await take(spout, 1)
        assert message.value == 1
        message.ack()
        await until(lambda: spout.metrics().counts.lost == 1)
    assert errors == ["RecordDeserializationError"]
    assert await committed(bootstrap, topic) == 2


async def test_a_record_whose_schema_cannot_be_had_has_failed(
    bootstrap: str, new_topic: NewName
) -> None:
    """Those behind it need not wait for it."""
    topic = await filled(bootstrap, new_topic(), 2)

    def number(data: bytes) -> int:
        if data != b"0":
            return int(data)

        async def look_up() -> None:
            raise OSError("no such schema")

        raise LookupNeeded("schema", look_up)

    errors: list[str] = []
    hooks = SpoutHooks(on_max_retry=lambda _, error: errors.append(str(error)))
    settings = {"value_deserializer": number, "retries_max": 1, "hooks": hooks}
    async with spout_of(bootstrap, topic, **settings) as spout:
        (message,) = await take(spout, 1)
        assert message.value == 1
        message.ack()
        await until(lambda: spout.metrics().counts.lost == 1)
    assert errors == ["no such schema"]
    assert await committed(bootstrap, topic) == 2


async def test_no_record_fails_while_no_schema_can_be_had(
    bootstrap: str, new_topic: NewName
) -> None:
    """Each would use up its retries, and be given up for what is none of its fault."""
    topic = await filled(bootstrap, new_topic(), 1)
    numbers = LookedUpNumbers()
    async with spout_of(bootstrap, topic, value_deserializer=numbers, retries_max=0) as spout:
        with pytest.raises(LookupUnavailable, match="nobody answers"):
            await take(spout, 1)
        numbers.is_down = False
        (message,) = await take(spout, 1)
        assert message.value == 0
        message.ack()
        assert spout.metrics().counts.lost == 0


async def test_the_ends_of_transactions_are_committed_with_the_records_before_them(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = await filled(bootstrap, new_topic(), 0)
    async with (
        Producer(bootstrap_servers=bootstrap, transactional_id=topic) as producer,
        producer.transaction(),
    ):
        await producer.send(topic, b"0")
        await producer.send(topic, b"1")
    async with spout_of(bootstrap, topic, isolation_level="read_committed") as spout:
        for message in await take(spout, 2):
            message.ack()

        async def lag_is_none() -> bool:
            return await committed(bootstrap, topic) == 3

        await eventually(lag_is_none)


async def test_handlers_run_at_the_same_time_and_end_with_stop(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = await filled(bootstrap, new_topic(), 40)
    seen: list[int] = []
    at_work = most_at_work = 0

    async def handle(message: SpoutMessage) -> None:
        nonlocal at_work, most_at_work
        at_work += 1
        most_at_work = max(most_at_work, at_work)
        await asyncio.sleep(0.001)
        at_work -= 1
        seen.append(int(message.value))
        if len(seen) == 40:
            spout.stop()

    async with spout_of(bootstrap, topic) as spout:
        async with asyncio.timeout(LONG_ENOUGH_S):
            await spout.run(handle, concurrency=4)
    assert (sorted(seen), most_at_work) == (list(range(40)), 4)
    assert await committed(bootstrap, topic) == 40


async def test_a_pause_commits_and_gives_out_nothing(bootstrap: str, new_topic: NewName) -> None:
    topic = await filled(bootstrap, new_topic(), 2)
    async with Spout(
        topic, bootstrap_servers=bootstrap, group_id=f"g-{topic}", commit_interval_ms=600_000
    ) as spout:
        (message,) = await take(spout, 1)
        message.ack()
        spout.pause()

        async def one_is() -> bool:
            return await committed(bootstrap, topic) == 1

        await eventually(one_is)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):  # nothing is to come
                await anext(spout)
        spout.resume()
        assert values(await take(spout, 1)) == [1]


async def test_metrics_have_the_offsets_of_each_partition(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = await filled(bootstrap, new_topic(), 10)
    async with spout_of(bootstrap, topic) as spout:
        messages = await take(spout, 4)
        messages[0].ack()
        where = TopicPartition(topic, 0)
        await until(lambda: spout.metrics().partitions[where].committed_offset == 1)
        await until(lambda: spout.metrics().partitions[where].earliest_time_offset == 0)
        metrics = spout.metrics()
        assert metrics.partitions == {
            where: PartitionMetrics(
                earliest_time_offset=0,
                latest_time_offset=10,
                latest_emitted_offset=3,
                latest_completed_offset=1,
                committed_offset=1,
                pending=3,
            )
        }
        assert metrics.total_spout_lag == 9


async def test_hooks_are_told_of_partitions_and_of_what_goes_out_and_comes_back(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = await filled(bootstrap, new_topic(), 2)
    told: list[tuple[str, object]] = []
    hooks = SpoutHooks(
        on_emit=lambda message: told.append(("emit", message.offset)),
        on_ack=lambda message_id: told.append(("ack", message_id.offset)),
        on_retry=lambda message_id, error: told.append(("retry", (message_id.offset, error))),
        on_partitions=lambda partitions: told.append(("partitions", len(partitions))),
    )
    async with spout_of(bootstrap, topic, hooks=hooks) as spout:
        first, second = await take(spout, 2)
        first.ack()
        first.ack()
        second.fail()
        (again,) = await take(spout, 1)
        again.ack()
    assert told == [
        ("partitions", 1),
        ("emit", 0),
        ("emit", 1),
        ("ack", 0),
        ("retry", (1, None)),
        ("emit", 1),
        ("ack", 1),
        ("partitions", 0),
    ]


async def test_what_a_hook_raises_ends_the_spout(bootstrap: str, new_topic: NewName) -> None:
    topic = await filled(bootstrap, new_topic(), 1)

    def refuse(_: set[TopicPartition]) -> None:
        raise ValueError("not these")

    with pytest.raises(ValueError, match="not these"):
        async with spout_of(bootstrap, topic, hooks=SpoutHooks(on_partitions=refuse)) as spout:
            await take(spout, 1)


async def test_topics_may_be_a_pattern(bootstrap: str, new_topic: NewName) -> None:
    topic = await filled(bootstrap, new_topic(), 1)
    async with Spout(
        re.compile(f"{topic}|nothing"), bootstrap_servers=bootstrap, group_id=f"g-{topic}"
    ) as spout:
        assert (await take(spout, 1))[0].topic == topic


@pytest.mark.parametrize(
    ("behind", "reset", "expected"), [(8, "latest", 2), (7, "latest", 10), (7, "earliest", 0)]
)
async def test_a_commit_too_far_behind_counts_as_none(
    bootstrap: str, new_topic: NewName, behind: int, reset: str, expected: int
) -> None:
    topic = await filled(bootstrap, new_topic(), 10)
    async with spout_of(bootstrap, topic) as spout:
        for message in await take(spout, 2):
            message.ack()
    settings = {"max_offset_behind": behind, "auto_offset_reset": reset}
    async with spout_of(bootstrap, topic, **settings) as spout:
        where = TopicPartition(topic, 0)
        await until(lambda: where in spout.metrics().partitions)
        await until(lambda: spout.metrics().partitions[where].latest_time_offset == 10)
        await produce(bootstrap, topic, range(10, 11))
        (message,) = await take(spout, 1)
        assert message.offset == expected


async def test_records_that_were_deleted_before_they_were_read_are_passed_over(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = await filled(bootstrap, new_topic(), 10)
    async with spout_of(bootstrap, topic) as spout:
        for message in await take(spout, 2):
            message.ack()
    async with Admin(bootstrap_servers=bootstrap) as admin:
        (await admin.delete_records({TopicPartition(topic, 0): 5})).raise_errors()
    async with spout_of(bootstrap, topic, auto_offset_reset="none") as spout:
        with pytest.raises(OffsetOutOfRange):
            await take(spout, 1)
    async with spout_of(bootstrap, topic) as spout:
        assert values(await take(spout, 1)) == [5]


@pytest.mark.parametrize(
    ("topics", "settings", "message"),
    [
        ("t", {}, "a spout needs a group_id"),
        ("t", {"group_id": "g", "enable_auto_commit": True}, "enable_auto_commit does not apply"),
        (
            "t",
            {"group_id": "g", "processing_guarantee": "twice"},
            "processing_guarantee must be one of",
        ),
        ("t", {"group_id": "g", "retry_delay_multiplier": 0.5}, "a number of at least 1, got 0.5"),
        ("t", {"group_id": "g", "retries_max": -1}, "retries_max must be between 0"),
        ("t", {"group_id": "g", "retry_limit": 3}, "no setting retry_limit"),
        (
            "t",
            {"group_id": "g", "max_offset_behind": 1, "auto_offset_reset": "none"},
            "max_offset_behind goes to where auto_offset_reset says: earliest or latest, got 'none'",
        ),
        ([], {"group_id": "g"}, "topics must be a name, several names or a compiled pattern"),
    ],
)
async def test_settings_that_cannot_be_used_are_refused(
    topics: str | list[str], settings: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        Spout(topics, **settings)
