"""Reads the subscriptions of the members of classic consumer groups, as far as their metadata can be read.

The metadata belongs to the clients. A coordinator reads it for one purpose, not to expire offsets in use, and
must survive anything in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import Final

from millstream.errors import ProtocolError
from millstream.protocol.generated.consumer_protocol import ConsumerProtocolSubscription

CONSUMER_PROTOCOL_TYPE: Final = "consumer"
_VERSION_BYTES: Final = 2


def topics_in(subscriptions: Iterable[bytes]) -> AbstractSet[str]:
    """Returns the topics of subscriptions. Empty also when one of them is no subscription."""
    try:
        return {topic for metadata in subscriptions for topic in _read(metadata).topics}
    except ProtocolError:
        return frozenset()


def _read(metadata: bytes) -> ConsumerProtocolSubscription:
    """Raises ProtocolError.

    Every version begins as version 0, topics first, and clients are known to send less than they claim.
    """
    subscription, _ = ConsumerProtocolSubscription.decode(memoryview(metadata), _VERSION_BYTES, 0)
    return subscription
