"""Says to a task, before its records, which offsets a micro-batch covers.

A task sees rows, and rows do not say where the micro-batch begins: the first offsets of a range may hold no record (compacted,
control, aborted). So the source puts one row before those of each Spark partition: its topic is empty, its value tells the
range of every topic. A task compares it with what its stores have counted, and knows afterwards how far it has come.

Pure: columns in, columns out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa


class Range(NamedTuple):
    """Offsets from `start` to before `end`."""

    start: int
    end: int


Coverage = Mapping[str, Range]
"""By topic, the offsets of the task's partition that a micro-batch covers; ranges may be empty."""


def announcement(partition: int, coverage: Coverage, schema: pa.Schema) -> pa.RecordBatch:
    """The one row, in the columns of the rows that follow it."""
    import pyarrow as pa

    told = {"topic": "", "partition": partition, "value": json.dumps(coverage).encode()}
    return pa.RecordBatch.from_pylist([told], schema)


def announced(rows: pa.RecordBatch) -> tuple[int, Coverage]:
    """Partition and coverage, out of rows that begin with the announcement."""
    assert rows.column("topic")[0].as_py() == "", "the source announces each Spark partition"
    told: Iterable[tuple[str, list[int]]] = json.loads(rows.column("value")[0].as_py()).items()
    return rows.column("partition")[0].as_py(), {topic: Range(*each) for topic, each in told}
