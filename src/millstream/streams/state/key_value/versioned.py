"""Versioned key-value stores: the history of each key, as far back as the retention reaches (KIP-889).

A row holds all versions of a key, newest first: timestamp (8) ++ length (4, -1 for a deletion) ++
value. A version is valid until the next one begins. The newest of each key never expires; older
ones go once they may no longer be asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from struct import Struct
from typing import Final, NamedTuple

from millstream.streams.errors import StreamsError
from millstream.streams.state.changelog import Headers
from millstream.streams.state.read_only import ReadOnlyVersionedStore, Stored, VersionedRecord
from millstream.streams.state.rows.running import ABSENT, Row
from millstream.streams.state.store import StateStore, StoreParts

VALID_TO_UNDEFINED: Final = -1
"""`put` gave the newest version."""
NOT_PUT: Final = -(2**63)
"""`put` came too late: the version is older than the history."""

_VERSION: Final = Struct(">qi")
_DELETED: Final = -1
"""The length of a version that deletes the key."""
_OBSERVED: Final = "observed"
"""The largest timestamp put so far, among the store's times."""


class Version(NamedTuple):
    timestamp: int
    value: bytes | None
    """None: deleted from then on."""


class VersionedKeyValueStore(StateStore, ReadOnlyVersionedStore[Stored]):
    def __init__(self, parts: StoreParts) -> None:
        super().__init__(parts)
        history_ms = parts.spec.retention_ms
        assert history_ms is not None, "a versioned store has a history retention"
        self._history_ms = history_ms
        self._observed_max: int | None = None
        """The observed time of the last commit, where what is restored is ahead of it."""

    def go_back(self, times: Mapping[str, int]) -> None:
        """Keep the history that was there at a commit, as segmented stores keep their rows: records
        that come again ask for it.
        """
        self._observed_max = times.get(_OBSERVED, NOT_PUT)
        if _OBSERVED in self.times:
            self.times[_OBSERVED] = min(self.times[_OBSERVED], self._observed_max)

    def get(self, key: object, as_of_ms: int | None = None) -> VersionedRecord | None:
        """Beyond the history only the newest version is found."""
        versions = self._versions(self.key_bytes(key))
        valid_to = None
        for version in versions:
            if as_of_ms is None or version.timestamp <= as_of_ms:
                expired = (
                    valid_to is not None and as_of_ms is not None and as_of_ms < self._oldest_ms
                )
                return None if expired else self._record(version, valid_to)
            valid_to = version.timestamp
        return None

    def put(self, key: object, value: object, timestamp: int) -> int:
        """Add a version, or replace the one of this very time; None deletes from then on.

        Gives the time at which the version ends, VALID_TO_UNDEFINED for the newest one, NOT_PUT when it came too late.
        """
        try:
            data = self._encode_key(key)
            written = None if value is None else self._encode_value(value)
        except StreamsError:
            raise
        except Exception as error:
            raise self._unwritable(key, value) from error
        if self.changelog is not None:
            self.changelog.append(data, written, timestamp)
        if timestamp < self._oldest_ms:
            self.refuse_expired(timestamp, self._oldest_ms, self._history_ms)
            return NOT_PUT
        self._advance(timestamp)
        return self._insert(data, Version(timestamp, written))

    def delete(self, key: object, timestamp: int) -> VersionedRecord | None:
        """Delete from this time on; gives what was valid then, or None where it came too late."""
        known = self.get(key, timestamp)
        return None if self.put(key, None, timestamp) == NOT_PUT else known

    def history(self, key: object) -> Iterator[VersionedRecord]:
        """Yields the versions that may be asked for, the newest first, without deletions."""
        valid_to: int | None = None
        for version in self._versions(self.key_bytes(key)):
            if valid_to is not None and valid_to <= self._oldest_ms:
                return
            record = self._record(version, valid_to)
            if record is not None:
                yield record
            valid_to = version.timestamp

    def known_keys(self) -> Iterator[object]:
        """Returns all keys that have a version, deleted ones included, in the order of their bytes."""
        return (self._key.decode(data) for data, _ in self.rows.scan(b"", None))

    def restore_row(
        self, key: bytes, value: bytes | None, timestamp: int, _headers: Headers
    ) -> None:
        if timestamp >= self._oldest_ms:
            at = self._observed_max
            self._advance(timestamp if at is None else min(timestamp, at))
            self._insert(key, Version(timestamp, value))

    @property
    def _oldest_ms(self) -> int:
        """The time before which nothing may be asked for, or put."""
        return self.times.get(_OBSERVED, NOT_PUT) - self._history_ms

    def _advance(self, timestamp: int) -> None:
        self.times[_OBSERVED] = max(self.times.get(_OBSERVED, NOT_PUT), timestamp)

    def _insert(self, data: bytes, version: Version) -> int:
        versions = self._versions(data)
        newer = [each for each in versions if each.timestamp > version.timestamp]
        older = [each for each in versions if each.timestamp < version.timestamp]
        replaced = versions[len(newer) : len(versions) - len(older)]
        if newer:
            kept = [*_with_an_end(newer), version, *older]
        else:
            kept = [*_newest(version, replaced, older), *older]
        self.rows.put(data, self._encoded(kept) or None)
        return newer[-1].timestamp if newer else VALID_TO_UNDEFINED

    def _encoded(self, versions: list[Version]) -> bytes:
        """Without those that ended before the history begins."""
        out = bytearray()
        valid_to = None
        for timestamp, value in versions:
            if valid_to is not None and timestamp < valid_to <= self._oldest_ms:
                break
            out += _VERSION.pack(timestamp, _DELETED if value is None else len(value))
            out += value or b""
            valid_to = timestamp
        return bytes(out)

    def _versions(self, data: bytes) -> list[Version]:
        stored = self.rows.get(data) or b""
        versions = []
        at = 0
        while at < len(stored):
            timestamp, length = _VERSION.unpack_from(stored, at)
            at += _VERSION.size
            value = None if length == _DELETED else stored[at : at + length]
            versions.append(Version(timestamp, value))
            at += max(0, length)
        return versions

    def _record(self, version: Version, valid_to: int | None) -> VersionedRecord | None:
        if version.value is None:
            return None
        return VersionedRecord(self._decode_value(version.value), version.timestamp, valid_to)


