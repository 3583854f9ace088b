"""Finds out how far the tasks have come that write to repartition topics, from what can be seen of them (ADR 0021).

Pure: what tasks have done and how far topics reach comes in, by which records downstream tasks may go on comes out. The
runner looks; it must look at the tasks before it looks at the ends of topics, or what a task wrote in between would be
taken for something that is still to come.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from millstream.model import TopicPartition
from millstream.streams.kernel.task.upstreams import AT_ITS_END, NOT_BEGUN
from millstream.streams.topology.alignment import Alignment
from millstream.streams.topology.plan import TopologyPlan

TaskKey = tuple[int, int]
"""A sub-topology and a partition."""
Reached = Mapping[str, Mapping[int, int]]
"""By aligned repartition topic, how far its upstream tasks have come by their partitions, as
`UpstreamMerge.expect` takes it."""
ReachedForOthers = Mapping[str, Reached]
"""By aligned repartition topic, and then by other input of the task that reads it, how far its upstream tasks have come
for the records of that input."""
_WRITES_MAX: Final = 16
"""Of one partition. Whoever is that many writes behind has to read before it matters how far exactly."""


@dataclass(slots=True)
class FollowedWrites:
    """The writes of a task to topics whose readers follow it, so that they know what of it they have not read.

    `ends`: by partition, the offset after what it has written there.
    """

    ends: dict[TopicPartition, int] = field(default_factory=dict)
    _last: dict[TopicPartition, deque[tuple[int, int]]] = field(default_factory=dict)
    """The offset after each of the last writes, and the origin time of its first record. All that
    was before lies in the first one."""

    def note(self, ends: Mapping[TopicPartition, int], origin_time: int) -> None:
        """Notes a write, none of whose records has a smaller origin time: those of a task never go back."""
        for tp, end in ends.items():
            self.ends[tp] = end
            last = self._last.setdefault(tp, deque())
            last.append((end, origin_time))
            if len(last) > _WRITES_MAX:
                _, first = last.popleft()
                last[0] = last[0][0], first

    def first_unread(self, tp: TopicPartition, read_to: int) -> int:
        """Returns a time before which no record is that was written to a partition at `read_to` or behind it."""
        if self.ends.get(tp, 0) <= read_to:
            return AT_ITS_END
        return next(time for end, time in self._last[tp] if end > read_to)


@dataclass(frozen=True, slots=True)
class TaskProgress:
    """The place that a task has come to, as those that read what it writes can see it.

    `position`: by input topic, the first offset that is not done. For those who know the task itself: `writes`, what it
    has written, and `unwritten`, a time before which no record is that it will write of what it has done already;
    `queued`: by source topic of which it has read records and not done them, the first origin time of these, and so of
    all that is to come there: those of a source partition do not go back.
    """

    position: Mapping[str, int] = field(default_factory=dict)
    origin_time: int = NOT_BEGUN
    writes: FollowedWrites = field(default_factory=FollowedWrites)
    unwritten: int = AT_ITS_END
    queued: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TaskFlow:
    """The tasks of an application by what they read.

    `tasks`: by sub-topology in order, writers before readers, the topics of each task.
    """

    alignment: Alignment
    tasks: Mapping[int, Mapping[int, tuple[str, ...]]]

    @property
    def looked_at(self) -> tuple[int, ...]:
        """The sub-topologies that write aligned topics or read them, and those that feed them in a circle."""
        alignment = self.alignment
        used = {*alignment.writers.values(), *alignment.read}
        used = used.union(*(self.feeders_of(number) for number in used))
        return tuple(number for number in self.tasks if number in used)

    @property
    def looked_at_tasks(self) -> frozenset[TaskKey]:
        """The tasks of these sub-topologies."""
        return self._tasks_of(self.looked_at)

    def feeders_of(self, sub_topology: int) -> frozenset[int]:
        """Returns the sub-topologies whose records come to this one, through however many internal topics,
        those of cycles included.
        """
        writers = {**self.alignment.writers, **self.alignment.circular}
        found: set[int] = set()
        left = [sub_topology]
        while left:
            topics = {topic for mine in self.tasks[left.pop()].values() for topic in mine}
            above = {writers[topic] for topic in topics & writers.keys()}
            left += above - found
            found |= above
        return frozenset(found)

    def upstream_of(self, sub_topology: int) -> frozenset[TaskKey]:
        """Returns the tasks of all sub-topologies that feed this one."""
        return self._tasks_of(self.feeders_of(sub_topology))

    def _tasks_of(self, numbers: Iterable[int]) -> frozenset[TaskKey]:
        return frozenset(
            (number, partition) for number in numbers for partition in self.tasks[number]
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
    """The last looks, as many as there are sub-topologies on the longest way: so many ago was written what
    comes out at its end now.

    How far a task had come at a look of before is judged by what the newest one knows: an upstream task that had
    nothing to read then, and has something by now, has to be waited for.
    """

    def __init__(self, flow: TaskFlow) -> None:
        self._flow: Final = flow
        upstream = {number: flow.alignment.upstream_of(number) for number in flow.tasks}
        self._order: Final = sorted(flow.tasks, key=lambda number: len(upstream[number]))
        """Writers before readers: these have their writers' upstreams above them, and the writers."""
        self._feeders: Final = {number: flow.feeders_of(number) for number in flow.tasks}
        self._looks: Final = deque[Look](maxlen=_levels(flow.alignment, self._order))
        self.reached: Mapping[TaskKey, int] = {}
        """How far each task has come: what it writes from now on has no smaller origin time, as long as it comes from
        what was there to read at the last look. AT_ITS_END: it had nothing to read."""

    def take(self, look: Look) -> None:
        """Takes a look, after those before it. One that saw all at once needs none of them."""
        if look.is_at_once:
            self._looks.clear()
        self._looks.append(look)
        self.reached = self._judge(self._resting(look))

    def of_topic(self, topic: str) -> dict[int, int]:
        """Returns, by partition of the tasks that write a topic, how far they have come."""
        return self._of_writers(topic, self.reached)

    def surely_of_topic(self, topic: str) -> dict[int, int]:
        """Returns as `of_topic` how far they have come whatever there is to read since the last look."""
        return self._of_writers(topic, self._judge(frozenset()))

    def end(self, tp: TopicPartition) -> int:
        """Returns the offset up to which a partition must have been read for `of_topic` to hold."""
        return self._looks[-1].ends.get(tp, 0) if self._looks else 0

    def _resting(self, look: Look) -> frozenset[TopicPartition]:
        """Returns the inputs that had nothing to read, nor got anything from upstream tasks, when the look
        went over from tasks to ends.

        Positions and ends only grow: one that is not before an end that was looked at later was at it in that moment.
        """
        writers = {**self._flow.alignment.writers, **self._flow.alignment.circular}
        read: dict[int, set[TopicPartition]] = {}
        idle: set[int] = set()
        for number in self._order:
            mine = [
                (look.tasks.get((number, partition), _NOTHING), TopicPartition(topic, partition))
                for partition, topics in self._flow.tasks[number].items()
                for topic in topics
            ]
            read[number] = {tp for task, tp in mine if _is_read(task, tp, look.ends)}
            has_written = all(task.unwritten == AT_ITS_END for task, _ in mine)
            if len(read[number]) == len(mine) and has_written:
                idle.add(number)
        # Those of a cycle have nothing to read when none of them has.
        while busy := {number for number in idle if not self._feeders[number] <= idle}:
            idle -= busy
        return frozenset(
            tp
            for inputs in read.values()
            for tp in inputs
            if tp.topic not in writers or writers[tp.topic] in idle
        )

    def _judge(self, resting: Collection[TopicPartition]) -> Mapping[TaskKey, int]:
        """Returns how far each task has come, with inputs that rest since before a look or are not known to."""
        ends: Mapping[TopicPartition, int] = {}
        reached: dict[TaskKey, int] = {}
        slowest: dict[str, int] = {}
        for look in self._looks:
            reached, slowest = self._judge_look(look, ends, slowest, resting)
            ends = look.ends
        return reached

    def _judge_look(
        self,
        look: Look,
        ends_before: Mapping[TopicPartition, int],
        slowest_before: Mapping[str, int],
        resting: Collection[TopicPartition],
    ) -> tuple[dict[TaskKey, int], dict[str, int]]:
        """Returns how far each task had come at a look, and, by aligned topic, the slowest of those that write it."""
        reached: dict[TaskKey, int] = {}
        slowest: dict[str, int] = {}
        # Another look than this one: what upstream tasks had written by then was in the topic before its end was looked at, and that was
        # before the task was looked at.
        seen, before = (look.ends, slowest) if look.is_at_once else (ends_before, slowest_before)
        for number in self._order:
            for partition, topics in self._flow.tasks[number].items():
                key = number, partition
                task = look.tasks.get(key, _NOTHING)
                newest = self._looks[-1].tasks.get(key, _NOTHING)
                ahead = [
                    AT_ITS_END
                    if tp in resting and _position(task, tp) == _position(newest, tp)
                    else before.get(tp.topic, NOT_BEGUN)
                    if _is_read(task, tp, seen)
                    else self._queued(task, tp)
                    for tp in (TopicPartition(topic, partition) for topic in topics)
                ]
                to_come = max(task.origin_time, min(ahead, default=AT_ITS_END))
                reached[key] = min(task.unwritten, to_come)
            for topic in self._flow.alignment.of(number).written:
                slowest[topic] = min(self._of_writers(topic, reached).values(), default=AT_ITS_END)
        return reached, slowest

    def _queued(self, task: TaskProgress, tp: TopicPartition) -> int:
        """Returns a time before which no record is that a task has not done of an input that is not read to its end."""
        alignment = self._flow.alignment
        is_internal = tp.topic in alignment.writers or tp.topic in alignment.circular
        return NOT_BEGUN if is_internal else task.queued.get(tp.topic, NOT_BEGUN)

    def _of_writers(self, topic: str, reached: Mapping[TaskKey, int]) -> dict[int, int]:
        writer = self._flow.alignment.writers[topic]
        return {
            partition: reached.get((writer, partition), NOT_BEGUN)
            for partition in self._flow.tasks[writer]
        }


def _levels(alignment: Alignment, order: Iterable[int]) -> int:
    """Returns how many sub-topologies are on the longest way. `order`: writers before readers."""
    levels: dict[int, int] = {}
    for number in order:
        writers = {alignment.writers[topic] for topic in alignment.of(number).read}
        levels[number] = 1 + max((levels[writer] for writer in writers), default=0)
    return max(levels.values(), default=0)


def _position(task: TaskProgress, tp: TopicPartition) -> int:
    return task.position.get(tp.topic, 0)


def _is_read(task: TaskProgress, tp: TopicPartition, ends: Mapping[TopicPartition, int]) -> bool:
    """Whether a task has done all that is before the end of its input; where that is not known it has not."""
    end = ends.get(tp)
    return end is not None and _position(task, tp) >= end


_NOTHING: Final = TaskProgress()
