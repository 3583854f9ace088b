"""The clients of a process that runs tasks, and the questions that tasks ask a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import (
    AsyncIterator,
    Callable,
    Collection,
    Coroutine,
    Iterable,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from millstream.clients import Consumer, OffsetAndMetadata, Producer, RangeReader, TopicDeleted
from millstream.clients.admin import Admin, OffsetSpec
from millstream.clients.cluster.leader_epochs import leader_epochs, learn_leader_epochs
from millstream.clients.core.values import ConsumerGroupMetadata
from millstream.errors import OffsetOutOfRange, UnknownTopicOrPartition
from millstream.model import TopicPartition, uuid_from_text
from millstream.net.client.tasks import TaskGroup
from millstream.streams.runtime.committed import CommittedPosition, owners_of
from millstream.streams.runtime.errors import DataLoss
from millstream.streams.runtime.logs import ReadableLog

if TYPE_CHECKING:
    import pyarrow as pa


Offsets = Mapping[TopicPartition, OffsetAndMetadata]

LOOK_S: Final = 1.0
"""Whoever waits for what needs a topic looks so often whether it is still there."""
_LATEST: Final = -1
_Result = TypeVar("_Result")


_WITH_HEADERS: Final = ("headers",)
_WHOLE_BATCHES: Final = ("headers", "baseOffset", "timestampType")


class GroupMember(Protocol):
    """A member of the group in whose name offsets are committed."""

    async def commit(self, offsets: Offsets) -> None:
        """Commits offsets outside of transactions. Raises CommitFailed where the group went on without the member."""

    def group_metadata(self) -> ConsumerGroupMetadata:
        """Returns what transactions say of the member, so that coordinators refuse one that the group went on without.

        Raises CommitFailed where it knows that the group did.
        """
        ...


@dataclass(frozen=True, slots=True)
class TaskClients:
    """`reader` and `admin` serve all tasks of a process; `make_producer` makes one for a transactional id, or for None.

    `changelog_reader` reads what stores are restored from; None: `reader` does.

    `member` belongs to the group of the application; None where the group has no members. `shared_producer` serves all
    tasks that have no transactions, and is closed by whoever made it; None where each task has one of its own.
    """

    reader: RangeReader
    admin: Admin
    make_producer: Callable[[str | None], Producer]
    member: GroupMember | None = None
    shared_producer: Producer | None = None
    changelog_reader: RangeReader | None = None
    consumer: Consumer[bytes, bytes] | None = None
    """Reads the input of the tasks; None: `reader` does."""

    def producer(self, transactional_id: str | None) -> Producer:
        """Returns the producer of a task, which `release` takes back."""
        if transactional_id is None and self.shared_producer is not None:
            return self.shared_producer
        return self.make_producer(transactional_id)

    async def release(self, producer: Producer) -> None:
        """Closes a producer unless other tasks use it, too. What it has not sent is given up."""
        if producer is not self.shared_producer:
            await producer.close(timeout_ms=0)

    @property
    def is_read_committed(self) -> bool:
        """Whether what open transactions have written is not read."""
        return self.reader.config.isolation_level == "read_committed"

    async def commit_offsets(self, group_id: str, offsets: Offsets) -> None:
        """Commits offsets outside of transactions. Raises CommitFailed where the group went on without the member."""
        if self.member is not None:
            await self.member.commit(offsets)
        else:
            committed = await self.admin.alter_consumer_group_offsets(group_id, offsets)
            committed.raise_errors()

    def group_metadata(self, group_id: str) -> ConsumerGroupMetadata:
        """Returns the group and the member of it that a transaction commits offsets for.

        Raises CommitFailed as `commit_offsets` does.
        """
        return (
            ConsumerGroupMetadata(group_id) if self.member is None else self.member.group_metadata()
        )

    async def committed(
        self,
        group_id: str,
        topics: Iterable[str],
        partition: int,
        *,
        require_stable: bool = True,
    ) -> CommittedPosition:
        """Returns the position of a task.

        With `require_stable` it waits for transactions that are about to commit it.
        """
        position = CommittedPosition.decode(
            await self._offsets(group_id, topics, partition, require_stable=require_stable)
        )
        epochs = position.epochs_by_id(partition)
        for client in (self.admin, self.reader, self.changelog_reader, self.consumer):
            if client is not None:
                learn_leader_epochs(client, epochs)
        return position

    def with_leader_epochs(
        self, position: CommittedPosition, partition: int, writer: Producer
    ) -> CommittedPosition:
        """Returns the position with the epochs of the leaders that its input was read from, and its changelogs are
        written to by `writer`.
        """
        reader = self.reader if self.consumer is None else self.consumer
        found = {}
        for client, ids in ((writer, position.changelogs), (reader, position.input_ids)):
            wanted = [TopicPartition(topic, partition) for topic in ids]
            for (topic_id, (topic, _)), epoch in leader_epochs(client, wanted).items():
                # A client may not have heard yet that another topic has the name.
                if topic_id == uuid_from_text(ids[topic]):
                    found[topic] = epoch
        return replace(position, leader_epochs=found)

    async def committed_offsets(
        self, group_id: str, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """Returns the offsets that are committed by now, of those partitions that have one."""
        groups = await self.admin.list_consumer_group_offsets({group_id: list(partitions)})
        found = groups.result(group_id)
        return {each: found.result(each).offset for each in found}

    async def owners(self, group_id: str, topics: Iterable[str], partition: int) -> set[str]:
        """Returns the names of the tasks whose transactions have committed these offsets.

        Transactions that are open are not waited for.
        """
        return owners_of(await self._offsets(group_id, topics, partition, require_stable=False))

    async def _offsets(
        self, group_id: str, topics: Iterable[str], partition: int, *, require_stable: bool
    ) -> Mapping[TopicPartition, OffsetAndMetadata]:
        wanted = [TopicPartition(topic, partition) for topic in topics]
        groups = await self.admin.list_consumer_group_offsets(
            {group_id: wanted}, require_stable=require_stable
        )
        found = groups.result(group_id)
        return {tp: found.result(tp) for tp in found}

    async def logs(self, topics: Iterable[str], partition: int) -> dict[str, ReadableLog]:
        """Returns, by topic, what can be read of one partition: up to the last stable offset where
        readers are read_committed.
        """
        return {
            tp.topic: log
            for tp, log in (
                await self._logs([TopicPartition(topic, partition) for topic in topics])
            ).items()
        }

    async def logs_of_all_partitions(
        self, topics: Iterable[str]
    ) -> dict[TopicPartition, ReadableLog]:
        """Returns the same of all partitions."""
        return await self._logs(
            [
                TopicPartition(topic, partition)
                for topic in topics
                for partition in await self.readable_ends(topic)
            ]
        )

    async def readable_ends(self, topic: str) -> dict[int, int]:
        """Returns how far each partition of a topic can be read."""
        return await self.reader.offsets(topic, _LATEST)

    async def offset_at(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        """Returns the first offset at or after a time; None where no record is that late."""
        tp = TopicPartition(topic, partition)
        found = (await self.admin.list_offsets({tp: timestamp_ms})).result(tp).offset
        return None if found < 0 else found

    async def _logs(
        self, partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, ReadableLog]:
        if not partitions:
            return {}
        # A topic that is made anew between these requests gets the id of the former one, and offsets of its own. What
        # is restored so is committed with that id, and the next start finds another (`_require_same_changelogs`).
        described = await self.admin.describe_topics(list({tp.topic for tp in partitions}))
        starts = await self.admin.list_offsets(dict.fromkeys(partitions, OffsetSpec.EARLIEST))
        ends = await self.admin.list_offsets(
            dict.fromkeys(partitions, OffsetSpec.LATEST),
            read_committed=self.is_read_committed,
        )
        return {
            tp: ReadableLog(
                described.result(tp.topic).topic_id,
                starts.result(tp).offset,
                ends.result(tp).offset,
            )
            for tp in partitions
        }

    async def ends(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Returns the offset after all that is written in each partition, open transactions included."""
        if not partitions:
            return {}
        found = await self.admin.list_offsets(dict.fromkeys(partitions, OffsetSpec.LATEST))
        return {tp: found.result(tp).offset for tp in partitions}

    def read(
        self,
        topic: str,
        partition: int,
        start: int,
        end: int,
        *,
        topic_id: str | None = None,
        whole_batches: bool = False,
    ) -> AsyncIterator[pa.RecordBatch]:
        """Yields the records of a range, with `whole_batches` also those before it in its first record batch.

        Raises TopicDeleted, also where the topic has another id than `topic_id`, and DataLoss where they are no longer
        in the log.
        """
        columns = _WHOLE_BATCHES if whole_batches else _WITH_HEADERS
        return self._read(
            self.reader, topic, partition, start, end, columns=columns, topic_id=topic_id
        )

    def read_changelog(
        self, topic: str, partition: int, start: int, end: int
    ) -> AsyncIterator[pa.RecordBatch]:
        """Yields the records of a range of which a store is restored. Raises as `read` does."""
        reader = self.reader if self.changelog_reader is None else self.changelog_reader
        return self._read(reader, topic, partition, start, end, columns=_WITH_HEADERS)

    async def _read(
        self,
        reader: RangeReader,
        topic: str,
        partition: int,
        start: int,
        end: int,
        *,
        columns: Sequence[str],
        topic_id: str | None = None,
    ) -> AsyncIterator[pa.RecordBatch]:
        id_ = None if topic_id is None else uuid_from_text(topic_id)
        reading = reader.read(topic, partition, start, end, columns=columns, topic_id=id_)

        async def next_batch() -> pa.RecordBatch | None:
            return await anext(reading, None)

        try:
            while (batch := await self.while_there([topic], next_batch())) is not None:
                yield batch
        except OffsetOutOfRange as error:
            log = (await self.logs([topic], partition))[topic]
            raise DataLoss(
                f"offsets {start} to {end} of {topic}-{partition} are not all in the log, which holds {log.start} to {log.end}: "
                "retention or a delete was faster than the application, or the topic was made anew. Going on would leave "
                "records out; reset the application to go on with what is left"
            ) from error

    async def while_there(
        self, topics: Sequence[str], work: Coroutine[object, object, _Result]
    ) -> _Result:
        """Returns the result of what would wait in vain for a topic that is gone.

        Raises TopicDeleted soon after that.
        """
        try:
            async with TaskGroup() as tasks:
                working = tasks.create_task(work)
                while not (await asyncio.wait((working,), timeout=LOOK_S))[0]:
                    await self._require_there(topics)
        except ExceptionGroup as failed:
            error = failed.exceptions[0]
            raise error from error.__cause__
        return working.result()

    async def _require_there(self, topics: Sequence[str]) -> None:
        """Raises TopicDeleted. A broker that does not answer is no reason."""
        described = await self.admin.describe_topics(topics, timeout_ms=int(LOOK_S * 1000))
        for topic, error in described.errors().items():
            if isinstance(error, UnknownTopicOrPartition):
                raise TopicDeleted(f"topic {topic!r} was deleted; the task goes on without it")
