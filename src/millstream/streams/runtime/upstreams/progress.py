"""Finds out how far the tasks have come that write to repartition topics, from what can be seen of them (ADR 0021).

Pure: what tasks have done and how far topics reach comes in, by which records downstream tasks may go on comes out. The runner looks; it must look
at the tasks before it looks at the ends of topics, or what a task wrote in between would be taken for something that is still to come.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from millstream.model import TopicPartition
from millstream.streams.kernel.task.upstreams import AT_ITS_END, NOT_BEGUN
from millstream.streams.topology.alignment import Alignment
from millstream.streams.topology.plan import TopologyPlan

TaskKey = tuple[int, int]
"""A sub-topology and a partition."""


@dataclass(frozen=True, slots=True)
class TaskProgress:
    """The place that a task has come to, as those that read what it writes can see it.

    `position`: by input topic, the first offset that is not done. `written_to`: by partition of aligned topics, the offset after what it has
    written there since it was started, for those who know the task itself.
    """

    position: Mapping[str, int] = field(default_factory=dict)
    origin_time: int = NOT_BEGUN
    written_to: Mapping[TopicPartition, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TaskFlow:
    """The tasks of an application by what they read. `tasks`: by sub-topology in order, writers before readers, the topics of each task."""

    alignment: Alignment
    tasks: Mapping[int, Mapping[int, tuple[str, ...]]]

    @property
    def looked_at(self) -> tuple[int, ...]:
        """The sub-topologies that write aligned topics or read them."""
        alignment = self.alignment
        used = {*alignment.writers.values(), *alignment.read}
        return tuple(number for number in self.tasks if number in used)

    def upstream_of(self, sub_topology: int) -> frozenset[TaskKey]:
        """Returns the tasks whose records come to this sub-topology, through however many topics."""
        return frozenset(
            (number, partition)
            for number in self.alignment.upstream_of(sub_topology)
            for partition in self.tasks[number]
        )


@dataclass(frozen=True, slots=True)
class Look:
    """One look at the tasks, and after it at the ends of what they read and write.

    `is_at_once`: nothing has moved between the two, as where one process knows all of them.
    """

    tasks: Mapping[TaskKey, TaskProgress]
    ends: Mapping[TopicPartition, int]
    is_at_once: bool = False


def flow_of(plan: TopologyPlan, alignment: Alignment) -> TaskFlow:
    """Returns the tasks of a plan."""
    return TaskFlow(alignment, {each.id: each.topics_of_tasks for each in plan.sub_topologies})


class UpstreamProgress:
    """The last looks. What a task behind several repartitions waits for is known after as many looks as there are tasks on the way."""

    def __init__(self, flow: TaskFlow) -> None:
        self._flow: Final = flow
        self._last = Look({}, {})
        self.reached: Mapping[TaskKey, int] = {}
        """How far each task has come: what it writes from now on has no smaller origin time. AT_ITS_END: it has nothing to read."""

    def take(self, look: Look) -> None:
        """Takes a look, after those before it."""
        reached: dict[TaskKey, int] = {}
        for number, tasks in self._flow.tasks.items():
            for partition, topics in tasks.items():
                task = number, partition
                known = look.tasks.get(task, _NOTHING)
                ahead = [self._before(topic, partition, known, look, reached) for topic in topics]
                reached[task] = max(known.origin_time, min(ahead, default=AT_ITS_END))
        self._last, self.reached = look, reached

    def of_topic(self, topic: str) -> dict[int, int]:
        """Returns, by partition of the tasks that write a topic, how far they have come."""
        return self._writers_reached(topic, self.reached)

    def end(self, tp: TopicPartition) -> int:
        """Returns the offset up to which a partition must have been read for `of_topic` to hold."""
        return self._last.ends.get(tp, 0)

    def origin_times(self, topic: str) -> dict[int, int]:
        """Returns, by partition of the tasks that write a topic, the origin time that they have reached themselves."""
        writer = self._flow.alignment.writers[topic]
        return {
            partition: self._last.tasks.get((writer, partition), _NOTHING).origin_time
            for partition in self._flow.tasks[writer]
        }

    def _before(
        self,
        topic: str,
        partition: int,
        task: TaskProgress,
        look: Look,
        reached: Mapping[TaskKey, int],
    ) -> int:
        """Returns how far the records of a topic have come that a task has not done."""
        tp = TopicPartition(topic, partition)
        is_aligned = topic in self._flow.alignment.writers
        # Another look than this one: what upstream tasks had written by then was in the topic before its end was looked at, and that was
        # before the task was looked at.
        seen = self._last if is_aligned and not look.is_at_once else look
        end = seen.ends.get(tp)
        if end is None or task.position.get(topic, 0) < end:
            return NOT_BEGUN
        if not is_aligned:
            return AT_ITS_END
        before = reached if look.is_at_once else self.reached
        return min(self._writers_reached(topic, before).values(), default=AT_ITS_END)

    def _writers_reached(self, topic: str, reached: Mapping[TaskKey, int]) -> dict[int, int]:
        writer = self._flow.alignment.writers[topic]
        return {
            partition: reached.get((writer, partition), NOT_BEGUN)
            for partition in self._flow.tasks[writer]
        }


_NOTHING: Final = TaskProgress()
