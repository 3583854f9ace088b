"""Changes partitions by the rules of one image: which brokers can lead, what the configuration of a topic
says, where new replicas go.

Owns where the rules of `partition_change` come from. Made anew for each plan, since the
image does not change during one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from millstream.controller.partitions.partition_change import (
    PartitionRules,
    PartitionTarget,
    changed_partition,
)
from millstream.controller.partitions.topic_replication import replication_reader
from millstream.controller.settings import ControllerSettings
from millstream.metadata.directory_ids import (
    MIGRATING_DIRECTORY,
    UNASSIGNED_DIRECTORY,
    has_online_directory,
)
from millstream.metadata.effective_config import BrokerSettings
from millstream.metadata.features import ELIGIBLE_LEADER_REPLICAS, Capability, can
from millstream.metadata.image import MetadataImage, PartitionImage, TopicImage
from millstream.model import BrokerId, Uuid
from millstream.protocol.generated.metadata_records import PartitionChangeRecord

MIN_INSYNC_REPLICAS: Final = "min.insync.replicas"


@final
class PartitionChanges:
    """Plans changes of partitions of one image."""

    def __init__(self, image: MetadataImage, settings: ControllerSettings) -> None:
        self.image = image
        self.keeps_eligible_replicas = image.features.get(ELIGIBLE_LEADER_REPLICAS, 0) > 0
        """Whether the cluster keeps replicas eligible that leave the ISR with all their data (KIP-966)."""
        self._has_directories = can(image, Capability.DIRECTORY_ASSIGNMENT)
        self._shrinks_within_epoch = can(image, Capability.ISR_SHRINKS_WITHIN_EPOCH)
        broker = BrokerSettings.of(image, settings.node_id, settings.static)
        defaults = {MIN_INSYNC_REPLICAS: str(settings.min_insync_replicas)}
        self._settings = replication_reader(image, {**defaults, **broker.topic_defaults()})

    def is_active(self, broker_id: BrokerId) -> bool:
        """Whether a broker may lead: it is registered, not fenced, and not about to stop."""
        registration = self.image.brokers.get(broker_id)
        return registration is not None and registration.is_active

    def change(
        self,
        topic: TopicImage,
        partition: PartitionImage,
        target: PartitionTarget,
        is_active: Callable[[BrokerId], bool] | None = None,
    ) -> PartitionChangeRecord | None:
        """Returns the record that changes a partition; None where nothing differs.

        `is_active` says it where the brokers are about to differ from the image.
        """
        active = self.is_active if is_active is None else is_active

        def can_lead(broker_id: BrokerId) -> bool:
            broker = self.image.brokers.get(broker_id)
            if broker is None or broker_id not in partition.replicas or not active(broker_id):
                return False
            return has_online_directory(partition, broker)

        min_isr = self._settings(topic.name).min_insync_replicas
        rules = PartitionRules(
            can_lead,
            min(min_isr, len(topic.partitions[0].replicas)),
            self.keeps_eligible_replicas,
            self._default_directory,
            keeps_directories=self._has_directories,
            shrinks_isr_within_epoch=self._shrinks_within_epoch,
        )
        return changed_partition(topic.topic_id, partition, target, rules)

    def _default_directory(self, broker_id: BrokerId) -> Uuid:
        return default_directory(self.image, broker_id)

    def elects_uncleanly(self, topic: str) -> bool:
        """Whether a topic prefers any leader to none."""
        return self._settings(topic).unclean_leader_election_enable


def default_directory(image: MetadataImage, broker_id: BrokerId) -> Uuid:
    """Returns the directory of a new replica: the broker's only one, else whichever the broker
    chooses and tells (KIP-858).
    """
    broker = image.brokers.get(broker_id)
    known = broker.log_directories if broker is not None else None
    if known is not None and len(known) == 1:
        return known[0]
    return MIGRATING_DIRECTORY if known == () else UNASSIGNED_DIRECTORY
