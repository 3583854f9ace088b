"""Records that the application of a share consumer holds, and how it gets the next.

Owns what becomes of the last poll's records, the order in which what was kept back, renewed and fetched is returned,
and the waiting for what a deserializer must look up. Requests are those of `fetcher.py`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Generic, NamedTuple

from millstream.clients.cluster.cluster import Cluster
from millstream.clients.core.deserialization import (
    RecordReader,
    is_same_record,
    look_up_failed,
)
from millstream.clients.core.illegal_state import IllegalState
from millstream.clients.core.serialization import LookupNeeded, LookupUnavailable
from millstream.clients.core.values import ConsumerRecord, Key, Value
from millstream.clients.look_up import LookUp
from millstream.clients.share.core.in_flight_records import RecordPosition, ShareInFlightRecords
from millstream.clients.share.core.values import NodeAcknowledgements
from millstream.clients.share.fetcher import ShareFetcher
from millstream.net.client.tasks import TaskScope
from millstream.protocol.enums import AcknowledgeType


class Next(NamedTuple, Generic[Key, Value]):
    """The records that poll() may return, or the look-up that a deserializer needs before there are any."""

    records: list[ConsumerRecord[Key, Value]]
    needed: LookupNeeded | None


class ShareFetchCollector(Generic[Key, Value]):
    def __init__(
        self,
        cluster: Cluster,
        fetcher: ShareFetcher,
        scope: TaskScope,
        reader: RecordReader[Key, Value] | None,
        *,
        is_implicit: bool,
        is_holding: bool,
    ) -> None:
        """`is_holding`: records may stay without an acknowledgement over many polls."""
        self._fetcher = fetcher
        self._reader = reader
        self._is_implicit = is_implicit
        self._is_holding = is_holding
        self._look_up = LookUp(scope, cluster.now_ms)
        self._look_up_error: Exception | None = None
        """Why the look-up of that record has failed, until the record is read again."""
        self.in_hand: ShareInFlightRecords[Key, Value] = ShareInFlightRecords()
        self.ahead: deque[ConsumerRecord[Key, Value]] = deque()
        """In hand, but not given out yet: iteration has polled them."""

    # ---- what becomes of the last records

    def finish_last_poll(self) -> None:
        """Accepts everything given out in implicit mode; in explicit mode it must have been
        acknowledged, or is held.
        """
        if self._is_implicit:
            self._accept_given_out()
            return
        if self._is_holding:
            self.in_hand.hold()
            return
        unacknowledged = self.in_hand.unacknowledged(but=self._not_given_out())
        if unacknowledged is not None:
            topic_partition, offset = unacknowledged
            raise IllegalState(
                f"{topic_partition} offset {offset} is not acknowledged: in explicit mode acknowledge every record of a poll()"
                " before the next poll()"
            )

    def acknowledge(self, topic: str, partition: int, offset: int, kind: AcknowledgeType) -> None:
        if self._is_implicit:
            raise IllegalState(
                'records are accepted by the next poll(); set share_acknowledgement_mode="explicit" to acknowledge them'
            )
        self.in_hand.acknowledge(topic, partition, offset, kind)

    def take_acknowledgements_to_commit(self) -> list[NodeAcknowledgements]:
        if self._is_implicit:
            self._accept_given_out()
        return self.in_hand.take_acknowledgements()

    def _accept_given_out(self) -> None:
        self.in_hand.acknowledge_all(AcknowledgeType.ACCEPT, but=self._not_given_out())

    def _not_given_out(self) -> list[RecordPosition]:
        return [(record.topic_partition, record.offset) for record in self.ahead]

    # ---- the next ones

    @property
    def has_next(self) -> bool:
        """Whether there is something to return, or to raise. While records are being renewed there are no new ones."""
        if self.ahead or self.in_hand.has_renewed:
            return True
        return not (self.in_hand.is_renewing or self._fetcher.buffer.is_empty)

    def take(self, count: int) -> Next[Key, Value]:
        """Returns the next records. Raises what could not be read, when no record stands before it."""
        if self.ahead:
            records = list(self.ahead)
            self.ahead.clear()
            return Next(records, None)
        self.in_hand.take_renewed()
        needed = None
        if not self.in_hand.records():
            deserialize = None if self._reader is None else self._read_one
            needed = self._fetcher.buffer.collect(self.in_hand, count, deserialize)
        return Next(self.in_hand.records(), needed)

    async def look_up(self, needed: LookupNeeded, deadline_ms: int) -> bool:
        """Performs the look-up that a deserializer needs. Whether it has ended."""
        assert self._reader is not None, "deserializers ask for look-ups"
        ended = await self._look_up.wait(needed, self._reader.asked_about, deadline_ms)
        if ended is None:
            return False
        self._look_up_error = None if ended.cancelled() else _failure_of(ended)
        return True

    def _read_one(self, record: ConsumerRecord) -> ConsumerRecord[Key, Value]:
        """Reads a record. One for which a look-up has failed cannot be read: it is released like others, or this
        consumer would never come behind it.
        """
        assert self._reader is not None, "without a reader records stay bytes"
        error, self._look_up_error = self._look_up_error, None
        if error is not None and is_same_record(record, self._look_up.record):
            raise look_up_failed(record, error) from error
        return self._reader.read_one(record)


def _failure_of(task: asyncio.Task[None]) -> Exception | None:
    """Returns why a record cannot be read. What is no record's fault is raised: it would be released until brokers
    give it up.
    """
    error = task.exception()
    if error is not None and (
        isinstance(error, LookupUnavailable)
        or isinstance(error.__cause__, asyncio.CancelledError)  # what it waited for was cancelled
        or not isinstance(error, Exception)
    ):
        raise error
    return error
