"""Fetches partitions from one leader and appends what comes: one task and one connection, one request under way.

    wait until something is to be fetched -> fetch -> carry out the steps, partition by partition -> again
                                                      a cut is a task of its own: its partition waits alone for the disk

A partition that lacks what is committed is none of this fetcher's, unless it is one for those: `Lanes` has it moved.
Carries out what `replication.follower` decides. Whatever is wrong with one partition is that partition's matter: the
others of its answer go on. The loop gives way between partitions, so an answer may be overtaken by an image: each step
looks whether it still counts.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol, final

from millstream.broker.long_work import LongWork
from millstream.broker.metrics.node_metrics import ReplicationMetrics
from millstream.broker.replication.remote_leader import (
    EARLIEST,
    LATEST,
    FetchAnswer,
    LeaderOffset,
    RemoteLeader,
    divergence_in,
)
from millstream.broker.services import BackgroundTasks, LogFlusher
from millstream.broker.storage.log_cutter import LogCutter
from millstream.errors import (
    BrokerNotAvailable,
    CorruptMessage,
    FencedLeaderEpoch,
    KafkaError,
    KafkaStorageError,
    MillstreamError,
    NetworkException,
    NotLeaderOrFollower,
    OffsetOutOfRange,
    UnknownLeaderEpoch,
    UnknownTopicId,
    UnknownTopicOrPartition,
    error_for,
)
from millstream.log.log_health import LogBeingCut
from millstream.log.truncation import LogCut
from millstream.model import LeaderEpoch, TopicPartition
from millstream.protocol.generated.fetch import PartitionData
from millstream.replication.fetch_plan import FetchPlan, FollowedKey
from millstream.replication.follower import (
    Append,
    AskedFetch,
    AskLeaderEnd,
    AskLeaderStart,
    FollowedPartition,
    FollowerState,
    StartOver,
    Step,
    TruncateTo,
    TruncateToDivergence,
)
from millstream.replication.partition import Partition
from millstream.replication.throttle import PACE_LOOK_MS, CatchUpPace, ReplicationThrottle
from millstream.runtime import Clock

_LOGGER = logging.getLogger(__name__)
_NONE: Final = 0
_IMAGES_DIFFER: Final = (
    FencedLeaderEpoch,
    NotLeaderOrFollower,
    UnknownLeaderEpoch,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
"""Seen with every new topic and every election: one of the two has read the newer metadata first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetcherServices:
    """The parts of a broker that its fetchers need."""

    tasks: BackgroundTasks
    cutter: LogCutter
    syncs_first: Callable[[], bool]
    """Whether what was fetched is synced before the leader hears that it is here: `millstream.flush.on.ack=always`."""
    clock: Clock
    flusher: LogFlusher
    long_work: LongWork
    metrics: ReplicationMetrics
    throttle: ReplicationThrottle
    catch_up_bytes_per_second: Callable[[], int]
    """`millstream.replica.catch.up.bytes.per.second`."""


class Lanes(Protocol):
    """Whoever has two fetchers: one for partitions that are in step with their leader, one for
    those that lack what is committed.
    """

    def note_misplaced(self, name: TopicPartition) -> None:
        """Takes note that a partition belongs to the other fetcher, after an answer."""
        ...

    def claim(self, name: TopicPartition) -> None:
        """Has a partition moved to the fetcher that it was offered to, which has no request under way."""
        ...


@dataclass(slots=True)
class Followed:
    """A partition that is fetched."""

    key: FollowedKey
    partition: Partition
    follower: FollowedPartition
    told: type[Exception] | None = None
    """What was logged of it since records came: an error that comes again and again is told once."""
    lag: int | None = None
    """Committed records that it lacked after the last answer, as Kafka counts it; None before the first."""

    @property
    def name(self) -> TopicPartition:
        return self.partition.topic_partition


