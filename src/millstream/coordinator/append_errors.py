"""Translates the errors of a coordinator's own log into those that its clients are told.

The client knows nothing of the internal topic, so an error about that topic must become one about the coordinator:
retry later, or look the coordinator up again.
"""

from __future__ import annotations

from typing import Final

from millstream.errors import (
    CoordinatorNotAvailable,
    KafkaError,
    KafkaStorageError,
    MessageTooLarge,
    NotCoordinator,
    NotEnoughReplicas,
    NotEnoughReplicasAfterAppend,
    NotLeaderOrFollower,
    RecordListTooLarge,
    RequestTimedOut,
    UnknownServerError,
    UnknownTopicOrPartition,
)

_RETRY_LATER: Final = (
    UnknownTopicOrPartition,
    NotEnoughReplicas,
    NotEnoughReplicasAfterAppend,
    RequestTimedOut,
)
_LOOK_UP_AGAIN: Final = (NotLeaderOrFollower, KafkaStorageError)
_TOO_LARGE: Final = (MessageTooLarge, RecordListTooLarge)


def coordinator_error(error: KafkaError) -> KafkaError:
    """Returns the error to answer with; one that needs no translation comes back as it is."""
    if isinstance(error, _RETRY_LATER):
        return CoordinatorNotAvailable(f"the coordinator could not store this: {error}")
    if isinstance(error, _LOOK_UP_AGAIN):
        return NotCoordinator(f"the coordinator could not store this: {error}")
    if isinstance(error, _TOO_LARGE):
        return UnknownServerError(f"the coordinator cannot store this: {error}")
    return error
