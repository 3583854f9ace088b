"""The settings of the group, share and transaction coordinators, as rows of the broker's table."""

from __future__ import annotations

from typing import Final

from millstream.broker.config.rows import (
    boolean,
    integer,
    internal,
    long,
    short,
    string,
    without_effect,
    words,
)
from millstream.metadata.config_key import ConfigKey, UpdateMode
from millstream.metadata.config_validators import Between, ListOf, OneOf, at_least

_INT_MAX: Final = (1 << 31) - 1
_DYNAMIC: Final = UpdateMode.CLUSTER_WIDE
_SEGMENT_BYTES: Final = 104_857_600
_CODECS: Final = Between(0, 4)

_CLASSIC_GROUPS = (
    integer("group.initial.rebalance.delay.ms", 3_000, at_least(0), "Wait for more members before a new group's first rebalance."),
    integer("group.min.session.timeout.ms", 6_000, at_least(0), "Shortest session timeout a member may ask for."),
    integer("group.max.session.timeout.ms", 1_800_000, at_least(0), "Longest session timeout a member may ask for."),
    integer("group.max.size", _INT_MAX, at_least(1), "Members that a classic group may have."),
    words(
        "group.coordinator.rebalance.protocols",
        ("classic", "consumer", "streams"),
        "Group protocols that are served. Share groups are switched by the feature `share.version` instead.",
        ListOf(("consumer", "classic", "share", "streams")),
    ),
)  # fmt: skip

_OFFSETS = (
    integer("offset.metadata.max.bytes", 4_096, at_least(0), "Longest metadata string of a committed offset."),
    integer("offsets.commit.timeout.ms", 5_000, at_least(1), "How long a commit may wait for its replicas."),
    integer("offsets.retention.minutes", 10_080, at_least(1), "Committed offsets of an empty group expire after this time."),
    long("offsets.retention.check.interval.ms", 600_000, at_least(1), "Time between two looks for expired offsets."),
    integer("offsets.topic.num.partitions", 50, at_least(1), "Partitions of __consumer_offsets, fixed when it is created."),
    short(
        "offsets.topic.replication.factor",
        3,
        at_least(1),
        "Replicas of __consumer_offsets. It is created once so many brokers are registered. On a node that names no quorum: 1 unless it is set.",
    ),
    integer("offsets.topic.segment.bytes", _SEGMENT_BYTES, at_least(1), "Segment size of __consumer_offsets."),
    integer("offsets.topic.compression.codec", 0, _CODECS, "Codec of __consumer_offsets, as its number."),
)  # fmt: skip


def _of_group_kind(kind: str, noun: str, size_max: int, size: Between) -> tuple[ConfigKey, ...]:
    """Returns the keys that consumer, share and streams groups have in common (KIP-848, KIP-932, KIP-1071)."""
    group = f"group.{kind}"
    return (
        integer(f"{group}.session.timeout.ms", 45_000, at_least(1), f"Members of a {noun} that are silent for this long are removed."),
        integer(f"{group}.min.session.timeout.ms", 45_000, at_least(1), f"Shortest session timeout that a {noun} may be configured with."),
        integer(f"{group}.max.session.timeout.ms", 60_000, at_least(1), f"Longest session timeout that a {noun} may be configured with."),
        integer(f"{group}.heartbeat.interval.ms", 5_000, at_least(1), f"Time between two heartbeats of a member of a {noun}."),
        integer(f"{group}.min.heartbeat.interval.ms", 5_000, at_least(1), f"Shortest heartbeat interval that a {noun} may be configured with."),
        integer(f"{group}.max.heartbeat.interval.ms", 15_000, at_least(1), f"Longest heartbeat interval that a {noun} may be configured with."),
        integer(
            f"{group}.assignment.interval.ms",
            1_000,
            at_least(0),
            f"Least time between two new assignments of one {noun}: changes that come closer together are answered at once.",
            _DYNAMIC,
        ),
        integer(f"{group}.min.assignment.interval.ms", 0, at_least(0), f"Shortest assignment interval that a {noun} may be configured with."),
        integer(f"{group}.max.assignment.interval.ms", 15_000, at_least(0), f"Longest assignment interval that a {noun} may be configured with."),
        integer(f"{group}.max.size", size_max, size, f"Members that a {noun} may have."),
    )  # fmt: skip


_CONSUMER_GROUPS = (
    *_of_group_kind("consumer", "consumer group", _INT_MAX, at_least(1)),
    words(
        "group.consumer.assignors",
        ("uniform", "range"),
        "Assignors that members may choose; the first is used where they choose none.",
        ListOf(("uniform", "range"), may_be_empty=False),
    ),
    string(
        "group.consumer.migration.policy",
        "bidirectional",
        "Which way a group may go between the classic and the consumer protocol while it has members: `upgrade`, `downgrade`, "
        "`bidirectional` or `disabled`.",
        OneOf(("disabled", "downgrade", "upgrade", "bidirectional"), any_case=True),
    ),
    internal(
        integer(
            "group.consumer.regex.refresh.interval.ms",
            600_000,
            at_least(10_000),
            "Regular expressions of consumer groups are matched anew at least this often; new topics are looked at earlier.",
        )
    ),
)  # fmt: skip

