"""Watches how far the tasks have come that write to repartition topics, for the threads of one process (ADR 0021).

Where all of them run in this process they are asked themselves, which costs nothing. Otherwise somebody looks in the
background, while a task waits: the other processes of the instance are asked, and where that is not all, the
application's group and the ends of topics.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final

from millstream.errors import MillstreamError
from millstream.model import TopicPartition
from millstream.net.client.tasks import TaskScope
from millstream.streams.kernel.task.upstreams import AT_ITS_END, NOT_BEGUN
from millstream.streams.runtime.upstreams.progress import (
    FollowedWrites,
    Look,
    TaskFlow,
    TaskKey,
    TaskProgress,
    UpstreamProgress,
)

LOOK_INTERVAL_S: Final = 0.02
"""Two looks at the cluster are so far apart: each costs two requests."""
ASK_INTERVAL_S: Final = 0.002
"""Two questions to the processes of the instance are so far apart: as long as an answer takes, 2 to 4 ms with
two of them and a load of 3."""
ASK_TIMEOUT_S: Final = 1.0
"""A process that has not answered by then may be stuck; what the group knows of its tasks is true whatever it does."""
ANSWERS_HOLD_S: Final = 1.0
"""Tasks that processes of the instance have told of are taken to be there so long. One that has left by then waits so
much longer for a commit."""
_READS_MAX: Final = 1_024
"""Looks that may pass before a partition is read up to the end that one of them has found, and more are not told
apart."""
_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LocalTask:
    """A task of this process, and the ends of its inputs as its consumer knows them: a topic whose end it
    does not know is left out.
    """

    progress: TaskProgress
    ends: Mapping[str, int]

    @property
    def for_others(self) -> LocalTask:
        """The task as other processes ask for it: they do not look for the first record that they have not read, and so
        need none of the single writes.
        """
        writes = FollowedWrites(self.progress.writes.ends)
        return LocalTask(replace(self.progress, writes=writes), self.ends)


LocalTasks = Callable[[], Mapping[TaskKey, LocalTask]]
LookAtCluster = Callable[
    [TaskFlow, Callable[[], Mapping[TaskKey, TaskProgress]]], Coroutine[object, object, Look]
]
"""Looks with the clients of a thread. It is given the tasks that are known otherwise, which
it asks for in the right moment."""
AskInstance = Callable[[], Coroutine[object, object, Mapping[TaskKey, LocalTask]]]
"""Asks the other processes of the instance for their tasks, as they are now."""


@dataclass(frozen=True, slots=True)
class _Member:
    """A thread of this process."""

    tasks: LocalTasks
    look: LookAtCluster
    scope: TaskScope


@dataclass(frozen=True, slots=True)
class _Told:
    """What one look has told about the upstream tasks of one partition of a topic.

    It holds once the partition has been read up to `end`.
    """

    number: int
    end: int
    reached: Mapping[int, int]
    surely: Mapping[int, int]
    """How far they have come whatever they have got to read since the look."""


@dataclass(frozen=True, slots=True)
class ReadInput:
    """An input of a task: how far it is read, and the largest origin time up to there."""

    to: int
    newest: int


OtherInputs = Mapping[str, ReadInput]
"""The inputs of a task but the one that is asked for, by their topics."""
NO_OTHER_INPUTS: Final[OtherInputs] = {}


@dataclass(frozen=True, slots=True)
class _Read:
    """How far a task had read when so many looks had been begun: the partition that waits, and the others."""

    looks: int
    mine: ReadInput
    others: OtherInputs

    @property
    def ends(self) -> tuple[int, ...]:
        """How far each input was read."""
        return self.mine.to, *(each.to for each in self.others.values())


@dataclass(slots=True)
class WaitingInput:
    """One partition of an aligned topic whose records wait, as the task knows it that reads it."""

    topic_partition: TopicPartition
    flow: TaskFlow | None = None
    """Whose tasks it has been told of."""
    reads: deque[_Read] = field(default_factory=lambda: deque(maxlen=_READS_MAX))
    """The last ones, the first of them before the look that has told."""
    told: _Told | None = None
    next: _Told | None = None
    for_others: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    """By other input of the task, how far the upstream tasks had come at the last call of `UpstreamWatch.reached`, for
    the records of that input: some of them may have been read after the look that has told. Of one that is not among
    them what has been returned holds."""

    def has_read_since(self, look: int) -> bool:
        """Whether more was read since a look, the last one, was begun."""
        last = self.reads[-1]
        if last.looks < look:
            return False
        return len(self.reads) == 1 or last.ends != self.reads[-2].ends

    def heed(self, flow: TaskFlow) -> None:
        """Forgets what is not of these tasks."""
        if self.flow is not flow:
            self.flow, self.told, self.next = flow, None, None
            self.reads.clear()


class UpstreamWatch:
    """Shared by the threads of one process, whose loop alone uses it. In another process it begins anew."""

    def __init__(self) -> None:
        self.ask_instance: AskInstance | None = None
        """None where threads are no processes."""
        self._flow: TaskFlow | None = None
        self._looked_at: frozenset[TaskKey] = frozenset()
        self._upstream: Mapping[int, frozenset[TaskKey]] = {}
        """By sub-topology, the tasks whose records come to it."""
        self._members: dict[str, _Member] = {}
        self._here: Look | None = None
        self._is_news_here = True
        self._progress_here: UpstreamProgress | None = None
        """As of the last news, but where there is some."""
        self._looks = 0
        self._looking: asyncio.Task[None] | None = None
        self._last_look = 0
        """That which was asked for last, which may not have begun."""
        self._has_told = False
        """Whether what it has found is known."""
        self._is_asked = False
        """Whether somebody waits for the next one."""
        self._in_instance: frozenset[TaskKey] = frozenset()
        """The tasks of other processes of the instance, as they have said at the last look."""
        self._in_instance_until_s = 0.0
        self._progress: UpstreamProgress | None = None
        self._progress_number = 0
        self.news = 0
        """How often there was news: where it is the same, a task that waits would find nothing new."""
        self._waiting: list[Callable[[], None]] = []

    def __reduce__(self) -> tuple[type[UpstreamWatch], tuple[()]]:
        return UpstreamWatch, ()

    def follow(self, flow: TaskFlow) -> None:
        """Takes the tasks that there are, perhaps other ones than before."""
        if flow != self._flow:
            self._flow, self._progress, self._progress_here = flow, None, None
            self._in_instance_until_s = 0.0
            self._upstream = {number: flow.upstream_of(number) for number in flow.tasks}
            self._looked_at = flow.looked_at_tasks
        self.tell_news()

    def join(self, thread: str, tasks: LocalTasks, look: LookAtCluster, scope: TaskScope) -> None:
        """Takes note of a thread and its tasks. Looks are begun in its scope."""
        self._members[thread] = _Member(tasks, look, scope)

    def leave(self, thread: str) -> None:
        """Forgets a thread."""
        self._members.pop(thread, None)
        self.tell_news()

    def tell_news(self) -> None:
        """Says that tasks of this process have come forward, or have more to read, or that more is known of others.

        Wakes those that wait.
        """
        self._here, self._is_news_here = None, True
        # Whoever is about to wait compares this number with the one that its turn began with: no news gets lost between the two.
        self.news += 1
        for wake in self._waiting:
            wake()
        self._waiting.clear()

    @contextmanager
    def waking(self, wake: Callable[[], None]) -> Iterator[None]:
        """Calls `wake` once there is news, unless the caller has ended its wait before."""
        self._waiting.append(wake)
        try:
            yield
        finally:
            if wake in self._waiting:
                self._waiting.remove(wake)

    @property
    def all_in_instance(self) -> bool:
        """Whether all tasks that write aligned topics or read them run in this process or, as far as is
        known, in others of the instance.

        Where that may have changed the others are asked, in the background: what they say holds from the next call on.
        """
        here = self._look_here().tasks.keys()
        if self._looked_at <= here or self.ask_instance is None:
            return self._looked_at <= here
        if asyncio.get_running_loop().time() >= self._in_instance_until_s:
            self._ask()
        return self._looked_at <= here | self._in_instance

    def is_here(self, sub_topology: int) -> bool:
        """Whether all tasks whose records come to this sub-topology run in this process."""
        return self._flow is None or self._upstream[sub_topology] <= self._look_here().tasks.keys()

    def origin_times(self, sub_topology: int) -> dict[int, int]:
        """Returns, by partition, how far the tasks of a sub-topology have come that have more to
        read, as far as that is known.
        """
        if self._flow is None:
            return {}
        progress = self._progress
        if self._tasks_of(sub_topology) <= self._look_here().tasks.keys():
            progress = self._known_progress_here(self._flow)
        if progress is None:
            return {}
        return {
            partition: reached
            for (number, partition), reached in progress.reached.items()
            if number == sub_topology and reached != AT_ITS_END
        }

    def look_at(self, sub_topology: int) -> None:
        """Has a look at the cluster begin where a task of a sub-topology, or upstream of it, is in another process."""
        if self._flow is None:
            return
        if not self._tasks_of(sub_topology) <= self._look_here().tasks.keys():
            self._ask()

    def reached(
        self,
        waiting: WaitingInput,
        sub_topology: int,
        read_to: int,
        newest: int = NOT_BEGUN,
        others: OtherInputs = NO_OTHER_INPUTS,
    ) -> dict[int, int]:
        """Returns how far the upstream tasks of a partition have come, for its records.

        `read_to`: the offset before which its task has read everything, `newest`: the largest
        origin time that it has read there, `others`: the same of its other inputs.
        """
        flow, tp = self._flow, waiting.topic_partition
        waiting.for_others = {}
        if flow is None or tp.topic not in flow.alignment.writers:
            return {}
        if self.is_here(sub_topology):
            return self._reached_here(flow, tp, read_to)
        read = _Read(self._looks, ReadInput(read_to, newest), others)
        return self._reached_elsewhere(flow, waiting, read)

    def note_read(
        self,
        waiting: WaitingInput,
        sub_topology: int,
        read_to: int,
        newest: int,
        others: OtherInputs = NO_OTHER_INPUTS,
    ) -> None:
        """Notes what a task has read of a partition, with the arguments of `reached`, and has the look begin for which
        these records wait: by the time that the task comes to them it may be over.
        """
        flow = self._flow
        if (
            flow is None
            or waiting.topic_partition.topic not in flow.alignment.writers
            or self.is_here(sub_topology)
        ):
            return
        waiting.heed(flow)
        _note(waiting.reads, _Read(self._looks, ReadInput(read_to, newest), others))
        self._ask_for(waiting)

    def _reached_here(self, flow: TaskFlow, tp: TopicPartition, read_to: int) -> dict[int, int]:
        """What a task has written to the partition and was not read yet comes before what it will write."""
        tasks, writer = self._look_here().tasks, flow.alignment.writers[tp.topic]
        progress = self._known_progress_here(flow)
        return {
            partition: min(reached, tasks[writer, partition].writes.first_unread(tp, read_to))
            for partition, reached in progress.of_topic(tp.topic).items()
        }

    def _reached_elsewhere(
        self, flow: TaskFlow, waiting: WaitingInput, read: _Read
    ) -> dict[int, int]:
        waiting.heed(flow)
        _note(waiting.reads, read)
        self._hear(waiting, read.mine.to)
        told = waiting.told
        if told is None:
            self._ask_unless_told(waiting)
            return dict.fromkeys(
                flow.tasks[flow.alignment.writers[waiting.topic_partition.topic]], NOT_BEGUN
            )
        before = _before_look(waiting.reads, told.number)
        waiting.for_others = {
            topic: _reached_for(told, before.others.get(topic, _NOT_READ), now)
            for topic, now in read.others.items()
        }
        reached = _reached_for(told, before.mine, read.mine)
        # A look that nobody needs would hold up the next one, for which a record may wait.
        if not all(map(_are_at_ends, (reached, *waiting.for_others.values()))):
            self._ask_unless_told(waiting)
        return reached

    def _hear(self, waiting: WaitingInput, read_to: int) -> None:
        """Takes what the last look has told, or one before it, as soon as the partition was read so far.

        Until then one of them waits.
        """
        for told in (waiting.next, self._newest(waiting)):
            if told is not None and told.end <= read_to:
                waiting.told, waiting.next = told, None
            elif waiting.next is None:
                waiting.next = told

    def _newest(self, waiting: WaitingInput) -> _Told | None:
        """Returns what the last look has told; None where that is known to the input already."""
        progress, tp = self._progress, waiting.topic_partition
        known = waiting.next or waiting.told
        if progress is None or (known is not None and self._progress_number <= known.number):
            return None
        return _Told(
            self._progress_number,
            progress.end(tp),
            progress.of_topic(tp.topic),
            progress.surely_of_topic(tp.topic),
        )

    # Looks.

    def _look_here(self) -> Look:
        """Returns what the tasks of this process have done by now."""
        if self._here is None:
            self._here = _look_of(self._tasks_here())
        return self._here

    def _tasks_here(self) -> dict[TaskKey, LocalTask]:
        return {
            key: task for member in self._members.values() for key, task in member.tasks().items()
        }

    def _tasks_of(self, sub_topology: int) -> set[TaskKey]:
        """Returns the tasks of a sub-topology, and those upstream of it."""
        assert self._flow is not None, "asked for only where there is one"
        mine = {(sub_topology, partition) for partition in self._flow.tasks[sub_topology]}
        return mine | self._upstream[sub_topology]

    def _known_progress_here(self, flow: TaskFlow) -> UpstreamProgress:
        if self._progress_here is None:
            self._progress_here = UpstreamProgress(flow)
        if self._is_news_here:
            self._progress_here.take(self._look_here())
            self._is_news_here = False
        return self._progress_here

    def _ask_unless_told(self, waiting: WaitingInput) -> None:
        """Has a look begin unless the partition has to be read first for what one has told already."""
        if waiting.next is None:
            self._ask_for(waiting)

    def _ask_for(self, waiting: WaitingInput) -> None:
        """Has a look begin that holds for all that is read.

        Where the one under way does not the next one follows it: who waits need not be woken up to ask for it.
        """
        self._is_asked |= self._has_told or waiting.has_read_since(self._last_look)
        self._ask()

    def _ask(self) -> None:
        """Has a look begin, unless one is under way."""
        # One whose thread has ended before it came to its first step has not said that it is over.
        is_under_way = self._looking is not None and not self._looking.done()
        if not is_under_way and self._members:
            self._is_asked = self._has_told = False
            self._last_look = self._looks + 1
            member = next(iter(self._members.values()))
            self._looking = member.scope.start(self._look(member), "looking at upstream tasks")

    async def _look(self, member: _Member) -> None:
        flow = self._flow
        assert flow is not None, "somebody waits for tasks of it"
        self._looks += 1
        number, interval_s = self._looks, LOOK_INTERVAL_S
        try:
            others = await self._tasks_of_instance()
            self._in_instance = frozenset(others)
            self._in_instance_until_s = asyncio.get_running_loop().time() + ANSWERS_HOLD_S
            known = {**others, **self._tasks_here()}
            if flow.looked_at_tasks <= known.keys():
                look, interval_s = _look_of(known), ASK_INTERVAL_S
            else:
                look = await member.look(
                    flow, lambda: _look_of({**others, **self._tasks_here()}).tasks
                )
            if flow is self._flow:
                progress = UpstreamProgress(flow) if self._progress is None else self._progress
                progress.take(look)
                self._progress, self._progress_number = progress, number
                self.tell_news()
            self._has_told = True
            await asyncio.sleep(interval_s)
        except MillstreamError as error:  # asked for again in the next turn of whoever waits
            _LOGGER.debug("how far upstream tasks have come is not known: %s", error)
            self._has_told = True
            await asyncio.sleep(interval_s)
        finally:
            self._looking = None
            if self._is_asked:
                self._ask()
            self.tell_news()

    async def _tasks_of_instance(self) -> Mapping[TaskKey, LocalTask]:
        """Returns the tasks of other processes of the instance, those that have answered."""
        if self.ask_instance is None:
            return {}
        try:
            return await asyncio.wait_for(self.ask_instance(), ASK_TIMEOUT_S)
        except TimeoutError:
            _LOGGER.debug("the processes of the instance have not answered how far they are")
            return {}


def _look_of(tasks: Mapping[TaskKey, LocalTask]) -> Look:
    """Returns what tasks say themselves.

    Those that are asked later may have written more, which the earlier ones are then to read: they wait.
    """
    ends: dict[TopicPartition, int] = {}
    for (_, partition), task in tasks.items():
        for topic, end in task.ends.items():
            tp = TopicPartition(topic, partition)
            ends[tp] = max(end, ends.get(tp, 0))
    for task in tasks.values():
        for tp, end in task.progress.writes.ends.items():
            ends[tp] = max(end, ends.get(tp, 0))
    progress = {key: task.progress for key, task in tasks.items()}
    return Look(progress, ends, is_at_once=True)


def _note(reads: deque[_Read], read: _Read) -> None:
    """Keeps the last read before each look."""
    if reads and reads[-1].looks == read.looks:
        reads.pop()
    reads.append(read)


def _before_look(reads: deque[_Read], number: int) -> _Read:
    """Returns how far was read before a look was begun, and forgets what was before that."""
    while len(reads) > 1 and reads[1].looks < number:
        reads.popleft()
    return reads[0] if reads[0].looks < number else _NOTHING_READ


def _are_at_ends(reached: Mapping[int, int]) -> bool:
    return all(time == AT_ITS_END for time in reached.values())


def _reached_for(told: _Told, before: ReadInput, now: ReadInput) -> dict[int, int]:
    """Returns how far upstream tasks have come for the records of an input.

    `before`: how far it was read when the look was begun.
    """
    if before.to == now.to:
        return dict(told.reached)
    # An upstream task that had nothing to read then may have got what belongs before the records that have been read since. It holds
    # up those alone, or whoever reads all the time would wait for it all the time.
    return {
        partition: max(told.surely[partition], min(reached, before.newest + 1))
        for partition, reached in told.reached.items()
    }


_NOT_READ: Final = ReadInput(-1, NOT_BEGUN)
_NOTHING_READ: Final = _Read(0, _NOT_READ, NO_OTHER_INPUTS)
