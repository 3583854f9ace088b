"""The mark that each transaction of an exactly-once sink leaves, and what it says about the next attempt.

Pure. A writer of a Spark partition has a transactional id and a group of the same name. Its transaction commits, in that group, an offset
whose metadata tells which micro-batch it has written: records and mark become visible together or not at all, so whoever runs the
micro-batch again knows from the mark what is done.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from millstream.errors import MillstreamError

if TYPE_CHECKING:
    import pyarrow as pa

_VERSION: Final = 1
_DIGESTED: Final = ("key", "value")


class BatchChanged(MillstreamError):
    """A micro-batch that was partly written comes again with other rows, so that it cannot be written exactly once."""


@dataclass(frozen=True, slots=True)
class BatchMark:
    """One write of one Spark partition. `query` is Spark's query id, `run` one start of it, `write` one writer of a micro-batch."""

    query: str
    batch: int
    run: str
    write: str
    records: int = 0
    digest: int = 0

    def encode(self) -> str:
        return json.dumps({"v": _VERSION} | asdict(self), separators=(",", ":"))

    @classmethod
    def decode(cls, metadata: str) -> BatchMark | None:
        """None for what no sink has written: somebody else has committed in this group."""
        try:
            document = json.loads(metadata)
            if document.pop("v") != _VERSION:
                return None
            return cls(**document)
        except (ValueError, TypeError, KeyError, AttributeError):
            return None


def prefix_in_query(prefix: str, query: str) -> str:
    """Returns the prefix that a query uses of its own.

    Flows of a pipeline and queries of one program may share their options, and would overwrite each other's marks.
    """
    return f"{prefix}-{query}"


class Attempt(Enum):
    """The two things that an attempt may have to do."""

    WRITE = auto()
    COMPARE = auto()
    """The rows are in the topic. Those that come now must be the same."""


def attempt_after(marks: Iterable[BatchMark], now: BatchMark) -> Attempt:
    """Decides by all marks of the group. Batch ids only grow in a query, and may jump.

    Raises BatchChanged where another write of the same run has the name.
    """
    mine = [mark for mark in marks if mark.query == now.query]
    last = max(mine, key=lambda mark: mark.batch, default=None)
    if last is None or last.batch < now.batch:
        return Attempt.WRITE
    if last.batch == now.batch and last.run == now.run and last.write != now.write:
        raise BatchChanged(
            f"another write of micro-batch {now.batch} has used the same transactionalIdPrefix: give each write of a foreachBatch "
            "function a prefix of its own"
        )
    return Attempt.COMPARE


def require_same(marks: Iterable[BatchMark], now: BatchMark, partition: int | None) -> None:
    """Raises BatchChanged when the rows that were written are not those that came now. Marks of later batches say nothing.

    `partition` is a Spark partition, None for a write of a whole micro-batch.
    """
    what, where, settings = f"micro-batch {now.batch}", "", "the query"
    if partition is not None:
        what, where = f"Spark partition {partition} of {what}", " in the same partition"
        settings = "spark.sql.shuffle.partitions, minPartitions, the query"
    for mark in marks:
        is_same_batch = (mark.query, mark.batch) == (now.query, now.batch)
        if is_same_batch and (mark.records, mark.digest) != (now.records, now.digest):
            raise BatchChanged(
                f"{what} was written with {mark.records} rows before the restart and has {now.records} now, or other ones: an "
                f"exactly-once sink needs the same rows{where} when a micro-batch is run again. Set back what was changed ({settings}), "
                "at least until this micro-batch has passed"
            )


class RowDigest:
    """Counts rows and sums up keys and values, wherever one Arrow batch ends and the next begins."""

    def __init__(self) -> None:
        self.records = 0
        self._sums = dict.fromkeys(_DIGESTED, 0)

    @property
    def value(self) -> int:
        total = 0
        for each in self._sums.values():
            total = zlib.crc32(each.to_bytes(4, "big"), total)
        return total

    def add(self, batch: pa.RecordBatch) -> None:
        self.records += batch.num_rows
        for name in _DIGESTED:
            if name in batch.schema.names:
                self._sums[name] = zlib.crc32(_bytes_of(batch.column(name)), self._sums[name])


def _bytes_of(column: pa.Array) -> memoryview:
    """The data of a column of binary or string, without the gaps between slices."""
    import pyarrow as pa

    wide = column.cast(pa.large_binary())
    offsets = memoryview(wide.buffers()[1]).cast("q")[wide.offset : wide.offset + len(wide) + 1]
    data = wide.buffers()[2]
    if data is None or not len(wide):
        return memoryview(b"")
    return memoryview(data)[offsets[0] : offsets[-1]]
