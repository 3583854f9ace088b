"""The metrics of an instance: what it says of itself, and whose threads and tasks it counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import millstream
from millstream.streams import StreamsBuilder, StreamsConfig
from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.application.metrics.client_metrics import ClientMetrics, MetricValue
from millstream.streams.application.states import ApplicationState, ThreadState
from millstream.streams.metrics import MetricName, RecordingLevel, metric_name
from millstream.streams.runtime.report import TaskReport


@dataclass
class Thread:
    name: str
    state: ThreadState
    reports: Mapping[StreamsTaskId, TaskReport] = field(default_factory=dict)

    def metrics(self) -> Mapping[MetricName, float]:
        return {metric_name("stream-thread-metrics", "poll-total", {"thread-id": self.name}): 7}


@dataclass
class Threads:
    all: Sequence[Thread] = ()
    failed_count: int = 0


def client_metrics(level: RecordingLevel = RecordingLevel.INFO) -> ClientMetrics:
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    config = StreamsConfig(application_id="app", metrics_recording_level=level)
    return ClientMetrics.of(builder.build(), config, "client", "process")


def of_group(found: Mapping[MetricName, MetricValue], group: str) -> dict[str, MetricValue]:
    return {each.name: value for each, value in found.items() if each.group == group}


def test_an_instance_says_what_it_is_and_how_its_threads_do() -> None:
    threads = [Thread("t1", ThreadState.RUNNING), Thread("t2", ThreadState.STARTING)]
    threads.append(Thread("t3", ThreadState.DEAD))
    found = client_metrics().metrics(ApplicationState.REBALANCING, Threads(threads, 3), None)
    client = of_group(found, "stream-metrics")
    assert str(client.pop("topology-description")).startswith("Topologies:\n   Sub-topology: 0")
    assert client == {
        "version": millstream.__version__,
        "application-id": "app",
        "state": "REBALANCING",
        "client-state": 1,
        "alive-stream-threads": 2,
        "failed-stream-threads": 3,
        "recording-level": 0,
    }


def test_tags_name_client_process_and_application_as_in_kafka_streams() -> None:
    found = client_metrics().metrics(
        ApplicationState.RUNNING, Threads([Thread("t", ThreadState.DEAD)]), None
    )
    tags = {each.name: dict(each.tags) for each in found}
    assert tags["state"] == {"client-id": "client"}
    assert tags["recording-level"] == {"client-id": "client", "process-id": "process"}
    assert tags["client-state"] == tags["recording-level"] | {"application-id": "app"}


def test_the_recording_level_is_that_of_the_settings() -> None:
    metrics = client_metrics(RecordingLevel.DEBUG)
    found = metrics.metrics(ApplicationState.RUNNING, Threads(), None)
    assert of_group(found, "stream-metrics")["recording-level"] == 1


def test_the_metrics_of_a_thread_go_when_it_ends() -> None:
    thread = Thread("t", ThreadState.PARTITIONS_ASSIGNED)
    metrics = client_metrics()
    found = metrics.metrics(ApplicationState.RUNNING, Threads([thread]), None)
    of_thread = of_group(found, "stream-thread-metrics")
    assert of_thread == {"state": "PARTITIONS_ASSIGNED", "thread-state": 3, "poll-total": 7}
    thread.state = ThreadState.DEAD
    found = metrics.metrics(ApplicationState.RUNNING, Threads([thread]), None)
    assert of_group(found, "stream-thread-metrics") == {}


def test_the_metrics_of_tasks_say_which_thread_has_them() -> None:
    total = metric_name("stream-task-metrics", "process-total", {"task-id": "0_1"})
    report = TaskReport("0_1", {}, metrics={total: 5.0})
    thread = Thread("t", ThreadState.RUNNING, {StreamsTaskId(0, 1): report})
    found = client_metrics().metrics(ApplicationState.RUNNING, Threads([thread]), None)
    tags = {"task-id": "0_1", "thread-id": "t"}
    assert found[metric_name("stream-task-metrics", "process-total", tags)] == 5


def test_tasks_that_fill_global_stores_are_those_of_the_global_thread() -> None:
    @dataclass
    class GlobalThread:
        name: str = "client-GlobalStreamThread"

        def metrics(self) -> Mapping[MetricName, float]:
            tags = {"task-id": "-1_-1"}
            return {metric_name("stream-task-metrics", "dropped-records-total", tags): 2.0}

    found = client_metrics().metrics(ApplicationState.RUNNING, Threads(), GlobalThread())
    tags = {"task-id": "-1_-1", "thread-id": "client-GlobalStreamThread"}
    assert found[metric_name("stream-task-metrics", "dropped-records-total", tags)] == 2
