"""The brokers to which the items of an admin call belong, as data.

Each kind of place names the errors that say "not here" or "not now": after one of them the item is looked up again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeAlias, TypeVar

from millstream.errors import (
    BrokerNotAvailable,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    FencedLeaderEpoch,
    KafkaError,
    KafkaStorageError,
    LeaderNotAvailable,
    NotController,
    NotCoordinator,
    NotLeaderOrFollower,
    OffsetNotAvailable,
    ReplicaNotAvailable,
    ThrottlingQuotaExceeded,
    UnknownLeaderEpoch,
    UnknownTopicOrPartition,
)
from millstream.model import TopicPartition
from millstream.protocol.enums import CoordinatorType

Key = TypeVar("Key")

_Errors: TypeAlias = tuple[type[KafkaError], ...]


@dataclass(frozen=True, slots=True)
class AnyBroker:
    """Any broker that answers; what only the controller can do is passed on by brokers."""

    retries: ClassVar[_Errors] = (NotController,)


@dataclass(frozen=True, slots=True)
class Controller:
    """The controller itself where brokers do not pass requests on (before KRaft)."""

    retries: ClassVar[_Errors] = (NotController, ThrottlingQuotaExceeded)


@dataclass(frozen=True)  # no slots: Node[...](...) fails with them on Python 3.11
class Node(Generic[Key]):
    """One certain broker; None for whichever."""

    node_id: Callable[[Key], int | None]
    retries: ClassVar[_Errors] = (NotController, BrokerNotAvailable)


@dataclass(frozen=True)  # no slots: Leader[...](...) fails with them on Python 3.11
class Leader(Generic[Key]):
    partition: Callable[[Key], TopicPartition]
    retries: ClassVar[_Errors] = (
        NotLeaderOrFollower,
        LeaderNotAvailable,
        ReplicaNotAvailable,
        BrokerNotAvailable,
        UnknownTopicOrPartition,
        KafkaStorageError,
        OffsetNotAvailable,
        FencedLeaderEpoch,
        UnknownLeaderEpoch,
    )


@dataclass(frozen=True)  # no slots: Coordinator[...](...) fails with them on Python 3.11
class Coordinator(Generic[Key]):
    """By group id, transactional id and so on."""

    kind: CoordinatorType
    name: Callable[[Key], str]
    retries: ClassVar[_Errors] = (
        NotCoordinator,
        CoordinatorNotAvailable,
        CoordinatorLoadInProgress,
    )


Route: TypeAlias = AnyBroker | Controller | Node[Key] | Leader[Key] | Coordinator[Key]


def itself(key: Key) -> Key:
    """Returns the item, for items that are their own name, partition or node."""
    return key


GROUP_COORDINATOR = Coordinator[str](CoordinatorType.GROUP, itself)
TRANSACTION_COORDINATOR = Coordinator[str](CoordinatorType.TRANSACTION, itself)
