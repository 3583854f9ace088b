"""The clients of one Python process of Spark, kept between tasks.

Spark runs each step of a task in pooled worker processes and reuses them: a connection opened for one micro-batch
serves the next. Clients move only while `run` is waiting, so there is no thread and nothing to stop when Spark retires
a worker. Not for use from several threads.
"""

from __future__ import annotations

import asyncio
import atexit
import hashlib
import logging
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from millstream import clients
from millstream.clients.cluster.cluster import require_listener
from millstream.clients.cluster.core.cluster_metadata import LeaderEpochs
from millstream.clients.cluster.leader_epochs import leader_epochs, learn_leader_epochs
from millstream.clients.consumer.core.fetched import BatchSummary
from millstream.errors import (
    MillstreamError,
    OffsetOutOfRange,
    RetriableError,
    UnknownTopicOrPartition,
)
from millstream.model import Offset, TopicPartition, Uuid
from millstream.spark.admission import Later, Sample
from millstream.spark.kafka_settings import KafkaSettings

if TYPE_CHECKING:
    # The process of a query that only reads starts without those that write.
    from millstream.clients import Admin, BatchDelivery, Consumer, Producer, RangeReader
    from millstream.net.client.core.addresses import Address

METADATA_AGE_MS: Final = 300_000
"""Kafka's metadata.max.age.ms."""
_LISTING_TIMEOUT_MS: Final = 10_000
"""A list that takes longer leaves the one before in use: planning waits no longer for it."""
_TIME_MAX: Final = 2**63 - 1
"""The largest timestamp that a record can have."""
_WATCHED_BYTES: Final = 65_536
"""One record is enough to know; but a partition with so much unread is left out of the next fetch, which the broker
then holds for the others while this one has news again."""

_FOUND_MAX: Final = 1_000
"""Starts that one process remembers. One that it has forgotten looks again."""

TRANSACTIONAL_MAX: Final = 8
"""So many transactional producers stay open in one process: Spark may run any partition of a query in any worker."""

_LOGGER = logging.getLogger(__name__)
_Result = TypeVar("_Result")


class _Listed(NamedTuple):
    """Ids of topics by name, and when they are to be asked for again."""

    ids: Mapping[str, Uuid]
    until_s: float


