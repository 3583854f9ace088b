"""What the threads of a process are told of upstream tasks: of their own ones at once, of others' as looks at the cluster show them."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from millstream.errors import CoordinatorNotAvailable
from millstream.model import TopicPartition
from millstream.net.client.tasks import TaskScope
from millstream.streams.kernel.task.upstreams import AT_ITS_END, NOT_BEGUN
from millstream.streams.runtime.upstreams import watch as watch_module
from millstream.streams.runtime.upstreams.progress import (
    FollowedWrites,
    Look,
    TaskFlow,
    TaskKey,
    TaskProgress,
)
from millstream.streams.runtime.upstreams.watch import (
    LocalTask,
    ReadInput,
    UpstreamWatch,
    WaitingInput,
)
from millstream.streams.topology.alignment import Alignment

X0, X1, R0 = TopicPartition("x", 0), TopicPartition("x", 1), TopicPartition("r", 0)
FLOW = TaskFlow(
    Alignment({"r": 0}, {1: frozenset({"r"})}), {0: {0: ("x",), 1: ("x",)}, 1: {0: ("r",)}}
)
NOT_KNOWN = {0: NOT_BEGUN, 1: NOT_BEGUN}


@pytest.fixture(autouse=True)
def _looks_follow_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_module, "LOOK_INTERVAL_S", 0)
    monkeypatch.setattr(watch_module, "ASK_INTERVAL_S", 0)


@dataclass
class Thread:
    """A thread of the process. Its looks wait until the test answers them."""

    tasks: dict[TaskKey, LocalTask] = field(default_factory=dict)
    scope: TaskScope = field(default_factory=lambda: TaskScope("looks"))
    asked: list[asyncio.Future[Look]] = field(default_factory=list)

    async def look(
        self, _flow: TaskFlow, _known: Callable[[], Mapping[TaskKey, TaskProgress]]
    ) -> Look:
        self.asked.append(asyncio.get_running_loop().create_future())
        return await self.asked[-1]

    async def begun(self, looks: int) -> None:
        for _ in range(20):
            await asyncio.sleep(0)
        assert len(self.asked) == looks

    async def answer(
        self, x: Mapping[int, tuple[int, int, int]], written: int, error: Exception | None = None
    ) -> None:
        """`x`: by partition of x, what its task has done, how far that reaches, and its origin time."""
        if error is not None:
            self.asked[-1].set_exception(error)
        else:
            tasks: dict[TaskKey, TaskProgress] = {
                (0, n): TaskProgress({"x": done}, origin) for n, (done, _, origin) in x.items()
            }
            ends = {TopicPartition("x", n): end for n, (_, end, _) in x.items()} | {R0: written}
            self.asked[-1].set_result(Look(tasks, ends))
        for _ in range(20):
            await asyncio.sleep(0)


@asynccontextmanager
async def watching(thread: Thread, flow: TaskFlow = FLOW) -> AsyncIterator[UpstreamWatch]:
    watch = UpstreamWatch()
    watch.join("1", lambda: thread.tasks, thread.look, thread.scope)
    watch.follow(flow)
    try:
        yield watch
    finally:
        watch.leave("1")
        await thread.scope.close()


def local(
    done: int,
    end: int | None,
    origin_time: int,
    *writes: tuple[int, int],
    unwritten: int = AT_ITS_END,
    queued: int | None = None,
) -> LocalTask:
    """`writes` to R0: the offset after each, and the origin time of its first record."""
    written = FollowedWrites()
    for after, first in writes:
        written.note({R0: after}, first)
    waiting = {} if queued is None else {"x": queued}
    progress = TaskProgress({"x": done}, origin_time, written, unwritten, waiting)
    return LocalTask(progress, {} if end is None else {"x": end})


# All upstream tasks are here.


async def test_tasks_of_this_process_are_asked_themselves() -> None:
    thread = Thread({(0, 0): local(3, 9, 50, (2, 41)), (0, 1): local(4, 4, 60, (5, 44))})
    async with watching(thread) as watch:
        waiting = WaitingInput(R0)
        assert watch.reached(waiting, 1, read_to=5) == {0: 50, 1: AT_ITS_END}
        assert watch.reached(waiting, 1, read_to=4) == {0: 50, 1: 44}
        thread.tasks[0, 0] = local(5, 9, 70, (2, 41), (8, 66))
        assert watch.reached(waiting, 1, read_to=8) == {0: 50, 1: AT_ITS_END}, "no news"
        watch.tell_news()
        assert watch.reached(waiting, 1, read_to=7) == {0: 66, 1: AT_ITS_END}
        assert watch.reached(waiting, 1, read_to=8) == {0: 70, 1: AT_ITS_END}
        await thread.begun(0)


async def test_what_a_task_has_done_and_not_written_is_waited_for() -> None:
    """With exactly once it writes with the next commit: others go on up to there, whatever it has got to read by then."""
    thread = Thread({(0, 0): local(9, 9, 50, unwritten=45), (0, 1): local(4, 6, 60)})
    async with watching(thread) as watch:
        assert watch.reached(WaitingInput(R0), 1, read_to=0) == {0: 45, 1: 60}
        thread.tasks[0, 0] = local(9, 9, 50, (3, 45))
        watch.tell_news()
        assert watch.reached(WaitingInput(R0), 1, read_to=0) == {0: 45, 1: 60}
        assert watch.reached(WaitingInput(R0), 1, read_to=3) == {0: AT_ITS_END, 1: 60}


async def test_who_comes_before_what_a_task_has_read_does_not_wait_until_that_is_done() -> None:
    thread = Thread({(0, 0): local(3, 9, 50, queued=70), (0, 1): local(4, 4, 60)})
    async with watching(thread) as watch:
        assert watch.reached(WaitingInput(R0), 1, read_to=0) == {0: 70, 1: AT_ITS_END}
        thread.tasks[0, 0] = local(3, 9, 50, (5, 45), queued=70)
        watch.tell_news()
        assert watch.reached(WaitingInput(R0), 1, read_to=0) == {0: 45, 1: AT_ITS_END}


async def test_whoever_waits_is_woken_up_once_by_the_next_news() -> None:
    thread, woken = Thread(), list[str]()
    async with watching(thread) as watch:
        with watch.waking(lambda: woken.append("a")), watch.waking(lambda: woken.append("b")):
            watch.tell_news()
            watch.tell_news()
        with watch.waking(lambda: woken.append("c")):
            pass
        watch.tell_news()
    assert woken == ["a", "b"]


async def test_whoever_waits_is_woken_up_by_what_a_look_tells_and_when_the_next_may_begin() -> None:
    thread, woken = Thread({(0, 0): local(3, 9, 50)}), list[str]()
    async with watching(thread) as watch:
        watch.reached(WaitingInput(R0), 1, read_to=0)
        await thread.begun(1)
        with watch.waking(lambda: woken.append("told")):
            await thread.answer({0: (3, 9, 50), 1: (2, 8, 40)}, 0)
        assert woken == ["told"]
        before = watch.news
        watch.reached(WaitingInput(R0), 1, read_to=1)
        await thread.begun(2)
        await thread.answer({}, 0, CoordinatorNotAvailable("soon"))
        assert watch.news == before + 1


async def test_a_task_whose_consumer_knows_no_end_yet_may_have_more_to_read() -> None:
    thread = Thread({(0, 0): local(0, None, -1), (0, 1): local(4, 4, 60)})
    async with watching(thread) as watch:
        assert watch.reached(WaitingInput(R0), 1, read_to=0) == {0: NOT_BEGUN, 1: AT_ITS_END}


async def test_origin_times_are_those_of_tasks_that_have_more_to_read() -> None:
    thread = Thread({(0, 0): local(3, 9, 50), (0, 1): local(4, 4, 60)})
    async with watching(thread) as watch:
        assert watch.origin_times(0) == {0: 50}
        thread.tasks[1, 0] = LocalTask(TaskProgress({"r": 5}, 40), {"r": 9})
        watch.tell_news()
        assert watch.origin_times(1) == {0: 40}


async def test_without_repartition_topics_there_is_nothing_to_tell() -> None:
    watch = UpstreamWatch()
    assert watch.is_here(1)
    assert watch.reached(WaitingInput(R0), 1, read_to=0) == {}
    assert watch.origin_times(0) == {}
    watch.follow(TaskFlow(Alignment(), {1: {0: ("r",)}}))
    assert watch.reached(WaitingInput(R0), 1, read_to=0) == {}


# Some are elsewhere.


async def test_a_task_knows_of_those_of_its_like_elsewhere_what_a_look_has_seen() -> None:
    """What nobody has looked at is not taken to stand at the beginning, or a task would wait for it for ever."""
    thread = Thread({(0, 0): local(90, 99, 500)})
    async with watching(thread) as watch:
        assert watch.origin_times(0) == {}
        await thread.begun(0)
        watch.look_at(0)
        watch.look_at(0)
        await thread.begun(1)
        await thread.answer({0: (90, 99, 500), 1: (3, 4, 60)}, written=0)
        assert watch.origin_times(0) == {0: 500, 1: 60}


async def test_nobody_looks_where_all_are_here() -> None:
    thread = Thread({(0, 0): local(3, 9, 50), (0, 1): local(4, 4, 60)})
    async with watching(thread) as watch:
        watch.look_at(0)
        await thread.begun(0)


async def test_a_look_holds_once_the_partition_is_read_to_the_end_that_it_has_seen() -> None:
    thread = Thread({(0, 0): local(3, 9, 50)})
    async with watching(thread) as watch:
        waiting = WaitingInput(R0)
        assert watch.reached(waiting, 1, read_to=0) == NOT_KNOWN
        assert watch.reached(waiting, 1, read_to=0) == NOT_KNOWN, "one look at a time"
        await thread.begun(1)
        await thread.answer({0: (3, 9, 50), 1: (4, 4, 60)}, written=5)
        assert watch.reached(waiting, 1, read_to=4, newest=40) == NOT_KNOWN
        await thread.begun(1)
        assert watch.reached(waiting, 1, read_to=5, newest=45) == {0: 50, 1: 60}
        await thread.begun(2)


async def test_one_at_its_end_holds_up_only_what_was_read_after_the_look() -> None:
    """Or it would be waited for all the time where records come all the time."""
    thread = Thread()
    async with watching(thread) as watch:
        waiting = WaitingInput(R0)
        for number, read_to in enumerate(range(10, 60, 10)):
            watch.reached(waiting, 1, read_to, newest=100 + read_to)
            await thread.begun(number + 1)
            # Meanwhile more is read.
            told = watch.reached(waiting, 1, read_to + 5, newest=105 + read_to)
            if number:  # by the look before, which was begun with as many records fewer
                fewer = 10 if number == 1 else 15
                assert told == {0: 90 + read_to, 1: 101 - fewer + read_to}
            await thread.answer({0: (3, 9, 90 + read_to + 10), 1: (4, 4, 60)}, written=read_to)
        assert watch.reached(waiting, 1, 55, newest=155) == {0: 150, 1: 146}
        await thread.begun(6)
        await thread.answer({0: (3, 9, 150), 1: (4, 4, 60)}, written=55)
        assert watch.reached(waiting, 1, 55, newest=155) == {0: 150, 1: AT_ITS_END}


async def test_a_look_begins_as_soon_as_something_has_been_read_and_holds_for_that() -> None:
    thread, at_ends = Thread(), {0: (4, 4, 80), 1: (4, 4, 80)}
    async with watching(thread) as watch:
        waiting = WaitingInput(R0)
        watch.note_read(waiting, 1, 5, 90)
        await thread.begun(1)
        await thread.answer(at_ends, written=5)
        assert watch.reached(waiting, 1, 5, 90) == {0: AT_ITS_END, 1: AT_ITS_END}


async def test_a_look_that_is_under_way_does_not_hold_for_what_is_read_meanwhile() -> None:
    thread, at_ends = Thread(), {0: (4, 4, 80), 1: (4, 4, 80)}
    async with watching(thread) as watch:
        waiting = WaitingInput(R0)
        watch.note_read(waiting, 1, 5, 90)
        await thread.begun(1)
        watch.note_read(waiting, 1, 6, 95)
        await thread.begun(1)
        await thread.answer(at_ends, written=6)
        assert watch.reached(waiting, 1, 6, 95) == {0: 91, 1: 91}
        await thread.begun(2)
        await thread.answer(at_ends, written=6)
        assert watch.reached(waiting, 1, 6, 95) == {0: AT_ITS_END, 1: AT_ITS_END}


async def test_records_of_another_input_wait_for_a_look_that_was_begun_when_they_had_been_read() -> (
    None
):
    thread, at_ends = Thread(), {0: (3, 9, 50), 1: (4, 4, 60)}
    async with watching(thread) as watch:
        waiting = WaitingInput(R0)
        watch.note_read(waiting, 1, 5, 45, {"y": ReadInput(7, 70), "z": ReadInput(0, -1)})
        await thread.begun(1)
        await thread.answer(at_ends, written=5)
        now = {"y": ReadInput(8, 90), "z": ReadInput(0, -1)}
        assert watch.reached(waiting, 1, 5, 45, now) == {0: 50, 1: AT_ITS_END}
        assert waiting.for_others == {"y": {0: 50, 1: 71}, "z": {0: 50, 1: AT_ITS_END}}
        await thread.begun(2)
        await thread.answer(at_ends, written=5)
        watch.reached(waiting, 1, 5, 45, now)
        assert waiting.for_others["y"] == {0: 50, 1: AT_ITS_END}
        thread.tasks = {(0, 0): local(3, 9, 50), (0, 1): local(4, 4, 60)}
        watch.tell_news()
        watch.reached(waiting, 1, 5, 45, now)
        assert waiting.for_others == {}, "all are here: for all inputs the same holds"


async def test_nobody_looks_where_no_record_waits() -> None:
    """The look would hold up the next one, for which the next record waits."""
    thread, at_ends = Thread(), {0: (4, 4, 80), 1: (4, 4, 80)}
    async with watching(thread) as watch:
        waiting = WaitingInput(R0)
        for record in range(1, 4):
            watch.note_read(waiting, 1, record, 90)
            await thread.begun(record)
            await thread.answer(at_ends, written=record)
            told = watch.reached(waiting, 1, record, 90)
            assert told == {0: AT_ITS_END, 1: AT_ITS_END}
            await thread.begun(record)


async def test_whoever_has_read_during_a_look_need_not_ask_for_the_next_one() -> None:
    thread, at_ends = Thread(), {0: (4, 4, 80), 1: (4, 4, 80)}
    async with watching(thread) as watch:
        waiting = WaitingInput(R0)
        watch.note_read(waiting, 1, 5, 90)
        watch.note_read(waiting, 1, 5, 90)
        await thread.begun(1)
        watch.note_read(waiting, 1, 6, 95)
        await thread.answer(at_ends, written=6)
        await thread.begun(2)
        await thread.answer(at_ends, written=6)
        await thread.begun(2)
        assert watch.reached(waiting, 1, 6, 95) == {0: AT_ITS_END, 1: AT_ITS_END}


async def test_what_one_has_reached_itself_holds_whatever_was_read_since() -> None:
    thread = Thread()
    async with watching(thread) as watch:
        waiting = WaitingInput(R0)
        watch.reached(waiting, 1, read_to=5, newest=10)
        await thread.begun(1)
        await thread.answer({0: (3, 9, 500), 1: (4, 4, 600)}, written=5)
        assert watch.reached(waiting, 1, read_to=7, newest=490) == {0: 500, 1: 600}


async def test_tasks_that_have_come_since_are_not_taken_for_those_that_were_there() -> None:
    """A source topic has got more partitions: what was told before says nothing of the new task."""
    more = TaskFlow(FLOW.alignment, {0: {0: ("x",), 1: ("x",), 2: ("x",)}, 1: {0: ("r",)}})
    thread = Thread()
    async with watching(thread) as watch:
        waiting = WaitingInput(R0)
        watch.reached(waiting, 1, read_to=5, newest=10)
        await thread.begun(1)
        await thread.answer({0: (3, 9, 50), 1: (4, 4, 60)}, written=5)
        assert watch.reached(waiting, 1, read_to=5, newest=10) == {0: 50, 1: AT_ITS_END}
        await thread.begun(2)
        watch.follow(more)
        await thread.answer({0: (3, 9, 50), 1: (4, 4, 60)}, written=5)  # it was begun before
        assert watch.reached(waiting, 1, read_to=5, newest=10) == {
            0: NOT_BEGUN,
            1: NOT_BEGUN,
            2: NOT_BEGUN,
        }
        await thread.begun(3)
        await thread.answer({0: (3, 9, 50), 1: (4, 4, 60), 2: (0, 1, -1)}, written=5)
        assert watch.reached(waiting, 1, read_to=5, newest=10) == {0: 50, 1: AT_ITS_END, 2: -1}


async def test_a_look_that_fails_is_begun_again() -> None:
    thread = Thread()
    async with watching(thread) as watch:
        waiting = WaitingInput(R0)
        watch.reached(waiting, 1, read_to=5)
        await thread.begun(1)
        await thread.answer({}, 0, CoordinatorNotAvailable())
        assert watch.reached(waiting, 1, read_to=5) == NOT_KNOWN
        await thread.begun(2)


async def test_another_thread_looks_where_the_one_that_did_has_left() -> None:
    first, second = Thread(), Thread()
    async with watching(first) as watch:
        watch.join("2", lambda: second.tasks, second.look, second.scope)
        watch.reached(WaitingInput(R0), 1, read_to=5)
        await first.begun(1)
        watch.leave("1")
        await first.scope.close()
        watch.reached(WaitingInput(R0), 1, read_to=5)
        await second.begun(1)
        await second.scope.close()


async def test_where_the_other_processes_of_the_instance_have_the_rest_nobody_looks_at_the_cluster() -> (
    None
):
    thread = Thread({(0, 0): local(3, 9, 50), (1, 0): local(0, None, -1)})
    others = {(0, 1): local(4, 4, 60, (7, 55), unwritten=58)}

    async def ask() -> Mapping[TaskKey, LocalTask]:
        return others

    async with watching(thread) as watch:
        watch.ask_instance = ask
        waiting = WaitingInput(R0)
        assert watch.reached(waiting, 1, read_to=7, newest=90) == NOT_KNOWN
        await thread.begun(0)
        assert watch.reached(waiting, 1, read_to=6, newest=90) == NOT_KNOWN, "not read so far"
        assert watch.reached(waiting, 1, read_to=7, newest=90) == {0: 50, 1: 58}
        await thread.begun(0)


async def test_who_has_all_tasks_of_the_application_in_its_instance_is_asked_again_after_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    thread = Thread({(0, 0): local(3, 9, 50)})
    others: dict[TaskKey, LocalTask] = {(0, 1): local(8, 8, 60), (1, 0): local(0, 9, 0)}

    async def ask() -> Mapping[TaskKey, LocalTask]:
        return others

    async with watching(thread) as watch:
        assert not watch.all_in_instance
        watch.ask_instance = ask
        assert not watch.all_in_instance, "nobody has been asked"
        await thread.begun(0)
        assert watch.all_in_instance
        del others[0, 1]
        await thread.begun(0)
        assert watch.all_in_instance, "asked a moment ago"
        monkeypatch.setattr(watch_module, "ANSWERS_HOLD_S", 0)
        watch._in_instance_until_s = 0
        assert watch.all_in_instance, "asked just now"
        await thread.begun(1)
        assert not watch.all_in_instance


async def test_the_cluster_is_looked_at_for_tasks_of_other_instances() -> None:
    thread = Thread({(0, 0): local(3, 9, 50)})

    async def ask() -> Mapping[TaskKey, LocalTask]:
        return {}

    async with watching(thread) as watch:
        watch.ask_instance = ask
        watch.reached(WaitingInput(R0), 1, read_to=7, newest=90)
        await thread.begun(1)


async def test_a_process_of_the_instance_that_does_not_answer_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watch_module, "ASK_TIMEOUT_S", 0)
    thread = Thread({(0, 0): local(3, 9, 50)})

    async def ask() -> Mapping[TaskKey, LocalTask]:
        return await asyncio.get_running_loop().create_future()

    async with watching(thread) as watch:
        watch.ask_instance = ask
        watch.reached(WaitingInput(R0), 1, read_to=7, newest=90)
        await thread.begun(1)


async def test_what_the_newest_look_tells_counts_although_an_older_one_waits_for_its_end() -> None:
    thread = Thread({(0, 0): local(3, 9, 50)})
    async with watching(thread) as watch:
        waiting = WaitingInput(R0)
        watch.reached(waiting, 1, read_to=5, newest=90)
        await thread.begun(1)
        await thread.answer({0: (3, 9, 50), 1: (2, 8, 40)}, 9)
        assert watch.reached(waiting, 1, read_to=8, newest=90) == NOT_KNOWN
        watch._ask()
        await thread.begun(2)
        await thread.answer({0: (9, 9, 70), 1: (8, 8, 60)}, 9)
        assert watch.reached(waiting, 1, read_to=9, newest=90) == {0: 91, 1: 91}


async def test_a_task_that_comes_here_must_have_been_read_as_far_as_it_had_written_elsewhere() -> (
    None
):
    thread = Thread({(0, 0): local(3, 9, 50)})
    async with watching(thread) as watch:
        assert not watch.is_here(1)
        thread.tasks[0, 1] = local(4, 4, 60, (20, NOT_BEGUN))
        watch.tell_news()
        assert watch.is_here(1)
        assert watch.reached(WaitingInput(R0), 1, read_to=19) == {0: 50, 1: NOT_BEGUN}
        assert watch.reached(WaitingInput(R0), 1, read_to=20) == {0: 50, 1: AT_ITS_END}


async def test_what_a_task_tells_other_processes_is_all_that_they_look_at() -> None:
    thread, there = (
        Thread(),
        {(0, n): local(4, 4, 80, *((5 + each, 60) for each in range(20))) for n in (0, 1)},
    )

    async def ask() -> Mapping[TaskKey, LocalTask]:
        told = {key: task.for_others for key, task in there.items()}
        assert len(pickle.dumps(told)) < len(pickle.dumps(there))
        return told

    async with watching(thread) as watch:
        watch.ask_instance = ask
        thread.tasks[1, 0] = LocalTask(TaskProgress({"r": 0}), {"r": 24})
        waiting = WaitingInput(R0)
        watch.note_read(waiting, 1, 23, 90)
        await thread.begun(0)
        assert watch.reached(waiting, 1, 23, 90) == NOT_KNOWN, "one of them has written more"
        assert watch.reached(waiting, 1, 24, 90) == {0: 91, 1: 91}


def test_in_another_process_it_begins_anew() -> None:
    watch = UpstreamWatch()
    watch.follow(FLOW)
    assert pickle.loads(pickle.dumps(watch)).origin_times(0) == {}


async def test_a_look_that_ends_with_its_thread_before_it_began_holds_up_nobody() -> None:
    first, second = Thread(), Thread()
    async with watching(first) as watch:
        watch.join("2", lambda: second.tasks, second.look, second.scope)
        waiting = WaitingInput(R0)
        watch.reached(waiting, 1, 0)
        watch.leave("1")
        await first.scope.close()
        assert first.asked == []
        watch.reached(waiting, 1, 0)
        await second.begun(1)
        watch.leave("2")
        await second.scope.close()
