"""The end of records that were given up: dead letters, or a count of what is lost."""

from __future__ import annotations

import logging

from millstream.clients.spout.core.attempts import RecordsGivenOut
from millstream.clients.spout.dead_letters import DeadLetters
from millstream.clients.spout.message import SpoutHooks

_LOGGER = logging.getLogger(__name__)


class Settlement:
    def __init__(
        self, records: RecordsGivenOut, hooks: SpoutHooks, dead_letters: DeadLetters | None
    ) -> None:
        self._records = records
        self._hooks = hooks
        self._dead_letters = dead_letters

    async def settle(self) -> None:
        """Writes dead letters, or counts records as lost. They are pending until that is done."""
        given_up = self._records.given_up
        settled = [each for each in given_up if self._records.is_open(each.attempt)]
        given_up.clear()
        if not settled:
            return
        for each in settled:
            if self._hooks.on_max_retry is not None:
                self._hooks.on_max_retry(each.attempt.record, each.error)
        if self._dead_letters is not None:
            await self._dead_letters.send(settled)
        for each in settled:
            if self._dead_letters is None:
                _LOGGER.warning(
                    "%s is lost: it failed %d times (%s)",
                    each.attempt.message_id,
                    each.attempt.number,
                    each.error,
                )
            self._records.finish(each, dead_lettered=self._dead_letters is not None)

    async def close(self) -> None:
        if self._dead_letters is not None:
            await self._dead_letters.close()
