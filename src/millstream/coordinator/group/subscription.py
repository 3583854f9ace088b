"""What the members of a classic consumer group subscribe to, as far as their metadata can be read.

The metadata belongs to the clients. A coordinator reads it for one purpose, not to expire offsets in use, and must survive
anything in it.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Final

from millstream.coordinator.group.classic_group import CONSUMER_PROTOCOL_TYPE, ClassicGroup
from millstream.errors import ProtocolError
from millstream.protocol.generated.consumer_protocol import ConsumerProtocolSubscription

_VERSION_BYTES: Final = 2


def subscribed_topics(group: ClassicGroup) -> AbstractSet[str]:
    """Empty also when it cannot be told: other protocol types, metadata that is no subscription."""
    if group.protocol_type != CONSUMER_PROTOCOL_TYPE or group.protocol is None:
        return frozenset()
    try:
        return {
            topic
            for member in group.members.values()
            for topic in _read(member.terms.metadata(group.protocol)).topics
        }
    except ProtocolError:
        return frozenset()


def _read(metadata: bytes) -> ConsumerProtocolSubscription:
    """Raises ProtocolError. Every version begins as version 0, topics first, and clients are known to send less than they claim."""
    subscription, _ = ConsumerProtocolSubscription.decode(memoryview(metadata), _VERSION_BYTES, 0)
    return subscription
