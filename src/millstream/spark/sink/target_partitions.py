"""Gives rows the partition of their topic that Kafka would give them, so that Spark can bring the
rows of one partition together.

Runs in Spark's workers, on Arrow batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from millstream.clients.core.arrow_batches import rows_by_partition
from millstream.spark.connections import Connections, connections
from millstream.spark.sink.encoding.encoding import Encoding
from millstream.spark.sink.options import SinkOptions
from millstream.spark.sink.rows import by_topic, rows_to_write

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

TOPIC, PARTITION = "topic", "partition"


def placed_schema(rows: DataFrame, options: SinkOptions) -> str:
    """The columns of rows that PartitionPlacement has given their places."""
    types = {each.name: "binary" for each in options.formats.encoded}
    kept = [field for field in rows.schema.fields if field.name not in {TOPIC, PARTITION}]
    columns = [
        f"{field.name} {types.get(field.name, field.dataType.simpleString())}" for field in kept
    ]
    return ", ".join([*columns, f"{TOPIC} string", f"{PARTITION} int"])


class PartitionPlacement:
    """Travels to the workers: rows without columns `topic` and `partition`, or with gaps in
    them, to rows that have both.

    Keys and values are encoded before: the bytes of a key decide.
    """

    def __init__(self, options: SinkOptions, encoding: Encoding | None) -> None:
        self._options = options
        self._encoding = encoding

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        link = connections(self._options.kafka)
        counts: dict[str, int] = {}
        turn = 0
        for batch in batches:
            rows = rows_to_write(self._options, self._encoding, batch)
            for topic, of_topic in by_topic(self._options, rows):
                if topic not in counts:
                    counts[topic] = partition_count(link, topic)
                turn += 1
                yield from placed(of_topic, topic, counts[topic], turn)


def placed(rows: pa.RecordBatch, topic: str, count: int, turn: int) -> Iterator[pa.RecordBatch]:
    """Rows with a partition keep it.

    The key of the others decides; those without a key go to one partition after another, by batch.
    """
    import pyarrow.compute as pc

    if PARTITION not in rows.schema.names:
        yield from _placed_by_key(rows, topic, count, turn)
        return
    is_open = pc.is_null(rows.column(PARTITION))
    named = rows.filter(pc.invert(is_open))
    if named.num_rows:
        yield _with_target(named, topic, named.column(PARTITION))
    if named.num_rows < rows.num_rows:
        yield from _placed_by_key(rows.filter(is_open), topic, count, turn)


def _placed_by_key(
    rows: pa.RecordBatch, topic: str, count: int, turn: int
) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for partition, some in rows_by_partition(rows, None, count, turn % count):
        column = pa.repeat(pa.scalar(partition, pa.int32()), some.num_rows)
        yield _with_target(some, topic, column)


def _with_target(rows: pa.RecordBatch, topic: str, partitions: pa.Array) -> pa.RecordBatch:
    """The columns of the rows in their order, then topic and partition."""
    import pyarrow as pa

    names = [name for name in rows.schema.names if name not in {TOPIC, PARTITION}]
    columns = [rows.column(name) for name in names]
    topics = pa.repeat(pa.scalar(topic), rows.num_rows)
    return pa.RecordBatch.from_arrays([*columns, topics, partitions], [*names, TOPIC, PARTITION])


def partition_count(link: Connections, topic: str) -> int:
    return len(link.run(link.producer().partitions_for(topic)))
