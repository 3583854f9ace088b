"""Writes the rows of one Spark partition in one transaction, exactly once however often Spark runs it.

The order of effects: `init_transactions` fences every other attempt and aborts what it left; the marks say whether the
micro-batch is written; records, mark and the end of the transaction. An attempt that fails anywhere leaves nothing that
a reader with read_committed sees, and the next one starts with the fence again.

The first micro-batch of a start of a query may have been begun by an earlier start, in other Spark partitions. So its
writers leave their transactions open and hand them to `finishing`, which looks at all marks before it ends any. Later
ones cannot have been begun by anybody else, and their writers commit by themselves.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from millstream.clients import Admin, BatchDelivery, OffsetAndMetadata, Producer, SharedTransaction
from millstream.clients.core.values import ConsumerGroupMetadata
from millstream.clients.producer.transaction.core.errors import (
    TransactionalProducerFailed,
    TransactionFailed,
)
from millstream.errors import KafkaError, UnstableOffsetCommit
from millstream.model import TopicPartition
from millstream.spark.connections import Connections, wait_until_acknowledged
from millstream.spark.sink.digests import COLUMNS, RowDigest
from millstream.spark.sink.marks import BatchMark, StartMark, Target
from millstream.spark.sink.options import SinkOptions
from millstream.spark.sink.row_checks import illegal_name
from millstream.spark.sink.rows import RowSender, by_topic
from millstream.spark.sink.verdicts import Verdict, is_open, is_to_write, judge

if TYPE_CHECKING:
    import pyarrow as pa

_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BatchWrite:
    """One attempt at a Spark partition of a micro-batch.

    `prefix` begins the transactional id and the name of the group.

    Outside a query nobody begins the same write again: it `is_alone`.
    """

    prefix: str
    partition: int
    mark: BatchMark
    is_alone: bool = False

    @property
    def transactional_id(self) -> str:
        return self.id_of(self.partition)

    def id_of(self, partition: int) -> str:
        return f"{self.prefix}-{partition}"

    @property
    def start_id(self) -> str:
        """The transactional id of starts of the query, and the group of their marks."""
        return f"{self.prefix}-start"


@dataclass(frozen=True, slots=True)
class Unfinished:
    """The part of a write that is left to `finishing`: the mark of what the writer has or would have written, the marks
    it has found, its open transaction.

    `place` is where its last record is, with the offset behind it. None, as `shared`, where it has written nothing.
    """

    write: BatchWrite
    found: tuple[BatchMark, ...]
    shared: SharedTransaction | None = None
    place: tuple[TopicPartition, int] | None = None


def write_exactly_once(
    link: Connections, write: BatchWrite, options: SinkOptions, batches: Iterator[pa.RecordBatch]
) -> tuple[int, Unfinished | None]:
    """Returns how many rows the topics have of this Spark partition, now or from before, and what is left to
    do once all have written.

    Raises BatchChanged, CheckpointBehind, and what clients raise.
    """
    producer = link.transactional_producer(write.transactional_id)
    try:
        with causes_raised():
            link.run(producer.init_transactions())
            return _Attempt(link, producer, write, options).run(batches)
    except BaseException:
        link.discard_transactional_producer(write.transactional_id)
        raise


@contextmanager
def causes_raised() -> Iterator[None]:
    """Raises what a transaction has failed with in the place of its failure, whose advice is for callers of a
    producer: Spark begins anew.
    """
    try:
        yield
    except (TransactionFailed, TransactionalProducerFailed) as error:
        cause = error.__cause__
        if not isinstance(cause, KafkaError):
            raise
        raise type(cause)(str(cause)) from error


class _Attempt:
    def __init__(
        self, link: Connections, producer: Producer, write: BatchWrite, options: SinkOptions
    ) -> None:
        self._link = link
        self._producer = producer
        self._write = write
        self._options = options
        self._digest = digest_of(options)
        self._topics: set[str] = set()

    def run(self, batches: Iterator[pa.RecordBatch]) -> tuple[int, Unfinished | None]:
        write = self._write
        found, start = self._link.run(_marks_of(self._link.admin(), write))
        is_mine_to_end = write.is_alone or is_open(start, write.mark, write.partition)
        deliveries = list[BatchDelivery]()
        if is_to_write(found, write.mark):
            deliveries = self._sent(batches)
        else:
            for batch in batches:
                self._add(batch)
        mark = self._finished_mark(anew=not is_mine_to_end)
        if not is_mine_to_end:
            left = Unfinished(replace(write, mark=mark), tuple(found))
            if deliveries:
                left = self._link.run(self._handed_over(left, deliveries))
            return self._digest.records, left
        if self._judged(start, found, mark) is Verdict.LEFT_OUT:
            return 0, None
        if deliveries:
            self._link.run(self._commit(mark, deliveries))
        return self._digest.records, None

    def _judged(self, start: StartMark | None, found: list[BatchMark], mark: BatchMark) -> Verdict:
        partition = self._write.partition
        verdict = judge(start, found, mark, self._options.checkpoint_behind, partition)
        if verdict is Verdict.LEFT_OUT:
            tell_of_left_out(mark)
        return verdict

    def _sent(self, batches: Iterator[pa.RecordBatch]) -> list[BatchDelivery]:
        deliveries = list[BatchDelivery]()
        sender = RowSender(self._link, self._options)
        for batch in batches:
            if not batch.num_rows:
                continue
            if not deliveries:
                self._link.run(self._producer.begin_transaction())
            self._add(batch)
            deliveries += self._link.run(sender.send(self._producer, batch))
        return deliveries

    def _add(self, batch: pa.RecordBatch) -> None:
        self._digest.add(batch)
        if batch.num_rows:
            self._topics.update(topic for topic, _ in by_topic(self._options, batch))

    def _finished_mark(self, *, anew: bool) -> BatchMark:
        digest, mark = self._digest, self._write.mark
        target = target_of(self._link, self._topics, anew=anew) if digest.records else Target()
        return replace(mark, records=digest.records, digest=digest.value, target=target)

    async def _handed_over(self, left: Unfinished, deliveries: list[BatchDelivery]) -> Unfinished:
        place = await self._marked(left.write.mark, deliveries)
        return replace(left, place=place, shared=await self._producer.hand_over_transaction())

    async def _commit(self, mark: BatchMark, deliveries: list[BatchDelivery]) -> None:
        await self._marked(mark, deliveries)
        await self._producer.commit_transaction()

    async def _marked(
        self, mark: BatchMark, deliveries: list[BatchDelivery]
    ) -> tuple[TopicPartition, int]:
        await wait_until_acknowledged(self._producer, deliveries)
        last = deliveries[-1].last_record()
        place = (last.topic_partition, last.offset + 1)
        await send_mark(self._producer, self._write.transactional_id, place, mark.encode())
        return place


def digest_of(options: SinkOptions) -> RowDigest:
    """Returns an empty digest. A column `topic` says nothing where an option says the topic."""
    return RowDigest(
        COLUMNS if options.topic is None else tuple(c for c in COLUMNS if c != "topic")
    )


def target_of(link: Connections, topics: Iterable[str], *, anew: bool) -> Target:
    """`anew`: asks for the ids, because a topic may have been made anew since they were listed.

    What is no topic was not written to.
    """
    names = tuple(sorted(name for name in topics if illegal_name(name) is None))
    ids = link.topic_ids(names, anew=anew)
    if not anew and ids.keys() < set(names):  # brokers make some when they are written to
        ids = link.topic_ids(names, anew=True)
    return Target.of(link.cluster_id(), ids)


def tell_of_left_out(mark: BatchMark) -> None:
    _LOGGER.warning(
        "micro-batch %d of query %s is left out, because the topic has it or later ones already (checkpointBehind=leave-out): rows that "
        "are new in it are in no topic",
        mark.batch,
        mark.query,
    )


async def send_mark(
    producer: Producer, group: str, place: tuple[TopicPartition, int], metadata: str
) -> None:
    """The offset of a group says nothing; its metadata is the mark."""
    topic_partition, offset = place
    marked = {topic_partition: OffsetAndMetadata(offset, metadata)}
    await producer.send_offsets_to_transaction(marked, ConsumerGroupMetadata(group))


def marks_in(metadata: Iterable[str]) -> list[BatchMark]:
    """All that a group has: the topic of the last record may be another one each time."""
    return [mark for each in metadata if (mark := BatchMark.decode(each)) is not None]


async def _marks_of(admin: Admin, write: BatchWrite) -> tuple[list[BatchMark], StartMark | None]:
    """The marks of a writer and of the last start. To be called behind the writer's fence: see `finishing`."""
    group, start = write.transactional_id, write.start_id
    if write.is_alone:
        return marks_in((await metadata_of(admin, [group]))[group]), None
    # The transaction of a start whose driver was killed may be open until its time limit: it has no mark yet.
    mine, of_start = await asyncio.gather(
        metadata_of(admin, [group]), metadata_of(admin, [start], is_stable=False)
    )
    return marks_in(mine[group]), StartMark.newest(of_start[start])


async def metadata_of(
    admin: Admin, group_ids: Iterable[str], *, is_stable: bool = True
) -> dict[str, list[str]]:
    """The metadata of all offsets of groups, in one request to each of their coordinators.

    `is_stable` waits for transactions that are being ended, and is to be asked for where the groups'
    producers have no open one.
    """
    groups = await admin.list_consumer_group_offsets(group_ids, require_stable=is_stable)
    found = dict[str, list[str]]()
    for group_id in group_ids:
        try:
            committed = groups.result(group_id)
            found[group_id] = [committed.result(tp).metadata for tp in committed]
        except UnstableOffsetCommit as error:
            raise UnstableOffsetCommit(
                f"{error} It is one of group {group_id}, of which none is open any more: brokers have lost its end. "
                "kafka-transactions.sh find-hanging names it and its partitions, abort ends it there"
            ) from error
    return found
