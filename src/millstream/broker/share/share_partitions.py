"""The share partitions of this node: those of partitions it leads that some share group reads here.

Loads a share partition when a member asks for it first, stores what changes through the persister, lets locks run out
in time, and forgets it when leadership moves, the share coordinator fences it, or no member of the group is here any
more. What happens to records is `coordinator.share_partition`; one loop owns all of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias, final

from millstream.broker.long_work import LongWork
from millstream.broker.services import BackgroundTasks, Partitions
from millstream.broker.share.group_settings import ShareGroupSettings
from millstream.broker.share.persister import SharePersister, as_told_to_consumers
from millstream.broker.storage.disk_pool import DiskPool, first_found
from millstream.coordinator.share.state import SharePartitionKey
from millstream.coordinator.share.state_batch import NO_START_OFFSET, StateBatch
from millstream.coordinator.share_partition.acknowledgement import AcknowledgementBatch
from millstream.coordinator.share_partition.acquisition import SharePartitionLimits
from millstream.coordinator.share_partition.in_flight import Transition
from millstream.coordinator.share_partition.share_partition import SharePartition
from millstream.errors import KafkaError, NotLeaderOrFollower, UnknownTopicOrPartition
from millstream.metadata.config_validators import duration_ms
from millstream.metadata.image import MetadataImage
from millstream.model import TopicPartition
from millstream.replication.partition import Partition
from millstream.runtime import Clock

_LOGGER = logging.getLogger(__name__)
_FENCING: Final = (NotLeaderOrFollower, UnknownTopicOrPartition)
Outcome: TypeAlias = "asyncio.Future[KafkaError | None]"
"""What became of a change; an error is what a consumer is told."""


@dataclass(slots=True, eq=False)
class LoadedSharePartition:
    key: SharePartitionKey
    log: Partition
    state: SharePartition
    looked_at_ms: int | None = None
    """When the task of locks looks at it next."""

    @property
    def is_current(self) -> bool:
        """Whether this node still leads the partition in the epoch the state was read in."""
        return self.log.is_leader and self.log.leader_epoch == self.state.leader_epoch


@final
class SharePartitions:
    def __init__(
        self,
        partitions: Partitions,
        persister: SharePersister,
        settings: ShareGroupSettings,
        clock: Clock,
        *,
        tasks: BackgroundTasks,
        pool: DiskPool,
        wake: Callable[[TopicPartition], None],
    ) -> None:
        """`wake` is called when records of a partition may have become available."""
        self._partitions = partitions
        self._persister = persister
        self._settings = settings
        self._clock = clock
        self._tasks = tasks
        self._pool = pool
        self._wake = wake
        self._loaded: dict[SharePartitionKey, LoadedSharePartition] = {}
        self._deadlines: list[tuple[int, int, LoadedSharePartition]] = []
        self._sequence = 0
        self._earlier_deadline = asyncio.Event()

    # --- finding

    def find(self, key: SharePartitionKey) -> LoadedSharePartition | None:
        """Returns a share partition that a member has fetched from; None where none has, or the leader has changed."""
        loaded = self._loaded.get(key)
        if loaded is not None and not loaded.is_current:
            self.forget(key)
            return None
        return loaded

    async def load(self, key: SharePartitionKey, topic: str) -> LoadedSharePartition:
        """Loads a share partition.

        Raises what a consumer is told: leadership, unknown partitions, a share coordinator that cannot answer.
        """
        return self.find(key) or await self._load(key, topic)

    async def _load(self, key: SharePartitionKey, topic: str) -> LoadedSharePartition:
        log = self._partitions.get(topic, key.partition)
        log.check_leader()
        if log.topic_id != key.topic_id:
            raise UnknownTopicOrPartition
        leader_epoch = log.leader_epoch
        try:
            stored = await self._persister.read(key, leader_epoch)
        except KafkaError as error:
            told = as_told_to_consumers(error)
            raise told from told.__cause__
        start_offset = stored.start_offset
        if start_offset == NO_START_OFFSET:
            reset = self._settings.of(key.group_id).auto_offset_reset
            start_offset = await first_offset(log, reset, self._clock.now().wall_ms, self._pool)
        # While it was read, another leader may have come, who has read it since: this state counts no more.
        log.check_leader(leader_epoch)
        # And another fetch may have loaded it, and given records out.
        faster = self.find(key)
        if faster is not None:
            return faster
        loaded = LoadedSharePartition(key, log, SharePartition(stored, start_offset, leader_epoch))
        self._loaded[key] = loaded
        return loaded

    def forget(self, key: SharePartitionKey) -> None:
        """Forgets a share partition, so that the next fetch reads its state again. Waiting fetches are woken."""
        loaded = self._loaded.pop(key, None)
        if loaded is not None:
            self._wake(loaded.log.topic_partition)

    def forget_group(self, group_id: str) -> None:
        """Forgets the share partitions of a group without sessions here."""
        for key in [key for key in self._loaded if key.group_id == group_id]:
            self.forget(key)

    def apply(self, image: MetadataImage) -> None:
        """Forgets partitions of deleted topics, and those that others lead now."""
        for key, loaded in list(self._loaded.items()):
            if image.topic_by_id(key.topic_id) is None or not loaded.is_current:
                self.forget(key)

    # --- changing

    async def acknowledge(
        self, key: SharePartitionKey, member_id: str, batches: Sequence[AcknowledgementBatch]
    ) -> None:
        """Returns when it is stored.

        Raises UnknownTopicOrPartition when the member cannot have records of the partition, InvalidRecordState,
        InvalidRequest, and what a consumer is told when it cannot be stored.
        """
        loaded = self.find(key)
        if loaded is None:
            raise UnknownTopicOrPartition
        now_ms = self._clock.now().monotonic_ms
        transition = loaded.state.acknowledge(member_id, batches, self._limits(key), now_ms)
        await self._finish(loaded, transition)

    def release_member(self, key: SharePartitionKey, member_id: str) -> Outcome | None:
        """Releases the records that a member has, which has closed its session. None where it has none.

        What it acquires from here on is its own. The outcome comes when that is stored, or cannot be.
        """
        loaded = self.find(key)
        if loaded is None:
            return None
        return self._begin_to_store(
            loaded, loaded.state.release_member(member_id, self._limits(key))
        )

    async def _finish(self, loaded: LoadedSharePartition, transition: Transition) -> None:
        outcome = self._begin_to_store(loaded, transition)
        error = None if outcome is None else await outcome
        if error is not None:
            raise error

    def _begin_to_store(
        self, loaded: LoadedSharePartition, transition: Transition
    ) -> Outcome | None:
        """In a task of the node: a client that goes away in the meantime does not leave it half done."""
        if not transition.state_batches:
            self.note_deadline(loaded)
            return None
        outcome: Outcome = asyncio.get_running_loop().create_future()
        self._tasks.start(self._store_and_settle(loaded, transition, outcome), "share state")
        return outcome

    async def _store_and_settle(
        self,
        loaded: LoadedSharePartition,
        transition: Transition,
        outcome: Outcome,
    ) -> None:
        """Stored or not, the records are free for the next change afterwards."""
        error: KafkaError | None = None
        try:
            await self._store(loaded, transition.state_batches)
        except KafkaError as refused:
            error = refused
        loaded.state.settle(transition, stored=error is None)
        self.note_deadline(loaded)
        self._wake(loaded.log.topic_partition)
        if not outcome.done():
            outcome.set_result(error)

    async def _store(
        self, loaded: LoadedSharePartition, state_batches: Sequence[StateBatch]
    ) -> None:
        state = loaded.state
        try:
            await self._persister.write(
                loaded.key, state.state_epoch, partial(state.state_change, state_batches)
            )
        except KafkaError as error:
            told = as_told_to_consumers(error)
            if isinstance(told, _FENCING) and self._loaded.get(loaded.key) is loaded:
                _LOGGER.info("%s is fenced: %s", loaded.key.text, error)
                self.forget(loaded.key)
            raise told from told.__cause__

    def _limits(self, key: SharePartitionKey) -> SharePartitionLimits:
        return self._settings.of(key.group_id).limits

    # --- locks

    def note_deadline(self, loaded: LoadedSharePartition) -> None:
        """Notes the next end of a lock. To be called after every change that may have added a lock."""
        deadline_ms = loaded.state.next_deadline_ms()
        if deadline_ms is None:
            return
        if loaded.looked_at_ms is None or deadline_ms < loaded.looked_at_ms:
            loaded.looked_at_ms = deadline_ms
            self._sequence += 1
            heapq.heappush(self._deadlines, (deadline_ms, self._sequence, loaded))
            self._earlier_deadline.set()

    async def run(self, long_work: LongWork) -> None:
        """Lets locks run out; runs in a task of the node until it is cancelled."""
        while True:
            self._earlier_deadline.clear()  # before it looks: a lock that ends earlier has it look again
            wait_ms = await self._release_due(long_work)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if wait_ms is None else wait_ms / 1000):
                    await self._earlier_deadline.wait()

    async def _release_due(self, long_work: LongWork) -> int | None:
        """Returns the milliseconds until the next look, None when there is nothing to look at."""
        end_s = await long_work.begin()
        now_ms = self._clock.now().monotonic_ms
        while self._deadlines:
            if long_work.now_s() >= end_s:
                end_s = await long_work.next_turn()
                now_ms = self._clock.now().monotonic_ms
            deadline_ms, _, loaded = self._deadlines[0]
            if deadline_ms > now_ms:
                return deadline_ms - now_ms
            heapq.heappop(self._deadlines)
            if loaded.looked_at_ms == deadline_ms:
                loaded.looked_at_ms = None
                self._release_expired(loaded, now_ms)
                self.note_deadline(loaded)
        return None

    def _release_expired(self, loaded: LoadedSharePartition, now_ms: int) -> None:
        released = loaded.state.release_expired(self._limits(loaded.key), now_ms)
        if released and self._loaded.get(loaded.key) is loaded:
            self._tasks.start(self._store_expired(loaded, released), "expired share locks")
            self._wake(loaded.log.topic_partition)

    async def _store_expired(
        self, loaded: LoadedSharePartition, released: Sequence[StateBatch]
    ) -> None:
        """The next change of the same records stores them as well; a restart delivers them once more.

        That change may be stored before this one, which waits for a coordinator that moves, since the records are free
        already: of two accounts the later delivery counts, whichever comes last (`state_batch.combined`).
        """
        try:
            await self._store(loaded, released)
        except KafkaError as error:
            _LOGGER.warning("%s: expired locks are not stored: %s", loaded.key.text, error)


_BY_DURATION: Final = "by_duration:"


async def first_offset(partition: Partition, reset: str, now_ms: int, pool: DiskPool) -> int:
    """Returns the first offset. `reset` was checked when it was set; `now_ms` is wall time.

    Unpacks batches for a duration.
    """
    if reset == "earliest":
        return partition.log_start_offset
    if reset.startswith(_BY_DURATION):
        since_ms = now_ms - duration_ms(reset.removeprefix(_BY_DURATION))
        found = await first_found(partition.log.timestamp_searches(since_ms), pool)
        if found is not None and partition.is_visible(found, is_read_committed=False):
            return found.offset
    return partition.latest_offset(is_read_committed=False).offset
