"""Writes all rows of a micro-batch in one transaction, whatever number of Spark tasks writes them:
readers see all of them or none.

The driver begins the transaction and ends it. Tasks join it, and each writes whole topic partitions, because sequence
numbers count for each partition. A task that Spark runs a second time cannot know what the first run has written, so it
fails, and the driver begins the whole transaction anew, with a new epoch that shuts out whatever is still running. Rows
are kept by Spark before they are written (`localCheckpoint`): the job that writes reads no shuffle, so Spark repeats no
task of it without counting the attempt.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pyspark import TaskContext

from millstream.clients import BatchDelivery, Producer, SharedTransaction
from millstream.errors import ConfigError, MillstreamError
from millstream.model import TopicPartition
from millstream.quoting import counted
from millstream.runtime.system import SystemRandom
from millstream.spark.connections import Connections, connections, wait_until_acknowledged
from millstream.spark.sink.encoding.encoding import Encoding, encoding_of
from millstream.spark.sink.marks import BatchMark, Target, prefix_in_query
from millstream.spark.sink.options import DeliveryGuarantee, SinkOptions, parse_sink_options
from millstream.spark.sink.routing import MURMUR2
from millstream.spark.sink.rows import RowSender
from millstream.spark.sink.target_partitions import (
    PARTITION,
    TOPIC,
    PartitionPlacement,
    placed_schema,
)
from millstream.spark.sink.transactions import (
    causes_raised,
    marks_in,
    metadata_of,
    send_mark,
    target_of,
    tell_of_left_out,
)
from millstream.spark.sink.verdicts import Verdict, is_to_write, judge

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_LOGGER = logging.getLogger(__name__)

_ATTEMPTS_MAX: Final = 4
"""As often as Spark itself runs a task (spark.task.maxFailures), whose repetitions this takes over."""
_OUTCOME: Final = "records long, topic string, partition int, offset long"
_QUERY: Final = "sql.streaming.queryId"
_RUN: Final = "spark.jobGroup.id"


class AtomicWriteFailed(MillstreamError):
    """A transaction for a whole micro-batch was given up. Readers see nothing of it, and it may be tried again."""


def write_atomically(rows: DataFrame, batch_id: int, options: Mapping[str, str]) -> int:
    """Writes the rows of a micro-batch, in a function of `foreachBatch`, and returns how many there are.

    `options` are those of the sink; `transactionalIdPrefix` is needed, one for each write in the
    function. A micro-batch that comes again is compared with what was written and not written
    again. Raises BatchChanged where it has other rows.
    """
    session = rows.sparkSession
    parsed = _parsed(rows, options)
    if (session.conf.get("spark.speculation", "false") or "").lower() == "true":
        raise ConfigError(
            "write_atomically cannot work with spark.speculation=true: a task that runs twice would spoil the transaction"
        )
    encoding = encoding_of(parsed, rows.schema)
    mark = _mark(session, batch_id)
    connections(parsed.kafka).require_listener(mark.run)
    write = _AtomicWrite(session, parsed, encoding, mark)
    for attempt in range(1, _ATTEMPTS_MAX):
        try:
            return write.attempt(rows)
        except AtomicWriteFailed as error:
            _LOGGER.warning("attempt %d failed, the write begins anew: %s", attempt, error)
    return write.attempt(rows)


@dataclass(frozen=True, slots=True)
class _AtomicWrite:
    session: SparkSession
    options: SinkOptions
    encoding: Encoding | None
    mark: BatchMark

    @property
    def _id(self) -> str:
        """The transactional id, and the group of the marks."""
        prefix = self.options.transactional_id_prefix
        assert prefix is not None, "it was asked for"
        return prefix_in_query(prefix, self.mark.query) if self.mark.query else prefix

    def attempt(self, rows: DataFrame) -> int:
        kept = self._kept(rows)
        records, digest, topics = _digest(kept)
        link = connections(self.options.kafka)
        target = target_of(link, topics, anew=True) if records else Target()
        mark = replace(self.mark, records=records, digest=digest, target=target)
        producer = link.transactional_producer(self._id)
        try:
            link.run(producer.init_transactions())
            marks = marks_in(link.run(metadata_of(link.admin(), [self._id]))[self._id])
            is_to_write(marks, mark)  # raises where another write has the prefix
            verdict = judge(None, marks, mark, self.options.checkpoint_behind)
            if verdict is Verdict.LEFT_OUT:
                tell_of_left_out(mark)
                return 0
            if verdict is Verdict.WRITE and records:
                self._write(link, producer, kept, mark)
        except BaseException:
            self._give_up(link, producer)
            raise
        return records

    def _kept(self, rows: DataFrame) -> DataFrame:
        """The rows in as many Spark partitions as shuffles have, all those of a topic partition in one of them."""
        placement = PartitionPlacement(self.options, self.encoding)
        placed = rows.mapInArrow(placement, placed_schema(rows, self.options))
        count = int(self.session.conf.get("spark.sql.shuffle.partitions") or 1)
        return placed.repartition(count, TOPIC, PARTITION).localCheckpoint(eager=True)

    def _write(
        self, link: Connections, producer: Producer, kept: DataFrame, mark: BatchMark
    ) -> None:
        shared = link.run(_begun(producer))
        try:
            outcomes = kept.mapInArrow(JoiningTask(self.options, shared), _OUTCOME).collect()
        except Exception as error:  # Spark's, of many kinds
            raise AtomicWriteFailed(f"tasks of micro-batch {mark.batch} failed: {error}") from error
        written = sum(each["records"] for each in outcomes)
        if written != mark.records:
            raise AtomicWriteFailed(f"written: {written} of {counted(mark.records, 'row')}")
        last = outcomes[-1]
        place = TopicPartition(last[TOPIC], last[PARTITION])
        link.run(_commit(producer, self._id, (place, last["offset"] + 1), mark.encode()))

    def _give_up(self, link: Connections, producer: Producer) -> None:
        """Fences the tasks that still run and ends what was begun, so that readers do not wait for it."""
        try:
            link.run(producer.init_transactions())
        except MillstreamError as error:
            _LOGGER.warning("an open transaction is left to its time limit: %s", error)
        link.discard_transactional_producer(self._id)


class JoiningTask:
    """Travels to the tasks, which write in the driver's transaction."""

    def __init__(self, options: SinkOptions, shared: SharedTransaction) -> None:
        self._options = options
        self._shared = shared

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        task = TaskContext.get()
        assert task is not None, "Spark calls this in tasks"
        if task.attemptNumber():
            raise AtomicWriteFailed("a task runs again: the whole write must begin anew")
        link = connections(self._options.kafka)
        producer = link.transactional_producer(self._shared.transactional_id)
        try:
            with causes_raised():
                outcome = self._written(link, producer, batches)
        except BaseException:
            link.discard_transactional_producer(self._shared.transactional_id)
            raise
        if outcome is not None:
            yield pa.RecordBatch.from_pylist([outcome], pa.schema(_outcome_columns()))

    def _written(
        self, link: Connections, producer: Producer, batches: Iterator[pa.RecordBatch]
    ) -> dict[str, object] | None:
        """How many rows were written, and where the last one is. None: there were no rows."""
        link.run(producer.join_transaction(self._shared))
        sender = RowSender(link, self._options)
        deliveries, records = list[BatchDelivery](), 0
        for batch in batches:
            if batch.num_rows:
                records += batch.num_rows
                deliveries += link.run(sender.send(producer, batch))
        if not deliveries:
            return None
        link.run(wait_until_acknowledged(producer, deliveries))
        last = deliveries[-1].last_record()
        place = last.topic_partition
        return {
            "records": records,
            TOPIC: place.topic,
            PARTITION: place.partition,
            "offset": last.offset,
        }


