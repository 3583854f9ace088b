"""Stream threads that are processes: they share the work as threads do, and what happens in one is known in the application."""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import signal
import threading
from contextlib import suppress

import psutil
import pytest

from millstream.errors import ConfigError
from millstream.streams import StreamsBuilder, Topology
from millstream.streams.application.kafka_streams import KafkaStreams
from millstream.streams.application.processes.pickling import ThreadProcessFailed
from millstream.streams.application.processes.process_stream_thread import ProcessStreamThread
from millstream.streams.application.states import ApplicationState
from millstream.streams.errors import ProcessingError
from millstream.streams.handlers import OnUncaughtError
from millstream.streams.queries import KeyQuery, StateQueryRequest
from millstream.streams.runtime.upstreams.progress import TaskKey
from millstream.streams.runtime.upstreams.watch import LocalTask
from millstream.streams.serdes import string
from tests.integration.streams.application.instances import PARTITIONS, Instances
from tests.patience import until

WORDS = [f"w{number % 7}" for number in range(300)]
TASKS = 2 * PARTITIONS


def thread_processes() -> list[psutil.Process]:
    """The processes of stream threads that this one has started and that have not ended."""
    found = []
    for each in psutil.Process().children():
        with suppress(psutil.NoSuchProcess):  # it ends meanwhile, or has ended and is a zombie
            if "thread_process" in " ".join(each.cmdline()):
                found.append(each)
    return found


def failing(instances: Instances) -> Topology:
    """Logs each value, and fails in every process but the one that is the application's."""
    application = os.getpid()

    def checked(value: str) -> str:
        logging.getLogger("of.the.application").warning("saw %s", value)
        if os.getpid() != application:
            raise ValueError(f"not {value}")
        return value

    builder = StreamsBuilder()
    values = builder.stream(instances.source, key=string(), value=string())
    values.map_values(checked).to(instances.sink, value=string())
    return builder.build()


async def test_processes_share_the_tasks_and_answer_queries(instances: Instances) -> None:
    async with instances.new(num_stream_threads=2, use_processes=True) as app:
        await until(lambda: {len(tasks) for tasks in app.tasks.values()} == {TASKS // 2})
        await instances.put(WORDS)
        await instances.until_counted(WORDS)
        assert len(thread_processes()) == 2
        first, second = app._threads.all
        assert isinstance(first, ProcessStreamThread)
        assert isinstance(second, ProcessStreamThread)
        for asking, asked in ((first, second), (second, first)):
            (answer,) = await asking.ask_others()
            told: dict[TaskKey, LocalTask] = pickle.loads(answer)
            assert told.keys() == {
                (each.sub_topology, each.partition) for each in asked.active_tasks
            }
            for (_, partition), task in told.items():
                for topic, end in task.ends.items():
                    assert task.progress.position[topic] == end, (topic, partition)
        assert app.state is ApplicationState.RUNNING
        result = await app.query(StateQueryRequest("counts", KeyQuery("w1")))
        assert sorted(result.partitions) == list(range(PARTITIONS))
        only = result.only_partition_result()
        assert only is not None
        assert only.value == WORDS.count("w1")
        assert app.metrics()
        assert set(app.reports) <= set().union(*app.tasks.values())
        read = sum(each.position.get(instances.source, 0) for each in app.reports.values())
        assert read == len(WORDS)
        assert await app.remove_stream_thread()
        await until(lambda: len(thread_processes()) == 1)
        await instances.put(WORDS)
        await instances.until_counted(WORDS * 2)
    assert thread_processes() == []


async def test_a_process_that_is_killed_is_replaced_and_each_record_counts_once(
    instances: Instances,
) -> None:
    asked: list[Exception] = []

    def replace(error: Exception) -> OnUncaughtError:
        asked.append(error)
        return OnUncaughtError.REPLACE_THREAD

    await instances.put(WORDS)
    app = instances.new(num_stream_threads=2, use_processes=True, on_uncaught_error=replace)
    async with app:
        await instances.until_counted(WORDS)
        thread_processes()[0].send_signal(signal.SIGKILL)
        await instances.put(WORDS)
        await instances.until_counted(WORDS * 2)
        assert [type(error) for error in asked] == [ThreadProcessFailed]
        assert "has ended with code -9" in str(asked[0])
        assert len(app.tasks) == 2
        threads = {
            each.name.removesuffix("-stream-threads"): value
            for each, value in app.metrics().items()
            if each.name.endswith("-stream-threads")
        }
        assert threads == {"alive": 2, "failed": 1}


async def test_an_error_and_the_log_of_a_process_come_to_the_application(
    instances: Instances, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[Exception] = []

    def end(error: Exception) -> OnUncaughtError:
        asked.append(error)
        return OnUncaughtError.SHUTDOWN_CLIENT

    app = instances.new(failing(instances), use_processes=True, on_uncaught_error=end)
    await instances.put(["poison"])
    await app.start()
    async with asyncio.timeout(60):
        with pytest.raises(ProcessingError, match="not poison"):
            await app.wait_ended()
    assert [type(error) for error in asked] == [ProcessingError]
    assert app.state is ApplicationState.ERROR
    assert "saw poison" in [each.message for each in caplog.records]
    assert thread_processes() == []


async def test_each_process_has_the_global_stores(instances: Instances) -> None:
    builder = StreamsBuilder()
    names = f"{instances.application}-names"
    await instances.create(names, partitions=1)
    table = builder.global_table(names, key=string(), value=string())
    values = builder.stream(instances.source, key=string(), value=string())
    values.left_join(table, lambda value, name: f"{value} {name}", on=lambda _key, value: value).to(
        instances.sink, value=string()
    )
    async with instances.new(builder.build(), num_stream_threads=2, use_processes=True):
        await instances.put(["one"] * 8)
        await instances.until_written(8)


async def test_what_cannot_be_sent_to_a_process_is_named_before_anything_starts(
    instances: Instances,
) -> None:
    lock = threading.Lock()
    builder = StreamsBuilder()
    values = builder.stream(instances.source, key=string(), value=string())
    values.map_values(lambda value: f"{value}{lock.locked()}").to(instances.sink)
    app: KafkaStreams = instances.new(builder.build(), use_processes=True)
    with pytest.raises(ConfigError, match=r"cannot pickle '_thread\.lock'.*use_processes"):
        await app.start()
    assert app.state is ApplicationState.NOT_RUNNING
