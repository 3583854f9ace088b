"""The columns that operators pass on. One row is one record or one change of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import compress

Headers = tuple[tuple[str, bytes | None], ...]
NO_HEADERS: Headers = ()


@dataclass(slots=True)
class Batch:
    """Rows as columns of equal length.

    `ordinals` names the input row each row comes from, ascending: where paths meet again rows are merged by
    it. `values` of a table are the new values; `old_values` is a column only where somebody asked for them.
    """

    keys: list[object]
    values: list[object]
    timestamps: list[int]
    headers: list[Headers]
    ordinals: list[int]
    old_values: list[object] | None = None
    newest: list[bool] | None = None
    """Of a versioned table: False where the table knows a newer version of the row. None: every row is the newest."""

    def __len__(self) -> int:
        return len(self.keys)

    def with_values(self, values: list[object]) -> Batch:
        """The same rows with other values, no longer changes of a table."""
        return Batch(self.keys, values, self.timestamps, self.headers, self.ordinals)

    def with_changes(self, values: list[object], old_values: list[object] | None = None) -> Batch:
        """The same changes of a table with other values."""
        return Batch(
            self.keys, values, self.timestamps, self.headers, self.ordinals, old_values, self.newest
        )

    def only_newest(self) -> Batch:
        """Without changes that came out of order: nothing that keeps one value a row may see them (KIP-914)."""
        return self if self.newest is None else self.where(self.newest)

    def with_keys(self, keys: list[object]) -> Batch:
        """The same rows with other keys."""
        return Batch(keys, self.values, self.timestamps, self.headers, self.ordinals)

    def where(self, mask: Sequence[object]) -> Batch:
        """The rows whose mask is true."""
        old, newest = self.old_values, self.newest
        return Batch(
            list(compress(self.keys, mask)),
            list(compress(self.values, mask)),
            list(compress(self.timestamps, mask)),
            list(compress(self.headers, mask)),
            list(compress(self.ordinals, mask)),
            None if old is None else list(compress(old, mask)),
            None if newest is None else list(compress(newest, mask)),
        )

    def take(self, rows: Sequence[int]) -> Batch:
        """The rows at these positions, in their order."""
        old, newest = self.old_values, self.newest
        return Batch(
            [self.keys[i] for i in rows],
            [self.values[i] for i in rows],
            [self.timestamps[i] for i in rows],
            [self.headers[i] for i in rows],
            [self.ordinals[i] for i in rows],
            None if old is None else [old[i] for i in rows],
            None if newest is None else [newest[i] for i in rows],
        )


def merge_by_ordinal(batches: Sequence[Batch]) -> Batch:
    """Rows of several paths in the order in which record-at-a-time processing would give them:
    by input row, then by the order of the paths.
    """
    if len(batches) == 1:
        return batches[0]
    whole = Batch([], [], [], [], [], [] if batches[0].old_values is not None else None)
    for batch in batches:
        whole.keys += batch.keys
        whole.values += batch.values
        whole.timestamps += batch.timestamps
        whole.headers += batch.headers
        whole.ordinals += batch.ordinals
        if whole.old_values is not None:
            assert batch.old_values is not None, "all parents of a table send old values, or none"
            whole.old_values += batch.old_values
    return whole.take(sorted(range(len(whole)), key=whole.ordinals.__getitem__))


@dataclass(slots=True)
class RawBatch:
    """Records of one topic partition as bytes, in offset order. `headers` None means that none has any.

    Built from lists today; Arrow columns enter as lists of bytes.
    """

    keys: list[bytes | None]
    values: list[bytes | None]
    timestamps: list[int]
    offsets: Sequence[int]
    headers: list[Headers] | None = None

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(slots=True)
class SinkBatch:
    """Records to be written to one topic, in order.

    `partitions`: a number where the topology's own partitioner decided, None where the default partitioner
    (murmur2) is to decide by `partition_keys`, or by the key itself where that column is None.
    """

    topic: str
    keys: list[bytes | None] = field(default_factory=list)
    values: list[bytes | None] = field(default_factory=list)
    timestamps: list[int] = field(default_factory=list)
    headers: list[Headers] = field(default_factory=list)
    partitions: list[int | None] | None = None
    partition_keys: list[bytes | None] | None = None

    def __len__(self) -> int:
        return len(self.keys)

    def extend(self, other: SinkBatch) -> None:
        """Append the records of another batch of the same topic."""
        if other.partitions is not None or self.partitions is not None:
            mine = self.partitions or [None] * len(self)
            self.partitions = mine + (other.partitions or [None] * len(other))
        if other.partition_keys is not None or self.partition_keys is not None:
            keys = self.keys if self.partition_keys is None else self.partition_keys
            self.partition_keys = keys + (
                other.keys if other.partition_keys is None else other.partition_keys
            )
        self.keys += other.keys
        self.values += other.values
        self.timestamps += other.timestamps
        self.headers += other.headers

    def take(self, rows: Sequence[int]) -> SinkBatch:
        """The records at these positions, in their order."""
        partitions, partition_keys = self.partitions, self.partition_keys
        return SinkBatch(
            self.topic,
            [self.keys[i] for i in rows],
            [self.values[i] for i in rows],
            [self.timestamps[i] for i in rows],
            [self.headers[i] for i in rows],
            None if partitions is None else [partitions[i] for i in rows],
            None if partition_keys is None else [partition_keys[i] for i in rows],
        )
