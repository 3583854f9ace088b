"""Metrics of a task, with Kafka Streams' names, groups and tags.

Left out are the rates and latencies that Kafka Streams has beside most of these totals: they need a clock that a task
does not have, so a runner derives them. Tasks that fill global stores count what they process and drop. The guide's page
on processors lists what of Kafka Streams' is not there, and why; `thread-id` is the runner's tag as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from millstream.streams.kernel.context import TaskContext
from millstream.streams.kernel.task.queues import RecordQueue
from millstream.streams.metrics import (
    MetricName,
    RecordingLevel,
    Sensor,
    Statistic,
    metric_name,
)

PROCESS = "process"
PUNCTUATE = "punctuate"
ENFORCED_PROCESSING = "enforced-processing"
RESTORE = "restore"
_OF_TASKS = (PROCESS, PUNCTUATE, ENFORCED_PROCESSING, RESTORE)
_OF_GLOBAL_TASKS = (PROCESS,)


def task_metrics(
    context: TaskContext, dropped_records: int, queues: Collection[RecordQueue]
) -> dict[MetricName, float]:
    """Totals of the task, its nodes and its topics, and what processors have added."""
    task = {"task-id": context.task_id}
    counts = context.counts
    counted = _OF_GLOBAL_TASKS if context.is_global else _OF_TASKS
    of_task = {f"{name}-total": counts["", name] for name in counted}
    of_task["dropped-records-total"] = dropped_records
    if not context.is_global:
        of_task["active-buffer-count"] = sum(map(len, queues))
    found = {
        metric_name("stream-task-metrics", name, task): float(value)
        for name, value in of_task.items()
    }
    of_nodes = Counter({each: count for each, count in counts.items() if each[0]})
    consumed = Counter[tuple[str, str]]()
    for queue in queues:
        of_nodes[queue.reader.node, PROCESS] += queue.taken
        if not context.is_global:
            consumed[queue.reader.node, queue.reader.topic] += queue.taken
    for (node, name), value in of_nodes.items():
        tags = {**task, "processor-node-id": node}
        found[metric_name("stream-processor-node-metrics", f"{name}-total", tags)] = float(value)
    of_topics = (("records-consumed-total", consumed), ("records-produced-total", context.produced))
    for name, records in of_topics:
        for (node, topic), value in records.items():
            tags = {**task, "processor-node-id": node, "topic": topic}
            found[metric_name("stream-topic-metrics", name, tags)] = float(value)
    return {**found, **context.metrics.metrics()}


def lateness_sensor(context: TaskContext) -> Sensor | None:
    """Costs a call for each record, so it is there only on request."""
    is_asked_for = context.config.metrics_recording_level is RecordingLevel.DEBUG
    if context.is_global or not is_asked_for:
        return None
    sensor = context.metrics.add_sensor("record-lateness")
    for name, statistic in (("avg", Statistic.AVG), ("max", Statistic.MAX)):
        tags = {"task-id": context.task_id}
        sensor.add(f"record-lateness-{name}", "stream-task-metrics", statistic, tags)
    return sensor


def note_lateness(sensor: Sensor, stream_time: int, timestamps: Iterable[int]) -> None:
    """Notes how far each record is behind the largest timestamp up to it."""
    newest = stream_time
    for timestamp in timestamps:
        newest = max(newest, timestamp)
        sensor.record(newest - timestamp)
