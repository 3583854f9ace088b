"""The counters of this node's replica of the metadata quorum: how fast it appends, fetches, commits and elects; and
those of its controller: how long requests wait for it and take it, and what it did unasked.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

from millstream.broker.metrics.recent_values import RecentValues
from millstream.broker.metrics.time_distribution import TimeDistribution
from millstream.metadata.image import RECOVERING, PartitionImage
from millstream.metadata.topics_delta import TopicChange
from millstream.model import LeaderEpoch, Offset
from millstream.raft.ready import Ready, RoleChange

_BEGINNING: Final = {"Prospective", "Candidate"}
_OVER: Final = {"Leader", "Follower"}
_UNCOMMITTED_MAX: Final = 10_000
"""Batches whose time is taken. A leader without a majority steps down long before it has so many."""


class QuorumMetrics:
    """Times in milliseconds. Fed by the driver of the quorum."""

    def __init__(self) -> None:
        self.commit_latency_ms = RecentValues()
        """From the append of a batch by this leader to its commit."""
        self.election_latency_ms = RecentValues()
        """From the moment in which this replica stands to that in which somebody leads."""
        self.appended = RecentValues()
        """Records appended as leader."""
        self.fetched = RecentValues()
        """Records fetched from the leader."""
        self.snapshots_loaded = 0
        self._standing_since: tuple[int, LeaderEpoch] | None = None
        self._uncommitted: deque[tuple[Offset, int]] = deque(maxlen=_UNCOMMITTED_MAX)

    def note(self, ready: Ready, now_ms: int) -> None:
        """Takes note of what a step of the replica came to."""
        for change in ready.role_changes:
            self._note_role(change, now_ms)
        if ready.leadership is not None:
            self._uncommitted.clear()
        for batch in ready.append:
            self.appended.observe(len(batch.control) + len(batch.data), now_ms)
            self._uncommitted.append((batch.last_offset, now_ms))
        if ready.high_watermark is not None:
            while self._uncommitted and self._uncommitted[0][0] < ready.high_watermark:
                self.commit_latency_ms.observe(now_ms - self._uncommitted.popleft()[1], now_ms)

    def _note_role(self, change: RoleChange, now_ms: int) -> None:
        """Whoever goes back to the leader of the epoch in which it stood has seen no election."""
        if change.role in _BEGINNING and self._standing_since is None:
            self._standing_since = (now_ms, change.epoch)
        elif change.role in _OVER and self._standing_since is not None:
            since_ms, epoch = self._standing_since
            if change.epoch > epoch:
                self.election_latency_ms.observe(now_ms - since_ms, now_ms)
            self._standing_since = None


class ControllerMetrics:
    """All of them count from the start of the process, whether the controller of this node is the active one or not."""

    def __init__(self) -> None:
        self.queue_time = TimeDistribution()
        """How long requests waited for those before them."""
        self.processing_time = TimeDistribution()
        """How long requests were planned and written, until they wait for their commit."""
        self.operations_started = 0
        self.operations_timed_out = 0
        """Requests whose records were not committed in time."""
        self.new_active_controllers = 0
        """How often the quorum got another leader, as this node saw it."""
        self.timed_out_heartbeats = 0
        """Brokers that this controller has fenced since it did not hear of them."""
        self.unclean_elections = 0
        """Leaders that were neither in sync nor eligible."""
        self.eligible_elections = 0
        """Leaders that were out of sync, and eligible (KIP-966)."""

    def note_elections(self, changes: Iterable[TopicChange]) -> None:
        """Counts what new metadata say of leaders, as Kafka does (`TopicDelta.updateElectionStats`)."""
        for topic in changes:
            before = () if topic.before is None else topic.before.partitions
            for number in topic.partitions:
                if number < len(before):
                    self._note_election(before[number], topic.after.partitions[number])

    def _note_election(self, before: PartitionImage, after: PartitionImage) -> None:
        if after.leader == before.leader or not after.has_leader:
            return
        was_recovering = before.leader_recovery_state == RECOVERING
        self.unclean_elections += after.leader_recovery_state == RECOVERING and not was_recovering
        self.eligible_elections += after.leader in before.eligible_leader_replicas
