"""Finds the replica that a consumer had better read from (KIP-392), as Kafka's
RackAwareReplicaSelector does: one in its rack.
"""

from __future__ import annotations

from millstream.broker.config.table import RACK_AWARE_SELECTOR
from millstream.metadata.image import MetadataImage
from millstream.model import BrokerId
from millstream.replication.partition import Partition


def counted_rack(rack: str, selector: str | None) -> str:
    """Returns the rack of a consumer as far as `replica.selector.class` looks at it."""
    return rack if selector == RACK_AWARE_SELECTOR else ""


def preferred_replica(
    partition: Partition, offset: int, rack: str, listener_name: str, image: MetadataImage
) -> BrokerId | None:
    """Returns an in-sync follower in `rack` that has the records at `offset`, the one that is
    furthest; None for the leader itself.

    The leader where it is in that rack too, or nobody is.
    """

    def is_near(broker_id: BrokerId) -> bool:
        broker = image.brokers.get(broker_id)
        return (
            broker is not None
            and broker.rack == rack
            and not broker.fenced
            and broker.endpoint(listener_name) is not None
        )

    if not partition.is_leader or is_near(partition.leader):
        return None
    # Those that are equally far by the time at which they were caught up, then by number, as Kafka's ReplicaView orders them.
    near = (
        (follower.end_offset, follower.caught_up_ms, broker_id)
        for broker_id, follower in partition.followers_with(offset)
        if is_near(broker_id)
    )
    best = max(near, default=None)
    return None if best is None else best[2]
