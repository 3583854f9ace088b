"""The voters and the kraft.version of a quorum by the offset of the record that set them.

What the log says counts from its append, committed or not; a truncation takes it back, a snapshot stands for
all before it. Before the log says anything, the voters are those of the configuration (kraft.version 0),
which may be none. Owned by one replica.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from millstream.model import Offset
from millstream.protocol.generated.control_records import KRaftVersionRecord, VotersRecord
from millstream.raft.voter_set import (
    KRAFT_VERSION_DYNAMIC,
    KRAFT_VERSION_STATIC,
    ControlRecord,
    ReplicaKey,
    VoterSet,
    voters_from_record,
)

BOOTSTRAP_OFFSET: Final = Offset(-1)
"""Of voters that a snapshot at offset 0 names: they are not in the log yet."""
_STATIC_OFFSET: Final = Offset(-2)
NO_VOTERS: Final = VoterSet(())


@dataclass(frozen=True, slots=True)
class QuorumEntry:
    """The voters and the kraft.version from `offset` on."""

    offset: Offset
    kraft_version: int
    voters: VoterSet

    @property
    def is_in_log(self) -> bool:
        return self.offset > BOOTSTRAP_OFFSET


class VoterHistory:
    def __init__(self, static: VoterSet = NO_VOTERS) -> None:
        """`static`: the voters that the configuration names; they count while the log names none."""
        self._static = QuorumEntry(_STATIC_OFFSET, KRAFT_VERSION_STATIC, static)
        self._entries = [self._static]

    @classmethod
    def bootstrapped(cls, voters: VoterSet) -> VoterHistory:
        """Makes the history of a log that is to begin with these voters (kraft.version 1)."""
        history = cls()
        history.start_at(Offset(0), voters)
        return history

    @property
    def newest(self) -> QuorumEntry:
        return self._entries[-1]

    @property
    def ignores_static(self) -> bool:
        """Whether the configuration names voters and the log names others, which count."""
        return bool(self._static.voters.ids) and self.newest is not self._static

    @property
    def voters(self) -> VoterSet:
        return self.newest.voters

    @property
    def kraft_version(self) -> int:
        return self.newest.kraft_version

    def at(self, end_offset: Offset) -> QuorumEntry:
        """Returns who votes by all records below `end_offset`, as far back as the last snapshot."""
        return self._entries[max(0, self._below(end_offset) - 1)]

    def ever_named(self, key: ReplicaKey, end_offset: Offset) -> bool:
        """Returns whether a replica voted by any record below `end_offset`, as far back as the last snapshot."""
        return any(entry.voters.has(key) for entry in self._entries if entry.offset < end_offset)

    def note(self, records: Iterable[tuple[Offset, ControlRecord]]) -> None:
        """Takes in control records with their offsets, as they are appended."""
        for offset, record in records:
            newest = self.newest
            match record:
                case KRaftVersionRecord():
                    entry = QuorumEntry(offset, record.kraft_version, newest.voters)
                case VotersRecord():
                    version = max(newest.kraft_version, KRAFT_VERSION_DYNAMIC)
                    entry = QuorumEntry(offset, version, voters_from_record(record))
                case _:
                    continue
            assert offset > newest.offset, f"voters at {offset} come after those at {newest.offset}"
            self._entries.append(entry)

    def truncate(self, end_offset: Offset) -> None:
        """Forgets what the log said at and after `end_offset`."""
        del self._entries[max(1, self._below(end_offset)) :]

    def compact(self, snapshot_end: Offset) -> None:
        """Forgets all but the newest of what a snapshot holds."""
        del self._entries[: max(0, self._below(snapshot_end) - 1)]

    def start_at(self, snapshot_end: Offset, voters: VoterSet | None) -> None:
        """Begins anew with a snapshot.

        None: it names no voters (kraft.version 0), and those of the configuration stay.
        """
        if voters is None:
            self._entries = [self._static]
        else:
            offset = Offset(snapshot_end - 1)
            self._entries = [QuorumEntry(offset, KRAFT_VERSION_DYNAMIC, voters)]

    def _below(self, end_offset: Offset) -> int:
        return bisect_left(self._entries, end_offset, key=lambda entry: entry.offset)