@dataclass(slots=True)
class Connections:
    """One event loop with the clients that live on it. `metadata_age_ms`: after that new partitions are looked for."""

    kafka: KafkaSettings
    metadata_age_ms: int = METADATA_AGE_MS
    runner: asyncio.Runner = field(default_factory=asyncio.Runner)
    _reader: RangeReader | None = None
    _producer: Producer | None = None
    _sampler: RangeReader | None = None
    _watcher: Consumer | None = None
    _unacknowledged: Producer | None = None
    _admin: Admin | None = None
    _found: dict[str, None] = field(default_factory=dict)
    """The starts that have found the cluster, the latest last."""
    _transactional: dict[str, Producer] = field(default_factory=dict)
    _cluster_id: str | None = None
    _listed: dict[tuple[str, ...] | None, _Listed] = field(default_factory=dict)
    _epochs: dict[tuple[Uuid, TopicPartition], int] = field(default_factory=dict)
    """The leaders' epochs that were learned, for the clients that are made later."""

    def run(self, work: Coroutine[object, object, _Result]) -> _Result:
        return self.runner.run(work)

    def require_listener(self, start: str = "", *, told_in: str | None = None) -> None:
        """Raises BrokerNotAvailable where nothing listens at the addresses: before something
        begins, which waits from then on.

        A `start` that has found the cluster does not look again, nor do the other processes that
        share the directory `told_in`: a cluster that refuses then restarts. Another start looks,
        although this process was connected before.
        """
        if start and start in self._found:
            return
        settings = self.kafka.of_start()
        told = None if told_in is None else _told(told_in, start, settings.bootstrap_servers)
        if told is None or not told.exists():
            self.run(require_listener(settings))
        if told is not None:
            _touch(told)
        self._found[start] = None
        if len(self._found) > _FOUND_MAX:
            del self._found[next(iter(self._found))]

    def reader(self) -> RangeReader:
        if self._reader is None:
            self._reader = self._made_reader(metadata_max_age_ms=self.metadata_age_ms)
        return self._reader

    def leader_epochs(self, partitions: Iterable[TopicPartition]) -> LeaderEpochs:
        """The epochs of the leaders that the reader asks now, as far as they are known."""
        return leader_epochs(self.reader(), partitions)

    def learn_leader_epochs(self, epochs: LeaderEpochs) -> None:
        """Has no client that reads ask a leader that is older than these: its log may lack what was read."""
        newer = {key: epoch for key, epoch in epochs.items() if epoch > self._epochs.get(key, -1)}
        if newer:
            self._epochs |= newer
            self.run(_learn(self._reading_clients(), newer))

    def _reading_clients(self) -> list[RangeReader | Consumer | Admin]:
        clients = (self._reader, self._sampler, self._watcher, self._admin)
        return [client for client in clients if client is not None]

    def look_anew(self) -> None:
        """Forgets what is known of topics and partitions, for who must not miss one that came a moment ago."""
        self._listed.clear()
        reader, self._reader = self._reader, None
        if reader is not None:
            self.run(reader.close())

    def producer(self) -> Producer:
        """Idempotent, acks=all. One that has failed for good must be `discard`ed."""
        if self._producer is None:
            self._producer = self._made_producer()
        return self._producer

    def discard_producer(self) -> None:
        """Forget a producer whose outcome is unknown; the next task gets a new one with an id of its own."""
        producer, self._producer = self._producer, None
        if producer is not None:
            self._close(producer)

    def unacknowledged_producer(self) -> Producer:
        """One that sends each record once, acks=0."""
        if self._unacknowledged is None:
            self._unacknowledged = self._made_producer(acks=0, enable_idempotence=False, retries=0)
        return self._unacknowledged

    def transactional_producer(self, transactional_id: str) -> Producer:
        """The one with this id.

        Whoever begins calls `init_transactions` first: another process may have had the id meanwhile.
        """
        producer = self._transactional.pop(transactional_id, None)
        if producer is None:
            while len(self._transactional) >= TRANSACTIONAL_MAX:
                self.discard_transactional_producer(next(iter(self._transactional)))
            producer = self._made_producer(transactional_id=transactional_id)
        self._transactional[transactional_id] = producer
        return producer

    def discard_transactional_producer(self, transactional_id: str) -> None:
        """Aborts what it has begun, and forgets it."""
        producer = self._transactional.pop(transactional_id, None)
        if producer is not None:
            self._close(producer)

    def admin(self) -> Admin:
        if self._admin is None:
            settings = self.kafka.of_client()
            self._admin = self.run(_made(lambda: clients.Admin(**settings)))
            self.run(_learn([self._admin], self._epochs))
        return self._admin

    def cluster_id(self) -> str:
        """Empty for brokers that have none."""
        if self._cluster_id is None:
            self._cluster_id = self.run(self.admin().describe_cluster()).cluster_id or ""
        return self._cluster_id

    def topic_ids(self, names: tuple[str, ...] | None, *, anew: bool = False) -> Mapping[str, Uuid]:
        """Ids of the topics that are there, as they were within `metadata_age_ms`.

        Without names: of all but internal ones.

        A list that cannot be had in time leaves the one before in use.
        """
        now_s = self.runner.get_loop().time()
        listed = self._listed.get(names)
        if listed is not None and not anew and now_s < listed.until_s:
            return listed.ids
        try:
            ids: Mapping[str, Uuid] = self.run(_topic_ids(self.admin(), names))
        except RetriableError as error:
            if listed is None:
                raise
            _LOGGER.warning("topics could not be listed, the list of before is in use: %s", error)
            ids = listed.ids
        self._listed[names] = _Listed(ids, now_s + self.metadata_age_ms / 1000)
        return ids

    def times_at(self, samples: Mapping[TopicPartition, Sample]) -> dict[TopicPartition, int]:
        """The latest timestamp in each sample, or of the first record behind it; none where there is no record."""
        if not samples:
            return {}
        return self.run(_times(self._sampling(), samples))

    def offsets_after(self, wanted: Mapping[TopicPartition, Later]) -> dict[TopicPartition, Offset]:
        """For each partition the offset of the record that is asked for; left out where there is none.

        The broker's index begins at the start of the log and has aborted records too, so that what it finds
        only says where to look from.
        """
        if not wanted:
            return {}
        # Records may have any timestamp of 64 bits: behind the last one nothing comes, and the index begins at 0.
        wanted = {tp: each for tp, each in wanted.items() if each.time < _TIME_MAX}
        times = {tp: max(0, each.time + 1) for tp, each in wanted.items()}
        found = self.run(self._watching().offsets_for_times(times))
        sampler, reader = self._sampling(), self.reader()
        searches = {}
        for tp, each in wanted.items():
            first = found[tp]
            if first is None or first.offset >= each.end:
                continue
            if first.offset >= each.start:
                from_here = each._replace(start=Offset(first.offset))
                searches[tp] = _first_later_from(sampler, tp, from_here)
            else:
                searches[tp] = _first_later(reader, tp, each)
        return self.run(_found(searches))

    def batches_in(
        self,
        ranges: Mapping[TopicPartition, tuple[Offset, Offset]],
        bytes_max: int | None,
        timeout_ms: int,
    ) -> dict[TopicPartition, list[BatchSummary]]:
        """The batches of each range: at least one, more until the time is over or there are bytes enough.

        A range that is no longer in the log is left out.
        """
        if not ranges:
            return {}
        return self.run(_batches(self.reader(), ranges, bytes_max, timeout_ms))

    def wait_for_records(self, after: Mapping[TopicPartition, int], timeout_ms: int) -> None:
        """Long poll: returns when a partition has a record at or after its offset, or at the time limit."""
        if after:
            self.run(_wait_for_record(self._watching(), after, timeout_ms))
        else:
            self.run(asyncio.sleep(timeout_ms / 1000))

    def _sampling(self) -> RangeReader:
        if self._sampler is None:
            self._sampler = self._made_reader(max_partition_fetch_bytes=1)  # a batch at a time
        return self._sampler

    def _watching(self) -> Consumer:
        if self._watcher is None:
            settings = self.kafka.of_reader() | {
                "max_partition_fetch_bytes": _WATCHED_BYTES,
                "auto_offset_reset": "earliest",
                "allow_auto_create_topics": False,  # one that is deleted would come back
            }
            self._watcher = self.run(_made(lambda: clients.Consumer(**settings)))
            self.run(_learn([self._watcher], self._epochs))
        return self._watcher

    def close(self) -> None:
        """For a process that goes on without Spark; workers of Spark just end."""
        for client in self._reading_clients():
            self.run(client.close())
        self._reader = self._sampler = self._watcher = self._admin = None
        self.discard_producer()
        unacknowledged, self._unacknowledged = self._unacknowledged, None
        if unacknowledged is not None:
            self._close(unacknowledged)
        for transactional_id in list(self._transactional):
            self.discard_transactional_producer(transactional_id)
        self.runner.close()

    def _made_reader(self, **more: int) -> RangeReader:
        settings = self.kafka.of_reader() | more
        reader = self.run(_made(lambda: clients.RangeReader(**settings)))
        self.run(_learn([reader], self._epochs))
        return reader

    def _made_producer(self, **more: Any) -> Producer:  # Any: settings of any type
        settings = {"linger_ms": 0} | self.kafka.of_producer() | more
        return self.run(_made(lambda: clients.Producer(**settings)))

    def _close(self, producer: Producer) -> None:
        try:
            self.run(producer.close(timeout_ms=0))
        except MillstreamError as error:  # the caller already raises the failure that led here
            _LOGGER.debug("a failed producer was closed: %s", error)

    def iterate(self, items: AsyncIterator[_Result]) -> Iterator[_Result]:
        """An async iterator in plain code. The loop stands still while the caller works on an item."""
        try:
            while True:
                try:
                    item = self.run(_next(items))
                except StopAsyncIteration:
                    return
                yield item
        finally:
            self.run(close_reading(items))


