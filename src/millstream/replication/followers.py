"""The followers of a partition as its leader sees them: how far they are, which are in sync, what follows from that.

Pure.

Owns the rules of KIP-497, KIP-841, KIP-903 and KIP-966 as Kafka's `Partition` has them. Exists while this broker leads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

from millstream.metadata.broker_registration import BrokerRegistration
from millstream.metadata.image import RECOVERED
from millstream.model import BrokerId, Uuid
from millstream.replication.isr import Alteration, InSyncReplicas, is_eligible, may_join
from millstream.replication.replica_progress import ANY_BROKER_EPOCH, FollowerProgress

LAG_MAX_MS: Final = 30_000
"""Kafka's default of `replica.lag.time.max.ms`."""


def _nobody(_broker_id: BrokerId) -> BrokerRegistration | None:
    return None


@dataclass(frozen=True, slots=True)
class ReplicationRules:
    """The cluster as leaders need to know it."""

    find_broker: Callable[[BrokerId], BrokerRegistration | None] = _nobody
    """In the newest metadata."""
    lag_max_ms: int = LAG_MAX_MS
    """replica.lag.time.max.ms."""


@final
class Followers:
    def __init__(self, leader: BrokerId, isr: InSyncReplicas, rules: ReplicationRules) -> None:
        self.isr = isr
        self.epoch_start_offset = 0
        """The end of the log when this leader epoch began."""
        self.progress: dict[BrokerId, FollowerProgress] = {}
        self._leader = leader
        self._rules = rules

    def clear(self) -> None:
        """Leadership is over."""
        self.progress.clear()

    def begin_epoch(self, end_offset: int) -> None:
        """Begins a new leader epoch, in which nothing is known of followers.

        Kafka's leader keeps what it knows where it led the epoch before as well. Here the epoch before may be one of
        which this broker has not heard: a leader may skip images.
        """
        self.progress.clear()
        self.epoch_start_offset = end_offset

    def assign(
        self,
        replicas: tuple[BrokerId, ...],
        now_ms: int,
        had_in_sync: tuple[BrokerId, ...] = (),
    ) -> None:
        """Follows the assignment: new followers are known from now on, those that are none any more are forgotten.

        Whoever the controller has taken out of the ISR, `had_in_sync` until now, joins again with what it fetches from
        now on: it may have left in order to cut its log.
        """
        left = set(had_in_sync) - set(self.isr.committed)
        known = {each: found for each, found in self.progress.items() if each not in left}
        self.progress = {
            each: known.get(each)
            or FollowerProgress(is_in_sync=each in self.isr.committed, now_ms=now_ms)
            for each in replicas
            if each != self._leader
        }

    def note_append(self) -> None:
        """Notes that the log has grown: nobody rests at its end any more."""
        for follower in self.progress.values():
            follower.end_rest()

    def high_watermark(self, end_offset: int, now_ms: int) -> int:
        """Returns the offset that all have reached who must, or -1 if one of them is unknown.

        Who must: the maximal ISR, and whoever may join it and is caught up. Else a follower that comes near would never
        reach the high watermark of a busy leader, which it has to before it joins.

        A broker that was caught up before it restarted has to catch up once more. Kafka's leader waits for it
        at once, so that for 30 s after a clean stop producers with acks=all stand still until everything that
        was missed has been fetched.
        """
        least = end_offset
        for broker_id, follower in self.progress.items():
            if follower.end_offset < least and (
                broker_id in self.isr.maximal
                or self._is_joining(broker_id, follower, end_offset, now_ms)
            ):
                least = follower.end_offset
        return least

    def _is_joining(
        self, broker_id: BrokerId, follower: FollowerProgress, end_offset: int, now_ms: int
    ) -> bool:
        return (
            follower.has_caught_up_since_restart
            and follower.is_caught_up(end_offset, now_ms, self._rules.lag_max_ms)
            and is_eligible(follower, self._rules.find_broker(broker_id))
        )

    def low_watermark(self, log_start_offset: int) -> int:
        """Returns the least log start offset of all replicas that run; -1 while it is unknown of one."""
        least = log_start_offset
        for broker_id, follower in self.progress.items():
            if follower.log_start_offset < least:
                broker = self._rules.find_broker(broker_id)
                if broker is not None and not broker.fenced:
                    least = follower.log_start_offset
        return least

    def is_stale(self, broker_id: BrokerId, broker_epoch: int) -> bool:
        """Whether a fetch is one of an incarnation that has been replaced."""
        if broker_epoch == ANY_BROKER_EPOCH:
            return False
        broker = self._rules.find_broker(broker_id)
        return broker is not None and not broker.fenced and broker.broker_epoch > broker_epoch

    # --- changes of the ISR

    def may_join(self, broker_id: BrokerId, high_watermark: int) -> bool:
        """Whether the controller is to be asked to have a follower join the ISR now."""
        isr = self.isr
        return (
            isr.pending is None
            and broker_id not in isr.committed
            and may_join(
                self.progress[broker_id],
                self._rules.find_broker(broker_id),
                high_watermark,
                self.epoch_start_offset,
            )
        )

    def must_leave(self, broker_id: BrokerId, end_offset: int, now_ms: int) -> bool:
        """Whether a member of the ISR has not been caught up for too long. One that is no replica any more has not."""
        if broker_id == self._leader:
            return False
        follower = self.progress.get(broker_id)
        return follower is None or not follower.is_caught_up(
            end_offset, now_ms, self._rules.lag_max_ms
        )

    def wanted(
        self, topic_id: Uuid, partition: int, high_watermark: int, end_offset: int, now_ms: int
    ) -> Alteration | None:
        """Returns the alteration that is due, which is on its way from now on."""
        isr = self.isr
        if isr.pending is not None:
            return None
        staying = [each for each in isr.committed if not self.must_leave(each, end_offset, now_ms)]
        # Kafka asks for the follower that fetches just now, alone. Here it is asked for a little later, and for others that fetch as well.
        # One that does not has all that is committed too, where the mark stands still below min.insync.replicas: all would wait for it.
        heard_ms = now_ms - self._rules.lag_max_ms
        joining = [
            each
            for each, follower in self.progress.items()
            if follower.has_fetched_since(heard_ms) and self.may_join(each, high_watermark)
        ]
        wanted = (*staying, *joining)
        if wanted == isr.committed and isr.recovery_state == RECOVERED:
            return None
        alteration = Alteration(
            topic_id=topic_id,
            partition=partition,
            leader_epoch=isr.leader_epoch,
            partition_epoch=isr.partition_epoch,
            isr=tuple((each, self._broker_epoch(each)) for each in wanted),
            # A leader has nothing to recover beyond what its log did when it was opened (KIP-704, and Kafka's leaders).
            leader_recovery_state=RECOVERED,
        )
        isr.ask(alteration)
        return alteration

    def _broker_epoch(self, broker_id: BrokerId) -> int:
        """Of a member that has not fetched yet any will do: if it fails, the controller takes it out of the ISR, and
        this leader's partition epoch is an old one.
        """
        if broker_id == self._leader:
            broker = self._rules.find_broker(broker_id)
            return ANY_BROKER_EPOCH if broker is None else broker.broker_epoch
        epoch = self.progress[broker_id].broker_epoch
        return ANY_BROKER_EPOCH if epoch is None else epoch
