"""Brings the rows of a micro-batch into the order of their times, for each partition of the topic
that they are written to.

Each of Spark's tasks writes to all partitions of a topic, beside the others and as fast as it comes forward. Who reads
a partition then sees late rows and early ones mixed, and takes the late ones for late. Here one task writes each
partition, and sorts what it writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from millstream.errors import ConfigError
from millstream.spark.connections import connections
from millstream.spark.sink.options import SinkOptions, parse_sink_options
from millstream.spark.sink.routing import MURMUR2
from millstream.spark.sink.target_partitions import (
    PARTITION,
    TOPIC,
    PartitionPlacement,
    partition_count,
    placed_schema,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

TIMESTAMP: Final = "timestamp"
_RUN: Final = "spark.jobGroup.id"
"""Spark's name of what a job of a query belongs to."""


def in_time_order(rows: DataFrame, options: Mapping[str, str]) -> DataFrame:
    """Returns rows that the sink writes in order of their column `timestamp`, within each micro-batch and
    each partition of the topic.

    `options` are those that the sink is given. Rows of a task are in memory together. Raises ConfigError for options
    that leave open which partition a row belongs to.
    """
    parsed = parsed_in_time_order(options, rows.schema)
    topic = parsed.topic
    assert topic is not None, "it was asked for"
    link = connections(parsed.kafka)
    link.require_listener(_start_of(rows.sparkSession))
    count = partition_count(link, topic)
    columns = placed_schema(rows, parsed)
    placed = _with_partitions_of_keyless(rows, count).mapInArrow(
        PartitionPlacement(parsed, None), columns
    )
    return placed.repartition(count, PARTITION).mapInArrow(sorted_by_time, columns).drop(TOPIC)


def _start_of(session: SparkSession) -> str:
    """Names the run of the query in whose `foreachBatch` this is; empty elsewhere.

    Spark Connect does not say: there it is the process.
    """
    context = getattr(session, "sparkContext", None)
    return "of this process" if context is None else str(context.getLocalProperty(_RUN) or "")


def sorted_by_time(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """All rows in order of time; rows of equal time stay as they came, those without one are the last."""
    import pyarrow as pa

    together = [batch for batch in batches if batch.num_rows]
    if together:
        yield from pa.Table.from_batches(together).sort_by(TIMESTAMP).to_batches()


def _with_partitions_of_keyless(rows: DataFrame, count: int) -> DataFrame:
    """Rows without a key have a partition by what they are: when a micro-batch is run again, each
    is in the same one.
    """
    from pyspark.sql import functions as sql

    chosen = sql.pmod(sql.xxhash64("value", TIMESTAMP), sql.lit(count)).cast("int")
    if "key" in rows.columns:
        chosen = sql.when(sql.isnull("key"), chosen)
    if PARTITION in rows.columns:
        chosen = sql.coalesce(PARTITION, chosen)
    return rows.withColumn(PARTITION, chosen)


def parsed_in_time_order(options: Mapping[str, str], schema: StructType) -> SinkOptions:
    """Raises ConfigError for what leaves open by which time a row is sorted, or which partition it belongs to."""
    parsed = parse_sink_options({name.lower(): each for name, each in options.items()}, schema)
    if TIMESTAMP not in schema.names:
        raise ConfigError("in_time_order sorts rows by a column timestamp, and there is none")
    if parsed.topic is None:
        raise ConfigError("in_time_order sorts the rows of one topic: give the option topic")
    routing = parsed.routing
    if parsed.formats.encoded or routing.partitioner != MURMUR2 or routing.dead_letter_topic:
        raise ConfigError(
            "in_time_order takes no formats, partitioner or deadLetterTopic: the bytes of a key, or the column partition, say where a row goes"
        )
    return parsed
