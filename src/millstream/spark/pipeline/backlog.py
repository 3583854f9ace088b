"""Decides which tasks of a sub-topology run next, by what they have done. Pure: offsets, times and reports come in.

The group's committed offsets say what is done. What a task does not know of, a topic without a commit, it decides
itself in a run over nothing, and reports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from millstream.model import Offset, TopicPartition
from millstream.streams.runtime.report import TaskReport

RENEW_MS: Final = 21_600_000
"""Offsets are committed again so long after their last commit. A group forgets them after
offsets.retention.minutes, 7 days."""

Ends = Mapping[TopicPartition, Offset]


def _never(_: int, __: Mapping[str, int]) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class DueTask:
    """A task to run, up to `ends` by topic; over nothing where it starts, punctuates or renews its offsets."""

    partition: int
    ends: Mapping[str, int]
    renew: bool = False


@dataclass(slots=True)
class _Task:
    position: Mapping[str, int] | None = None
    held_to: Mapping[str, int] = field(default_factory=dict)
    idles_until_ms: int | None = None
    next_punctuation_ms: int | None = None
    committed_ms: int | None = None
    """None: nobody knows how old the commit is."""

    @property
    def times(self) -> list[int]:
        """When it has something to do although no record comes."""
        return [
            time for time in (self.next_punctuation_ms, self.idles_until_ms) if time is not None
        ]


@dataclass(slots=True)
class Backlog:
    """The tasks of one sub-topology. Times are of the wall clock."""

    topics: Mapping[int, tuple[str, ...]]
    """By task, what it reads."""
    _tasks: dict[int, _Task] = field(init=False)

    def __post_init__(self) -> None:
        self._tasks = {number: _Task() for number in self.topics}

    def assign(self, topics: Mapping[int, tuple[str, ...]]) -> None:
        """Goes on with other topics: there are new tasks, and tasks with a topic more whose
        position is to be asked for.
        """
        self._tasks = {
            number: self._tasks[number] if self.topics.get(number) == mine else _Task()
            for number, mine in topics.items()
        }
        self.topics = topics

    def learn(self, committed: Mapping[TopicPartition, int]) -> None:
        """Takes what the group has committed, for the tasks whose position is not known."""
        for number, task in self._tasks.items():
            if task.position is None:
                found = {
                    topic: committed[TopicPartition(topic, number)]
                    for topic in self.topics[number]
                    if TopicPartition(topic, number) in committed
                }
                task.position = found if len(found) == len(self.topics[number]) else None

    @property
    def is_known(self) -> bool:
        """Every task has a position."""
        return all(task.position is not None for task in self._tasks.values())

    @property
    def position(self) -> dict[TopicPartition, Offset]:
        """The next offsets to read, of the tasks whose position is known."""
        return {
            TopicPartition(topic, number): Offset(offset)
            for number, task in self._tasks.items()
            for topic, offset in (task.position or {}).items()
        }

    @property
    def read_to(self) -> dict[TopicPartition, Offset]:
        """The same behind the records that tasks have read and hold."""
        held = {
            TopicPartition(topic, number): Offset(offset)
            for number, task in self._tasks.items()
            for topic, offset in task.held_to.items()
        }
        return self.position | held

    def read_up_to(self, partition: int, ends: Mapping[str, int]) -> dict[str, int]:
        """Returns, by topic, how far a task has read when it has read up to `ends`, which leave out the
        topics that have nothing new for it.
        """
        return {**(self._tasks[partition].position or {}), **ends}

    def idles_until_ms(self) -> int | None:
        """Returns when the first task that holds records goes on without those it waits for; None where none does."""
        times = (task.idles_until_ms for task in self._tasks.values())
        return min((time for time in times if time is not None), default=None)

    def holds(self, partition: int) -> bool:
        """Whether a task holds records that it has read."""
        return bool(self._tasks[partition].held_to)

    @property
    def holds_any(self) -> bool:
        """Whether some task does."""
        return any(task.held_to for task in self._tasks.values())

    def due(
        self, ends: Ends, now_ms: int, may_go_on: Callable[[int, Mapping[str, int]], bool] = _never
    ) -> list[DueTask]:
        """The tasks to run now, with records up to `ends`.

        `may_go_on`: whether a task that holds records may take some of them now.
        """
        due = []
        for number, task in self._tasks.items():
            mine = self._new(number, task, ends)
            renew = task.committed_ms is None or now_ms - task.committed_ms >= RENEW_MS
            has_new = any(end > task.held_to.get(topic, 0) for topic, end in mine.items())
            goes_on = bool(task.held_to) and may_go_on(number, mine)
            if has_new or renew or goes_on or any(time <= now_ms for time in task.times):
                due.append(DueTask(number, mine, renew))
        return due

    def next_due_ms(self) -> int | None:
        """Returns when a task punctuates or renews its offsets although no record has come; None
        where nothing has run yet.
        """
        times = [
            time
            for task in self._tasks.values()
            if task.committed_ms is not None
            for time in (*task.times, task.committed_ms + RENEW_MS)
        ]
        return min(times, default=None)

    def take(self, partition: int, report: TaskReport, now_ms: int) -> None:
        """Takes what a run has done."""
        task = self._tasks[partition]
        if report.is_committed:
            task.committed_ms = now_ms
        task.position = report.position
        task.held_to, task.idles_until_ms = report.held_to, report.idles_until_ms
        task.next_punctuation_ms = report.next_punctuation_ms

    def forget(self, partition: int) -> None:
        """A run has failed: what it has done is to be asked for."""
        self._tasks[partition] = _Task()

    def _new(self, number: int, task: _Task, ends: Ends) -> dict[str, int]:
        if task.position is None:
            return {}
        return {
            topic: end
            for topic, start in task.position.items()
            if (end := ends.get(TopicPartition(topic, number), start)) > start
        }
