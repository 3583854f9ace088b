"""What a case must give: each task on the kernel alone, fed in the order of docs/adr/0021, one record at a time.

A task that reads no repartition topic takes the topic whose next record has the smallest timestamp, as in Kafka Streams; among equal ones
the topic whose name comes first.

Tasks go level by level, those that write a repartition topic before those that read it, so that all a task will ever read is there
when it begins: its records are then sorted. Nothing here knows of threads, micro-batches, offsets or waiting.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Self

from live_cases.cluster import Written

from alignment.case import APPLICATION, Case, is_internal, levels, sources
from millstream.clients.producer.core.murmur2 import partition_for_key
from millstream.streams.kernel import RawBatch, SinkBatch, StreamTask, TaskOutput, TaskTopics
from millstream.streams.state import in_memory_stores
from millstream.streams.topology import SubTopology

RECORDS_MAX = 60_000
TaskKey = tuple[int, int]
"""Sub-topology and partition."""


class TooLarge(Exception):
    """The case has more records than it is worth."""


class Candidate(NamedTuple):
    """A record that a task reads, by the place that the rule gives it."""

    origin: int
    topic: str
    upstream: int
    at: int
    record: Written


class Sent(NamedTuple):
    """A record that a task has written, with the origin time that the task had reached."""

    origin: int
    record: Written


Order = Callable[[Sequence[Candidate]], Sequence[Candidate]]
"""Puts the records of a task into the order in which it takes them."""


@dataclass
class Verdict:
    """What every task writes, in its order, to topics of all kinds, and how many records it drops."""

    sent: dict[TaskKey, list[Sent]] = field(default_factory=dict)
    dropped: dict[TaskKey, int] = field(default_factory=dict)

    def logs(self) -> dict[tuple[str, int], dict[TaskKey, list[Sent]]]:
        """By topic and partition, what each task writes to it."""
        found: dict[tuple[str, int], dict[TaskKey, list[Sent]]] = {}
        for task, written in self.sent.items():
            for sent in written:
                log = (sent.record.topic, sent.record.partition)
                found.setdefault(log, {}).setdefault(task, []).append(sent)
        return found


def judge(case: Case, order: Order | None = None, *, records_max: int = RECORDS_MAX) -> Verdict:
    """`order`: one in which all tasks take records, to see what does not depend on the rule's. Raises TooLarge."""
    verdict = Verdict()
    read: dict[tuple[str, int], list[Candidate]] = {}
    for log, candidate in _external(case):
        read.setdefault(log, []).append(candidate)
    left = records_max
    for group in levels(case):
        named = sources(case, group)
        is_behind = any(is_internal(topic) for topic in named)
        of_task = order or (sorted if is_behind else _by_timestamps)
        for partition in range(max(case.counts[topic] for topic in named)):
            topics = [topic for topic in named if partition < case.counts[topic]]
            wanted = [each for topic in topics for each in read.get((topic, partition), [])]
            task = (group.id, partition)
            with _Task(case, group, partition, topics) as running:
                verdict.sent[task] = running.run(of_task(wanted), left)
                verdict.dropped[task] = running.dropped
            left -= len(verdict.sent[task])
            for at, sent in enumerate(verdict.sent[task]):
                log = (sent.record.topic, sent.record.partition)
                candidate = Candidate(sent.origin, log[0], partition, at, sent.record)
                read.setdefault(log, []).append(candidate)
    return verdict


def _external(case: Case) -> Iterator[tuple[tuple[str, int], Candidate]]:
    """The origin time of a record is the largest timestamp of its partition so far."""
    newest: dict[tuple[str, int], int] = {}
    for at, given in enumerate(case.inputs):
        log = (given.topic, given.partition)
        newest[log] = max(newest.get(log, -1), given.timestamp)
        yield log, Candidate(newest[log], given.topic, 0, at, Written(*given))


def _by_timestamps(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The topic whose next record has the smallest timestamp goes first; among equal ones the one whose name does."""
    queues: dict[str, deque[Candidate]] = {}
    for each in candidates:
        queues.setdefault(each.topic, deque()).append(each)
    heads = [(queue[0].record.timestamp, topic) for topic, queue in queues.items()]
    heapq.heapify(heads)
    found = []
    while heads:
        _, topic = heapq.heappop(heads)
        found.append(queues[topic].popleft())
        if queues[topic]:
            heapq.heappush(heads, (queues[topic][0].record.timestamp, topic))
    return found


class _Task:
    """One task, and what it writes."""

    def __init__(self, case: Case, group: SubTopology, partition: int, topics: list[str]) -> None:
        self._counts: Mapping[str, int] = case.counts
        self._partition = partition
        named = TaskTopics(named=topics)
        self._task = StreamTask(
            case.topology, group, partition, in_memory_stores(), case.config_of(APPLICATION), topics=named
        )  # fmt: skip
        self._sent: list[Sent] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._task.close()

    @property
    def dropped(self) -> int:
        return self._task.dropped.total

    def run(self, candidates: Sequence[Candidate], records_max: int) -> list[Sent]:
        reached = -1
        for offset, each in enumerate(candidates):
            topic, _, key, value, timestamp, headers = each.record
            rows = RawBatch([key], [value], [timestamp], range(offset, offset + 1), [headers])
            self._task.add(topic, rows)
            reached = max(reached, each.origin)
            self._take(self._task.process(0), reached)
            if len(self._sent) > records_max:
                raise TooLarge
        self._take(self._task.prepare_commit().output, reached)
        return self._sent

    def _take(self, output: TaskOutput, reached: int) -> None:
        for batch in output.changelogs.values():
            places = [self._partition] * len(batch)
            self._sent += (Sent(reached, row) for row in _rows(batch, places))
        for batch in output.sinks.values():
            places = _partitions(batch, self._counts[batch.topic])
            self._sent += (Sent(reached, row) for row in _rows(batch, places))


def _rows(batch: SinkBatch, partitions: Sequence[int]) -> Iterator[Written]:
    columns = (partitions, batch.keys, batch.values, batch.timestamps, batch.headers)
    for row in zip(*columns, strict=True):
        yield Written(batch.topic, *row)


def _partitions(batch: SinkBatch, count: int) -> list[int]:
    keys = batch.keys if batch.partition_keys is None else batch.partition_keys
    assert batch.partitions is None, "no topology of a case has a partitioner"
    assert None not in keys, "the partition of a record without a key is chance"
    return [partition_for_key(key, count) for key in keys]
