"""The clients of a process that runs tasks, and the questions that tasks ask a cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from millstream.clients import Producer, RangeReader
from millstream.clients.admin import Admin, OffsetSpec
from millstream.errors import OffsetOutOfRange
from millstream.model import TopicPartition, Uuid
from millstream.streams.runtime.committed import CommittedPosition
from millstream.streams.runtime.errors import DataLoss

if TYPE_CHECKING:
    import pyarrow as pa


_LATEST: Final = -1


@dataclass(frozen=True, slots=True)
class ReadableLog:
    """A partition as readers see it: offsets from `start` to before `end`, in a topic with this id."""

    topic_id: Uuid
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class TaskClients:
    """`reader` and `admin` serve all tasks of a process; `make_producer` makes one for a transactional id, or for None."""

    reader: RangeReader
    admin: Admin
    make_producer: Callable[[str | None], Producer]

    async def committed(
        self, group_id: str, topics: Iterable[str], partition: int
    ) -> CommittedPosition:
        """The position of a task, once transactions that are about to commit it have ended."""
        wanted = [TopicPartition(topic, partition) for topic in topics]
        groups = await self.admin.list_consumer_group_offsets(
            {group_id: wanted}, require_stable=True
        )
        found = groups.result(group_id)
        return CommittedPosition.decode({tp: found.result(tp) for tp in found})

    async def logs(self, topics: Iterable[str], partition: int) -> dict[str, ReadableLog]:
        """Returns, by topic, what can be read of one partition: up to the last stable offset where readers are read_committed."""
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
        described = await self.admin.describe_topics(list({tp.topic for tp in partitions}))
        starts = await self.admin.list_offsets(dict.fromkeys(partitions, OffsetSpec.EARLIEST))
        ends = await self.admin.list_offsets(
            dict.fromkeys(partitions, OffsetSpec.LATEST),
            read_committed=self.reader.config.isolation_level == "read_committed",
        )
        return {
            tp: ReadableLog(
                described.result(tp.topic).topic_id,
                starts.result(tp).offset,
                ends.result(tp).offset,
            )
            for tp in partitions
        }

    async def ends(self, topics: Iterable[str], partition: int) -> dict[str, int]:
        """Returns, by topic, the offset after all that is written in one partition, open transactions included."""
        partitions = [TopicPartition(topic, partition) for topic in topics]
        if not partitions:
            return {}
        found = await self.admin.list_offsets(dict.fromkeys(partitions, OffsetSpec.LATEST))
        return {tp.topic: found.result(tp).offset for tp in partitions}

    async def read(
        self, topic: str, partition: int, start: int, end: int
    ) -> AsyncIterator[pa.RecordBatch]:
        """The records of a range. Raises DataLoss where they are no longer in the log."""
        try:
            async for batch in self.reader.read(topic, partition, start, end, headers=True):
                yield batch
        except OffsetOutOfRange as error:
            log = (await self.logs([topic], partition))[topic]
            raise DataLoss(
                f"offsets {start} to {end} of {topic}-{partition} are not all in the log, which holds {log.start} to {log.end}: "
                "retention or a delete was faster than the application, or the topic was made anew. Going on would leave "
                "records out; reset the application to go on with what is left"
            ) from error
