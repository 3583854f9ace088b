"""The 34 topic configurations of Kafka 4.3 as a table: type, default, limits, meaning, and the
broker keys that give defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from millstream.metadata.config_key import (
    BrokerSynonym,
    ConfigKey,
    ConfigValue,
    Scope,
    UpdateMode,
    Validator,
    config_table,
)
from millstream.metadata.config_validators import (
    Between,
    Either,
    ListOf,
    OneOf,
    ThrottledReplicas,
    at_least,
)
from millstream.protocol.enums import ConfigType

LONG_MAX: Final = (1 << 63) - 1
HOUR_MS: Final = 3_600_000
_LOCAL: Final = "segments are kept on local disks only"
MINUTE_MS: Final = 60_000


def _key(
    name: str,
    kind: ConfigType,
    default: ConfigValue,
    validator: Validator | None,
    doc: str,
    *synonyms: str | BrokerSynonym,
    without_effect: str | None = None,
) -> ConfigKey:
    return ConfigKey(
        name,
        kind,
        default,
        validator,
        doc,
        scope=Scope.TOPIC,
        dynamic=UpdateMode.CLUSTER_WIDE,
        internal=name.startswith("internal."),
        synonyms=tuple(
            s if isinstance(s, BrokerSynonym) else BrokerSynonym(name=s) for s in synonyms
        ),
        without_effect=without_effect,
    )


def _hours(name: str) -> BrokerSynonym:
    return BrokerSynonym(name=name, factor=HOUR_MS)


_KEYS = (
    _key(
        "cleanup.policy",
        ConfigType.LIST,
        ("delete",),
        ListOf(("compact", "delete")),
        "What happens to old segments. `delete` drops them by age and size, `compact` keeps the last record of every key, "
        "both together do both. An empty list keeps everything.",
        "log.cleanup.policy",
    ),
    _key(
        "compression.gzip.level",
        ConfigType.INT,
        -1,
        Either((Between(1, 9), Between(-1, -1))),
        "Level used when `compression.type` is gzip; -1 leaves the choice to the codec.",
        "compression.gzip.level",
    ),
    _key(
        "compression.lz4.level",
        ConfigType.INT,
        9,
        Between(1, 17),
        "Level used when `compression.type` is lz4.",
        "compression.lz4.level",
    ),
    _key(
        "compression.type",
        ConfigType.STRING,
        "producer",
        OneOf(("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")),
        "How batches are stored. `producer` stores them as they were sent; a codec, or `uncompressed`, converts every batch.",
        "compression.type",
    ),
    _key(
        "compression.zstd.level",
        ConfigType.INT,
        3,
        Between(-131072, 22),
        "Level used when `compression.type` is zstd.",
        "compression.zstd.level",
    ),
    _key(
        "delete.retention.ms",
        ConfigType.LONG,
        86_400_000,
        at_least(0),
        "How long a tombstone stays readable in a compacted topic. A reader that starts at offset 0 must finish within this time "
        "to be sure of seeing every deletion.",
        "log.cleaner.delete.retention.ms",
    ),
    _key(
        "file.delete.delay.ms",
        ConfigType.LONG,
        60_000,
        at_least(0),
        "How long the files of a deleted segment stay on disk under a `.deleted` name.",
        "log.segment.delete.delay.ms",
    ),
    _key(
        "flush.messages",
        ConfigType.LONG,
        LONG_MAX,
        at_least(1),
        "Force data to disk after this many records, before any of the last ones is acknowledged. Replication is usually the better "
        "protection.",
        "log.flush.interval.messages",
    ),
    _key(
        "flush.ms",
        ConfigType.LONG,
        LONG_MAX,
        at_least(0),
        "Force data to disk after this much time without a flush. The broker looks every `log.flush.scheduler.interval.ms`, which by "
        "default is never. Replication is usually the better protection.",
        "log.flush.interval.ms",
        "log.flush.scheduler.interval.ms",
    ),
    _key(
        "follower.replication.throttled.replicas",
        ConfigType.LIST,
        (),
        ThrottledReplicas(),
        "Replicas whose replication is throttled on the follower's side, as partition:broker items, or * for all of the topic.",
    ),
    _key(
        "index.interval.bytes",
        ConfigType.INT,
        4096,
        at_least(0),
        "Bytes of log between two entries of the offset index. Smaller finds a position faster and makes the index larger.",
        "log.index.interval.bytes",
    ),
    _key(
        "internal.segment.bytes",
        ConfigType.INT,
        None,
        None,
        "Segment size for tests: replaces `segment.bytes` and may be smaller than its limit.",
    ),
    _key(
        "leader.replication.throttled.replicas",
        ConfigType.LIST,
        (),
        ThrottledReplicas(),
        "Replicas whose replication is throttled on the leader's side, as partition:broker items, or * for all of the topic.",
    ),
    _key(
        "local.retention.bytes",
        ConfigType.LONG,
        -2,
        at_least(-2),
        "Bytes of a partition kept on local disks when older segments are in remote storage; -2 means `retention.bytes`.",
        "log.local.retention.bytes",
        without_effect=_LOCAL,
    ),
    _key(
        "local.retention.ms",
        ConfigType.LONG,
        -2,
        at_least(-2),
        "Time that segments stay on local disks when they are also in remote storage; -2 means `retention.ms`.",
        "log.local.retention.ms",
        without_effect=_LOCAL,
    ),
    _key(
        "max.compaction.lag.ms",
        ConfigType.LONG,
        LONG_MAX,
        at_least(1),
        "A record of a compacted topic is compacted at the latest after this time.",
        "log.cleaner.max.compaction.lag.ms",
    ),
    _key(
        "max.message.bytes",
        ConfigType.INT,
        1_048_588,
        at_least(0),
        "Largest record batch that is accepted, as it is stored, that is after compression.",
        "message.max.bytes",
    ),
    _key(
        "message.timestamp.after.max.ms",
        ConfigType.LONG,
        HOUR_MS,
        at_least(0),
        "How far a record's timestamp may lie ahead of the broker's clock. Not used with LogAppendTime.",
        "log.message.timestamp.after.max.ms",
    ),
    _key(
        "message.timestamp.before.max.ms",
        ConfigType.LONG,
        LONG_MAX,
        at_least(0),
        "How far a record's timestamp may lie behind the broker's clock. Not used with LogAppendTime.",
        "log.message.timestamp.before.max.ms",
    ),
    _key(
        "message.timestamp.type",
        ConfigType.STRING,
        "CreateTime",
        OneOf(("CreateTime", "LogAppendTime")),
        "Whose clock stamps the records: the producer's (CreateTime) or the broker's at append (LogAppendTime).",
        "log.message.timestamp.type",
    ),
    _key(
        "min.cleanable.dirty.ratio",
        ConfigType.DOUBLE,
        0.5,
        Between(0, 1),
        "Share of a compacted log that must be uncompacted before it is worth a pass. Higher means fewer passes and more waste.",
        "log.cleaner.min.cleanable.ratio",
    ),
    _key(
        "min.compaction.lag.ms",
        ConfigType.LONG,
        0,
        at_least(0),
        "A record of a compacted topic is left alone for at least this time.",
        "log.cleaner.min.compaction.lag.ms",
    ),
    _key(
        "min.insync.replicas",
        ConfigType.INT,
        1,
        at_least(1),
        "In-sync replicas that must be there for a write with acks=all to be accepted; the leader counts as one.",
        "min.insync.replicas",
    ),
    _key(
        "preallocate",
        ConfigType.BOOLEAN,
        False,
        None,
        "Reserve the space of a whole segment when its file is created, where the file system can and a tenth of the disk stays free. "
        "What is left is given back when the segment is full or the log is closed. Kafka only makes the file longer, which on most "
        "file systems takes no space.",
        "log.preallocate",
    ),
    _key(
        "remote.log.copy.disable",
        ConfigType.BOOLEAN,
        False,
        None,
        "Stop copying segments to remote storage; what is there stays readable until it expires.",
        without_effect=_LOCAL,
    ),
    _key(
        "remote.log.delete.on.disable",
        ConfigType.BOOLEAN,
        False,
        None,
        "Delete the topic's data in remote storage when remote storage is switched off for it.",
        without_effect=_LOCAL,
    ),
    _key(
        "remote.storage.enable",
        ConfigType.BOOLEAN,
        False,
        None,
        "Keep older segments in remote storage.",
        without_effect=f"true is refused: {_LOCAL}",
    ),
    _key(
        "retention.bytes",
        ConfigType.LONG,
        -1,
        None,
        "Size that a partition may reach before `delete` drops its oldest segments; -1 for no limit.",
        "log.retention.bytes",
    ),
    _key(
        "retention.ms",
        ConfigType.LONG,
        604_800_000,
        at_least(-1),
        "Age at which `delete` drops a segment, counted from its newest record; -1 for no limit.",
        "log.retention.ms",
        BrokerSynonym(name="log.retention.minutes", factor=MINUTE_MS),
        _hours("log.retention.hours"),
    ),
    _key(
        "segment.bytes",
        ConfigType.INT,
        1_073_741_824,
        at_least(1_048_576),
        "Size at which a new segment is begun. Retention and compaction work on whole segments.",
        "log.segment.bytes",
    ),
    _key(
        "segment.index.bytes",
        ConfigType.INT,
        10_485_760,
        at_least(4),
        "Largest size of a segment's offset index; a full index begins a new segment.",
        "log.index.size.max.bytes",
    ),
    _key(
        "segment.jitter.ms",
        ConfigType.LONG,
        0,
        at_least(0),
        "Largest random time taken off `segment.ms`, so that not all segments roll at once.",
        "log.roll.jitter.ms",
        _hours("log.roll.jitter.hours"),
    ),
    _key(
        "segment.ms",
        ConfigType.LONG,
        604_800_000,
        at_least(1),
        "Age at which a new segment is begun even if the old one is not full.",
        "log.roll.ms",
        _hours("log.roll.hours"),
    ),
    _key(
        "unclean.leader.election.enable",
        ConfigType.BOOLEAN,
        False,
        None,
        "Let a replica that is not in sync become leader when no other is left. Records can be lost.",
        "unclean.leader.election.enable",
    ),
)
TOPIC_CONFIGS: Final[Mapping[str, ConfigKey]] = config_table(_KEYS)
