"""One task that a host has, active or standby, through all attempts to run it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from millstream.streams.errors import TaskTimedOut
from millstream.streams.queries.result import (
    FailureReason,
    QueryResult,
    StateQueryRequest,
)
from millstream.streams.runtime.failures import is_disk_failure
from millstream.streams.runtime.spec import TaskSpec
from millstream.streams.runtime.tasks.active_task import ActiveTask
from millstream.streams.runtime.tasks.standby_task import StandbyTask
from millstream.streams.runtime.tasks.task_start import TaskStart
from millstream.streams.runtime.tasks.task_state import TaskLifeState, require_transition

_LOGGER = logging.getLogger(__name__)


class Task:
    """Its state, and what of it is open: a start that is under way, the active task, or the standby task.

    Not for use by two callers at a time, but for questions.
    """

    def __init__(self, spec: TaskSpec, partition: int, *, is_standby: bool = False) -> None:
        self.id: Final = spec.task_id(partition)
        self.spec: Final = spec
        self.partition: Final = partition
        self.is_standby: Final = is_standby
        self.state = TaskLifeState.CREATED
        self.start: TaskStart | None = None
        """The attempt that restores it."""
        self.active: ActiveTask | None = None
        self.standby: StandbyTask | None = None
        self._failing_since_ms: int | None = None
        self._is_reviving = False

    @property
    def order(self) -> tuple[int, int]:
        """The place among the tasks of an application: by sub-topology and partition."""
        return self.spec.sub_topology, self.partition

    @property
    def running(self) -> ActiveTask:
        """The active task, which is there while the state is RUNNING."""
        assert self.active is not None, f"task {self.id} is {self.state}"
        return self.active

    def enter(self, state: TaskLifeState) -> None:
        """Goes to another state. Raises IllegalState where no way leads there."""
        require_transition(self.id, self.state, state)
        self.state = state

    async def restore(self, start: TaskStart) -> None:
        """Makes an attempt to start it, which leaves nothing open where it raises. `complete_restoration` follows."""
        self.enter(TaskLifeState.RESTORING)
        self.start = start
        self.active = await start.start()

    def complete_restoration(self) -> None:
        """Begins to run: stores and position are those of the last commit."""
        self.enter(TaskLifeState.RUNNING)
        self.start = None

    def run_standby(self, standby: StandbyTask) -> None:
        """Takes the standby task, whose stores are opened by its first look at the changelogs."""
        self.enter(TaskLifeState.RESTORING)
        self.standby = standby
        self.enter(TaskLifeState.RUNNING)

    def suspend(self) -> None:
        """Ends processing. What is processed and not committed can still be committed."""
        if self.state not in {TaskLifeState.SUSPENDED, TaskLifeState.CLOSED}:
            self.enter(TaskLifeState.SUSPENDED)

    async def close(self) -> None:
        """Closes what is open, whatever that raises: what is not committed is aborted. Idempotent.

        Whoever is cancelled in it leaves it to be closed again, which waits for the first time.
        """
        self.suspend()
        opened = self.active or self.standby
        if opened is not None:
            try:
                await opened.close()
            except Exception as error:  # whatever users' processors and stores raise
                is_known = is_disk_failure(error)
                _LOGGER.log(
                    logging.WARNING if is_known else logging.ERROR,
                    "%s %s was not closed in order: %s",
                    *("standby task" if self.is_standby else "task", self.id, error),
                    exc_info=not is_known,
                )
        self.start = self.active = self.standby = None
        if self.state is TaskLifeState.SUSPENDED:
            self.enter(TaskLifeState.CLOSED)

    async def close_and_revive(self) -> None:
        """Closes what a failed attempt has left, and makes the task ready for the next one."""
        # It stays here: who asks meanwhile must not take its rows for missing.
        self._is_reviving = True
        try:
            await self.close()
            self.enter(TaskLifeState.CREATED)
        finally:
            self._is_reviving = False

    def maybe_init_timeout_or_raise(self, error: Exception, now_ms: int) -> None:
        """Notes a failure after which the task would be tried again, as KIP-572 has it.

        The first one begins its time. Raises TaskTimedOut once that is over.
        """
        timeout_ms = self.spec.config.task_timeout_ms
        if self._failing_since_ms is None:
            self._failing_since_ms = now_ms
        if now_ms - self._failing_since_ms >= timeout_ms:
            raise TaskTimedOut(
                f"task {self.id} made no progress within {timeout_ms} ms; raise task_timeout_ms if it needs more. The last cause: "
                f"{type(error).__name__}: {error}"
            ) from error

    def clear_timeout(self) -> None:
        """Notes that the task has committed, or has nothing to commit."""
        self._failing_since_ms = None

    def is_asked(self, request: StateQueryRequest) -> bool:
        """Whether a request is about a store of this task."""
        is_wanted = request.partitions is None or self.partition in request.partitions
        return is_wanted and self.spec.has_store(request.store)

    async def query(self, request: StateQueryRequest) -> QueryResult | None:
        """Asks a store; None where none is open."""
        if self.state is TaskLifeState.RUNNING and self.active is not None:
            return await self.active.query(request)
        is_over = self.state in {TaskLifeState.SUSPENDED, TaskLifeState.CLOSED}
        if is_over and not (self.is_standby or self._is_reviving):
            return None
        if request.require_active:
            what = "a standby task here" if self.is_standby else "being restored"
            return QueryResult(
                failure=FailureReason.NOT_ACTIVE,
                message=f"an active task is required, and task {self.id} is {what}",
                is_being_restored=not self.is_standby,
            )
        if self.standby is not None:
            return await self.standby.query(request)
        return None if self.start is None else await self.start.stores.query(request)

    async def restored_to(self) -> Mapping[str, int] | None:
        """Returns, by changelog topic, how far its stores are restored; None for a running task, which writes them."""
        if self.standby is not None:
            return dict(self.standby.restored_to)
        if self.state is TaskLifeState.RUNNING:
            return None
        return {} if self.start is None else await self.start.stores.restored_to()
