"""Metrics of a task, with Kafka Streams' names, groups and tags.

Left out are the rates and latencies that Kafka Streams has beside most of these totals: they need a clock that a task
does not have, so a runner derives them. Tasks that fill global stores count what they process and drop. The guide's page
on processors lists what of Kafka Streams' is not there, and why; `thread-id` is the runner's tag as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from millstream.streams.kernel.context import TaskContext
from millstream.streams.kernel.task.queues import RecordQueue
from millstream.streams.metrics import MetricName, metric_name

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
