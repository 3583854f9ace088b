"""The broker settings that mean something here: Kafka 4.3's names, types, defaults and limits, and what they do.

Keys that give topics their defaults (`log.retention.ms` and so on) are taken from the table of topic configurations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from millstream.metadata.config_key import (
    ConfigKey,
    ConfigType,
    ConfigValue,
    UpdateMode,
    Validator,
    config_table,
)
from millstream.metadata.config_validators import Between, ListOf, NotBlank, OneOf, at_least
from millstream.metadata.topic_config import TOPIC_CONFIGS

_LONG_MAX: Final = (1 << 63) - 1
_INT_MAX: Final = (1 << 31) - 1


def _integer(name: str, default: ConfigValue, validator: Validator | None, doc: str) -> ConfigKey:
    return ConfigKey(name, ConfigType.INT, default, validator, doc)


def _long(name: str, default: ConfigValue, validator: Validator | None, doc: str) -> ConfigKey:
    return ConfigKey(name, ConfigType.LONG, default, validator, doc)


def _string(
    name: str, default: ConfigValue, doc: str, validator: Validator | None = None
) -> ConfigKey:
    return ConfigKey(name, ConfigType.STRING, default, validator, doc)


def _list(
    name: str, default: ConfigValue, doc: str, validator: Validator | None = None
) -> ConfigKey:
    return ConfigKey(name, ConfigType.LIST, default, validator or ListOf(), doc)


def _boolean(name: str, default: bool, doc: str) -> ConfigKey:
    return ConfigKey(name, ConfigType.BOOLEAN, default, None, doc)


_NODE = (
    _integer("node.id", 1, at_least(0), "Number of this node in its cluster."),
    _integer("broker.id", -1, None, "Old name of `node.id`; used when that is not given."),
    _list(
        "process.roles",
        ("broker", "controller"),
        "What this node is. One node is both: a controller quorum of one.",
        ListOf(("broker", "controller")),
    ),
    _string("broker.rack", None, "Where the broker stands, told to clients that prefer near replicas."),
    _string(
        "log.dir", "./millstream-data", "Directory of all logs; used when `log.dirs` is not given.", NotBlank()
    ),
    _list("log.dirs", None, "Directory of all logs. One is supported."),
    _string("metadata.log.dir", None, "Directory of the metadata log; must be `log.dirs` here."),
    _string(
        "millstream.flush.on.ack",
        "auto",
        "When a produce with acks=all waits for the disk: `auto` if the partition has one replica, `always`, or `never`. "
        "Waiting requests share one fsync.",
        OneOf(("auto", "always", "never")),
    ),
    _long(
        "request.timeout.ms", 30_000, at_least(1), "How long a request to the controller may take before it is given up."
    ),
)  # fmt: skip

_LISTENERS = (
    _list(
        "listeners",
        ("PLAINTEXT://127.0.0.1:9092",),
        "Addresses to listen on, as NAME://HOST:PORT; an empty host means all, port 0 any free one. "
        "Kafka's default listens on all addresses; this one is not reachable from outside until you say so.",
    ),
    _list(
        "advertised.listeners",
        None,
        "Addresses told to clients. Default: `listeners`, with this machine's name where that says all addresses.",
    ),
    _list(
        "listener.security.protocol.map",
        ("SASL_SSL:SASL_SSL", "PLAINTEXT:PLAINTEXT", "SSL:SSL", "SASL_PLAINTEXT:SASL_PLAINTEXT"),
        "Protocol of each listener name. PLAINTEXT is supported.",
    ),
    _list("controller.listener.names", ("CONTROLLER",), "Names in `listeners` that belong to the controller quorum."),
    _string("inter.broker.listener.name", None, "Listener that brokers use among themselves."),
    _list("controller.quorum.voters", (), "Static voters as ID@HOST:PORT. This node must be the only one."),
    _list(
        "controller.quorum.bootstrap.servers", (), "Where to find the quorum. Not needed by a quorum of one."
    ),
)  # fmt: skip

_CONNECTIONS = (
    _integer("socket.request.max.bytes", 104_857_600, at_least(1), "Largest request that is read."),
    _integer("socket.listen.backlog.size", 50, at_least(1), "Connections that may wait to be accepted."),
    _integer(
        "socket.send.buffer.bytes",
        393_216,
        at_least(-1),
        "SO_SNDBUF of client sockets; -1 leaves it to the operating system, which lets large fetches fill more memory than caches "
        "hold (Kafka's default: 102400).",
    ),
    _integer(
        "socket.receive.buffer.bytes",
        -1,
        at_least(-1),
        "SO_RCVBUF of client sockets; -1 leaves it to the operating system, which adapts it (Kafka's default: 102400).",
    ),
    _integer("max.connections", 10_000, at_least(0), "Connections in all (Kafka's default: no limit)."),
    _integer("max.connections.per.ip", 1_000, at_least(0), "Connections from one address (Kafka's default: no limit)."),
    _long("connections.max.idle.ms", 600_000, at_least(1), "A connection without requests for this long is closed."),
    _long(
        "queued.max.request.bytes",
        268_435_456,
        at_least(-1),
        "Memory for requests that were read and not answered; above it no further request is read (Kafka's default: "
        "no limit, which is -1).",
    ),
)  # fmt: skip

_TOPICS = (
    _integer("num.partitions", 1, at_least(1), "Partitions of topics created without a number."),
    _integer("default.replication.factor", 1, at_least(1), "Replicas of topics created without a number."),
    _boolean("auto.create.topics.enable", True, "Create a topic when a client asks for its metadata."),
    _boolean("delete.topic.enable", True, "Allow topics to be deleted."),
    _integer("max.request.partition.size.limit", 2_000, at_least(1), "Partitions in one answer of DescribeTopicPartitions."),
    _integer("fetch.max.bytes", 57_671_680, at_least(1024), "Most bytes in one fetch response."),
    _integer("max.incremental.fetch.session.cache.slots", 1_000, at_least(0), "Incremental fetch sessions kept."),
)  # fmt: skip

_LOGS = (
    _long("log.retention.check.interval.ms", 300_000, at_least(1), "Time between two looks for segments to delete."),
    _long("log.initial.task.delay.ms", 30_000, at_least(0), "Time after the start before background work on logs begins."),
    _integer("log.flush.offset.checkpoint.interval.ms", 60_000, at_least(0), "Time between two recovery point checkpoints."),
    _integer(
        "log.flush.start.offset.checkpoint.interval.ms", 60_000, at_least(0), "Time between two log start checkpoints."
    ),
    _long("replica.high.watermark.checkpoint.interval.ms", 5_000, at_least(1), "Time between two high watermark checkpoints."),
    _integer("producer.id.expiration.ms", 86_400_000, at_least(1), "A producer silent for this long is forgotten."),
    _integer("producer.id.expiration.check.interval.ms", 600_000, at_least(1), "Time between two looks for silent producers."),
)  # fmt: skip

_GROUPS = (
    _integer("group.initial.rebalance.delay.ms", 3_000, at_least(0), "Wait for more members before a new group's first rebalance."),
    _integer("group.min.session.timeout.ms", 6_000, at_least(0), "Shortest session timeout a member may ask for."),
    _integer("group.max.session.timeout.ms", 1_800_000, at_least(0), "Longest session timeout a member may ask for."),
    _integer("group.max.size", _INT_MAX, at_least(1), "Members that a classic group may have."),
    _integer("offset.metadata.max.bytes", 4_096, at_least(0), "Longest metadata string of a committed offset."),
    _integer("offsets.commit.timeout.ms", 5_000, at_least(1), "How long a commit may wait for its replicas."),
    _integer("offsets.retention.minutes", 10_080, at_least(1), "Committed offsets of an empty group expire after this time."),
    _long("offsets.retention.check.interval.ms", 600_000, at_least(1), "Time between two looks for expired offsets."),
    _integer("offsets.topic.num.partitions", 50, at_least(1), "Partitions of __consumer_offsets, fixed when it is created."),
    ConfigKey(
        "offsets.topic.replication.factor",
        ConfigType.SHORT,
        1,
        at_least(1),
        "Replicas of __consumer_offsets (Kafka's default: 3, which a node by itself cannot have).",
    ),
    _integer("offsets.topic.segment.bytes", 104_857_600, at_least(1), "Segment size of __consumer_offsets."),
    _integer("offsets.topic.compression.codec", 0, Between(0, 4), "Codec of __consumer_offsets, as its number."),
    _integer("transaction.max.timeout.ms", 900_000, at_least(1), "Longest transaction timeout a producer may ask for."),
)  # fmt: skip

_QUORUM = (
    _integer("controller.quorum.election.timeout.ms", 1_000, at_least(0), "Wait before an election is tried again."),
    _integer("controller.quorum.fetch.timeout.ms", 2_000, at_least(0), "A leader not heard of for this long is replaced."),
    _integer("broker.heartbeat.interval.ms", 2_000, at_least(1), "Time between two heartbeats to the controller."),
    _integer("broker.session.timeout.ms", 9_000, at_least(1), "A broker silent for this long is fenced."),
    _integer("metadata.log.segment.bytes", 1_073_741_824, at_least(8_388_608), "Segment size of the metadata log."),
    _long("metadata.log.segment.ms", 604_800_000, at_least(1), "Age at which the metadata log begins a new segment."),
)  # fmt: skip

_UNSET_SYNONYMS: Final = {
    "log.retention.ms", "log.retention.minutes", "log.roll.ms", "log.roll.jitter.ms", "log.flush.interval.ms",
}  # fmt: skip
"""Keys that Kafka leaves unset because another key, often in coarser units, holds the default."""


def _topic_default_keys() -> Iterator[ConfigKey]:
    """One broker key for every synonym of a topic key."""
    for topic_key in TOPIC_CONFIGS.values():
        for synonym in topic_key.synonyms:
            default = topic_key.default_value
            if synonym.name in _UNSET_SYNONYMS:
                default = None
            elif synonym.factor != 1 and isinstance(default, int):
                default //= synonym.factor
            yield ConfigKey(
                synonym.name,
                topic_key.type if synonym.factor == 1 else ConfigType.INT,
                default,
                topic_key.validator if synonym.factor == 1 else None,
                f"Default of the topic configuration `{topic_key.name}`. {topic_key.doc}",
                dynamic=UpdateMode.READ_ONLY,
            )


BROKER_CONFIGS: Final[Mapping[str, ConfigKey]] = config_table(
    (
        *_NODE,
        *_LISTENERS,
        *_CONNECTIONS,
        *_TOPICS,
        *_LOGS,
        *_GROUPS,
        *_QUORUM,
        *_topic_default_keys(),
    )
)