def _newest(version: Version, replaced: list[Version], older: list[Version]) -> list[Version]:
    """Returns what stands at the time of the newest version when it is put, where `replaced` stood.

    A deletion of the newest value at its own time leaves no trace in Kafka Streams, which keeps valid values and what
    has ended in different stores, unless something has ended at that time: an older value, or, behind a value in the
    list, a deletion of the same time.
    """
    end = [each for each in replaced if each.value is None]
    if version.value is not None:
        return [version, *end]
    ends_a_value = bool(older) and older[0].value is not None
    return [version] if end or ends_a_value or not replaced else []


def _with_an_end(newer: list[Version]) -> list[Version]:
    """Before a version that comes late: it ends when the next one begins, also if that is taken back."""
    if len(newer) > 1 or newer[0].value is None:
        return newer
    return [*newer, Version(newer[0].timestamp, None)]


class VersionedRows:
    """The newest versions of rows by their keys; notes what came of each write.

    A row is read before it is set. Its deletion is never older than the version that it ends, as other rows' are.
    """

    __slots__ = ("_known_time", "_ordinals", "_store", "valid_to")

    def __init__(self, store: VersionedKeyValueStore, ordinals: Iterable[int]) -> None:
        """`ordinals`: of the rows that are set, one after the other."""
        self._store = store
        self._ordinals = iter(ordinals)
        self._known_time = ABSENT[1]
        self.valid_to: list[int] = []
        """What the store answered to each write."""

    def __getitem__(self, key: object) -> Row:
        found = self._store.get(key)
        row = ABSENT if found is None else found[:2]
        self._known_time = row[1]
        return row

    def __setitem__(self, key: object, row: Row) -> None:
        value, timestamp = row
        if value is None:
            timestamp = max(timestamp, self._known_time)
        self._store.begin_row(next(self._ordinals))
        self.valid_to.append(self._store.put(key, value, timestamp))
