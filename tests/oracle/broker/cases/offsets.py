"""ListOffsets, OffsetForLeaderEpoch and DeleteRecords."""

from __future__ import annotations

import time

from tests.oracle.broker.runner import case
from tests.oracle.broker.session import NOW_MS, Session, Topic, versions

SPECIAL = (-1, -2, -3, -4, -5, -6, -7, -100)


@case("ListOffsets")
def list_offsets_in_every_version(s: Session) -> None:
    topic = s.topic()
    s.produce(topic, b"a", b"b", b"c")
    s.produce(topic, b"d", at_ms=NOW_MS - 100)
    s.produce(topic, b"e", b"f", at_ms=NOW_MS + 100)
    for version in versions("ListOffsets"):
        for timestamp in (
            *SPECIAL,
            0,
            NOW_MS - 1,
            NOW_MS,
            NOW_MS + 1,
            NOW_MS + 2,
            NOW_MS + 3,
            NOW_MS + 101,
            NOW_MS + 102,
        ):
            s.ask(
                "ListOffsets",
                version,
                str(timestamp),
                replica_id=-1,
                timeout_ms=1000,
                topics=[topic.partition(0, timestamp=timestamp)],
            )


@case("ListOffsets")
def list_offsets_of_an_empty_partition(s: Session) -> None:
    topic = s.topic()
    for version in (1, 4, 7, 11):
        for timestamp in (*SPECIAL, NOW_MS):
            s.ask(
                "ListOffsets",
                version,
                str(timestamp),
                replica_id=-1,
                topics=[topic.partition(0, timestamp=timestamp)],
            )


@case("ListOffsets")
def list_offsets_errors(s: Session) -> None:
    topic = s.topic(partitions=2)
    unknown = Topic(s.name("no"), bytes(16))
    for version in versions("ListOffsets"):
        s.ask(
            "ListOffsets",
            version,
            "unknown partition",
            replica_id=-1,
            topics=[topic.partition(5, timestamp=-1)],
        )
        s.ask(
            "ListOffsets",
            version,
            "partition -1",
            replica_id=-1,
            topics=[topic.partition(-1, timestamp=-1)],
        )
        s.ask(
            "ListOffsets",
            version,
            "unknown topic",
            replica_id=-1,
            topics=[unknown.partition(0, timestamp=-1)],
        )
        s.ask(
            "ListOffsets",
            version,
            "one of each",
            replica_id=-1,
            topics=[topic.partition(0, 5, timestamp=-1), unknown.partition(0, timestamp=-1)],
        )
        s.ask(
            "ListOffsets",
            version,
            "bad name",
            replica_id=-1,
            topics=[{"name": "a b", "partitions": [{"partition_index": 0, "timestamp": -1}]}],
        )
        s.ask(
            "ListOffsets",
            version,
            "partition twice",
            replica_id=-1,
            topics=[topic.partition(0, 0, 1, timestamp=-1)],
        )
        s.ask(
            "ListOffsets",
            version,
            "topic twice",
            replica_id=-1,
            topics=[topic.partition(0, timestamp=-1), topic.partition(0, timestamp=-2)],
        )
        s.ask(
            "ListOffsets",
            version,
            "as replica 1",
            replica_id=1,
            topics=[topic.partition(0, timestamp=-1)],
        )
        s.ask(
            "ListOffsets",
            version,
            "as replica 31",
            replica_id=31,
            topics=[topic.partition(0, timestamp=-1)],
        )
        s.ask(
            "ListOffsets",
            version,
            "debugging",
            replica_id=-2,
            topics=[topic.partition(0, timestamp=-1)],
        )
        s.ask("ListOffsets", version, "nothing", replica_id=-1, topics=[])
        s.ask(
            "ListOffsets",
            version,
            "read committed",
            replica_id=-1,
            isolation_level=1,
            topics=[topic.partition(0, timestamp=-1)],
        )


@case("ListOffsets")
def list_offsets_leader_epochs(s: Session) -> None:
    topic = s.topic()
    s.produce(topic, b"a")
    for version in (4, 6, 11):
        for epoch in (-1, 0, 1, 100):
            s.ask(
                "ListOffsets",
                version,
                f"epoch {epoch}",
                replica_id=-1,
                topics=[topic.partition(0, timestamp=-1, current_leader_epoch=epoch)],
            )


