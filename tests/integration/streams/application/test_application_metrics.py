"""What a running application says of itself, its stream threads and its tasks, by Kafka Streams' names."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from millstream.streams.application.kafka_streams import KafkaStreams
from millstream.streams.application.metrics.client_metrics import MetricValue
from millstream.streams.handlers import OnUncaughtError
from millstream.streams.metrics import RecordingLevel
from tests.integration.streams.application.instances import PARTITIONS, Instances
from tests.integration.streams.application.test_failures import POISON, copying
from tests.patience import until

IDS = {"task-id", "thread-id"}
WORDS = [f"w{number % 7}" for number in range(100)]


def of_client(app: KafkaStreams) -> Mapping[str, MetricValue]:
    return {each.name: it for each, it in app.metrics().items() if each.group == "stream-metrics"}


def of_threads(app: KafkaStreams, name: str) -> Mapping[str, MetricValue]:
    """By thread, the value of one metric."""
    return {
        dict(each.tags)["thread-id"]: value
        for each, value in app.metrics().items()
        if each.group == "stream-thread-metrics" and each.name == name
    }


def total(app: KafkaStreams, name: str) -> float:
    return sum(float(each) for each in of_threads(app, name).values())


@pytest.mark.parametrize("use_processes", [False, True])
async def test_threads_count_what_they_do_and_their_metrics_go_with_them(
    instances: Instances, *, use_processes: bool
) -> None:
    app = instances.new(
        num_stream_threads=2,
        use_processes=use_processes,
        metrics_recording_level=RecordingLevel.DEBUG,
    )
    assert app.metrics() == {}
    async with app:
        await until(lambda: {len(tasks) for tasks in app.tasks.values()} == {PARTITIONS})
        await instances.put(WORDS)
        await instances.until_counted(WORDS)
        # Each word is processed before and after the repartition topic.
        await until(lambda: total(app, "process-total") == 2 * len(WORDS))
        assert set(of_threads(app, "state")) == set(app.tasks)
        assert set(of_threads(app, "thread-state").values()) == {4}
        # A thread that comes first has all tasks for a moment.
        created, closed = total(app, "task-created-total"), total(app, "task-closed-total")
        assert created - closed == 2 * PARTITIONS
        assert total(app, "commit-total") >= PARTITIONS
        assert total(app, "process-records-max") > 0
        assert all(0 < float(each) <= 1 for each in of_threads(app, "poll-ratio").values())
        client = of_client(app)
        assert client["application-id"] == instances.application
        assert (client["state"], client["client-state"]) == ("RUNNING", 2)
        assert client["alive-stream-threads"] == 2
        of_tasks = {
            each.name
            for each in app.metrics()
            if each.group == "stream-task-metrics" and dict(each.tags).keys() == IDS
        }
        assert {"process-total", "process-latency-avg", "active-process-ratio"} <= of_tasks
        removed = await app.remove_stream_thread()
        await until(lambda: of_client(app)["alive-stream-threads"] == 1)
        assert removed not in of_threads(app, "poll-total")
        assert of_client(app)["failed-stream-threads"] == 0
    assert of_client(app)["state"] == "NOT_RUNNING"
    assert of_client(app)["alive-stream-threads"] == 0
    assert of_threads(app, "state") == {}


async def test_threads_that_have_failed_are_counted(instances: Instances) -> None:
    asked: list[Exception] = []

    def replace_thread(error: Exception) -> OnUncaughtError:
        asked.append(error)
        return OnUncaughtError.REPLACE_THREAD

    angry = copying(instances, lambda: len(asked) < 2)
    app = instances.new(angry, on_uncaught_error=replace_thread)
    await instances.put([POISON])
    async with app:
        await instances.until_written(1)
        client = of_client(app)
        assert client["failed-stream-threads"] == 2
        assert client["alive-stream-threads"] == 1
        assert len(of_threads(app, "state")) == 1
