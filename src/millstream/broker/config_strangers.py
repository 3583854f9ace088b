"""Keys of Kafka that have no effect here, so that a `server.properties` written for Kafka is read as it is.

Silence would be wrong for keys that protect something: those are refused.
"""

from __future__ import annotations

from typing import Final

_JVM_NAMES: Final = frozenset(
    {
        "num.network.threads", "num.io.threads", "background.threads", "num.replica.fetchers", "queued.max.requests",
        "num.recovery.threads.per.data.dir", "num.replica.alter.log.dirs.threads", "auto.include.jmx.reporter",
        "metric.reporters", "security.providers", "principal.builder.class", "socket.connection.setup.timeout.ms",
        "socket.connection.setup.timeout.max.ms", "group.coordinator.threads", "group.coordinator.background.threads",
        "share.coordinator.threads", "log.cleaner.threads", "server.max.startup.time.ms", "max.connection.creation.rate",
        "max.connections.per.ip.overrides", "controller.performance.always.log.threshold.ms",
        "controller.performance.sample.period.ms", "early.start.listeners", "log.dir.failure.timeout.ms",
        "producer.purgatory.purge.interval.requests", "fetch.purgatory.purge.interval.requests",
        "delete.records.purgatory.purge.interval.requests", "log.flush.scheduler.interval.ms",
    }
)  # fmt: skip
_JVM_PREFIXES: Final = ("metrics.", "kafka.metrics.", "log4j", "zookeeper.")

_LATER_NAMES: Final = frozenset(
    {
        "auto.leader.rebalance.enable", "controlled.shutdown.enable", "config.providers", "cordoned.log.dirs",
        "initial.broker.registration.timeout.ms", "leader.imbalance.check.interval.seconds",
        "log.cleaner.enable", "metadata.max.idle.interval.ms", "metadata.max.retention.bytes", "metadata.max.retention.ms", "offsets.load.buffer.size",
        "telemetry.max.bytes", "transaction.two.phase.commit.enable", "transaction.partition.verification.enable",
        "transactional.id.expiration.ms", "unclean.leader.election.interval.ms", "unstable.api.versions.enable",
        "unstable.feature.versions.enable", "follower.fetch.last.tiered.offset.enable", "broker.id.generation.enable",
        "inter.broker.protocol.version", "log.message.format.version", "reserved.broker.max.id",
        "connections.max.reauth.ms", "connection.failed.authentication.delay.ms", "client.quota.callback.class",
        "create.topic.policy.class.name", "alter.config.policy.class.name",
    }
)  # fmt: skip
_LATER_PREFIXES: Final = (
    "group.consumer.", "group.share.", "group.streams.", "group.coordinator.", "share.coordinator.", "replica.",
    "transaction.", "log.cleaner.", "remote.", "quota.", "replication.quota.", "alter.log.dirs.", "controller.quorum.",
    "controller.socket.", "metadata.log.", "internal.", "ssl.", "sasl.", "delegation.token.", "password.encoder.",
    "add.partitions.to.txn.", "leader.replication.", "follower.replication.", "share.",
)  # fmt: skip

_PROTECTING_NAMES: Final = frozenset(
    {
        "authorizer.class.name",
        "super.users",
        "allow.everyone.if.no.acl.found",
        "security.inter.broker.protocol",
    }
)
_HARMLESS_VALUES: Final = {"", "PLAINTEXT", "true"}


def is_java_only(name: str) -> bool:
    """Tunes threads, metrics reporters and other machinery that this broker does not have."""
    return name in _JVM_NAMES or name.startswith(_JVM_PREFIXES)


def is_not_served_yet(name: str) -> bool:
    """Belongs to a part of Kafka that this version does not have, or does not tune."""
    return name in _LATER_NAMES or name.startswith(_LATER_PREFIXES)


def protects(name: str, value: str) -> bool:
    """Asks for a protection this version does not give: ignoring it would leave the cluster open."""
    return (
        name in _PROTECTING_NAMES or name.startswith("listener.name.")
    ) and value.strip() not in _HARMLESS_VALUES
