"""One partition of a coordinator's topic while this node leads it: its shard, its log, and the requests that wait.

The edge of `coordinator.runtime`: loads the log into the shard, appends what the runtime says, tells it when
that is safe, wakes it at its deadlines, and delivers its replies. One task drives the shard and no other
touches it. Knows no API.

The task leaves the shard to a thread for what takes long: handling a request with very many
elements, making records of it, and replaying them. Other requests for the shard wait as they always
do while one is handled; the event loop does not.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Generic, Protocol, TypeVar

from millstream.broker.long_work import LongWork
from millstream.broker.storage.disk_pool import DiskPool
from millstream.broker.storage.durability import Durability
from millstream.coordinator.record import CoordinatorKey, CoordinatorRecord, CoordinatorValue
from millstream.coordinator.result import Caller, Reply, Token
from millstream.coordinator.runtime import CoordinatorRuntime, Ready, Shard
from millstream.errors import (
    EncodeError,
    InvalidRequest,
    KafkaError,
    MessageTooLarge,
    NotCoordinator,
    NotLeaderOrFollower,
    RequestTimedOut,
)
from millstream.log.append_check import AppendOrigin
from millstream.log.file_range import FileRange
from millstream.model import NO_PRODUCER_ID, Offset, ProducerId, TopicPartition
from millstream.net.client.tasks import TaskGroup
from millstream.protocol.record_frames import (
    UnknownRecordType,
    encode_record_key,
    encode_record_value,
)
from millstream.records.batch import NO_SEQUENCE, BatchHeader, iterate_batches, validate_batch
from millstream.records.builder import BatchBuilder, BatchOptions
from millstream.records.compression import Codec
from millstream.records.control import ControlType, TransactionMarker, read_control_type
from millstream.records.record import Record, iterate_records
from millstream.replication.partition import Partition
from millstream.runtime import Clock, Instant

_PAUSE_S: Final = 0.1
"""Ours: too much waited already, so not at once."""
_LOGGER = logging.getLogger(__name__)

LOAD_CHUNK_BYTES: Final = 256 * 1024
"""Ours: read from the log at once while a shard is loaded; other work has its turn before each."""
OPERATIONS_PER_TURN: Final = 16
"""Ours: so many before the clock is looked at again."""
ENDED_AT_ONCE: Final = 1_000
"""Ours: records of a transaction that come into force, or are forgotten, in a millisecond or two."""

ShardT = TypeVar("ShardT", bound=Shard)
ResultT = TypeVar("ResultT")
DecodeRecord = Callable[[bytes, bytes | None], tuple[CoordinatorKey, CoordinatorValue | None]]
OnNotice = Callable[["CoordinatorPartition[ShardT]", object], None]
"""Told of every notice of a shard once its records are committed. Starts what has to be done; does not wait for it."""


class _Run(Protocol):
    async def __call__(self, work: Callable[[], ResultT]) -> ResultT: ...


async def _at_once(work: Callable[[], ResultT]) -> ResultT:
    return work()


@dataclass(frozen=True, slots=True)
class CoordinatorServices:
    """The services that every partition of a coordinator uses."""

    clock: Clock
    wake: Callable[[TopicPartition], None]
    """Told of a partition in which something may be read that was not there before."""
    durability: Durability
    commit_timeout_ms: int
    pool: DiskPool
    long_work: LongWork
    codec: Codec = Codec.NONE
    on_written: Callable[[Sequence[CoordinatorRecord]], None] = lambda _records: None
    """Told of records once they are in the log; must not raise."""
    on_refused: Callable[[str, KafkaError], None] = lambda _partition, _error: None
    """Told of requests that are refused, with the partition; must not raise."""


class CoordinatorPartition(Generic[ShardT]):
    """A partition of a coordinator's topic, for one leader epoch in which this node leads it.

    `run` is its task; `close` ends it.
    """

    def __init__(
        self,
        partition: Partition,
        shard: ShardT,
        decode_record: DecodeRecord,
        services: CoordinatorServices,
        on_notice: OnNotice[ShardT],
    ) -> None:
        self.partition: Final = partition
        self.shard: Final = shard
        self.leader_epoch: Final = partition.leader_epoch
        self._runtime = CoordinatorRuntime(shard, services.commit_timeout_ms)
        self._decode_record = decode_record
        self._services = services
        self._on_notice = on_notice
        self._waiting: dict[Token, asyncio.Future[object]] = {}
        self._last_token = 0
        self._wake_up = asyncio.Event()
        self._appended = asyncio.Event()
        self._is_closed = False
        self._told_failure = ""
        self._lent = asyncio.Lock()
        """Held while a thread has the shard."""
        self._changes: list[Callable[[ShardT], None]] = []
        """Told while a thread has the shard."""

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    @property
    def is_lent(self) -> bool:
        """Whether a thread works on the shard, so that no other code may look at it."""
        return self._lent.locked()

    def change(self, change: Callable[[ShardT], None]) -> None:
        """Changes the shard outside of an operation, such as for a new image: at once, or as soon
        as the shard is back.
        """
        if self.is_lent:
            self._changes.append(change)
        else:
            change(self.shard)

    # --- requests

    def submit(
        self, request: object, caller: Caller, check: Callable[[], None] | None = None
    ) -> asyncio.Future[object]:
        """Hands a request to the shard. The future ends with the response, or with the KafkaError as its *result*.

        The token of `caller` is given here; `check` is as in `CoordinatorRuntime.submit`. Raises
        CoordinatorLoadInProgress, NotCoordinator, CoordinatorNotAvailable when too much waits.
        """
        self._last_token += 1
        token = Token(self._last_token)
        now = self._services.clock.now()
        self._runtime.submit(request, replace(caller, token=token), now, check)
        future: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self._waiting[token] = future
        self._wake_up.set()
        return future

    async def end_transaction(self, marker: TransactionMarker) -> None:
        """Puts the marker into the log; returns once it is safe there.

        Raises CoordinatorLoadInProgress, NotCoordinator, what `Partition.append_marker` raises, and
        what `Durability.wait` does.
        """
        async with self._lending():
            # It may have waited for the shard: this one may be closed by now, or its epoch over.
            self._runtime.check_active()
            self._check_leads()
            producer_id = ProducerId(marker.producer_id)
            is_long = self.shard.transaction_size(producer_id) > ENDED_AT_ONCE
            run = self._services.pool.plan if is_long else _at_once
            appended = self.partition.append_marker(marker, self._services.clock.now())
            end_offset = Offset(appended.last_offset + 1)
            complete = self._runtime.complete_transaction
            try:
                await run(partial(complete, end_offset, producer_id, committed=marker.is_commit))
            finally:
                self._appended.set()  # it is in the log, though whoever asked may have hung up
        await self._wait_until_safe(end_offset)

    def close(self) -> None:
        """Ends the work of this node as coordinator: waiting requests fail with that error, and no
        more are accepted.
        """
        if self._is_closed:
            return
        self._is_closed = True
        if not self.is_lent:
            self._runtime.unload()
        error = NotCoordinator(f"{self.partition.topic_partition} is coordinated elsewhere")
        self._deliver([Reply(token, error) for token in list(self._waiting)])
        self._wake_up.set()

    # --- the task

    async def run(self) -> None:
        """Loads the shard, then serves until closed.

        A log that cannot be read or written closes it; the next leader tries again.
        """
        try:
            await self._load()
        except NotLeaderOrFollower:
            self.close()
        except Exception:  # whatever the log holds, the other shards and the node go on
            _LOGGER.exception("%s cannot be loaded", self.partition.topic_partition)
            self.close()
        async with TaskGroup() as tasks:
            committing = tasks.create_task(self._keep_committed())
            await self._drive()
            committing.cancel()

    async def _drive(self) -> None:
        while not self._is_closed:
            self._wake_up.clear()  # before it advances: what comes meanwhile has it advance once more
            await self._advance()
            await self._wait_for_work()

    async def _advance(self) -> None:
        """Advances the shard until nothing is due, in turns with others that have much to do."""
        long_work = self._services.long_work
        end_s = await long_work.begin()
        while not self._is_closed:
            if self.is_lent:  # to the end of a transaction
                async with self._lent:
                    continue
            now = self._services.clock.now()
            ready = self._runtime.advance(now, OPERATIONS_PER_TURN)
            self._tell(ready)
            if ready.records:
                await self._append(ready.records, now, _at_once)
            elif ready.is_long_next:
                await self._run_long(now)
            elif not ready.replies and not ready.is_unfinished:
                return
            if long_work.now_s() >= end_s:
                self._tell(
                    self._runtime.advance(now, 0)
                )  # no answer waits for what is due after it
                if not self._runtime.is_due(now):
                    return
                end_s = await long_work.next_turn()

    async def _run_long(self, now: Instant) -> None:
        async with self._lending():
            if not self._is_closed:
                await self._run_lent(now)

    @contextlib.asynccontextmanager
    async def _lending(self) -> AsyncIterator[None]:
        """Lends the shard to a thread. Changes of the shard wait until it is back."""
        try:
            async with self._lent:
                yield
        finally:
            if self._is_closed:
                self._runtime.unload()
            changes, self._changes = self._changes, []
            for change in changes:
                change(self.shard)

    async def _run_lent(self, now: Instant) -> None:
        in_thread = self._services.pool.plan
        ready = await in_thread(partial(self._runtime.run_long, now))
        if self._is_closed:
            return
        self._tell(ready)
        if ready.records:
            await self._append(ready.records, now, in_thread)

    async def _wait_for_work(self) -> None:
        deadline_ms = self._runtime.next_deadline_ms()
        wait_s = None
        if deadline_ms is not None:
            wait_s = max(0, deadline_ms - self._services.clock.now().monotonic_ms) / 1000
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                await self._wake_up.wait()

    async def _append(self, records: Sequence[CoordinatorRecord], now: Instant, run: _Run) -> None:
        """`run` is where the records are made and replayed."""
        try:
            batches = memoryview(await run(partial(self._batches, records, now)))
            if self._is_closed:
                return  # another epoch, of this node or another, writes from here on
            self._check_leads()
            appended = self.partition.append(batches, now, origin=AppendOrigin.COORDINATOR)
        except KafkaError as error:
            self._fail_append(error, now)
            return
        except EncodeError as error:
            # A client chose strings that are legal in a request but too long for a record.
            self._fail_append(InvalidRequest(str(error)), now)
            return
        self._told_failure = ""
        self._services.on_written(records)
        await run(partial(self._runtime.complete_append, Offset(appended.first_offset), now))
        if self.is_closed:
            return
        if self._services.durability.written(self.partition, self._runtime.end_offset).is_safe:
            self._runtime.update_last_committed_offset(Offset(self._runtime.end_offset))
        else:
            self._appended.set()

    def _fail_append(self, error: KafkaError, now: Instant) -> None:
        # Once: replicas may be missing for long, and all that is asked fails then.
        if str(error) != self._told_failure:
            self._told_failure = str(error)
            _LOGGER.warning("%s: not written: %s", self.partition.topic_partition, error)
        self._runtime.fail_append(error, now)

    def _batches(self, records: Sequence[CoordinatorRecord], now: Instant) -> bytearray:
        """One batch, or as many as max.message.bytes asks for; they are appended together.

        Raises MessageTooLarge for a record that alone exceeds it, as Kafka's coordinators do:
        clients choose what is in a record.
        """
        bytes_max = self.partition.log.config.max_message_bytes
        encoded = bytearray()
        builder = self._builder(records[0], bytes_max)
        for record in records:
            key = encode_record_key(record.key)
            value = (
                None
                if record.value is None
                else encode_record_value(record.value, record.value_version)
            )
            if not builder.append(now.wall_ms, key, value):
                encoded += _built(builder, bytes_max)
                builder = self._builder(record, bytes_max)
                builder.append(now.wall_ms, key, value)
        return encoded + _built(builder, bytes_max)

    def _builder(self, first: CoordinatorRecord, bytes_max: int) -> BatchBuilder:
        options = BatchOptions(
            codec=self._services.codec,
            producer_id=first.producer_id,
            producer_epoch=first.producer_epoch,
            base_sequence=NO_SEQUENCE if first.producer_id == NO_PRODUCER_ID else 0,
            is_transactional=first.producer_id != NO_PRODUCER_ID,
        )
        return BatchBuilder(options, bytes_max)

    def _tell(self, ready: Ready) -> None:
        self._deliver(ready.replies)
        for notice in ready.notices:
            self._on_notice(self, notice)

    def _deliver(self, replies: Sequence[Reply]) -> None:
        """Delivers a response, unless the request was cancelled because its connection closed."""
        for reply in replies:
            future = self._waiting.pop(reply.token)
            if isinstance(reply.outcome, KafkaError) and reply.outcome.bound:
                self._services.on_refused(str(self.partition.topic_partition), reply.outcome)
            if not future.done():
                future.set_result(reply.outcome)

    # --- durability

    async def _keep_committed(self) -> None:
        """Tells the shard how far its log is safe.

        While it waits for the disk or the replicas, more is appended and shares the next wait.
        """
        while True:
            await self._appended.wait()
            self._appended.clear()
            end_offset = self._runtime.end_offset
            # One sync is for all there is; a replica has the first of it before the rest.
            must_sync = self._must_sync(end_offset)
            awaited = end_offset if must_sync else self._runtime.first_awaited_offset
            try:
                await self._insist_until_safe(awaited)
            except NotLeaderOrFollower as error:
                _LOGGER.info(
                    "%s is coordinated elsewhere: %s", self.partition.topic_partition, error
                )
                self.close()
                return
            except KafkaError:
                _LOGGER.exception("%s cannot be committed", self.partition.topic_partition)
                self.close()
                return
            reached = awaited
            if not self._must_sync(end_offset):  # now: the replicas may have left the ISR meanwhile
                reached = max(awaited, min(self.partition.high_watermark, end_offset))
            # Closed while it was waited for, the runtime has nothing parked that this could release.
            async with self._lent:
                self._runtime.update_last_committed_offset(Offset(reached))
            if reached < end_offset:
                self._appended.set()
            self._wake_up.set()

    def _must_sync(self, end_offset: int) -> bool:
        return self._services.durability.written(self.partition, end_offset).must_sync

    async def _insist_until_safe(self, end_offset: int) -> None:
        """Waits until records are safe, as long as this node leads the partition, even if the request was cancelled."""
        while True:
            try:
                await self._wait_until_safe(end_offset)
            except RequestTimedOut:
                await asyncio.sleep(_PAUSE_S)  # too much may wait for the replicas
            else:
                return

    async def _wait_until_safe(self, end_offset: int) -> None:
        """Waits until the records of this shard up to `end_offset` are safe. Raises what `Durability.wait` raises.

        This node may have lost the partition and lead it again: other records stand at these offsets then, and the high
        watermark is beyond them for them alone. An epoch that is the same afterwards was the same all the time.
        """
        durability = self._services.durability
        self._check_leads()
        written = durability.written(self.partition, end_offset)
        await durability.wait(written, self._services.commit_timeout_ms)
        self._check_leads()

    def _check_leads(self) -> None:
        """Raises NotLeaderOrFollower once the leader epoch of this shard is over."""
        partition = self.partition
        if not partition.is_leader or partition.leader_epoch != self.leader_epoch:
            raise NotLeaderOrFollower(
                f"leader epoch {self.leader_epoch} of {partition.topic_partition} is over: "
                f"broker {partition.leader} leads it in epoch {partition.leader_epoch}"
            )

    # --- loading

    async def _load(self) -> None:
        """Loads the whole log, what an earlier leader wrote and no high watermark covers yet included.

        Nothing else writes to it while this node leads, so its end stands still. The mark may be far below: it is what
        this replica heard as a follower. What is above it is answered from once the mark has passed it, soon, or as
        late as replicas are missing.
        """
        partition = self.partition
        offset, end_offset = partition.log_start_offset, partition.log_end_offset
        while offset < end_offset and not self._is_closed:
            offset = await self._load_chunk(offset, end_offset)
        if self._is_closed:
            return
        self._check_leads()
        committed = Offset(min(end_offset, partition.high_watermark))
        self._runtime.finish_loading(Offset(end_offset), self._services.clock.now(), committed)
        if committed < end_offset:
            self._appended.set()

    async def _load_chunk(self, offset: int, end_offset: int) -> int:
        """Returns where to go on. Others have their turn between the records, and what closes the partition ends it."""
        records = self.partition.log.read(offset, LOAD_CHUNK_BYTES, end_offset).records
        data = records.read() if isinstance(records, FileRange) else records
        long_work = self._services.long_work
        end_s = await long_work.next_turn()
        for header, batch in iterate_batches(memoryview(data)):
            validate_batch(header, batch)  # a wrong bit may be a wrong offset of a group
            if header.is_control:
                self._replay_marker(header, batch)
            for record in self._records(header, batch, offset):
                if long_work.now_s() >= end_s:
                    end_s = await long_work.next_turn()
                if self._is_closed:
                    return end_offset
                self._replay(header, record)
            offset = header.next_offset
        return offset

    def _records(self, header: BatchHeader, batch: memoryview, offset: int) -> Iterator[Record]:
        """Those that are not markers. The batch that holds `offset` may begin before it."""
        if header.is_control:
            return iter(())
        return (record for record in iterate_records(header, batch) if record.offset >= offset)

    def _replay(self, header: BatchHeader, record: Record) -> None:
        try:
            key, value = self._decode_record(record.key or b"", record.value)
        except UnknownRecordType as error:
            _LOGGER.warning(
                "%s: offset %d passed over: %s",
                self.partition.topic_partition,
                record.offset,
                error,
            )
            return
        producer_id = header.producer_id if header.is_transactional else -1
        loaded = CoordinatorRecord(key, value, producer_id=ProducerId(producer_id))
        self._runtime.replay_loaded(Offset(record.offset), loaded)

    def _replay_marker(self, header: BatchHeader, batch: memoryview) -> None:
        for record in iterate_records(header, batch):
            kind = read_control_type(record.key)
            if kind in (ControlType.COMMIT, ControlType.ABORT):
                self._runtime.shard.replay_end_transaction(
                    ProducerId(header.producer_id), committed=kind is ControlType.COMMIT
                )


def _built(builder: BatchBuilder, bytes_max: int) -> bytearray:
    batch = builder.build()
    if len(batch) > bytes_max:
        raise MessageTooLarge(f"a record of {len(batch)} bytes, max.message.bytes is {bytes_max}")
    return batch