@final
class ReplicaFetcher:
    def __init__(
        self,
        leader: RemoteLeader,
        services: FetcherServices,
        lanes: Lanes,
        *,
        is_for_laggards: bool,
        backoff_ms: int,
    ) -> None:
        """`backoff_ms`: how long a partition, or all of them, wait after an error."""
        self._leader = leader
        self._tasks = services.tasks
        self._cutter = services.cutter
        self._syncs_first = services.syncs_first
        self._lanes = lanes
        self._is_for_laggards = is_for_laggards
        self._clock = services.clock
        self._flusher = services.flusher
        self._backoff_ms = backoff_ms
        self._long_work = services.long_work
        self._metrics = services.metrics
        self._throttle = services.throttle
        self._pace = CatchUpPace(services.catch_up_bytes_per_second, self._total_lag)
        self._plan = FetchPlan()
        self._followed: dict[FollowedKey, Followed] = {}
        self._delayed: dict[FollowedKey, None] = {}
        self._busy: set[FollowedKey] = set()
        self._offered: dict[TopicPartition, None] = {}
        """Partitions that the other fetcher has brought into step, to be claimed before the next request."""
        self._has_changed = asyncio.Event()
        self._told = ""

    def __len__(self) -> int:
        return len(self._followed)

    def lag_max(self) -> int:
        """Returns the records that the partition farthest behind lacks."""
        return max((each.lag or 0 for each in self._followed.values()), default=0)

    def _total_lag(self) -> int:
        return sum(each.lag or 0 for each in self._followed.values())

    def failed_count(self) -> int:
        """Returns how many have given up until there are newer metadata."""
        return sum(each.follower.state is FollowerState.WAITING for each in self._followed.values())

    # --- what is followed

    def add(
        self,
        key: FollowedKey,
        partition: Partition,
        follower: FollowedPartition,
        cut: LogCut | None = None,
    ) -> None:
        """Follows a partition from the next request on; where it is to be cut before, from the
        first one after that on.
        """
        followed = self._followed[key] = Followed(key, partition, follower)
        if cut is not None:
            self._begin_cut(followed, cut)
        self._plan_for(key)
        self._has_changed.set()

    def adopt(self, followed: Followed) -> None:
        """Follows a partition that another fetcher has followed until now."""
        self._pace.begin()
        key = followed.key
        self._followed[key] = followed
        self._plan_for(key)
        self._has_changed.set()

    def offer(self, name: TopicPartition) -> None:
        """Has a partition claimed before the next request."""
        self._offered[name] = None
        self._has_changed.set()

    def remove(self, key: FollowedKey) -> Followed | None:
        """Follows a partition no more. An answer that is under way changes nothing any more."""
        followed = self._followed.pop(key, None)
        self._delayed.pop(key, None)
        self._busy.discard(key)
        self._plan.forget(key)
        self._has_changed.set()
        return followed

    def is_in_step(self, key: FollowedKey) -> bool:
        """Whether a partition lacked nothing that is committed after its last answer, and does not
        wait for the disk.
        """
        followed = self._followed.get(key)
        return followed is not None and followed.lag == 0 and key not in self._busy

    def _plan_for(self, key: FollowedKey) -> None:
        """Has the next request say what this partition wants now."""
        followed = self._followed.get(key)
        if followed is None:
            return
        follower = followed.follower
        asked = follower.asks(followed.partition.log_start_offset)
        if asked is None:
            self._plan.forget(key)
        else:
            self._plan.want(key, asked)
        if follower.state is FollowerState.DELAYED:
            self._delayed[key] = None
        else:
            self._delayed.pop(key, None)

    # --- the loop

    async def run(self) -> None:
        """Fetches until nothing is followed, or until cancelled."""
        while self._followed or self._offered:
            await self._wait_until_wanted()
            if len(self._plan):
                await self._fetch()

    async def _wait_until_wanted(self) -> None:
        """Returns when there is something to fetch, or nothing followed any more."""
        while True:
            self._has_changed.clear()  # before it looks: what changes later has it look again
            self._claim_offered()
            now_ms = self._now_ms()
            for key in list(self._delayed):
                if self._followed[key].follower.end_delay(now_ms):
                    self._plan_for(key)
            self._hold_throttled(now_ms)
            # What is offered meanwhile is claimed, and what is added waits as the others do.
            pace_ms = self._pace.wait_ms(now_ms) if self._is_for_laggards else 0
            if (len(self._plan) and not pace_ms) or not self._followed:
                return
            due: list[float] = [
                self._followed[key].follower.delayed_until_ms for key in self._delayed
            ]
            if pace_ms:
                due.append(now_ms + min(pace_ms, PACE_LOOK_MS))
            wait_s = (min(due) - now_ms) / 1000 if due else None
            try:
                async with asyncio.timeout(wait_s):
                    await self._has_changed.wait()
            except TimeoutError:
                continue

    def _claim_offered(self) -> None:
        offered, self._offered = self._offered, {}
        for name in offered:
            self._lanes.claim(name)

    def _hold_throttled(self, now_ms: int) -> None:
        """Has throttled partitions wait that lack records, once they have got too much. Nothing is under way now."""
        if not self._throttle.is_exceeded(now_ms):
            return
        until_ms = now_ms + max(1, self._throttle.wait_ms(now_ms, self._backoff_ms))
        for key, followed in self._followed.items():
            is_fetching = followed.follower.state is FollowerState.FETCHING
            if is_fetching and followed.lag != 0 and self._is_throttled(followed):
                followed.follower.hold(until_ms)
                self._plan_for(key)

    def _is_throttled(self, followed: Followed) -> bool:
        replicas = followed.partition.log.config.follower_replication_throttled_replicas
        return self._throttle.covers(replicas, followed.name)

    async def _fetch(self) -> None:
        planned = self._plan.next()
        failure: MillstreamError | None = None
        try:
            # Whoever waits for the disk is to be in the next request, not in the one after the leader has long nothing to tell of others.
            fetched = await self._leader.fetch(planned, is_brief=bool(self._busy))
        except MillstreamError as error:
            failure = error
        if failure is not None:
            await self._back_off(failure)
            return
        if self._plan.take_answer(
            planned, fetched.error_code, fetched.session_id, fetched.partitions.keys()
        ):
            self._told = ""
            await self._take(fetched)
        elif planned.is_full:
            # A session that is gone is begun anew at once; a leader that refuses even that is given time.
            what = error_for(fetched.error_code) if fetched.error_code else "an answer to what was not asked"  # fmt: skip
            await self._back_off(what)

    async def _back_off(self, error: object) -> None:
        self._plan.note_failure()
        if str(error) != self._told:
            self._told = str(error)
            # That a broker is not reached its connections tell.
            is_told = isinstance(error, NetworkException | BrokerNotAvailable)
            _LOGGER.log(
                logging.INFO if is_told else logging.WARNING,
                "broker %d cannot be fetched from, it is tried again: %s",
                self._leader.leader,
                error,
            )
        await asyncio.sleep(self._backoff_ms / 1000)

    async def _take(self, fetched: FetchAnswer) -> None:
        """Carries out what follows from an answer, a few partitions at a time."""
        out_of_range: dict[FollowedKey, AskedFetch] = {}
        async for key, data in self._long_work.in_turns(fetched.partitions.items()):
            # Since the request was sent, and between turns, a partition may have left, or come back under a newer
            # epoch: `take` compares what was asked with what is wanted now.
            followed, asked = self._followed.get(key), self._plan.told(key)
            if followed is None or asked is None:
                continue
            self._tell_refusal(followed, asked, data)
            step = followed.follower.take(
                asked, data.error_code, divergence_in(data), self._now_ms()
            )
            if isinstance(step, AskLeaderEnd):
                out_of_range[key] = asked
            else:
                self._carry_out(followed, step, data)
            self._plan_for(key)
        if out_of_range:
            await self._find_offsets(out_of_range)

    async def _find_offsets(self, out_of_range: dict[FollowedKey, AskedFetch]) -> None:
        """Asks the leader for the ends of logs, then for the starts of those that do not end before ours."""
        wants_start: dict[FollowedKey, AskedFetch] = {}
        for key, asked, told in await self._offsets(out_of_range, LATEST):
            followed = self._followed[key]
            follower = followed.follower
            step = follower.take_leader_end(asked, told.error_code, told.offset, self._now_ms())
            if isinstance(step, AskLeaderStart):
                wants_start[key] = asked
            else:
                self._carry_out(followed, step)
            self._plan_for(key)
        for key, asked, told in await self._offsets(wants_start, EARLIEST):
            followed = self._followed[key]
            follower = followed.follower
            step = follower.take_leader_start(asked, told.error_code, told.offset, self._now_ms())
            self._carry_out(followed, step)
            self._plan_for(key)

    async def _offsets(
        self, asked: dict[FollowedKey, AskedFetch], timestamp: int
    ) -> list[tuple[FollowedKey, AskedFetch, LeaderOffset]]:
        """Returns what the leader says of those that are followed still; one request for all of them."""
        names = {key: self._followed[key].name for key in asked if key in self._followed}
        if not names:
            return []
        epochs = {name: asked[key].leader_epoch for key, name in names.items()}
        try:
            told = await self._leader.offsets(epochs, timestamp)
        except MillstreamError as error:
            _LOGGER.warning(
                "broker %d does not say where its logs begin and end: %s",
                self._leader.leader,
                error,
            )
            self._delay(list(names))
            return []
        # While the request was under way a partition may have got another leader.
        return [(key, asked[key], told[name]) for key, name in names.items() if key in self._followed]  # fmt: skip

    def _delay(self, keys: list[FollowedKey]) -> None:
        now_ms = self._now_ms()
        for key in keys:
            if key in self._followed:
                self._followed[key].follower.delay(now_ms)
                self._plan_for(key)

    # --- steps

    def _carry_out(
        self, followed: Followed, step: Step | None, data: PartitionData | None = None
    ) -> None:
        """Does a step, or begins it where it is a cut, without giving way. What fails delays this partition."""
        follower, partition = followed.follower, followed.partition
        try:
            match step:
                case Append():
                    assert data is not None, "records are appended from an answer"
                    self._append(followed, data, step.leader_epoch)
                case TruncateToDivergence():
                    self._tell_cut(followed, f"diverges from its leader at {step.diverging}")
                    epoch = LeaderEpoch(follower.leader_epoch)
                    cut = partition.plan_divergence_cut(step.diverging, epoch)
                    self._begin_cut(followed, cut)
                case TruncateTo():
                    self._tell_cut(followed, f"its leader ends at {step.offset}")
                    self._begin_cut(followed, partition.plan_cut(step.offset))
                case StartOver():
                    self._tell_cut(followed, f"its leader begins at {step.offset}")
                    self._begin_cut(followed, partition.plan_cut(step.offset, is_whole=True))
                case AskLeaderEnd() | AskLeaderStart() | None:
                    pass
        except Exception as error:  # noqa: BLE001 - one partition must not stop the others; it is logged
            self._handle_failure(followed, error)

    def _append(self, followed: Followed, data: PartitionData, leader_epoch: int) -> None:
        partition = followed.partition
        records = data.records or b""
        partition.append_fetched(
            memoryview(records),  # type: ignore[arg-type]  # what is decoded is bytes in memory
            leader_epoch=LeaderEpoch(leader_epoch),
            leader_high_watermark=data.high_watermark,
            leader_log_start_offset=data.log_start_offset,
            now=self._clock.now(),
        )
        log = partition.log
        followed.lag = max(0, data.high_watermark - log.log_end_offset)
        self._metrics.bytes_in += len(records)
        self._pace.record(len(records))
        if self._is_throttled(followed):
            self._throttle.record(len(records), self._now_ms())
        if partition.is_being_added:
            self._metrics.reassignment_bytes_in += len(records)
        followed.told = None
        if self._syncs_first() and log.recovery_point < log.log_end_offset:
            self._begin_work(followed)
            self._tasks.start(self._sync(followed), f"sync {followed.name}")
            return
        self._note_append(followed)
        if log.must_flush(log.log_end_offset):
            self._flusher.start_flush(log)

    def _note_append(self, followed: Followed) -> None:
        """A partition is moved only here, where it waits for no disk: work that is under way would end in the
        fetcher that it has left.
        """
        log = followed.partition.log
        followed.follower.note_append(log.log_end_offset, log.leader_epochs.latest_epoch)
        assert followed.lag is not None, "an answer came"
        if (followed.lag > 0) != self._is_for_laggards:
            self._lanes.note_misplaced(followed.name)

    def _begin_cut(self, followed: Followed, cut: LogCut | None) -> None:
        """Has a log cut while the others are fetched."""
        if cut is None:
            self._note_cut(followed)
        else:
            self._begin_work(followed)
            done = partial(self._go_on, followed, self._note_cut)
            self._cutter.start(followed.partition, cut, done)

    def _begin_work(self, followed: Followed) -> None:
        followed.follower.begin_work()
        self._busy.add(followed.key)

    async def _sync(self, followed: Followed) -> None:
        """Says only then what it has: its next fetch tells the leader that every record before it is on this disk."""
        log = followed.partition.log
        failure = None
        try:
            await self._flusher.flush_to(log, log.log_end_offset)
        except KafkaError as error:
            failure = error
        self._go_on(followed, self._note_append, failure)

    def _go_on(
        self, followed: Followed, note: Callable[[Followed], None], error: Exception | None
    ) -> None:
        """Fetches on after the disk was waited for.

        Meanwhile the partition may have left this fetcher, and even come back under a newer epoch:
        that is another follower.
        """
        if self._followed.get(followed.key) is not followed:
            return
        self._busy.discard(followed.key)
        if error is None:
            note(followed)
        else:
            self._handle_failure(followed, error)
        self._plan_for(followed.key)
        self._has_changed.set()

    def _note_cut(self, followed: Followed) -> None:
        log = followed.partition.log
        followed.follower.note_cut(
            log.log_end_offset, log.leader_epochs.latest_epoch, self._now_ms()
        )

    def _handle_failure(self, followed: Followed, error: Exception) -> None:
        """An error that is ours.

        A log that is out of use, and what nobody expected, waits for newer metadata, as in Kafka.
        """
        is_over = (
            isinstance(error, KafkaStorageError)
            and followed.partition.log.health.failure is not None
        )
        if isinstance(error, KafkaError) and not is_over:
            followed.follower.delay(self._now_ms())
        else:
            followed.follower.wait_for_metadata()
        if isinstance(error, NotLeaderOrFollower | LogBeingCut):
            return  # another leader is followed; or was, when the cut began that is about to end
        self._metrics.corrupt_fetches += isinstance(error, CorruptMessage)
        self._tell(followed, error, f"cannot be appended to or cut: {error}")

    # --- what the operator is told

    def _tell_refusal(self, followed: Followed, asked: AskedFetch, data: PartitionData) -> None:
        is_told = data.error_code not in {_NONE, OffsetOutOfRange.code}
        if not is_told or not followed.follower.is_current(asked):
            return
        error = error_for(data.error_code)
        until = "newer metadata" if isinstance(error, FencedLeaderEpoch) else "another attempt"
        leader = self._leader.leader
        self._tell(followed, error, f"is refused by broker {leader} until {until}: {error}")

    def _tell(self, followed: Followed, error: Exception, what: str) -> None:
        if type(error) is not followed.told:
            followed.told = type(error)
            unexpected = None if isinstance(error, MillstreamError) else error
            level = logging.INFO if isinstance(error, _IMAGES_DIFFER) else logging.WARNING
            _LOGGER.log(level, "the replica %s %s", followed.name, what, exc_info=unexpected)

    def _tell_cut(self, followed: Followed, why: str) -> None:
        _LOGGER.info(
            "the replica %s, which ends at %d, is cut: %s",
            followed.name,
            followed.follower.fetch_offset,
            why,
        )

    def _now_ms(self) -> int:
        return self._clock.now().monotonic_ms
