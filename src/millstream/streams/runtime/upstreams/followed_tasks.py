"""Follows the tasks that one task of a thread heeds: those that write what it reads, and those that
write beside it (ADR 0021).

Owns what is known of them since the task was started; how far they are is found out by the
watch that all threads share.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from millstream.model import TopicPartition
from millstream.streams.runtime.spec import TaskSpec
from millstream.streams.runtime.upstreams.progress import Reached, ReachedForOthers
from millstream.streams.runtime.upstreams.run_ahead import RUN_AHEAD_RECORDS, RunAhead
from millstream.streams.runtime.upstreams.timeouts import OverdueUpstream, UpstreamTimeouts
from millstream.streams.runtime.upstreams.watch import ReadInput, UpstreamWatch, WaitingInput


class Following(Protocol):
    """The task that follows others, by what it has read."""

    @property
    def position(self) -> Mapping[str, int]:
        """By input topic, an offset."""

    def has_read(self, topic: str) -> int:
        """Returns the offset before which it has read everything."""

    def newest_origin_time(self, topic: str) -> int:
        """Returns the largest origin time that it has read."""


class FollowedTasks:
    """`name` and `partition` are those of the task that follows, `read` the aligned topics that it reads."""

    def __init__(
        self,
        name: str,
        partition: int,
        spec: TaskSpec,
        read: Iterable[str],
        watch: UpstreamWatch,
    ) -> None:
        alignment, timeout_ms = spec.alignment, spec.config.upstream_timeout_ms
        self._partition = partition
        self._sub_topology = spec.sub_topology
        self._writes_aligned = bool(alignment.of(spec.sub_topology).written)
        self._watch = watch
        self._inputs = {topic: WaitingInput(TopicPartition(topic, partition)) for topic in read}
        self._upstream = UpstreamTimeouts(name, alignment.writers, timeout_ms)
        self._beside = UpstreamTimeouts(name, {"": spec.sub_topology}, timeout_ms)
        self._run_ahead = RunAhead()
        self._is_held_up = False
        self._is_far_ahead = False

    def note(self, records: int, origin_time: int, *, is_held_up: bool) -> None:
        """Notes a round of the task. `is_held_up`: it had records queued, and could process none of them."""
        self._is_held_up = is_held_up
        self._run_ahead.note(records, origin_time)

    def note_read(self, task: Following) -> None:
        """Notes that records of an input have been read: others are asked at once how far they are, not only when the
        task comes to these records.
        """
        for topic, waiting in self._inputs.items():
            mine, others = _read_inputs(task, topic)
            self._watch.note_read(waiting, self._sub_topology, mine.to, mine.newest, others)

    def reached(self, task: Following, now_ms: int) -> tuple[Reached, ReachedForOthers]:
        """Returns how far the tasks have come that write the aligned topics which the task reads."""
        reached, for_others = {}, {}
        for topic, waiting in self._inputs.items():
            mine, others = _read_inputs(task, topic)
            told = self._watch.reached(waiting, self._sub_topology, mine.to, mine.newest, others)
            reached[topic] = self._upstream.judge(topic, told, now_ms, is_waiting=self._is_held_up)
            if waiting.for_others:
                for_others[topic] = {
                    other: self._upstream.without_overdue(topic, each)
                    for other, each in waiting.for_others.items()
                }
        return reached, for_others

    def take_overdue(self) -> Sequence[OverdueUpstream]:
        """Returns those that have not come forward in time since the last call; they are not waited for."""
        return self._upstream.take_overdue()

    def is_far_ahead(self, now_ms: int) -> bool:
        """Whether those that read what the task writes would have to hold much back until the
        slowest of its like has come so far.

        One that does not move any more is not waited for here either, or nobody would get to those that wait behind it.
        """
        if not self._writes_aligned:
            return False
        if self._run_ahead.maybe_check():
            self._watch.look_at(self._sub_topology)
        elif not self._is_far_ahead:  # it has not got so far since the last time
            return False
        self._is_far_ahead = self._must_wait(now_ms)
        return self._is_far_ahead

    def _must_wait(self, now_ms: int) -> bool:
        """Looks at the others, as far as is known of them by now."""
        others = self._watch.origin_times(self._sub_topology)
        others.pop(self._partition, None)
        if not others or self._run_ahead.beyond(min(others.values())) <= RUN_AHEAD_RECORDS:
            return False
        self._watch.look_at(self._sub_topology)
        moving = self._beside.judge("", others, now_ms, is_waiting=True)
        self._beside.take_overdue()  # told by those that wait for what it writes
        return self._run_ahead.beyond(min(moving.values())) > RUN_AHEAD_RECORDS


def _read_inputs(task: Following, topic: str) -> tuple[ReadInput, dict[str, ReadInput]]:
    """Returns how far a task has read a topic, and its other inputs."""
    read = {
        each: ReadInput(task.has_read(each), task.newest_origin_time(each))
        for each in task.position
    }
    return read.pop(topic), read
