"""The standby tasks of a stream thread: brought further in turns, begun anew where they fail, closed when they are given up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import pytest

from millstream.clients.admin.core.results import Results
from millstream.clients.core.values import OffsetAndTimestamp
from millstream.errors import KafkaError, UnknownTopicOrPartition
from millstream.model import TopicPartition
from millstream.runtime.system import SystemClock
from millstream.streams import Materialized, StreamsBuilder, StreamsConfig
from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.application.standby_updater import (
    RECORDS_MAX,
    StandbyUpdater,
    next_pause_ms,
)
from millstream.streams.queries import FailureReason, KeyQuery, QueryResult, StateQueryRequest
from millstream.streams.runtime.clients import TaskClients
from millstream.streams.runtime.errors import DataLoss, StoreLocked
from millstream.streams.runtime.spec import TaskEnvironment, TaskSpec
from millstream.streams.runtime.tasks import task_manager
from millstream.streams.runtime.tasks.task_manager import TaskManager, ThreadTaskCreator
from millstream.streams.serdes import string

FIRST, SECOND = StreamsTaskId(0, 0), StreamsTaskId(0, 1)
REQUEST = StateQueryRequest("counts", KeyQuery("a"))


class Copy:
    """Stands for a StandbyTask: each turn brings `RECORDS_MAX` records, of `records`."""

    made: list[Copy]
    records = 2 * RECORDS_MAX + 1
    failures: list[Exception]
    opens: asyncio.Event

    def __init__(self, _spec: TaskSpec, partition: int, _environment: TaskEnvironment) -> None:
        self.partition = partition
        self.covers: dict[str, int] = {}
        self.restored_to: dict[str, int] = {}
        self.inputs = frozenset({TopicPartition("in", partition)})
        self.changelogs = frozenset({TopicPartition("log", partition)})
        self.asked: list[tuple[Mapping[str, int], Mapping[str, int]]] = []
        self.turns = 0
        self.is_closed = False
        self.made.append(self)

    async def open(self) -> None:
        await self.opens.wait()

    async def note_commit(self) -> None:
        if self.failures:
            raise self.failures.pop()

    async def catch_up(self, records_max: int) -> int:
        self.turns += 1
        end = min(self.records, self.restored_to.get("log", 0) + records_max)
        self.restored_to["log"] = end
        if end == self.records:
            self.covers = {"in": end}
        return self.records - end

    def lacks(self, committed: Mapping[str, int], ends: Mapping[str, int]) -> bool:
        self.asked.append((committed, ends))
        return ends["log"] > self.restored_to["log"]

    async def query(self, _: StateQueryRequest) -> QueryResult:
        return QueryResult(self.partition)

    async def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> type[Copy]:
    Copy.made, Copy.failures, Copy.opens = [], [], asyncio.Event()
    monkeypatch.setattr(Copy, "records", 2 * RECORDS_MAX + 1)
    Copy.opens.set()
    monkeypatch.setattr(task_manager, "StandbyTask", Copy)
    return Copy


def spec(*, with_store: bool = True) -> TaskSpec:
    builder = StreamsBuilder()
    values = builder.stream("in", key=string(), value=string())
    if with_store:
        values.group_by_key().count(materialized=Materialized("counts"))
    else:
        values.to("out")
    config = StreamsConfig(application_id="app")
    return TaskSpec(topology=builder.build(), sub_topology=0, config=config, state_directory="")


class Clients:
    """Stands for TaskClients: `end` is that of all changelogs. Counts the questions of looks."""

    is_read_committed = True

    def __init__(self) -> None:
        self.end = Copy.records
        self.looks = self.questions = 0
        self.failures: list[Exception] = []
        self.unanswered: set[TopicPartition] = set()
        self.admin = self

    async def committed_offsets(
        self, _group: str, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, int]:
        self.looks += 1
        self.questions += 1
        if self.failures:
            raise self.failures.pop()
        return dict.fromkeys(partitions, 7)

    async def list_offsets(
        self, wanted: Mapping[TopicPartition, int], **_settings: object
    ) -> Results[TopicPartition, OffsetAndTimestamp]:
        self.questions += 1
        answers: dict[TopicPartition, OffsetAndTimestamp | KafkaError] = {
            each: UnknownTopicOrPartition()
            if each in self.unanswered
            else OffsetAndTimestamp(self.end, -1)
            for each in wanted
        }
        return Results(answers)


class Manager(TaskManager[StreamsTaskId]):
    """Restores active tasks as the test says."""

    stands_back: Callable[[], bool] = staticmethod(lambda: False)

    @property
    def is_settled(self) -> bool:
        return not self.stands_back()


def standbys(
    stands_back: Callable[[], bool] = lambda: False,
    on_change: Callable[[], None] = lambda: None,
    clients: Clients | None = None,
) -> StandbyUpdater:
    asked = cast("TaskClients", Clients() if clients is None else clients)
    environment = TaskEnvironment(asked, SystemClock(), ThreadPoolExecutor(1))
    manager = Manager(ThreadTaskCreator(environment, None), environment.clock, "thread")
    manager.stands_back = stands_back
    return StandbyUpdater(
        manager,
        asked,
        on_change,
        log_prefix="thread",
        stand_back_ms=0,
        look_ms=0,
        retry_ms=0,
    )


async def until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110  # turns of the loop are what is waited for
        await asyncio.sleep(0)


async def test_copies_take_turns_until_they_lack_nothing_and_look_again(
    copies: type[Copy],
) -> None:
    changes: list[None] = []
    clients = Clients()
    kept = standbys(on_change=lambda: changes.append(None), clients=clients)
    kept.take({FIRST: spec(), SECOND: spec()})
    assert kept.tasks == {FIRST: {}, SECOND: {}}
    whole = {FIRST: {"in": copies.records}, SECOND: {"in": copies.records}}
    await until(lambda: kept.tasks == whole)
    assert kept.restored_to == {
        FIRST: {"log": copies.records},
        SECOND: {"log": copies.records},
    }
    assert len(changes) == 6, "three turns each, and none for nothing"
    copies.records += 1
    clients.end += 1
    await until(lambda: all(each.turns == 4 for each in copies.made))
    await kept.close()
    assert [each.is_closed for each in copies.made] == [True, True]
    assert kept.tasks == {}


@pytest.mark.parametrize("error", [DataLoss("cut off"), StoreLocked("open"), KeyError("a bug")])
async def test_a_copy_that_fails_begins_anew(
    copies: type[Copy], error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    copies.failures.append(error)
    kept = standbys()
    with caplog.at_level("INFO"):
        kept.take({FIRST: spec()})
        await until(lambda: kept.tasks[FIRST] == {"in": copies.records})
    assert [each.is_closed for each in copies.made] == [True, False]
    assert f"thread standby task [0_0] begins anew in 0.0 s: {error}" in caplog.text
    await kept.close()


async def test_a_task_without_changelogs_is_had_and_nothing_is_done(copies: type[Copy]) -> None:
    kept = standbys()
    kept.take({FIRST: spec(with_store=False)})
    assert kept.tasks == {FIRST: {}}
    assert await kept._manager.query(REQUEST) == {}
    await kept.give_up(frozenset({FIRST}))
    assert copies.made == []


async def test_copies_stand_back_while_active_tasks_are_restored(copies: type[Copy]) -> None:
    is_restoring, asked = True, 0

    def stands_back() -> bool:
        nonlocal asked
        asked += 1
        return is_restoring

    kept = standbys(stands_back)
    kept.take({FIRST: spec()})
    await until(lambda: asked > 2)
    assert copies.made == []
    is_restoring = False
    await until(lambda: kept.tasks[FIRST] == {"in": copies.records})
    await kept.close()


async def test_one_whose_stores_another_task_has_holds_up_nobody_and_is_given_up(
    copies: type[Copy],
) -> None:
    copies.opens.clear()
    kept = standbys()
    kept.take({FIRST: spec()})
    await until(lambda: len(copies.made) == 1)
    await kept.give_up(frozenset({FIRST}))
    copies.opens.set()
    kept.take({SECOND: spec()})
    await until(lambda: kept.tasks[SECOND] == {"in": copies.records})
    await kept.give_up(frozenset({FIRST, SECOND}))
    assert [(each.is_closed, each.turns > 2) for each in copies.made] == [
        (True, False),
        (True, True),
    ]


async def test_copies_answer_unless_an_active_task_is_required(copies: type[Copy]) -> None:
    kept = standbys()
    kept.take({FIRST: spec(), SECOND: spec()})
    await until(lambda: len(copies.made) == 2)
    assert await kept._manager.query(REQUEST) == {0: QueryResult(0), 1: QueryResult(1)}
    only = StateQueryRequest("counts", KeyQuery("a"), (1,), require_active=True)
    found = await kept._manager.query(only)
    assert {number: each.failure for number, each in found.items()} == {1: FailureReason.NOT_ACTIVE}
    assert found[1].message == "an active task is required, and task 0_1 is a standby task here"
    assert await kept._manager.query(StateQueryRequest("others", KeyQuery("a"))) == {}
    await kept.close()


async def test_one_look_is_for_all_copies_and_wakes_those_that_lack_something(
    copies: type[Copy],
) -> None:
    clients = Clients()
    kept = standbys(clients=clients)
    kept.take({FIRST: spec(), SECOND: spec()})
    await until(lambda: [each.turns for each in copies.made] == [3, 3])
    looks = clients.looks
    await until(lambda: clients.looks > looks + 5)
    assert clients.questions in {2 * clients.looks, 2 * clients.looks - 1}, "two for both"
    assert [each.turns for each in copies.made] == [3, 3], "they lack nothing"
    assert copies.made[0].asked[-1] == ({"in": 7}, {"log": copies.records})
    clients.unanswered = set(copies.made[1].changelogs)
    await until(lambda: copies.made[1].turns > 4)
    assert copies.made[0].turns == 3, "the other one finds out why"
    await kept.close()


@pytest.mark.parametrize("error", [UnknownTopicOrPartition("gone"), KeyError("a bug")])
async def test_copies_look_themselves_where_the_look_for_all_fails(
    copies: type[Copy], error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    clients = Clients()
    kept = standbys(clients=clients)
    kept.take({FIRST: spec()})
    with caplog.at_level("INFO"):
        await until(lambda: clients.looks > 2)
        clients.failures.append(error)
        await until(lambda: copies.made[0].turns == 4)
    assert "thread could not look after its copies" in caplog.text
    await until(lambda: clients.looks > 5)
    await kept.close()


def test_looks_become_rare_while_nothing_comes() -> None:
    pauses = [500]
    for has_news in (False, False, False, True, False):
        pauses.append(next_pause_ms(pauses[-1], 500, has_news=has_news))
    assert pauses == [500, 1000, 2000, 2000, 500, 1000]
