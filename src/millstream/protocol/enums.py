"""Enumerations of requests and responses that both clients and brokers use: numbers, and states by name."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Final, Self


class CoordinatorType(IntEnum):
    """Key types of FindCoordinator."""

    GROUP = 0
    TRANSACTION = 1
    SHARE = 2


class ConfigResourceType(IntEnum):
    """Resources that have configurations."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigSource(IntEnum):
    """The place that a value of a configuration comes from (DescribeConfigs v1+)."""

    UNKNOWN = 0
    TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    CLIENT_METRICS_CONFIG = 7
    GROUP_CONFIG = 8

    @classmethod
    def of(cls, code: int) -> Self:
        """Returns the member for a code; UNKNOWN for one of a later Kafka."""
        return cls(code) if code in cls.__members__.values() else cls(0)


class ConfigType(IntEnum):
    """The type of a configuration's value (DescribeConfigs v3+, KIP-569)."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9

    @classmethod
    def of(cls, code: int) -> Self:
        """Returns the member for a code; UNKNOWN for one of a later Kafka, and of brokers before 2.6."""
        return cls(code) if code in cls.__members__.values() else cls(0)


class AlterOperation(IntEnum):
    """A change of one key of a configuration (KIP-339)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    """Add to a list, unless it is in it."""
    SUBTRACT = 3
    """Take out of a list."""


class ElectionType(IntEnum):
    """The replicas from which a leader is elected."""

    PREFERRED = 0
    """The first of the replicas, if it is in sync."""
    UNCLEAN = 1
    """Any replica that is alive, where none in sync is: records may be lost (Kafka 2.4)."""


class UpgradeType(IntEnum):
    """The way a feature may change its level (KIP-584)."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    """Only if nothing is lost."""
    UNSAFE_DOWNGRADE = 3


class AcknowledgeType(IntEnum):
    """The outcome of a record that a member of a share group acquired (KIP-932)."""

    ACCEPT = 1
    """It was processed."""
    RELEASE = 2
    """It was not: it is delivered again, until the group's limit of deliveries."""
    REJECT = 3
    """It cannot be processed: it is not delivered again."""
    RENEW = 4
    """It is still being processed: its lock begins anew (KIP-1222)."""


ACKNOWLEDGE_GAP: Final = 0
"""In the place of an AcknowledgeType: the offset was acquired and holds no record that can be read."""


class StreamsGroupStatus(IntEnum):
    """Codes of the `status` of a StreamsGroupHeartbeat response (KIP-1071)."""

    STALE_TOPOLOGY = 0
    MISSING_SOURCE_TOPICS = 1
    INCORRECTLY_PARTITIONED_TOPICS = 2
    MISSING_INTERNAL_TOPICS = 3
    SHUTDOWN_APPLICATION = 4
    ASSIGNMENT_DELAYED = 5


class GroupState(StrEnum):
    """The state of a group of any kind, by the names that ListGroups and the APIs that describe groups give it."""

    UNKNOWN = "Unknown"
    """A client is told of a state of a later Kafka, or is told none."""
    PREPARING_REBALANCE = "PreparingRebalance"
    """Classic groups: it waits for members to join the next generation."""
    COMPLETING_REBALANCE = "CompletingRebalance"
    """Classic groups: the generation has begun, and waits for the leader's assignment."""
    STABLE = "Stable"
    """Every member has its assignment; in a classic group, can have it."""
    DEAD = "Dead"
    """Deleted; members that still ask are sent to look for the coordinator again."""
    EMPTY = "Empty"
    """It has no members; it may still hold committed offsets."""
    ASSIGNING = "Assigning"
    """Consumer and streams groups: the target assignment is older than the group epoch."""
    RECONCILING = "Reconciling"
    """Consumer and streams groups: members are on their way to the target assignment."""
    NOT_READY = "NotReady"
    """Streams groups: the topology cannot run on the topics that exist."""

    @classmethod
    def of(cls, text: str) -> Self:
        """Returns the state of this name; UNKNOWN for one of a later Kafka, and where the broker is too old to say."""
        return cls(text) if text in cls.__members__.values() else cls("Unknown")


class TransactionState(StrEnum):
    """The state of a transactional id, by the names that ListTransactions and DescribeTransactions
    give it (KIP-664).
    """

    UNKNOWN = "Unknown"
    """A client is told of a state of a later Kafka."""
    EMPTY = "Empty"
    """A producer has its id and epoch and has not written in a transaction yet."""
    ONGOING = "Ongoing"
    """Its producer has partitions in it and may write to them."""
    PREPARE_COMMIT = "PrepareCommit"
    """Decided: it will be committed, whatever happens. Its markers are being written."""
    PREPARE_ABORT = "PrepareAbort"
    """Decided: it will be aborted. Its markers are being written."""
    COMPLETE_COMMIT = "CompleteCommit"
    """Every marker is written."""
    COMPLETE_ABORT = "CompleteAbort"
    """Every marker is written."""
    DEAD = "Dead"
    """Expired. Never in the log: a tombstone is."""
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"
    """Kafka's name for an ongoing transaction whose epoch is being raised so that it can be aborted.

    Never in the log, and never seen here: raising the epoch and preparing the abort are one
    record. Listing knows the name.
    """

    @classmethod
    def of(cls, text: str) -> Self:
        """Returns the state of this name; UNKNOWN for one of a later Kafka."""
        return cls(text) if text in cls.__members__.values() else cls("Unknown")
