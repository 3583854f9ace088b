"""Subscriptions by a pattern that is matched here, against the names of all the topics there are."""

from __future__ import annotations

from millstream.clients.cluster.core.cluster_metadata import ClusterMetadata
from millstream.clients.consumer.core.subscription import SubscriptionState, SubscriptionType


def match_topics(
    subscription: SubscriptionState, snapshot: ClusterMetadata, *, exclude_internal: bool
) -> bool:
    """Take what a pattern matches now. True when that is not what it was; never for other subscriptions."""
    if subscription.type is not SubscriptionType.PATTERN:
        return False
    return subscription.match_pattern(
        topic.name
        for topic in snapshot.topics.values()
        if not (exclude_internal and topic.is_internal)
    )
