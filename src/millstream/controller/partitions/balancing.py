"""Changes partitions unasked, in the active controller: leaders go back to preferred replicas, and lost
partitions get any leader.

Owns which partitions are concerned and how many a run; when a run is due is known to the session of the controller.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from millstream.controller.operation import ControllerContext, ControllerResult
from millstream.controller.partitions.leadership import partitions_of
from millstream.controller.partitions.partition_change import Election, PartitionTarget
from millstream.controller.partitions.partition_changes import PartitionChanges
from millstream.metadata.image import PartitionImage, TopicImage
from millstream.protocol.generated.metadata_records import PartitionChangeRecord

CHANGES_PER_RUN_MAX: Final = 1_000
"""Kafka's bound (`ReplicationControlManager`, MAX_ELECTIONS_PER_IMBALANCE): other requests have their turn in
between."""


def plan_balance(context: ControllerContext, _request: None) -> ControllerResult[bool]:
    """Elects preferred replicas that are in sync and do not lead, so many at once.

    The response says whether more may be due: the caller asks again then.
    """
    changes = context.partition_changes()
    imbalanced = (
        (topic, partition)
        for topic, partition in partitions_of(changes.image)
        if partition.leader != partition.preferred_leader
    )
    return _elected(changes, imbalanced, Election.PREFERRED)


def plan_unclean_elections(context: ControllerContext, _request: None) -> ControllerResult[bool]:
    """Elects any replica that is up for partitions without a leader, where the topic allows it, so many at once.

    The response as that of `plan_balance`.
    """
    changes = context.partition_changes()
    lost = (
        (topic, partition)
        for topic, partition in partitions_of(changes.image)
        if not partition.has_leader and changes.elects_uncleanly(topic.name)
    )
    return _elected(changes, lost, Election.UNCLEAN)


def _elected(
    changes: PartitionChanges,
    concerned: Iterable[tuple[TopicImage, PartitionImage]],
    election: Election,
) -> ControllerResult[bool]:
    records: list[PartitionChangeRecord] = []
    for topic, partition in concerned:
        if len(records) >= CHANGES_PER_RUN_MAX:
            break
        record = changes.change(topic, partition, PartitionTarget(election=election))
        if record is not None:
            records.append(record)
    return ControllerResult(tuple(records), len(records) >= CHANGES_PER_RUN_MAX)
