"""The broker settings: Kafka 4.3's names, types, defaults and limits, and what they do here.

Keys that give topics their defaults (`log.retention.ms` and so on) are taken from the table of topic configurations.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from millstream.broker.config.coordinator_table import COORDINATOR_ROWS
from millstream.broker.config.rows import (
    boolean,
    double,
    integer,
    internal,
    long,
    string,
    without_effect,
    words,
)
from millstream.broker.config.sasl_table import SASL_ROWS
from millstream.broker.config.security_table import SECURITY_ROWS
from millstream.broker.config.table_without_effect import ROWS_WITHOUT_EFFECT
from millstream.broker.config.tls_table import TLS_ROWS
from millstream.metadata.config_key import ConfigKey, UpdateMode, config_table
from millstream.metadata.config_validators import ListOf, OneOf, at_least
from millstream.metadata.topic_config import TOPIC_CONFIGS
from millstream.protocol.enums import ConfigType

_INT_MAX: Final = (1 << 31) - 1
_LONG_MAX: Final = (1 << 63) - 1
_DOUBLE_MAX: Final = sys.float_info.max
_DYNAMIC: Final = UpdateMode.CLUSTER_WIDE
_PER_BROKER: Final = UpdateMode.PER_BROKER
RACK_AWARE_SELECTOR: Final = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
LEADER_SELECTOR: Final = "org.apache.kafka.common.replica.LeaderSelector"


def _always_given(key: ConfigKey) -> ConfigKey:
    return replace(key, is_always_given=True)


_NODE = (
    _always_given(integer("node.id", 1, at_least(0), "Number of this node in its cluster.")),
    integer("broker.id", -1, None, "Old name of `node.id`; used when that is not given."),
    _always_given(
        words(
            "process.roles",
            ("broker", "controller"),
            "What this node is: a broker, a controller, or both.",
            ListOf(("broker", "controller")),
        )
    ),
    string("broker.rack", None, "Where the broker stands, told to clients that prefer near replicas."),
    words(
        "log.dir",
        ("./millstream-data",),
        "Directory of all logs; used when `log.dirs` is not given.",
        ListOf(may_be_empty=False),
    ),
    words("log.dirs", None, "Directories of logs; a new partition goes to the one with the fewest."),
    words(
        "cordoned.log.dirs", (), "Those of `log.dirs` that get no new partitions while there are others; `*` for all.", dynamic=_PER_BROKER
    ),
    string("metadata.log.dir", None, "Directory of the metadata log. Default: the first of `log.dirs`."),
    string(
        "millstream.flush.on.ack",
        "auto",
        "When a produce with acks=all waits for the disk of the leader: `auto` if no other replica is in sync, `always`, or `never`. "
        "With others in sync `auto` acknowledges what all of them have, in memory or on the disk, as Kafka does: should one lose power, it "
        "says so when it comes back, and leads again only after it has fetched from the others. Waiting requests share one fsync. "
        "A follower with `always` says only what is on its disk, so where all brokers have it an acknowledgement of acks=all is on the disks "
        "of all replicas in sync.",
        OneOf(("auto", "always", "never")),
    ),
    string(
        "millstream.http.listener",
        None,
        "Where metrics and health are served, as http://HOST:PORT: /metrics, /livez, /readyz, /healthz. Nowhere by default. Whoever "
        "reaches it may read it: keep it on a private network. With https:// it has the TLS of a listener called HTTPS "
        "(listener.name.https.ssl.keystore.location and the like), and with ssl.client.auth=required only who shows a certificate reads it.",
    ),
    integer(
        "request.timeout.ms", 30_000, at_least(1), "How long a request to the controller may take before it is given up."
    ),
)  # fmt: skip

_LISTENERS = (
    words(
        "listeners",
        ("PLAINTEXT://127.0.0.1:9092",),
        "Addresses to listen on, as NAME://HOST:PORT; an empty host means all, port 0 any free one. "
        "Kafka's default listens on all addresses; this one is not reachable from outside until you say so. While the broker runs "
        "changing it is refused; setting the current value is accepted.",
        dynamic=_PER_BROKER,
    ),
    words(
        "advertised.listeners",
        None,
        "Addresses that clients are given. Default: `listeners`, with this machine's name in place of 0.0.0.0.",
    ),
    string(
        "listener.security.protocol.map",
        "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
        "Protocol of each listener name: PLAINTEXT or SASL_PLAINTEXT. Those with TLS are refused so far. Changing it while the broker runs is refused; setting the current value is accepted.",
        dynamic=_PER_BROKER,
    ),
    _always_given(
        words("controller.listener.names", ("CONTROLLER",), "Names in `listeners` that belong to the controller quorum.")
    ),
    string("inter.broker.listener.name", None, "Listener that brokers use among themselves; that of `security.inter.broker.protocol` when it is not set."),
    words("controller.quorum.voters", (), "Static voters as ID@HOST:PORT, the same on every node. The quorum is a static one (kraft.version 0) until UpdateFeatures makes it dynamic."),
    words("controller.quorum.bootstrap.servers", (), "Addresses of controllers as HOST:PORT, where a node looks for the quorum."),
)  # fmt: skip

_CONNECTIONS = (
    integer("socket.request.max.bytes", 104_857_600, at_least(1), "Largest request that is read."),
    integer("socket.listen.backlog.size", 50, at_least(1), "Connections that may wait to be accepted."),
    integer(
        "socket.send.buffer.bytes",
        393_216,
        at_least(-1),
        "SO_SNDBUF of client sockets; -1 leaves it to the operating system, which lets large fetches fill more memory than caches "
        "hold (Kafka's default: 102400).",
    ),
    integer(
        "socket.receive.buffer.bytes",
        -1,
        at_least(-1),
        "SO_RCVBUF of client sockets; -1 leaves it to the operating system, which adapts it (Kafka's default: 102400).",
    ),
    integer(
        "max.connections",
        10_000,
        at_least(1),
        "Connections in all, but for those of brokers; further ones wait to be accepted (Kafka's default: no limit). May be set for one "
        "listener, as listener.name.LISTENER.KEY with its name in lower case.",
        _DYNAMIC,
    ),
    integer(
        "max.connections.per.ip",
        1_000,
        at_least(0),
        "Connections from one address; further ones are closed (Kafka's default: no limit).",
        _DYNAMIC,
    ),
    string(
        "max.connections.per.ip.overrides", "", "Other limits for some addresses, as HOST:LIMIT,HOST:LIMIT.", dynamic=_DYNAMIC
    ),
    integer(
        "max.connection.creation.rate",
        _INT_MAX,
        at_least(1),
        "New connections a second; further ones wait to be accepted. May be set for one listener, as listener.name.LISTENER.KEY with its "
        "name in lower case.",
        _DYNAMIC,
    ),
    without_effect(
        "of each connection one request is in work, and the next ones wait in its socket",
        integer("queued.max.requests", 500, at_least(1), "Requests that were read and wait for their turn."),
    ),
    long("connections.max.idle.ms", 600_000, at_least(1), "A connection without requests for this long is closed."),
    long(
        "queued.max.request.bytes",
        268_435_456,
        at_least(-1),
        "Memory for requests that have arrived and are not answered; above it clients that hold more than an equal share of it "
        "are not read (Kafka's default: no limit, which is -1).",
    ),
)  # fmt: skip

_TOPICS = (
    integer("num.partitions", 1, at_least(1), "Partitions of topics created without a number."),
    integer("default.replication.factor", 1, at_least(1), "Replicas of topics created without a number."),
    boolean("auto.create.topics.enable", True, "Create a topic when a client asks for its metadata."),
    boolean("delete.topic.enable", True, "Allow topics to be deleted."),
    integer("max.request.partition.size.limit", 2_000, at_least(1), "Partitions in one answer of DescribeTopicPartitions."),
    integer("fetch.max.bytes", 57_671_680, at_least(1024), "Most bytes in one fetch response."),
    integer("max.incremental.fetch.session.cache.slots", 1_000, at_least(0), "Incremental fetch sessions kept."),
)  # fmt: skip

_LOGS = (
    long("log.retention.check.interval.ms", 300_000, at_least(1), "Time between two looks for segments to delete."),
    internal(long("log.initial.task.delay.ms", 30_000, at_least(0), "Time after the start before background work on logs begins.")),
    integer("log.flush.offset.checkpoint.interval.ms", 60_000, at_least(0), "Time between two recovery point checkpoints."),
    integer(
        "log.flush.start.offset.checkpoint.interval.ms", 60_000, at_least(0), "Time between two log start checkpoints."
    ),
    long("replica.high.watermark.checkpoint.interval.ms", 5_000, at_least(1), "Time between two high watermark checkpoints."),
    integer("producer.id.expiration.ms", 86_400_000, at_least(1), "A producer silent for this long is forgotten.", _DYNAMIC),
    internal(integer("producer.id.expiration.check.interval.ms", 600_000, at_least(1), "Time between two looks for silent producers.")),
)  # fmt: skip

_LEADERS = (
    long(
        "replica.lag.time.max.ms",
        30_000,
        at_least(1),
        "A follower that has not been caught up for this long is taken out of the in-sync replicas. Looked at every half of it.",
    ),
    string(
        "replica.selector.class",
        None,
        "How a consumer that tells its rack finds a replica to read from: with "
        "`org.apache.kafka.common.replica.RackAwareReplicaSelector` an in-sync one in its rack (`broker.rack`), by default the leader.",
        OneOf((RACK_AWARE_SELECTOR, LEADER_SELECTOR)),
    ),
)  # fmt: skip

_CLEANER = (
    boolean("log.cleaner.enable", True, "Compact topics whose cleanup policy says so. Without it they grow for ever."),
    integer("log.cleaner.threads", 1, at_least(0), "Logs that are compacted at the same time.", _DYNAMIC),
    long("log.cleaner.dedupe.buffer.size", 134_217_728, None, "Memory for the keys of the log that is compacted.", _DYNAMIC),
    integer("log.cleaner.io.buffer.size", 524_288, at_least(0), "Bytes that the cleaner reads and writes at once.", _DYNAMIC),
    double("log.cleaner.io.buffer.load.factor", 0.9, None, "How full the memory for keys may become.", _DYNAMIC),
    double(
        "log.cleaner.io.max.bytes.per.second", _DOUBLE_MAX, None, "Most bytes that the cleaner reads and writes in a second.", _DYNAMIC
    ),
    long("log.cleaner.backoff.ms", 15_000, at_least(0), "How long the cleaner waits when no log needs compaction.", _DYNAMIC),
)  # fmt: skip

_TELEMETRY = (
    boolean(
        "millstream.client.telemetry.enable",
        False,
        "Tell clients that their metrics may be pushed here (KIP-714) and keep the newest push of each. Kafka tells them so where a "
        "metrics reporter takes client metrics, which is not so by default.",
    ),
    integer("telemetry.max.bytes", 1_048_576, at_least(1), "Largest push of client metrics."),
)  # fmt: skip

_LIFE = (
    internal(long("server.max.startup.time.ms", _LONG_MAX, at_least(0), "How long the start may take before it is given up.")),
    boolean("controlled.shutdown.enable", True, "Give away leadership before stopping."),
    integer(
        "initial.broker.registration.timeout.ms", 60_000, None, "How long the start may take until the controller has accepted this broker."
    ),
)  # fmt: skip

_QUORUM = (
    integer("controller.quorum.election.timeout.ms", 1_000, at_least(0), "Wait before an election is tried again."),
    integer("controller.quorum.election.backoff.max.ms", 1_000, at_least(0), "The longest time after which a successor of a leader that resigns stands in the election. The first one stands at once."),
    long(
        "socket.connection.setup.timeout.ms", 10_000, at_least(1),
        "How long this node waits for another one to take its connection; at first no longer than `controller.quorum.request.timeout.ms`. Twice "
        "as long after each failure.",
    ),
    long("socket.connection.setup.timeout.max.ms", 30_000, at_least(1), "That wait does not grow beyond this."),
    integer("controller.socket.timeout.ms", 30_000, at_least(1), "Time for a request of this node to the active controller."),
    integer("controller.quorum.fetch.timeout.ms", 2_000, at_least(0), "If the leader sends nothing for this long, a new one is elected."),
    integer("controller.quorum.request.timeout.ms", 2_000, at_least(1), "Time for a request to another controller."),
    integer("controller.quorum.retry.backoff.ms", 20, at_least(0), "Wait before a failed request to another controller is sent again."),
    integer("controller.quorum.fetch.max.bytes", 1_048_576, at_least(1), "Bytes of the metadata log that a node asks for at a time."),
    integer("controller.quorum.fetch.snapshot.max.bytes", 1_048_576, at_least(1), "Bytes of a snapshot that a node asks for at a time."),
    boolean("controller.quorum.auto.join.enable", False, "Whether a controller that is no voter adds itself to a dynamic quorum."),
    integer("broker.heartbeat.interval.ms", 2_000, at_least(1), "Time between two heartbeats to the controller."),
    boolean("auto.leader.rebalance.enable", True, "Whether leaderships go back to the first replicas of partitions by themselves."),
    long("leader.imbalance.check.interval.seconds", 300, None, "Time between two looks for partitions that their first replica does not lead; no less than 1 s."),
    internal(
        long(
            "unclean.leader.election.interval.ms", 300_000, None,
            "Time between two looks for partitions without a leader whose topic has `unclean.leader.election.enable`; no less than 10 ms.",
        )
    ),
    integer("broker.session.timeout.ms", 9_000, at_least(1), "A broker silent for this long is fenced."),
    integer("metadata.log.segment.bytes", 1_073_741_824, at_least(8_388_608), "Segment size of the metadata log."),
    long("metadata.log.segment.ms", 604_800_000, at_least(1), "Age at which the metadata log begins a new segment."),
    long(
        "metadata.log.max.record.bytes.between.snapshots", 20_971_520, at_least(1), "New bytes of the metadata log after which a snapshot is written."
    ),
    long(
        "metadata.log.max.snapshot.interval.ms", 3_600_000, at_least(0),
        "Time after which the next change of metadata leads to a snapshot; 0 for never.",
    ),
    long("metadata.max.retention.bytes", 104_857_600, None, "When the metadata log and its snapshots are larger than this, the oldest are deleted."),
    long("metadata.max.retention.ms", 604_800_000, None, "Age above which snapshots, and the log before the next one, go."),
)  # fmt: skip

_FETCHERS = (
    integer("num.replica.fetchers", 1, at_least(1), "Connections to each leader over which the partitions that it leads are fetched.", _DYNAMIC),
    integer("replica.fetch.max.bytes", 1_048_576, at_least(0), "Bytes of one partition that a follower asks for at a time; one whole batch always comes."),
    integer("replica.fetch.response.max.bytes", 10_485_760, at_least(0), "Bytes of all partitions together that a follower asks for at a time."),
    integer("replica.fetch.min.bytes", 1, None, "Bytes that a leader waits for before it answers a follower."),
    integer("replica.fetch.wait.max.ms", 500, None, "How long a leader lets a follower wait for them."),
    integer("replica.fetch.backoff.ms", 1_000, at_least(0), "How long a partition is not fetched after an error."),
    integer("replica.socket.timeout.ms", 30_000, None, "Time for a request of a follower to its leader; no less than `replica.fetch.wait.max.ms`."),
    integer(
        "replica.socket.receive.buffer.bytes",
        -1,
        None,
        "SO_RCVBUF of a follower's connections; -1 leaves it to the operating system, which adapts it. With Kafka's default, 65536, nodes of one "
        "machine often wait 40 ms for the rest of a large batch: a segment on loopback is as large as the buffer.",
    ),
    long(
        "millstream.replica.catch.up.bytes.per.second",
        300_000_000,  # of two measurements, a leader that shares two processors with two followers kept 77 and 53 % of its rate (docs/benchmarks.md)
        at_least(0),
        "Most bytes a second that a fetcher takes from a leader for partitions that lack what is committed, so that producers keep their share "
        "of it; 0: no bound.",
        _DYNAMIC,
    ),
)  # fmt: skip

# Reading and comparing takes 0.14 % of a core for each MB/s of batches of 10 kB, 3 % of batches of one small record: so 0.6 % to 13 %, and
# 360 GB a day.
_SCRUB = (
    long(
        "millstream.log.scrub.bytes.per.second",
        4_194_304,
        at_least(0),
        "Most bytes a second that are read of all logs in the background, to find what a disk has changed; 0: none. A damaged replica is cut, and "
        "fetches anew from the others.",
        _DYNAMIC,
    ),
    long(
        "millstream.log.scrub.interval.ms",
        3_600_000,
        at_least(1_000),
        "Time from the beginning of one such look at all logs to that of the next, unless it takes longer: so old a wrong bit may be that no "
        "reader has come across.",
        _DYNAMIC,
    ),
)

_THROTTLES = (
    *(
        internal(long(name, None, at_least(0), doc, _DYNAMIC))
        for name, doc in (
            ("leader.replication.throttled.rate", "Most bytes a second that this broker sends to throttled replicas out of sync. Without it: no limit."),
            ("follower.replication.throttled.rate", "Most bytes a second that throttled replicas of this broker take while out of sync. Without it: no limit."),
        )
    ),
    integer(
        "num.replica.alter.log.dirs.threads", None, at_least(1),
        "Replicas that are copied at the same time from one directory of this broker to another. Without it: as many as it has directories.",
    ),
    integer("quota.window.num", 11, at_least(1), "Windows over which the rates of clients with quotas are measured."),
    integer("quota.window.size.seconds", 1, at_least(1), "Length of each of these windows."),
    integer("controller.quota.window.num", 11, at_least(1), "Windows whose tokens a bucket of changes of metadata holds (KIP-599)."),
    integer("controller.quota.window.size.seconds", 1, at_least(1), "Length of each of these windows."),
    integer("replication.quota.window.num", 11, at_least(1), "Windows over which the rates of throttled replicas are measured."),
    integer("replication.quota.window.size.seconds", 1, at_least(1), "Length of each of these windows."),
    internal(
        long(
            "replica.alter.log.dirs.io.max.bytes.per.second",
            None,
            at_least(0),
            "Most bytes a second that moves of replicas between the directories of this broker copy, all together. Without it: no limit.",
            _DYNAMIC,
        )
    ),
)  # fmt: skip

_UNSET_SYNONYMS: Final = {
    "log.retention.ms", "log.retention.minutes", "log.roll.ms", "log.roll.jitter.ms", "log.flush.interval.ms",
}  # fmt: skip
"""Keys that Kafka leaves unset because another key, often in coarser units, holds the default."""

_FIXED_SYNONYMS: Final = {
    "log.retention.minutes", "log.retention.hours", "log.roll.hours", "log.roll.jitter.hours", "log.flush.scheduler.interval.ms",
}  # fmt: skip
"""Keys that are fixed at the start: their twins can be changed."""


_FLUSH_SCHEDULER: Final = long(
    "log.flush.scheduler.interval.ms",
    _LONG_MAX,
    at_least(0),
    "How often logs are looked at for `flush.ms`; by default never, so that `flush.ms` and `log.flush.interval.ms` have no effect "
    "until it is set. Default of `flush.ms` too.",
)


def _topic_default_keys() -> Iterator[ConfigKey]:
    """One broker key for every synonym of a topic key."""
    for topic_key in TOPIC_CONFIGS.values():
        for synonym in topic_key.synonyms:
            default = topic_key.default_value
            if synonym.name in _UNSET_SYNONYMS:
                default = None
            elif synonym.factor != 1 and isinstance(default, int):
                default //= synonym.factor
            if synonym.name == _FLUSH_SCHEDULER.name:
                yield _FLUSH_SCHEDULER
                continue
            yield ConfigKey(
                synonym.name,
                topic_key.type if synonym.factor == 1 else ConfigType.INT,
                default,
                topic_key.validator if synonym.factor == 1 else None,
                f"Default of the topic configuration `{topic_key.name}`. {topic_key.doc}",
                dynamic=UpdateMode.READ_ONLY if synonym.name in _FIXED_SYNONYMS else _DYNAMIC,
                without_effect=topic_key.without_effect,
            )


BROKER_CONFIGS: Final[Mapping[str, ConfigKey]] = config_table(
    (
        *_NODE,
        *_LISTENERS,
        *_CONNECTIONS,
        *_TOPICS,
        *_LOGS,
        *COORDINATOR_ROWS,
        *_LEADERS,
        *_CLEANER,
        *_TELEMETRY,
        *_LIFE,
        *_QUORUM,
        *SECURITY_ROWS,
        *SASL_ROWS,
        *TLS_ROWS,
        *_FETCHERS,
        *_SCRUB,
        *_THROTTLES,
        *_topic_default_keys(),
        *ROWS_WITHOUT_EFFECT,
    )
)
