"""A stream thread brings its tasks to what the group wants, whatever the group comes to want while it does so."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast

from millstream.protocol.generated.streams_group_heartbeat import (
    StreamsGroupHeartbeatResponse,
    TaskIds,
)
from millstream.streams.application.group.membership import (
    StreamsMembership,
    StreamsMembershipPolicy,
    StreamsTaskId,
    TaskAssignment,
)
from millstream.streams.application.standby_updater import StandbyUpdater
from millstream.streams.application.states import ThreadState
from millstream.streams.application.task_executor import TaskExecutor
from millstream.streams.application.task_reconciler import TaskReconciler, ThreadMember
from millstream.streams.application.task_specs import TaskSpecs
from millstream.streams.runtime.spec import TaskSpec

FIRST, SECOND = StreamsTaskId(0, 0), StreamsTaskId(0, 1)
POLICY = StreamsMembershipPolicy("app", None, "process", rebalance_timeout_ms=60_000)

Tasks = set[StreamsTaskId]


async def _nothing() -> None:
    """Happens meanwhile."""


@dataclass
class Kept:
    """Stands for the active tasks, or the copies, of a thread."""

    tasks: Tasks = field(default_factory=set)

    def take(self, specs: Mapping[StreamsTaskId, TaskSpec]) -> None:
        assert not specs.keys() & self.tasks
        self.tasks |= specs.keys()

    async def give_up(self, keys: Collection[StreamsTaskId], *, commit: bool = False) -> None:
        del commit
        self.tasks -= set(keys)

    async def close(self, *, commit: bool = False) -> None:
        await self.give_up(set(self.tasks), commit=commit)


@dataclass
class Group:
    """A coordinator, and the member of it: the real one, whose heartbeats the test sends."""

    meanwhile: Callable[[], Awaitable[None]] = _nothing
    """Happens while the cluster is asked for the topics of tasks."""

    def __post_init__(self) -> None:
        self.membership = StreamsMembership(POLICY, "member")
        self.active, self.copies = Kept(), Kept()
        self.reconciler = TaskReconciler(
            "thread",
            cast("ThreadMember", self),
            cast("TaskExecutor", self.active),
            cast("StandbyUpdater", self.copies),
            cast("TaskSpecs", self),
            self._enter,
            lambda *_: None,
        )

    def beat(self, *wanted: StreamsTaskId, error_code: int = 0) -> None:
        """The member says what it has to say, and is told what it is to have."""
        request = self.membership.heartbeat_request(0)
        partitions = sorted(task.partition for task in wanted)
        response = StreamsGroupHeartbeatResponse(
            error_code=error_code,
            member_id="member",
            member_epoch=1,
            active_tasks=[TaskIds("0", partitions)] if partitions else [],
        )
        self.membership.handle_heartbeat(request, response)

    async def turn(self) -> Tasks:
        """A turn of the thread. Returns the tasks that it has then."""
        await self.reconciler.reconcile()
        return self.active.tasks

    # The member, and the topics of tasks, as the reconciler sees them.

    def acknowledge(self, owned: TaskAssignment) -> None:
        self.membership.acknowledge(owned)

    def rejoin(self) -> None:
        self.membership.rejoin()

    async def of(
        self, wanted: Iterable[StreamsTaskId], _assigned: object
    ) -> Mapping[StreamsTaskId, TaskSpec]:
        happening, self.meanwhile = self.meanwhile, _nothing
        await happening()
        return dict.fromkeys(wanted, cast("TaskSpec", None))

    async def follow_upstreams(self) -> None:
        """There are none."""

    def _enter(self, _state: ThreadState) -> bool:
        return True


async def test_a_task_that_is_wanted_back_before_the_group_was_told_runs_again() -> None:
    """The coordinator was told by the heartbeat in between that the member has it: for it nothing has changed."""
    group = Group()
    group.beat(FIRST, SECOND)
    assert await group.turn() == {FIRST, SECOND}
    group.beat(FIRST, SECOND)

    async def wants_it_back() -> None:
        assert group.active.tasks == {FIRST}
        group.membership.handle_failure()  # the coordinator has moved: all is said again
        group.beat(FIRST, SECOND)
        assert group.membership.is_reconciled

    group.beat(FIRST)
    group.meanwhile = wants_it_back
    await group.turn()
    assert await group.turn() == {FIRST, SECOND}


async def test_what_is_wanted_and_there_is_not_touched() -> None:
    group = Group()
    group.beat(FIRST)
    await group.turn()
    group.beat(FIRST)
    group.meanwhile = lambda: _fail("nothing is asked of the cluster")
    assert await group.turn() == {FIRST}


async def test_a_member_that_is_counted_out_meanwhile_starts_nothing() -> None:
    """To start a task is to fence its other owners, and that may be the rightful one by now."""
    group = Group()
    group.beat(FIRST)

    async def counts_it_out() -> None:
        group.beat(error_code=25)  # UNKNOWN_MEMBER_ID
        assert group.membership.has_lost_tasks

    group.meanwhile = counts_it_out
    assert await group.turn() == set()
    await group.turn()
    assert not group.membership.has_lost_tasks
    group.beat(FIRST)
    assert await group.turn() == {FIRST}


async def _fail(why: str) -> None:
    raise AssertionError(why)
