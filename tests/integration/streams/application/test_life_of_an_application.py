"""From start to close: its clients and threads, states that others read, and an end that somebody waits for or does not."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from millstream.clients import Producer
from millstream.errors import ConfigError, UnsupportedVersion
from millstream.runtime import Clock, Instant
from millstream.runtime.system import SystemClock
from millstream.streams import Materialized, StreamsBuilder, Topology
from millstream.streams.application.kafka_streams import KafkaStreams
from millstream.streams.application.states import (
    APPLICATION_TRANSITIONS,
    THREAD_TRANSITIONS,
    ApplicationState,
    ThreadState,
)
from millstream.streams.handlers import OnUncaughtError
from millstream.streams.processor import ProcessorContext, PunctuationType, Record
from millstream.streams.serdes import long, string
from millstream.testing.broker import Broker
from tests.integration.streams.application.instances import PARTITIONS, Instances
from tests.integration.streams.application.watched_clients import WatchedClients
from tests.patience import LONG_ENOUGH_S, eventually, until

WORDS = [f"w{number % 7}" for number in range(100)]
TASKS = 2 * PARTITIONS
HOUR_MS = 3_600_000


def copying(instances: Instances) -> Topology:
    builder = StreamsBuilder()
    builder.stream(instances.source, key=string(), value=string()).to(instances.sink)
    return builder.build()


async def put(instances: Instances, topic: str, key: bytes, value: bytes) -> None:
    async with Producer(bootstrap_servers=instances.servers) as producer:
        await producer.send(topic, value, key=key, partition=0, timestamp_ms=0)


def settled_with(count: int, *apps: KafkaStreams) -> bool:
    tasks = [len(tasks) for app in apps for tasks in app.tasks.values()]
    return all(app.state is ApplicationState.RUNNING for app in apps) and sum(tasks) == count


# Clients and threads.


async def test_clients_are_named_after_their_threads_and_the_global_one_is_closed_last(
    instances: Instances,
) -> None:
    names = f"{instances.application}-names"
    await instances.create(names, partitions=1)
    await put(instances, names, b"w1", b"one")
    builder = StreamsBuilder()
    builder.global_table(names, key=string(), value=string(), materialized=Materialized("names"))
    builder.table(instances.source, key=string(), value=string(), materialized=Materialized("rows"))
    clients = WatchedClients(instances.servers)
    app = instances.new(builder.build(), supplier=clients, client_id="mine", num_stream_threads=2)
    assert (app.state, clients.made) == ("CREATED", [])
    async with app:
        await until(lambda: settled_with(PARTITIONS, app))
        await instances.put(["a", "b"])
        assert await app.store("names").get("w1") == "one"

        async def is_there() -> bool:
            return bool(await app.store("rows").get("1") == "b")

        await eventually(is_there)
    threads = {f"mine-StreamThread-{number}" for number in (1, 2)}
    assert set(clients.made) == {
        "mine-GlobalStreamThread-global-consumer",
        "mine-GlobalStreamThread-admin",
        *(f"{each}-{role}" for each in threads for role in ("admin", "restore-consumer")),
        *(f"{each}-{role}" for each in threads for role in ("consumer", "producer")),
    }
    assert sorted(clients.closed) == sorted(clients.made)
    assert [each for each in clients.closed if "Global" not in each] == clients.closed[:-2]


async def test_the_clock_of_an_application_is_the_one_it_is_given(instances: Instances) -> None:
    class Ahead(Clock):
        ahead_ms = 0

        def now(self) -> Instant:
            return Instant(*(each + self.ahead_ms for each in SystemClock().now()))

        def wall_ms(self) -> int:
            return self.now().wall_ms

    class Hourly:
        def init(self, context: ProcessorContext[str, int]) -> None:
            self.context = context
            context.schedule(timedelta(hours=1), PunctuationType.WALL_CLOCK_TIME, self.strike)

        def strike(self, time_ms: int) -> None:
            self.context.forward(Record("hour", 1, time_ms))

        def process(self, record: Record[str, str]) -> None:
            self.context.forward(Record(record.key, 0, record.timestamp))

    builder = StreamsBuilder()
    stream = builder.stream(instances.source, key=string(), value=string())
    stream.process(Hourly).to(instances.sink, key=string(), value=long())
    clock = Ahead()
    async with instances.new(builder.build(), clock=clock) as app:
        await instances.put(["a"])
        await instances.until_written(1)
        await until(lambda: settled_with(PARTITIONS, app))
        clock.ahead_ms += HOUR_MS
        await instances.until_written(1 + PARTITIONS)
        assert [key for key, _ in await instances.updates()].count("hour") == PARTITIONS


async def test_names_of_threads_are_given_again(instances: Instances) -> None:
    clients = WatchedClients(instances.servers)
    app = instances.new(client_id="mine", num_stream_threads=2, supplier=clients)
    async with app:
        first, second = app.tasks
        assert (first, second) == ("mine-StreamThread-1", "mine-StreamThread-2")
        assert await app.remove_stream_thread() == second
        assert app.add_stream_thread() == second
        assert app.add_stream_thread() == "mine-StreamThread-3"
    assert sorted(clients.closed) == sorted(clients.made)
    assert not any("Global" in each for each in clients.made), "there is no global store"


def test_clients_have_no_say_in_who_gets_which_task(instances: Instances) -> None:
    for name in ("partition.assignment.strategy", "group.remote.assignor"):
        with pytest.raises(ConfigError, match=f"{name} is decided by the application"):
            instances.new(clients={name: "range"})


# States.


def states_in(messages: list[str], prefix: str) -> list[tuple[str, str]]:
    told = re.compile(rf"{prefix} \[.+\] state transition from (\w+) to (\w+)")
    found = (told.fullmatch(each) for each in messages)
    return [(match[1], match[2]) for match in found if match]


async def test_a_group_that_rebalances_shows_in_the_states_of_its_instances(
    instances: Instances, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "millstream.streams.application")
    seen: list[tuple[ApplicationState, ApplicationState]] = []
    read: list[ApplicationState] = []
    ends = threading.Event()

    def reads() -> None:
        while not ends.wait(0.001):  # so often it reads
            if not read or read[-1] is not first.state:
                read.append(first.state)

    def listener(new: ApplicationState, old: ApplicationState) -> None:
        assert first.state is new
        seen.append((old, new))

    first, second = instances.new(num_stream_threads=2), instances.new()
    first.on_state_change(listener)
    reader = threading.Thread(target=reads)
    reader.start()
    try:
        await first.start()
        await until(lambda: settled_with(TASKS, first))
        await second.start()
        await until(lambda: settled_with(TASKS, first, second) and all(second.tasks.values()))
        async with asyncio.timeout(LONG_ENOUGH_S):
            await asyncio.gather(first.close(), second.close())
    finally:
        ends.set()
        reader.join()
    assert all(new in APPLICATION_TRANSITIONS[old] for old, new in seen)
    assert [old for old, _ in seen[1:]] == [new for _, new in seen[:-1]], "none is left out"
    assert ("RUNNING", "REBALANCING") in seen, "tasks were given up"
    assert [new for _, new in seen[-3:]] == ["RUNNING", "PENDING_SHUTDOWN", "NOT_RUNNING"]
    assert is_part(read, iter(["CREATED", *(new for _, new in seen)]))
    moved = states_in(caplog.messages, "stream-thread")
    assert all(ThreadState(new) in THREAD_TRANSITIONS[ThreadState(old)] for old, new in moved)
    assert ("RUNNING", "PARTITIONS_REVOKED") in moved
    assert ("PARTITIONS_REVOKED", "PARTITIONS_ASSIGNED") in moved
    assert moved.count(("PENDING_SHUTDOWN", "DEAD")) == 3
    told_to = [each for each in caplog.messages if each.endswith("ends, as it was told to")]
    assert len(told_to) == 3


def is_part(part: list[ApplicationState], whole: Iterator[str]) -> bool:
    """Whether the states come in this order, others between them."""
    return all(each in whole for each in part)


async def test_an_instance_may_close_while_the_group_rebalances(instances: Instances) -> None:
    first, second, third = (instances.new(num_stream_threads=2) for _ in range(3))
    await instances.put(WORDS)
    await first.start()
    async with asyncio.timeout(LONG_ENOUGH_S):
        await asyncio.gather(second.start(), first.close())
        await asyncio.gather(third.start(), second.close())
    await instances.until_counted(WORDS)


# The end.


async def test_who_waits_for_the_end_may_give_up_and_the_end_goes_on(
    instances: Instances, tmp_path: Path
) -> None:
    entered, gate = threading.Event(), threading.Event()

    def waits(value: str) -> str:
        entered.set()
        assert gate.wait(LONG_ENOUGH_S)
        return value

    builder = StreamsBuilder()
    values = builder.stream(instances.source, key=string(), value=string())
    values.map_values(waits).to(instances.sink, value=string())
    app = instances.new(
        builder.build(), state_dir=str(tmp_path / "mine"), state_cleanup_delay_ms=20
    )
    seen: list[ApplicationState] = []
    app.on_state_change(lambda new, _old: seen.append(new))
    before, after = (tmp_path / "mine" / instances.application / name for name in ("a_0", "b_0"))
    before.mkdir(parents=True)
    async with app:
        await until(lambda: not before.exists())
        await instances.put(["last"])
        await until(entered.is_set)
        assert not await app.close(timeout_s=0)
        after.mkdir()
        assert not await app.close(timeout_s=0.2)
        waiting = asyncio.ensure_future(app.close())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert app.state is ApplicationState.PENDING_SHUTDOWN
        gate.set()
        async with asyncio.timeout(LONG_ENOUGH_S):
            await app.wait_ended()
    assert await app.close(timeout_s=0)
    assert seen == ["REBALANCING", "RUNNING", "PENDING_SHUTDOWN", "NOT_RUNNING"]
    assert after.exists(), "nothing is cleaned once the application is to end"
    assert len(await instances.updates()) == 1


async def test_global_stores_that_fail_end_the_instance_and_nothing_stays_open(
    instances: Instances,
) -> None:
    numbers = f"{instances.application}-numbers"
    await instances.create(numbers, partitions=1)
    builder = StreamsBuilder()
    builder.global_table(numbers, key=string(), value=long())
    builder.stream(instances.source, key=string(), value=string()).to(instances.sink)
    asked: list[Exception] = []

    def answers(error: Exception) -> OnUncaughtError:
        asked.append(error)
        return OnUncaughtError.REPLACE_THREAD

    clients = WatchedClients(instances.servers)
    app = instances.new(
        builder.build(),
        supplier=clients,
        on_uncaught_error=answers,
        poll_ms=20,
    )
    seen: list[ApplicationState] = []
    app.on_state_change(lambda new, _old: seen.append(new))
    await app.start()
    await put(instances, numbers, b"w1", b"no long")
    async with asyncio.timeout(LONG_ENOUGH_S):
        with pytest.raises(Exception, match=numbers) as failed:
            await app.wait_ended()
    assert asked == [app.error]
    assert (type(failed.value), str(failed.value)) == (type(app.error), str(app.error))
    assert seen[-2:] == ["PENDING_ERROR", "ERROR"]
    assert sorted(clients.closed) == sorted(clients.made)
    await app.clean_up()

    again = instances.new(builder.build(), supplier=clients)
    with pytest.raises(Exception, match=numbers):
        await again.start()
    assert again.state is ApplicationState.NOT_RUNNING
    assert sorted(clients.closed) == sorted(clients.made)


# Brokers.


async def test_a_broker_that_lacks_the_protocol_is_named(tmp_path: Path) -> None:
    settings = {"group.coordinator.rebalance.protocols": "classic,consumer"}
    with Broker(settings=settings) as broker:
        async with Instances.open(broker.bootstrap_servers, tmp_path, "app") as instances:
            app = instances.new(copying(instances))
            seen: list[ApplicationState] = []
            app.on_state_change(lambda new, _old: seen.append(new))
            await app.start()
            async with asyncio.timeout(LONG_ENOUGH_S):
                with pytest.raises(
                    UnsupportedVersion, match=r"Kafka 4\.2.*group_protocol='classic'"
                ):
                    await app.wait_ended()
            assert seen == ["REBALANCING", "PENDING_ERROR", "ERROR"]