_SHARE_GROUPS = (
    *_of_group_kind("share", "share group", 200, Between(1, 1_000)),
    integer(
        "group.share.record.lock.duration.ms", 30_000, Between(1_000, 3_600_000), "How long an acquired record stays with its member."
    ),
    integer("group.share.min.record.lock.duration.ms", 15_000, Between(1_000, 30_000), "Shortest lock that a group may be configured with."),
    integer(
        "group.share.max.record.lock.duration.ms", 60_000, Between(30_000, 3_600_000), "Longest lock that a group may be configured with."
    ),
    integer("group.share.delivery.count.limit", 5, Between(2, 10), "How often a record is delivered before it is archived."),
    integer("group.share.min.delivery.count.limit", 2, Between(2, 5), "Lowest delivery limit that a group may be configured with."),
    integer("group.share.max.delivery.count.limit", 10, Between(5, 25), "Highest delivery limit that a group may be configured with."),
    integer(
        "group.share.partition.max.record.locks", 2_000, Between(100, 10_000), "Records in flight in one partition of one share group."
    ),
    integer(
        "group.share.min.partition.max.record.locks", 100, Between(100, 2_000), "Lowest number of locks that a group may be configured with."
    ),
    integer(
        "group.share.max.partition.max.record.locks", 4_000, Between(2_000, 10_000), "Highest number of locks that a group may be configured with."
    ),
    integer("group.share.max.share.sessions", 2_000, at_least(1), "Share sessions that this broker keeps."),
    without_effect(
        "there is one", words("group.share.assignors", ("simple",), "Assignors of share groups.", ListOf(("simple",), may_be_empty=False))
    ),
    internal(
        integer("group.share.initialize.retry.interval.ms", 30_000, at_least(1), "How long the share coordinator has to initialise a partition before it is asked again.")
    ),
    internal(
        integer("share.coordinator.state.topic.prune.interval.ms", 300_000, at_least(1), "Time between two looks for records of __share_group_state that can go.")
    ),
    internal(
        integer("share.coordinator.cold.partition.snapshot.interval.ms", 300_000, at_least(1), "A share partition that nobody writes is snapshotted again after this long.")
    ),
    integer("share.coordinator.state.topic.num.partitions", 50, at_least(1), "Partitions of __share_group_state, fixed when it is created."),
    short(
        "share.coordinator.state.topic.replication.factor",
        3,
        at_least(1),
        "Replicas of __share_group_state. It is created once so many brokers are registered. On a node that names no quorum: 1 unless it is set.",
    ),
    short(
        "share.coordinator.state.topic.min.isr",
        2,
        at_least(1),
        "Replicas of __share_group_state that must have a write. On a node that names no quorum: 1 unless it is set.",
    ),
    integer("share.coordinator.state.topic.segment.bytes", _SEGMENT_BYTES, at_least(1), "Segment size of __share_group_state."),
    integer("share.coordinator.state.topic.compression.codec", 0, _CODECS, "Codec of __share_group_state, as its number."),
    integer(
        "share.coordinator.snapshot.update.records.per.snapshot", 500, Between(0, 500), "Updates of a share partition's state between two full snapshots."
    ),
    integer("share.coordinator.write.timeout.ms", 5_000, at_least(1), "How long a write of share state may wait for its replicas."),
)  # fmt: skip

_STREAMS_GROUPS = (
    *_of_group_kind("streams", "streams group", _INT_MAX, at_least(1)),
    integer("group.streams.num.standby.replicas", 0, at_least(0), "Standby copies of each stateful task."),
    integer("group.streams.max.standby.replicas", 2, at_least(0), "Most standby copies that a group may be configured with."),
    integer("group.streams.initial.rebalance.delay.ms", 3_000, at_least(0), "Wait for more members before a new group's first assignment."),
)  # fmt: skip

_TRANSACTIONS = (
    integer("transaction.max.timeout.ms", 900_000, at_least(1), "Longest transaction timeout a producer may ask for."),
    integer("transactional.id.expiration.ms", 604_800_000, at_least(1), "A transactional id without transactions for this long is forgotten."),
    integer(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms", 10_000, at_least(1), "Time between two looks for transactions to abort."
    ),
    integer(
        "transaction.remove.expired.transaction.cleanup.interval.ms", 3_600_000, at_least(1), "Time between two looks for expired transactional ids."
    ),
    integer("transaction.state.log.num.partitions", 50, at_least(1), "Partitions of __transaction_state, fixed when it is created."),
    short(
        "transaction.state.log.replication.factor",
        3,
        at_least(1),
        "Replicas of __transaction_state. It is created once so many brokers are registered. On a node that names no quorum: 1 unless it is set.",
    ),
    integer(
        "transaction.state.log.min.isr",
        2,
        at_least(1),
        "Replicas of __transaction_state that must have a write. On a node that names no quorum: 1 unless it is set.",
    ),
    integer("transaction.state.log.segment.bytes", _SEGMENT_BYTES, at_least(1), "Segment size of __transaction_state."),
    boolean(
        "transaction.partition.verification.enable",
        True,
        "Check with the coordinator that a partition belongs to an open transaction before the first write of that transaction to it.",
        _DYNAMIC,
    ),
    integer("add.partitions.to.txn.retry.backoff.ms", 20, at_least(1), "Pause before a partition that its transaction cannot take yet is tried again."),
    integer("add.partitions.to.txn.retry.backoff.max.ms", 100, at_least(0), "Longest time of these retries; after it the producer gets the error."),
    without_effect(
        "two-phase commit needs a version of InitProducerId that Kafka 4.3 does not serve either",
        boolean("transaction.two.phase.commit.enable", False, "Allow transactions without a timeout, which a coordinator elsewhere ends."),
    ),
)  # fmt: skip

COORDINATOR_ROWS: Final = (
    *_CLASSIC_GROUPS, *_OFFSETS, *_CONSUMER_GROUPS, *_SHARE_GROUPS, *_STREAMS_GROUPS, *_TRANSACTIONS,
)  # fmt: skip
