"""Deletes, time and again, the stores of tasks that other instances have for long (state.cleanup.delay.ms)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from typing import Final

from millstream.runtime import Clock
from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.application.state_directory import StateDirectory

_LOGGER = logging.getLogger(__name__)


class ObsoleteTasks:
    """Says which directories may go: those of tasks that this instance has not had for the delay. Pure.

    A task that returns soon finds its stores. Nothing goes until the instance has run for the delay: what is there at
    its start may be given to it. Times are monotonic. Directories are known by their names.
    """

    def __init__(self, delay_ms: int, now_ms: int) -> None:
        self.delay_ms: Final = delay_ms
        self._started_ms = now_ms
        self._owned: AbstractSet[str] = frozenset()
        self._owned_until_ms: dict[str, int] = {}

    def note(self, owned: AbstractSet[str], now_ms: int) -> None:
        """Takes note of the tasks that the instance has now."""
        self._owned_until_ms |= dict.fromkeys(self._owned | owned, now_ms)
        self._owned = owned

    def names(self, present: Iterable[str], now_ms: int) -> list[str]:
        """Returns those of the directories that may go."""
        return [
            name
            for name in present
            if name not in self._owned
            and now_ms - self._owned_until_ms.get(name, self._started_ms) >= self.delay_ms
        ]


class StateCleaner:
    """`run` it until it is cancelled. `note` tells it of tasks that come and go.

    `directory_of` returns the name of a task's directory.

    `are_tasks_elsewhere`: other processes run them. What these take over is known here a moment later, so
    stores that are open stay.
    """

    def __init__(
        self,
        directory: StateDirectory,
        obsolete: ObsoleteTasks,
        directory_of: Callable[[StreamsTaskId], str],
        clock: Clock,
        log_prefix: str,
        *,
        are_tasks_elsewhere: bool = False,
    ) -> None:
        self._directory = directory
        self._set_aside = (
            directory.set_aside_if_closed if are_tasks_elsewhere else directory.set_aside
        )
        self._obsolete: Final = obsolete
        self._directory_of = directory_of
        self._tasks: AbstractSet[StreamsTaskId] = frozenset()
        self._clock = clock
        self._log_prefix = log_prefix

    def note(self, tasks: AbstractSet[StreamsTaskId]) -> None:
        """Takes the tasks that the instance has now.

        Costs little while they are the same: it is called after each commit.
        """
        if tasks != self._tasks:
            self._tasks = tasks
            self._obsolete.note(frozenset(map(self._directory_of, tasks)), self._now_ms)

    async def run(self, tasks: Callable[[], AbstractSet[StreamsTaskId] | None]) -> None:
        """Asks for the instance's tasks before each deletion. None: tasks are about to come, so all stay."""
        while True:
            await asyncio.sleep(self._obsolete.delay_ms / 1000)
            # From here to the last directory that is set aside nothing is awaited, so that no task is taken over
            # meanwhile. What is deleted after that has another name.
            now = tasks()
            if now is None:
                continue
            self.note(now)
            try:
                for name in self._obsolete.names(self._directory.tasks(), self._now_ms):
                    if self._set_aside(name):
                        _LOGGER.info("%s deletes the obsolete stores of %s", self._log_prefix, name)
                await asyncio.to_thread(self._directory.delete_what_is_set_aside)
            except OSError:
                _LOGGER.exception("%s could not delete obsolete stores", self._log_prefix)

    @property
    def _now_ms(self) -> int:
        return self._clock.now().monotonic_ms
