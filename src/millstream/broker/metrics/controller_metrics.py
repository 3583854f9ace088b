"""The counters of this node's controller: how long requests wait for it and take it, and what it did unasked."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.broker.metrics.time_distribution import TimeDistribution
from millstream.metadata.image import RECOVERING, PartitionImage
from millstream.metadata.topics_delta import TopicChange


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