def _told(directory: str, start: str, servers: Iterable[Address]) -> Path:
    """Returns the file that says of a start that the cluster was found: processes of Spark share nothing else."""
    name = hashlib.sha256(f"{start} {' '.join(map(str, servers))}".encode()).hexdigest()
    return Path(directory) / f"millstream-found-{name[:32]}"


def _touch(told: Path) -> None:
    try:
        told.touch()
    except OSError as error:
        _LOGGER.debug("other processes look for the cluster, too: %s", error)


async def _topic_ids(admin: Admin, names: tuple[str, ...] | None) -> dict[str, Uuid]:
    if names is None:
        listing = await admin.list_topics(timeout_ms=_LISTING_TIMEOUT_MS)
        return {name: topic.topic_id for name, topic in listing.items()}
    found = await admin.describe_topics(names, timeout_ms=_LISTING_TIMEOUT_MS)
    there = [name for name in names if not isinstance(found[name], UnknownTopicOrPartition)]
    return {name: found.result(name).topic_id for name in there}


async def _wait_for_record(
    consumer: Consumer, after: Mapping[TopicPartition, int], timeout_ms: int
) -> None:
    consumer.assign(after)
    for partition, offset in after.items():
        consumer.seek(partition, offset)
    await consumer.poll(max_records=1, timeout_ms=timeout_ms)


async def _batches(
    reader: RangeReader,
    ranges: Mapping[TopicPartition, tuple[Offset, Offset]],
    bytes_max: int | None,
    timeout_ms: int,
) -> dict[TopicPartition, list[BatchSummary]]:
    deadline_s = asyncio.get_running_loop().time() + timeout_ms / 1000
    found = await asyncio.gather(
        *(_batches_of(reader, tp, offsets, bytes_max, deadline_s) for tp, offsets in ranges.items())
    )
    return {tp: mine for tp, mine in zip(ranges, found, strict=True) if mine}


