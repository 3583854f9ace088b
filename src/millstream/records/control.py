"""Control batches: what brokers write among the records of clients. Consumers skip them, and at read_committed what
their markers abort (KIP-98).

Owns their keys and the marker that ends a transaction. The values of KRaft's control records are messages of the
protocol (`protocol.generated.control_records`); here they are bytes. A fetch response names the aborted transactions
that overlap it: producer id and first offset, sorted by offset. From that offset on the producer's transactional
batches are aborted, until its ABORT marker.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from struct import Struct
from typing import Final

from millstream.errors import InvalidRecord
from millstream.records.batch import BatchHeader
from millstream.records.builder import PLAIN, BatchOptions, build_batch
from millstream.records.record import Record, iterate_records

_KEY: Final = Struct(">hh")  # version, type
_MARKER: Final = Struct(">hi")  # version, coordinator epoch


class ControlType(IntEnum):
    """Second field of a control record's key."""

    UNKNOWN = -1
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


@dataclass(frozen=True, slots=True)
class TransactionMarker:
    """A marker that ends a transaction in one partition, as WriteTxnMarkers describes it."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    is_commit: bool
    transaction_version: int = 0
    """From 2 on the epoch is above that of every record of the transaction."""

    def build(self, timestamp: int) -> bytearray:
        """Returns the batch. `timestamp` in ms."""
        kind = ControlType.COMMIT if self.is_commit else ControlType.ABORT
        options = BatchOptions(producer_id=self.producer_id, producer_epoch=self.producer_epoch)
        return build_end_transaction_marker(kind, self.coordinator_epoch, timestamp, options)


def build_control_batch(
    records: Sequence[tuple[ControlType, bytes]],
    timestamp: int,
    options: BatchOptions = PLAIN,
) -> bytearray:
    """Builds one control batch; each value is the encoded message that belongs to its type. `timestamp` in ms."""
    contents = [
        Record(timestamp=timestamp, key=_KEY.pack(0, kind), value=value) for kind, value in records
    ]
    return build_batch(contents, replace(options, is_control=True))


def build_end_transaction_marker(
    control_type: ControlType, coordinator_epoch: int, timestamp: int, options: BatchOptions
) -> bytearray:
    """COMMIT or ABORT of the transaction of `options.producer_id` and its epoch. `timestamp` in ms."""
    assert control_type in (ControlType.COMMIT, ControlType.ABORT), (
        "only these two end a transaction"
    )
    value = _MARKER.pack(0, coordinator_epoch)
    return build_control_batch(
        [(control_type, value)], timestamp, replace(options, is_transactional=True)
    )


def read_control_type(key: bytes | memoryview | None) -> ControlType:
    """Returns the type in a control record's key; UNKNOWN for types of later releases, which readers pass over.

    Raises InvalidRecord for a key that is too short or has a negative version.
    """
    if key is None or len(key) < _KEY.size:
        raise InvalidRecord("the key of a control record needs four bytes, version and type")
    version, number = _KEY.unpack_from(key)
    if version < 0:
        raise InvalidRecord(f"version {version} of a control record's key is negative")
    try:
        return ControlType(number)
    except ValueError:
        return ControlType.UNKNOWN


def read_coordinator_epoch(value: bytes | memoryview | None) -> int:
    """Returns the epoch of the coordinator that wrote an end-of-transaction marker. Raises InvalidRecord."""
    if value is None or len(value) < _MARKER.size:
        raise InvalidRecord("the value of an end-of-transaction marker needs six bytes")
    version, epoch = _MARKER.unpack_from(value)
    if version < 0:
        raise InvalidRecord(f"version {version} of an end-of-transaction marker is negative")
    return int(epoch)


class AbortedTransactionFilter:
    """A batch filter for one fetch response: call it for every batch in order; True means committed.

    `aborted` holds (producer id, first offset) pairs in any order.
    """

    __slots__ = ("_aborted_producers", "_pending")

    def __init__(self, aborted: Iterable[tuple[int, int]]) -> None:
        self._pending = deque(
            sorted((first_offset, producer) for producer, first_offset in aborted)
        )
        self._aborted_producers: set[int] = set()

    def __call__(self, header: BatchHeader, batch: memoryview) -> bool:
        while self._pending and self._pending[0][0] <= header.last_offset:
            self._aborted_producers.add(self._pending.popleft()[1])
        if not header.is_transactional or header.producer_id not in self._aborted_producers:
            return True
        if header.is_control and _ends_aborted(header, batch):
            self._aborted_producers.remove(header.producer_id)
        return header.is_control


def _ends_aborted(header: BatchHeader, batch: memoryview) -> bool:
    marker = next(iterate_records(header, batch), None)
    return marker is not None and read_control_type(marker.key) is ControlType.ABORT
