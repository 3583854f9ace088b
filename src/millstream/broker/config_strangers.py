"""Keys of Kafka that have no effect here, each with the reason, so that a `server.properties` written for Kafka is read as it is.

Silence would be wrong for keys that protect something: those are refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from millstream.metadata.config_key import UpdateMode


@dataclass(frozen=True, slots=True)
class Strangers:
    """Keys that have no effect for one reason: those of `names`, and those that begin with one of `prefixes`."""

    reason: str
    names: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self.names or name.startswith(self.prefixes))


JVM_MACHINERY: Final = Strangers(
    "threads, queues, class names and metrics reporters of the JVM: one event loop does their work",
    frozenset(
        {
            "num.network.threads", "num.io.threads", "background.threads", "num.replica.fetchers",
            "num.recovery.threads.per.data.dir", "num.replica.alter.log.dirs.threads", "auto.include.jmx.reporter",
            "metric.reporters", "security.providers", "principal.builder.class", "group.coordinator.threads",
            "group.coordinator.background.threads", "share.coordinator.threads", "early.start.listeners",
            "log.dir.failure.timeout.ms", "controller.performance.always.log.threshold.ms",
            "controller.performance.sample.period.ms", "producer.purgatory.purge.interval.requests",
            "fetch.purgatory.purge.interval.requests", "delete.records.purgatory.purge.interval.requests",
            "share.fetch.purgatory.purge.interval.requests",
        }
    ),
    ("metrics.", "kafka.metrics.", "log4j", "zookeeper."),
)  # fmt: skip

_OTHERS: Final = (
    Strangers("several nodes come with a later version", frozenset({
        "auto.leader.rebalance.enable", "leader.imbalance.check.interval.seconds", "unclean.leader.election.interval.ms",
        "socket.connection.setup.timeout.ms", "socket.connection.setup.timeout.max.ms", "reserved.broker.max.id",
        "broker.id.generation.enable", "inter.broker.protocol.version", "cordoned.log.dirs",
    }), ("replica.", "controller.quorum.", "controller.socket.")),
    Strangers("TLS and SASL come with a later version", frozenset({
        "connections.max.reauth.ms", "connection.failed.authentication.delay.ms",
    }), ("ssl.", "sasl.", "password.encoder.")),
    Strangers("quotas are enforced by a later version", frozenset({"client.quota.callback.class"}), (
        "quota.", "replication.quota.", "controller.quota.", "alter.log.dirs.replication.quota.",
        "leader.replication.", "follower.replication.",
    )),
    Strangers("segments are kept on local disks only", frozenset({"follower.fetch.last.tiered.offset.enable"}), ("remote.",)),
    Strangers("policies and providers are classes of the JVM", frozenset({
        "config.providers", "create.topic.policy.class.name", "alter.config.policy.class.name",
        "group.share.persister.class.name",
    })),
    Strangers("an idle node stays idle: it writes no records of nothing", frozenset({"metadata.max.idle.interval.ms"}), (
        "metadata.log.", "internal.metadata.",
    )),
    Strangers("released features only", frozenset({
        "unstable.api.versions.enable", "unstable.feature.versions.enable", "log.message.format.version",
    }), ("internal.",)),
    Strangers("sizes and times of this part are not tunable here", frozenset({"offsets.load.buffer.size"}), (
        "group.consumer.", "group.share.", "group.streams.", "group.coordinator.", "share.", "transaction.", "log.cleaner.",
        "alter.log.dirs.",
    )),
)  # fmt: skip

_CHANGEABLE: Final = frozenset(
    {
        "background.threads", "config.providers", "cordoned.log.dirs", "follower.fetch.last.tiered.offset.enable",
        "group.coordinator.cached.buffer.max.bytes", "metric.reporters", "num.io.threads", "num.network.threads",
        "num.recovery.threads.per.data.dir", "num.replica.fetchers", "principal.builder.class",
        "remote.fetch.max.wait.ms", "remote.list.offsets.request.timeout.ms", "remote.log.index.file.cache.total.size.bytes",
        "remote.log.manager.copier.thread.pool.size", "remote.log.manager.copy.max.bytes.per.second",
        "remote.log.manager.expiration.thread.pool.size", "remote.log.manager.fetch.max.bytes.per.second",
        "remote.log.manager.follower.thread.pool.size", "remote.log.reader.threads",
        "share.coordinator.cached.buffer.max.bytes",
    }
)  # fmt: skip
"""What Kafka lets change while it runs: taken and stored here too, without effect."""

_PER_BROKER: Final = frozenset({"cordoned.log.dirs", "principal.builder.class"})
_LISTENER_PREFIX: Final = "listener.name."

_PROTECTING_NAMES: Final = frozenset(
    {
        "security.inter.broker.protocol",
    }
)
_HARMLESS_VALUES: Final = {"", "PLAINTEXT", "true"}

ALL_STRANGERS: Final = (
    JVM_MACHINERY,
    *_OTHERS,
    Strangers("protection that this version does not give: other values are refused", _PROTECTING_NAMES),
)  # fmt: skip


def is_java_only(name: str) -> bool:
    """Tunes threads, metrics reporters and other machinery that this broker does not have."""
    return name in JVM_MACHINERY


def why_without_effect(name: str) -> str | None:
    """Why a key of Kafka means nothing here; None for a key that Kafka does not know either."""
    return next((strangers.reason for strangers in ALL_STRANGERS if name in strangers), None)


def stranger_update_mode(name: str) -> UpdateMode | None:
    """Whether Kafka lets this key change while a broker runs; None for a key that Kafka does not know either."""
    if name.startswith(_LISTENER_PREFIX):
        return UpdateMode.READ_ONLY
    if name in _PER_BROKER:
        return UpdateMode.PER_BROKER
    if name in _CHANGEABLE:
        return UpdateMode.CLUSTER_WIDE
    return None if why_without_effect(name) is None else UpdateMode.READ_ONLY


def protects(name: str, value: str) -> bool:
    """Asks for a protection this version does not give: ignoring it would leave the cluster open."""
    return (
        name in _PROTECTING_NAMES or name.startswith(_LISTENER_PREFIX)
    ) and value.strip() not in _HARMLESS_VALUES
