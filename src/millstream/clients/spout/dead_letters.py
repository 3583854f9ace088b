"""The end of records that were given up: dead letters, on a topic of their own, or a count of what is lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping
from typing import Final, cast

from millstream.clients.config import ProducerConfig, ProducerSettings
from millstream.clients.config.settings import setting_names
from millstream.clients.producer.delivery import Delivery
from millstream.clients.producer.producer import Producer
from millstream.clients.spout.core.attempts import GivenUp, RecordsGivenOut
from millstream.clients.spout.message import SpoutHooks
from millstream.net.client.tasks import TaskScope
from millstream.net.network import Environment
from millstream.quoting import shortened

TOPIC_HEADER = "dead_letter.topic"
PARTITION_HEADER = "dead_letter.partition"
OFFSET_HEADER = "dead_letter.offset"
ERROR_HEADER = "dead_letter.error"
ATTEMPTS_HEADER = "dead_letter.attempts"
_ERROR_CHARACTERS_MAX: Final = 1_000
"""Errors quote records, and a record with its own text beside it might be too large to be written."""
_REQUEST_SIZE_MAX: Final = 2**31 - 1
"""What was read can be written: the topic of dead letters alone says how large a record may be (max.message.bytes)."""


class DeadLetters:
    """Key, value and headers as they were read, and five headers more that say where from and why."""

    def __init__(
        self, topic: str, settings: Mapping[str, object], environment: Environment | None
    ) -> None:
        """Of a consumer's `settings` those are taken that a producer has as well: how to reach the cluster."""
        known = setting_names(ProducerConfig)
        shared = {key: value for key, value in settings.items() if key.replace(".", "_") in known}
        shared["max_request_size"] = _REQUEST_SIZE_MAX
        self._topic = topic
        self._producer = Producer(environment=environment, **cast("ProducerSettings", shared))

    async def send(self, given_up: Iterable[GivenUp]) -> None:
        """Returns when all of them are written."""
        deliveries: list[Delivery] = []
        for each in given_up:
            record = each.attempt.record
            deliveries.append(
                await self._producer.send(
                    self._topic,
                    record.value,
                    key=record.key,
                    headers=[*record.headers, *_reasons(each)],
                )
            )
        for delivery in deliveries:
            await delivery

    async def close(self) -> None:
        await self._producer.close()


def _reasons(given_up: GivenUp) -> list[tuple[str, bytes | None]]:
    record, error = given_up.attempt.record, given_up.error
    told = {
        TOPIC_HEADER: record.topic,
        PARTITION_HEADER: str(record.partition),
        OFFSET_HEADER: str(record.offset),
        ERROR_HEADER: ""
        if error is None
        else shortened(f"{type(error).__name__}: {error}", _ERROR_CHARACTERS_MAX),
        ATTEMPTS_HEADER: str(given_up.attempt.number),
    }
    # An error may quote half of a character, which UTF-8 has no bytes for.
    return [(name, value.encode(errors="backslashreplace")) for name, value in told.items()]


_LOGGER = logging.getLogger(__name__)


class Settlement:
    def __init__(
        self, records: RecordsGivenOut, hooks: SpoutHooks, dead_letters: DeadLetters | None
    ) -> None:
        self._records = records
        self._hooks = hooks
        self._dead_letters = dead_letters
        self._scope = TaskScope("dead letters")
        self._settling: asyncio.Task[None] | None = None

    async def settle(self) -> None:
        """Writes dead letters, or counts records as lost. They are pending until that is done.

        A call that is cancelled, as when the spout is closed, leaves the work under way. The next one waits for its
        end: begun anew it would write again what is written.
        """
        while self._settling is not None or self._records.given_up:
            if self._settling is None:
                self._settling = self._scope.start(self._settle(), "settle", awaited=True)
            await asyncio.wait((self._settling,))
            settling, self._settling = self._settling, None
            settling.result()

    async def _settle(self) -> None:
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
        try:
            if self._dead_letters is not None:
                await self._dead_letters.close()
        finally:
            await self._scope.close()
