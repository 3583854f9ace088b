"""Takes records as objects: interceptors, serializers with what they must look up, then `RecordAppender`.

What needs no waiting is done in the thread of the caller, the rest in a coroutine.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Generic

from millstream.clients.core.serialization import LookupNeeded
from millstream.clients.core.values import Headers, Key, Value
from millstream.clients.producer.core.interceptors import DeliveryCallback, ProducerRecord
from millstream.clients.producer.core.outgoing import Outgoing, OutgoingRecord
from millstream.clients.producer.delivery import PlacedRecord
from millstream.clients.producer.record_appender import Lock, RecordAppender, Waiting
from millstream.errors import RequestTimedOut


class RecordSerializer(Generic[Key, Value]):
    """Serializes what a caller sends, after its interceptors, and appends it."""

    def __init__(
        self,
        outgoing: Outgoing[Key, Value],
        appender: RecordAppender,
        now_ms: Callable[[], int],
    ) -> None:
        self._outgoing = outgoing
        self._appender = appender
        self._now_ms = now_ms
        self.lock: Lock = contextlib.nullcontext()

    def append(  # noqa: PLR0917 - as RecordAppender.append
        self,
        topic: str,
        value: Value | None,
        key: Key | None,
        headers: Headers | None,
        partition: int | None,
        timestamp_ms: int | None,
        callback: DeliveryCallback | None,
    ) -> PlacedRecord | Waiting:
        """Appends as RecordAppender.append does. Functions of the user run outside of any lock."""
        given = ProducerRecord(topic, value, key, headers, partition, timestamp_ms)
        given = self._outgoing.on_send(given)
        with self._outgoing.failures_told(given):
            try:
                record = self._outgoing.serialize(given, callback)
            except LookupNeeded as needed:
                return self._after_look_up(given, callback, needed)
            with self._appender.lock:
                delivery = self._appender.place(given.topic, *record)
        return self._in_time(given, record) if delivery is None else self._appender.show(delivery)

    async def _in_time(
        self, given: ProducerRecord[Key, Value], record: OutgoingRecord
    ) -> PlacedRecord:
        with self._outgoing.failures_told(given):
            delivery = await self._appender.place_in_time(given.topic, record)
        return await self._appender.show_in_time(delivery)

    async def _after_look_up(
        self,
        given: ProducerRecord[Key, Value],
        callback: DeliveryCallback | None,
        needed: LookupNeeded,
    ) -> PlacedRecord:
        """Looks up what a serializer needs, like a schema's id, until it needs no more."""
        with self._outgoing.failures_told(given):
            record: OutgoingRecord | None = None
            deadline_ms = self._appender.block_deadline_ms()
            while record is None:
                await self._look_up(needed, deadline_ms)
                try:
                    record = self._outgoing.serialize(given, callback)
                except LookupNeeded as next_needed:
                    needed = next_needed
            delivery = await self._appender.place_in_time(given.topic, record)
        return await self._appender.show_in_time(delivery)

    async def _look_up(self, needed: LookupNeeded, deadline_ms: int) -> None:
        try:
            async with asyncio.timeout((deadline_ms - self._now_ms()) / 1000):
                await needed.look_up()
        except TimeoutError as error:
            raise RequestTimedOut(
                f"a serializer did not get what it needs within max_block_ms: {needed}"
            ) from error
