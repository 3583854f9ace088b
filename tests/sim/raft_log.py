"""The log of a raft replica in memory, with its snapshots. What was not synced is lost in a crash."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

from millstream.model import LeaderEpoch, Offset
from millstream.protocol.generated.control_records import VotersRecord
from millstream.raft.messages import Appended, LogPosition, SnapshotInstalled
from millstream.raft.ready import AppendBatch, SnapshotPiece
from millstream.raft.snapshot import SnapshotId
from millstream.raft.voter_history import VoterHistory
from millstream.raft.voter_set import ControlRecord, ReplicaKey, Voter, VoterSet, voters_from_record

Entry = tuple[int, str | ControlRecord]
"""Epoch, and the text of a data record or a control record."""


def text_of(entry: str | ControlRecord) -> str:
    return entry if isinstance(entry, str) else type(entry).__name__


class MemoryLog:
    """Entries with their epochs; a crash forgets those that were not synced. Snapshots stand for those before `start_offset`."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        """All there ever were: those before `start_offset` as the snapshot that ends there has them."""
        self.synced = 0
        self.start_offset = 0
        self.snapshots: dict[SnapshotId, bytes] = {}
        self.changes = 0
        """Counts what changed the entries."""
        self._noted = 0
        self._unfinished = bytearray()

    # what a replica asks

    def position(self) -> LogPosition:
        return self.position_at(len(self.entries))

    def start(self) -> LogPosition:
        return self.position_at(self.start_offset)

    def end_of_epoch(self, epoch: LeaderEpoch) -> LogPosition:
        end = len(self.entries)
        while end >= self.start_offset and end and self.entries[end - 1][0] > epoch:
            end -= 1
        return self.position_at(end) if end >= self.start_offset else self.position_at(0)

    def high_watermark(self) -> Offset:
        return Offset(max((each.end_offset for each in self.snapshots), default=0))

    def newest_snapshot(self) -> SnapshotId | None:
        return max(self.snapshots, default=None)

    def snapshot_bytes(self, snapshot_id: SnapshotId) -> int | None:
        data = self.snapshots.get(snapshot_id)
        return None if data is None else len(data)

    def position_at(self, end: int) -> LogPosition:
        last_epoch = self.entries[end - 1][0] if end else -1
        return LogPosition(Offset(end), LeaderEpoch(last_epoch))

    # what its driver does

    def append(self, batch: AppendBatch) -> None:
        self.changes += 1
        assert batch.base_offset == len(self.entries)
        self.entries += [(batch.epoch, record) for record in batch.control]
        self.entries += [(batch.epoch, value.decode()) for value in batch.data]

    def append_fetched(self, data: bytes) -> None:
        self.changes += 1
        self._noted = len(self.entries)
        self.entries += pickle.loads(data)

    def appended(self) -> Appended:
        """What the driver tells of what was just fetched."""
        return Appended(self.position(), tuple(self.control_records(self._noted)))

    def control_records(self, start: int) -> Iterator[tuple[Offset, ControlRecord]]:
        for offset, (_, entry) in enumerate(self.entries[start:], start):
            if not isinstance(entry, str):
                yield Offset(offset), entry

    def history(self, founders: VoterSet | None, *, is_static: bool = False) -> VoterHistory:
        """Who votes by the newest snapshot and the log after it; `founders` before anything says so."""
        if founders is None:
            history = VoterHistory()
        elif is_static:  # the configuration knows no directories
            names = (Voter(ReplicaKey(each.key.id), each.endpoints) for each in founders)
            history = VoterHistory(VoterSet(names))
        else:
            history = VoterHistory.bootstrapped(founders)
        newest = self.newest_snapshot()
        if newest is not None:
            history.start_at(newest.end_offset, self.voters_below(newest.end_offset))
        history.note(self.control_records(newest.end_offset if newest else 0))
        return history

    def voters_below(self, end: int) -> VoterSet | None:
        found = [entry for _, entry in self.entries[:end] if isinstance(entry, VotersRecord)]
        return voters_from_record(found[-1]) if found else None

    def read(self, start: int) -> bytes:
        assert start >= self.start_offset, "this part of the log is gone"
        found = self.entries[start : self.synced]
        return pickle.dumps(found) if found else b""

    def truncate(self, size: int) -> None:
        self.changes += 1
        assert size >= self.start_offset, "a snapshot is not cut"
        del self.entries[size:]
        self.synced = min(self.synced, size)

    def take_snapshot(self, end: int) -> SnapshotId | None:
        """Keeps two; the log before the older one goes."""
        if end <= self.high_watermark() or end > self.synced:
            return None
        newest = SnapshotId(Offset(end), self.position_at(end).last_epoch)
        self.snapshots[newest] = pickle.dumps(self.entries[:end])
        older = sorted(self.snapshots)[-2:][0]
        self.snapshots = {each: data for each, data in self.snapshots.items() if each >= older}
        self.start_offset = older.end_offset if len(self.snapshots) > 1 else self.start_offset
        return newest

    def write_piece(self, piece: SnapshotPiece) -> SnapshotInstalled | None:
        """Begins anew at the end of a snapshot that has come whole."""
        del self._unfinished[piece.position :]
        assert len(self._unfinished) == piece.position, "a piece is missing"
        self._unfinished += piece.data
        if not piece.is_last:
            return None
        self.changes += 1
        self.snapshots = {piece.id: bytes(self._unfinished)}
        self.entries = pickle.loads(self._unfinished)
        self.start_offset = self.synced = piece.id.end_offset
        assert self.position() == LogPosition(*piece.id)
        return SnapshotInstalled(piece.id, self.voters_below(piece.id.end_offset))

    def crash(self) -> None:
        self.changes += 1
        del self.entries[self.synced :]
        self._unfinished.clear()
