"""The standbys of a task host: those that the driver has asked for lately, brought a little further at each turn."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from millstream.runtime import Clock
from millstream.spark.pipeline.messages import KeepStandbys, Standby, StandbysKept
from millstream.streams.runtime.spec import TaskSpec
from millstream.streams.runtime.tasks.task_manager import TaskManager

LEASE_MS: Final = 60_000
"""A standby that the driver has not asked for again for so long is closed."""
RECORDS_MAX: Final = 100_000
"""Records of each changelog at a turn: a task that comes back waits for no longer than these take."""
_LOGGER = logging.getLogger(__name__)

Key = tuple[str, str]
"""Application id and the name of the task."""


@dataclass(frozen=True, slots=True)
class WantedStandby:
    """One that the driver wants. `digest` is of its application."""

    standby: Standby
    digest: str
    until_ms: int


class HostStandbys:
    """Its owner sees to it that no two calls for the same task come at a time."""

    def __init__(self, clock: Clock, tasks: TaskManager[Key]) -> None:
        self._clock = clock
        self._tasks = tasks
        self._wanted: dict[Key, WantedStandby] = {}
        self._ready: set[Key] = set()
        """Those that lack no more than a turn brings."""

    def keep(self, request: KeepStandbys, name_of: Callable[[Standby], str]) -> StandbysKept:
        """Takes up what is asked for, and returns what is ready of it. `name_of` gives the name of a standby's task."""
        until_ms = self._clock.now().monotonic_ms + LEASE_MS
        for each in request.standbys:
            key = request.application_id, name_of(each)
            self._wanted[key] = WantedStandby(each, request.application_digest, until_ms)
        return StandbysKept(
            tuple(
                (wanted.standby.sub_topology, wanted.standby.partition)
                for key, wanted in self._wanted.items()
                if key[0] == request.application_id and key in self._ready
            )
        )

    def forget(self, application_id: str) -> None:
        """Wants none of an application any more; they are closed one by one."""
        for key in list(self._wanted):
            if key[0] == application_id:
                del self._wanted[key]

    def wanted(self) -> list[Key]:
        """Returns those that are to be kept now."""
        now_ms = self._clock.now().monotonic_ms
        self._wanted = {key: each for key, each in self._wanted.items() if each.until_ms >= now_ms}
        return list(self._wanted)

    def wanted_now(self, key: Key) -> WantedStandby | None:
        """Returns what the driver wants of a standby; None where it was given up since."""
        return self._wanted.get(key)

    def unwanted(self) -> list[Key]:
        """Returns those that are open and have to be closed."""
        open_here = self._tasks.tasks(is_standby=True).items()
        return [key for key, task in open_here if task.standby and key not in self._wanted]

    def digest_of(self, key: Key) -> str:
        """Returns that of the application which a standby is kept for."""
        return self._wanted[key].digest

    async def catch_up(self, key: Key, spec: TaskSpec, partition: int) -> int:
        """Brings a standby further, and returns how many records are left.

        Where the task itself has its stores on this disk, there is none: no copy could be more up to date. A standby
        that fails is closed, and begins anew at the next turn.
        """
        left = 0
        if key not in self._wanted:  # it was given up while its turn was waited for
            return left
        try:
            task = self._tasks.get(key)
            if task is None or task.standby is None:
                self._tasks.create(key, spec, partition, is_standby=True)
            standby = await self._tasks.standby(key)
            if standby is None:
                self._ready.add(key)
            elif key in self._wanted:
                left = await standby.catch_up(RECORDS_MAX)
                if left <= RECORDS_MAX:
                    self._ready.add(key)
        except Exception as error:  # noqa: BLE001  # nothing rests on a standby
            _LOGGER.warning("the standby of task %s begins anew: %s", key[1], error)
            await self.close(key)
        return left

    async def close_all(self) -> None:
        """Wants none any more, and closes what is open."""
        self._wanted.clear()
        for key in self._tasks.tasks(is_standby=True):
            await self.close(key)

    async def give_up(self, key: Key) -> None:
        """Closes a standby until it is asked for again: its task comes here, or another process wants its stores."""
        self._wanted.pop(key, None)
        await self.close(key)

    async def close(self, key: Key) -> None:
        """Closes a standby, if there is one."""
        self._ready.discard(key)
        task = self._tasks.get(key)
        if task is not None and task.is_standby:
            await self._tasks.close((key,), None)