def _outcome_columns() -> list[tuple[str, pa.DataType]]:
    import pyarrow as pa

    types = (pa.int64(), pa.string(), pa.int32(), pa.int64())
    return list(zip(("records", TOPIC, PARTITION, "offset"), types, strict=True))


async def _begun(producer: Producer) -> SharedTransaction:
    await producer.begin_transaction()
    return await producer.share_transaction()


async def _commit(
    producer: Producer, group: str, place: tuple[TopicPartition, int], metadata: str
) -> None:
    await send_mark(producer, group, place, metadata)
    await producer.commit_transaction()


def _parsed(rows: DataFrame, options: Mapping[str, str]) -> SinkOptions:
    exactly_once = DeliveryGuarantee.EXACTLY_ONCE.value
    given = {name.lower(): value for name, value in options.items()}
    if given.setdefault("deliveryguarantee", exactly_once).lower() != exactly_once:
        raise ConfigError("write_atomically writes exactly once: leave out deliveryGuarantee")
    parsed = parse_sink_options(given, rows.schema)
    if parsed.transactional_id_prefix is None:
        raise ConfigError(
            "write_atomically needs an option transactionalIdPrefix, one for each write: by it the write knows what it has written "
            "when the query repeats a micro-batch"
        )
    if parsed.routing.partitioner != MURMUR2 or parsed.routing.dead_letter_topic is not None:
        raise ConfigError(
            "write_atomically takes neither partitioner nor deadLetterTopic: each of its tasks owns the partitions that keys decide"
        )
    return parsed


def _mark(session: SparkSession, batch_id: int) -> BatchMark:
    """Outside a query the batch id alone says which write this is."""
    context = session.sparkContext
    query = context.getLocalProperty(_QUERY) or ""
    write = SystemRandom().randbytes(16).hex()
    run = context.getLocalProperty(_RUN) if query else write
    return BatchMark(query, batch_id, str(run), write)


def _digest(rows: DataFrame) -> tuple[int, int, list[str]]:
    """How many rows there are, a sum over them in which their order does not count, since shuffles do not
    keep it, and their topics.

    Partitions do not count either: rows without a key are spread anew each time.
    """
    from pyspark.sql import functions as sql

    columns = [
        name for name in ("key", "value", "headers", "timestamp", TOPIC) if name in rows.columns
    ]
    nulls = [sql.isnull(name) for name in columns]  # the hash leaves them out
    each = sql.xxhash64(*columns, *nulls).cast("decimal(20,0)")
    found = rows.agg(
        sql.count("*").alias("records"),
        sql.sum(each).alias("sum"),
        sql.collect_set(TOPIC).alias("topics"),
    ).collect()[0]
    return found["records"], int(found["sum"] or 0) % 2**64, found["topics"]
