"""Answers what other replicas ask of this one: puts the bytes of log and snapshots into the answers, and
holds fetches that find nothing.

    request -> driver.answer (the replica decides) -> bytes of what is on this disk -> response

A fetch is answered once there are records, more is committed, or this replica leads no longer; at
the latest when its time is over.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

from millstream.broker.metadata_log.driver import MetadataDriver
from millstream.broker.metadata_log.log import MetadataLog
from millstream.broker.metadata_log.snapshots import SnapshotFiles
from millstream.broker.metadata_log.wire.fetches import FETCH_WAIT_MAX_MS
from millstream.broker.storage.disk_pool import DiskPool
from millstream.errors import SnapshotNotFound
from millstream.raft.messages import (
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    QuorumRequest,
    RaftResponse,
    VoterChangeRequest,
)
from millstream.raft.snapshot import SnapshotId

FETCH_MAX_BYTES: Final = 8 << 20
"""Kafka's MAX_FETCH_SIZE_BYTES; one batch is sent whatever its size."""


class QuorumRequests:
    """Answers the handlers of a controller's listener, which speak for other replicas."""

    def __init__(
        self,
        driver: MetadataDriver,
        log: MetadataLog,
        files: SnapshotFiles,
        pool: DiskPool,
        now_ms: Callable[[], int],
    ) -> None:
        self._driver = driver
        self._log = log
        self._files = files
        self._pool = pool
        self._now_ms = now_ms

    @property
    def log_start_offset(self) -> int:
        return self._log.start().end_offset

    async def answer(self, request: QuorumRequest | VoterChangeRequest) -> RaftResponse:
        """Returns the answer to what needs no bytes of the log."""
        return await self._driver.answer(request)

    async def fetch(self, request: FetchRequest, wait_ms: int, bytes_max: int) -> FetchResponse:
        """Returns records, or why there are none, after at most `wait_ms`."""
        end_ms = self._now_ms() + min(wait_ms, FETCH_WAIT_MAX_MS)
        while True:
            changed = self._driver.changed
            response = await self._driver.answer(request)
            assert isinstance(response, FetchResponse), "a fetch is answered as a fetch"
            if response.error or response.diverging or response.snapshot:
                return response
            records = self._records(request.log.end_offset, min(bytes_max, FETCH_MAX_BYTES))
            is_news = (response.high_watermark or 0) > request.high_watermark
            left_ms = end_ms - self._now_ms()
            if records or is_news or left_ms <= 0:
                return replace(response, records=records)
            with contextlib.suppress(TimeoutError):
                await changed.wait(left_ms / 1000)

    async def fetch_snapshot(
        self, request: FetchSnapshotRequest, bytes_max: int
    ) -> FetchSnapshotResponse:
        """Returns a piece of a snapshot, or why there is none."""
        response = await self._driver.answer(request)
        assert isinstance(response, FetchSnapshotResponse), "a fetch is answered as a fetch"
        if response.error:
            return response
        try:
            read = partial(self._piece, request.id, request.position, bytes_max)
            return replace(response, data=await self._pool.run(read))
        except FileNotFoundError:  # cleaned up since the replica has looked
            return replace(response, error=SnapshotNotFound, size=0)

    def _records(self, offset: int, bytes_max: int) -> bytes:
        """Returns whole batches from the one that holds `offset`.

        What is not on this disk may be lost by it, and is sent to nobody (KAFKA-10533).
        """
        end = self._log.log.recovery_point
        if offset >= end:
            return b""
        data = self._log.log.read(offset, bytes_max, end).records
        return data if isinstance(data, bytes) else data.read()

    def _piece(self, snapshot_id: SnapshotId, position: int, bytes_max: int) -> bytes:
        file = self._files.open(snapshot_id)
        try:
            return file.read_at(position, max(1, min(bytes_max, FETCH_MAX_BYTES)))
        finally:
            file.close()
