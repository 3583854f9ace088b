"""Reads ranges of offsets as rows for Spark, in workers of the streaming and of the batch source.

Rows: the columns of `columns`. A record without a timestamp has Kafka's -1, one millisecond before 1970.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from pyspark.sql.datasource import InputPartition

from millstream.clients import TopicDeleted
from millstream.clients.cluster.core.cluster_metadata import LeaderEpochs
from millstream.errors import OffsetOutOfRange
from millstream.model import Offset, TopicPartition, Uuid, uuid_from_text
from millstream.runtime import Clock
from millstream.spark.offsets import NO_EPOCHS, Offsets, advanced
from millstream.spark.source.data_loss import Loss, allowed
from millstream.spark.source.event_time.header_times import with_event_time
from millstream.spark.source.event_time.options import WATERMARK_COLUMN, EventTimeOptions
from millstream.spark.source.event_time.record_times import BadTimestamps, timestamps_of
from millstream.spark.source.fetch_reports import fetch_metrics, report_fetches
from millstream.spark.source.loss_counts import LOSSES
from millstream.spark.source.options import SourceOptions
from millstream.spark.source.planning import link_of, readable_starts
from millstream.spark.source.rows.bad_rows import write_dead_letters
from millstream.spark.source.rows.decoding import Decoding, decode, read_columns, record_columns

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class OffsetRange:
    topic: str
    partition: int
    start: Offset
    end: Offset
    topic_id: Uuid | None = None
    """None where the checkpoint does not say it."""
    leader_epoch: int = -1
    """Of the leader whose log has the range, -1 where it is not known. The process that reads asks no older one."""


@dataclass(frozen=True)
class RangesPartition(InputPartition):
    """The ranges that one Spark task reads, in this order."""

    ranges: tuple[OffsetRange, ...]
    watermark: int | None = None
    """Of the query before this micro-batch."""


def split(
    begin: Offsets,
    end: Offsets,
    options: SourceOptions,
    topic_ids: Mapping[str, str] | None = None,
    leader_epochs: LeaderEpochs = NO_EPOCHS,
) -> Sequence[RangesPartition]:
    """Spark partitions: one for each topic partition with something to read, or several; or
    one for each partition number.

    One for a partition number has the ranges of all topics, the empty ones too.
    """
    finish = advanced(begin, end)
    ids = {name: uuid_from_text(text) for name, text in (topic_ids or {}).items()}
    ranges = [
        _range(tp, begin[tp], finish[tp], ids.get(tp.topic), leader_epochs)
        for tp in sorted(begin, key=lambda tp: (tp.partition, tp.topic))
    ]
    filled = [each for each in ranges if each.end > each.start]
    if not options.copartition:
        pieces = cut(filled, options.partitions_min, options.records_per_partition_max)
        return [RangesPartition((each,)) for each in pieces]
    numbers = dict.fromkeys(each.partition for each in filled)
    return [
        RangesPartition(tuple(r for r in ranges if r.partition == number)) for number in numbers
    ]


def _range(
    tp: TopicPartition,
    start: Offset,
    end: Offset,
    topic_id: Uuid | None,
    leader_epochs: LeaderEpochs,
) -> OffsetRange:
    epoch = -1 if topic_id is None else leader_epochs.get((topic_id, tp), -1)
    return OffsetRange(tp.topic, tp.partition, start, end, topic_id, epoch)


def cut(
    ranges: Sequence[OffsetRange], partitions_min: int | None, records_max: int | None
) -> list[OffsetRange]:
    """Cuts ranges into pieces of at most `records_max` offsets, and into at least `partitions_min` pieces if
    there are offsets enough.

    Pieces of a range are of equal length, and follow each other.
    """
    total = sum(each.end - each.start for each in ranges)
    pieces: list[OffsetRange] = []
    for each in ranges:
        length = each.end - each.start
        count = 1 if records_max is None else -(-length // records_max)
        if partitions_min is not None:
            count = max(count, -(-length * partitions_min // total))
        count = min(count, length)
        places = [Offset(each.start + length * n // count) for n in range(count + 1)]
        pieces += [replace(each, start=start, end=end) for start, end in pairwise(places)]
    return pieces


def read_ranges(
    options: SourceOptions, ranges: Sequence[OffsetRange], decoding: Decoding | None, clock: Clock
) -> Iterator[pa.RecordBatch]:
    """`decoding` None: keys and values are the bytes of the records."""
    for each in ranges:
        for rows in _read_range(options, each, clock):
            yield (
                as_columns(options, rows) if decoding is None else _decoded(options, rows, decoding)
            )
    if options.fetch_metrics is not None:
        report_fetches(options.fetch_metrics, link_of(options), clock.now().wall_ms)


def _decoded(options: SourceOptions, rows: pa.RecordBatch, decoding: Decoding) -> pa.RecordBatch:
    """Dead letters are written before anything is done with the rows around them."""
    decoded = decode(decoding, rows)
    if decoded.dead_letters is not None:
        assert options.rows.dead_letter_topic is not None, (
            "there are dead letters where they have a topic"
        )
        write_dead_letters(link_of(options), options.rows.dead_letter_topic, decoded.dead_letters)
    return decoded.rows


def _read_range(
    options: SourceOptions, wanted: OffsetRange, clock: Clock
) -> Iterator[pa.RecordBatch]:
    link, partition = link_of(options), TopicPartition(wanted.topic, wanted.partition)
    columns = read_columns(options)
    start = wanted.start
    if wanted.topic_id is not None:
        link.learn_leader_epochs({(wanted.topic_id, partition): wanted.leader_epoch})
    while start < wanted.end:
        batches = link.reader().read(
            wanted.topic,
            wanted.partition,
            start,
            wanted.end,
            topic_id=wanted.topic_id,
            columns=columns,
        )
        rows = link.iterate(batches)
        if options.fetch_metrics is not None:
            measured = fetch_metrics(options.fetch_metrics, clock.now().wall_ms)
            rows = measured.counted(rows, partition)
        try:
            for batch in rows:
                yield _with_times(options.event_time, batch, partition)
                start = Offset(batch.column("offset")[-1].as_py() + 1)
        except OffsetOutOfRange:
            found = readable_starts(options, {partition: start}, {partition: wanted.end})
            start = found[partition]
        except TopicDeleted as error:
            what = f"{error}: offsets {start} to {wanted.end} of {partition} are gone"
            loss = Loss(partition, what, wanted.end - start, wanted.end)
            LOSSES.add(allowed(loss, options.data_loss), options.data_loss)
            return
        else:
            return


def _with_times(
    options: EventTimeOptions, records: pa.RecordBatch, partition: TopicPartition
) -> pa.RecordBatch:
    rows, policy = as_rows(records, partition, options.bad_timestamps), options.bad_timestamps
    return (
        rows if options.header is None else with_event_time(options.header, partition, rows, policy)
    )


def as_rows(
    records: pa.RecordBatch,
    partition: TopicPartition,
    bad_timestamps: BadTimestamps = BadTimestamps.FAIL,
) -> pa.RecordBatch:
    """Adds topic and partition, and turns milliseconds into Spark's timestamps, without a Python object a row.

    Raises BadTimestamp.
    """
    import pyarrow as pa

    rows = records.num_rows
    columns = [
        records.column("key"),
        records.column("value"),
        pa.repeat(pa.scalar(partition.topic), rows),
        pa.repeat(pa.scalar(partition.partition, pa.int32()), rows),
        records.column("offset"),
        timestamps_of(partition, records, bad_timestamps),
    ]
    names = ["key", "value", "topic", "partition", "offset", "timestamp"]
    for name in ("timestampType", "headers", "leaderEpoch"):
        if name in records.schema.names:
            column = records.column(name)
            columns.append(column.cast(_headers_type()) if name == "headers" else column)
            names.append(name)
    return pa.RecordBatch.from_arrays(columns, names)


def as_columns(options: SourceOptions, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Returns the columns that the options ask for: batches say their kind of timestamp and
    their leader epoch together.
    """
    wanted = record_columns(options)
    return rows if len(wanted) == rows.num_columns else rows.select(list(wanted))


def with_watermark(
    batches: Iterator[pa.RecordBatch], watermark: int | None
) -> Iterator[pa.RecordBatch]:
    """Adds the watermark, the same in every row."""
    import pyarrow as pa

    value = None if watermark is None else watermark * 1000
    wm = pa.scalar(value, pa.timestamp("us", tz="UTC"))
    for rows in batches:
        yield rows.append_column(WATERMARK_COLUMN, pa.repeat(wm, rows.num_rows))


def _headers_type() -> pa.DataType:
    """Spark compares types with the names of list items and their nullability."""
    import pyarrow as pa

    header = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
    return pa.list_(pa.field("element", header))