@case("ListOffsets")
def list_offsets_with_log_append_time(s: Session) -> None:
    topic = s.topic(message_timestamp_type="LogAppendTime")
    s.produce(topic, b"a", b"b")
    time.sleep(0.01)  # the last of them is the newest
    s.produce(topic, b"c")
    for version in (1, 7, 11):
        for timestamp in (-1, -2, -3, 0, NOW_MS, 4_000_000_000_000):
            s.ask(
                "ListOffsets",
                version,
                str(timestamp),
                replica_id=-1,
                topics=[topic.partition(0, timestamp=timestamp)],
            )


@case("OffsetForLeaderEpoch")
def offset_for_leader_epoch(s: Session) -> None:
    topic = s.topic(partitions=2)
    s.produce(topic, b"a", b"b")

    def ask(
        version: int,
        note: str,
        *partitions: dict[str, int],
        name: str = topic.name,
        replica_id: int = -1,
    ) -> None:
        s.ask(
            "OffsetForLeaderEpoch",
            version,
            note,
            replica_id=replica_id,
            topics=[{"topic": name, "partitions": list(partitions)}],
        )

    for version in versions("OffsetForLeaderEpoch"):
        for epoch in (-1, 0, 1, 5):
            ask(
                version,
                f"epoch {epoch}",
                {"partition": 0, "leader_epoch": epoch, "current_leader_epoch": 0},
            )
            ask(
                version,
                f"epoch {epoch} of an empty log",
                {"partition": 1, "leader_epoch": epoch, "current_leader_epoch": -1},
            )
        ask(
            version,
            "current epoch 1",
            {"partition": 0, "leader_epoch": 0, "current_leader_epoch": 1},
        )
        ask(
            version,
            "current epoch -2",
            {"partition": 0, "leader_epoch": 0, "current_leader_epoch": -2},
        )
        ask(
            version,
            "unknown partition",
            {"partition": 4, "leader_epoch": 0, "current_leader_epoch": 0},
        )
        ask(
            version,
            "unknown topic",
            {"partition": 0, "leader_epoch": 0, "current_leader_epoch": 0},
            name=s.name("no"),
        )
        ask(
            version,
            "partition twice",
            *[{"partition": 0, "leader_epoch": e, "current_leader_epoch": 0} for e in (0, 1)],
        )
        ask(
            version,
            "as replica 31",
            {"partition": 0, "leader_epoch": 0, "current_leader_epoch": 0},
            replica_id=31,
        )
        ask(
            version,
            "debugging",
            {"partition": 0, "leader_epoch": 0, "current_leader_epoch": 0},
            replica_id=-2,
        )


@case("DeleteRecords")
def delete_records(s: Session) -> None:
    topic = s.topic(partitions=2)
    compacted = s.topic("compacted", cleanup_policy="compact")
    s.quietly("FindCoordinator", 4, key_type=0, coordinator_keys=["g"])
    for _ in range(5):
        s.produce(topic, b"a", b"b")
        s.produce(compacted, b"a", key=b"k")

    def ask(version: int, note: str, *offsets: tuple[int, int], name: str = topic.name) -> None:
        partitions = [{"partition_index": index, "offset": offset} for index, offset in offsets]
        s.ask(
            "DeleteRecords",
            version,
            note,
            timeout_ms=3000,
            topics=[{"name": name, "partitions": partitions}],
        )

    for version in versions("DeleteRecords"):
        ask(version, "to 1", (0, 1))
        ask(version, f"to {2 + version}", (0, 2 + version))
        ask(version, "to 0 again", (0, 0))
        ask(version, "behind the end", (0, 50))
        ask(version, "to -2", (0, -2))
        ask(version, "unknown partition", (5, 0))
        ask(version, "unknown topic", (0, 0), name=s.name("no"))
        ask(version, "compacted topic", (0, 1), name=compacted.name)
        ask(version, "internal topic", (0, 0), name="__consumer_offsets")
        ask(version, "two partitions", (0, 5), (1, 0))
        ask(version, "partition twice", (0, 5), (0, 6))
        s.ask("DeleteRecords", version, "nothing", timeout_ms=1000, topics=[])
        s.ask(
            "ListOffsets", 7, "earliest", replica_id=-1, topics=[topic.partition(0, timestamp=-2)]
        )
    ask(2, "to the high watermark", (0, -1))
    s.ask(
        "ListOffsets", 7, "earliest, then", replica_id=-1, topics=[topic.partition(0, timestamp=-2)]
    )
    s.ask(
        "ListOffsets",
        7,
        "by time, then",
        replica_id=-1,
        topics=[topic.partition(0, timestamp=NOW_MS)],
    )
    s.ask(
        "OffsetForLeaderEpoch",
        4,
        "then",
        replica_id=-1,
        topics=[{"topic": topic.name, "partitions": [{"partition": 0, "leader_epoch": 0}]}],
    )