async def _batches_of(
    reader: RangeReader,
    partition: TopicPartition,
    offsets: tuple[Offset, Offset],
    bytes_max: int | None,
    deadline_s: float,
) -> list[BatchSummary]:
    loop, found, size = asyncio.get_running_loop(), list[BatchSummary](), 0
    batches = reader.batches(partition.topic, partition.partition, *offsets)
    try:
        async for batch in batches:
            found.append(batch)
            size += batch.size_bytes
            if loop.time() >= deadline_s or (bytes_max is not None and size >= bytes_max):
                break
    except OffsetOutOfRange:  # the reading task says what was lost
        return []
    finally:
        await close_reading(batches)
    return found


async def _times(
    reader: RangeReader, samples: Mapping[TopicPartition, Sample]
) -> dict[TopicPartition, int]:
    found = await asyncio.gather(*(_time(reader, tp, sample) for tp, sample in samples.items()))
    return {tp: time for tp, time in zip(samples, found, strict=True) if time is not None}


async def _time(reader: RangeReader, partition: TopicPartition, sample: Sample) -> int | None:
    import pyarrow.compute as pc

    latest: int | None = None
    # A reader fetches ahead within its range, so most samples are one fetch.
    for start, end in ((sample.start, sample.end), (sample.end, sample.available)):
        batches = reader.read(partition.topic, partition.partition, start, end)
        try:
            async for rows in batches:
                if start == sample.end:
                    return int(rows.column("timestamp")[0].as_py())
                newest = pc.max(rows.column("timestamp")).as_py()
                latest = newest if latest is None else max(latest, newest)
        except OffsetOutOfRange:  # the reading task says what was lost
            return None
        finally:
            await close_reading(batches)
        if latest is not None:
            return latest
    return None


async def _found(
    searches: Mapping[TopicPartition, Coroutine[object, object, Offset | None]],
) -> dict[TopicPartition, Offset]:
    found = await asyncio.gather(*searches.values())
    return {tp: offset for tp, offset in zip(searches, found, strict=True) if offset is not None}


async def _first_later(
    reader: RangeReader, partition: TopicPartition, wanted: Later
) -> Offset | None:
    import pyarrow.compute as pc

    batches = reader.read(partition.topic, partition.partition, wanted.start, wanted.end)
    try:
        async for rows in batches:
            later = rows.column("offset").filter(pc.greater(rows.column("timestamp"), wanted.time))
            if len(later):
                return Offset(later[0].as_py())
    except OffsetOutOfRange:  # the reading task says what was lost
        return None
    finally:
        await close_reading(batches)
    return None


async def _first_later_from(
    reader: RangeReader, partition: TopicPartition, wanted: Later
) -> Offset | None:
    """The same where the first offset is most likely that of the record, unless it is of a marker or was aborted: that
    one alone is looked at first.
    """
    here = Offset(wanted.start + 1)
    found = await _first_later(reader, partition, wanted._replace(end=here))
    if found is not None or here >= wanted.end:
        return found
    return await _first_later(reader, partition, wanted._replace(start=here))


async def wait_until_acknowledged(producer: Producer, deliveries: Iterable[BatchDelivery]) -> None:
    """Waits until all is written. Raises the first error."""
    await producer.flush()
    for delivery in deliveries:
        await delivery


async def _learn(readers: Iterable[RangeReader | Consumer | Admin], epochs: LeaderEpochs) -> None:
    for client in readers:
        learn_leader_epochs(client, epochs)


async def _next(items: AsyncIterator[_Result]) -> _Result:
    return await anext(items)


async def close_reading(items: AsyncIterator[object]) -> None:
    """An abandoned generator has a fetch under way; closing it ends that."""
    close = getattr(items, "aclose", None)
    if close is not None:
        await close()


async def _made(make: Callable[[], _Result]) -> _Result:
    """Clients are made inside the loop they belong to."""
    return make()


_OPEN: dict[tuple[int, KafkaSettings, int], Connections] = {}


def connections(kafka: KafkaSettings, metadata_age_ms: int = METADATA_AGE_MS) -> Connections:
    """The connections of this process to one cluster.

    The process id is part of the key: a forked worker gets its own.
    """
    key = (os.getpid(), kafka, metadata_age_ms)
    if key not in _OPEN:
        if not any(pid == os.getpid() for pid, *_ in _OPEN):
            atexit.register(_end)
        _OPEN[key] = Connections(kafka, metadata_age_ms)
    return _OPEN[key]


def close_connections() -> None:
    """Closes those of this process."""
    for each in _taken():
        each.close()


def _end() -> None:
    """Ends what clients still do when the process ends, or Python says of each such task that it was destroyed.

    Nobody is waited for.
    """
    for each in _taken():
        if not each.runner.get_loop().is_running():  # as of a thread that is about to go as well
            each.runner.close()


def _taken() -> list[Connections]:
    return [_OPEN.pop(key) for key in list(_OPEN) if key[0] == os.getpid()]
