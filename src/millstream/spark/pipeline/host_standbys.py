"""The standbys of a task host: those that the driver has asked for lately, brought a little further at each turn."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from millstream.runtime import Clock
from millstream.spark.pipeline.messages import KeepStandbys, Standby, StandbysKept
from millstream.streams.runtime.tasks.standby_task import StandbyTask

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

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._wanted: dict[Key, WantedStandby] = {}
        self._open: dict[Key, StandbyTask] = {}
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

    def wanted(self) -> list[tuple[Key, WantedStandby]]:
        """Returns those that are to be kept now."""
        now_ms = self._clock.now().monotonic_ms
        self._wanted = {key: each for key, each in self._wanted.items() if each.until_ms >= now_ms}
        return list(self._wanted.items())

    def unwanted(self) -> list[Key]:
        """Returns those that are open and have to be closed."""
        return [key for key in self._open if key not in self._wanted]

    async def catch_up(self, key: Key, make: Callable[[], Awaitable[StandbyTask | None]]) -> int:
        """Brings a standby further, and returns how many records are left.

        `make` makes it, or gives None where the task itself has its stores on this disk: no copy could be more up to
        date. A standby that fails is closed, and begins anew at the next turn.
        """
        left = 0
        try:
            standby = self._open.get(key) or await make()
            if standby is None:
                self._ready.add(key)
            elif key in self._wanted:
                self._open[key] = standby
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
        for key in list(self._open):
            await self.close(key)

    async def give_up(self, key: Key) -> None:
        """Closes a standby until it is asked for again: its task comes here, or another process wants its stores."""
        self._wanted.pop(key, None)
        await self.close(key)

    async def close(self, key: Key) -> None:
        """Closes a standby, if there is one."""
        self._ready.discard(key)
        standby = self._open.pop(key, None)
        if standby is not None:
            try:
                await standby.close()
            except Exception:  # whatever stores of users raise
                _LOGGER.exception("the standby of task %s was not closed in order", key[1])
