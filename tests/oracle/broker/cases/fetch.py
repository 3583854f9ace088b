"""Fetch: positions, limits, epochs, sessions, isolation."""

from __future__ import annotations

from typing import Any

from tests.oracle.broker.runner import case
from tests.oracle.broker.session import Session, Topic, versions

UNKNOWN_ID = bytes(15) + b"\x09"


def asked(topic: Topic, *positions: tuple[int, int], **fields: Any) -> dict[str, Any]:
    """`positions` are (partition, offset)."""
    return {
        "topic": topic.name,
        "topic_id": topic.id,
        "partitions": [
            {"partition": p, "fetch_offset": offset, "partition_max_bytes": 1 << 20, **fields} for p, offset in positions
        ],
    }  # fmt: skip


def fetch(s: Session, version: int, note: str, *topics: dict[str, Any], **options: Any) -> Any:
    settings = {
        "replica_id": -1,
        "max_wait_ms": 0,
        "min_bytes": 1,
        "max_bytes": 1 << 20,
        "session_id": 0,
        "session_epoch": -1,
    }
    return s.ask("Fetch", version, note, topics=list(topics), **(settings | options))


@case("Fetch")
def fetch_in_every_version(s: Session) -> None:
    topic = s.topic()
    s.produce(topic, b"a", b"b", b"c")
    s.produce(topic, b"d")
    for version in versions("Fetch"):
        fetch(s, version, "from 0", asked(topic, (0, 0)))
        fetch(s, version, "from 1", asked(topic, (0, 1)))
        fetch(s, version, "from 4", asked(topic, (0, 4)))
        fetch(s, version, "from 5", asked(topic, (0, 5)))
        fetch(s, version, "from -1", asked(topic, (0, -1)))
        fetch(s, version, "from 2^63-1", asked(topic, (0, 2**63 - 1)))
        fetch(s, version, "of an unknown partition", asked(topic, (3, 0)))
        fetch(s, version, "of an unknown topic", asked(Topic(s.name("no"), UNKNOWN_ID), (0, 0)))
        fetch(s, version, "read committed", asked(topic, (0, 0)), isolation_level=1)
        fetch(
            s,
            version,
            "read committed of an unknown topic",
            asked(Topic(s.name("no"), UNKNOWN_ID), (0, 0)),
            isolation_level=1,
        )


@case("Fetch")
def fetch_leader_epochs(s: Session) -> None:
    topic = s.topic()
    s.produce(topic, b"a", b"b")
    for version in (9, 12, 13, 18):
        fetch(s, version, "current epoch", asked(topic, (0, 0), current_leader_epoch=0))
        fetch(s, version, "future epoch", asked(topic, (0, 0), current_leader_epoch=1))
        fetch(s, version, "epoch -5", asked(topic, (0, 0), current_leader_epoch=-5))
        fetch(
            s,
            version,
            "last fetched epoch 0",
            asked(topic, (0, 1), current_leader_epoch=0, last_fetched_epoch=0),
        )
        fetch(
            s,
            version,
            "last fetched epoch 5",
            asked(topic, (0, 1), current_leader_epoch=0, last_fetched_epoch=5),
        )
        fetch(
            s,
            version,
            "behind the end with last fetched epoch",
            asked(topic, (0, 7), current_leader_epoch=0, last_fetched_epoch=0),
        )


@case("Fetch")
def fetch_limits(s: Session) -> None:
    topic = s.topic(partitions=2)
    for partition in (0, 1):
        for _ in range(3):
            s.produce(topic, b"x" * 1000, partition=partition)
    for version in (4, 11, 12, 18):
        both = asked(topic, (0, 0), (1, 0))
        fetch(s, version, "10 bytes in all", both, max_bytes=10)
        fetch(s, version, "1100 bytes in all", both, max_bytes=1100)
        fetch(s, version, "2500 bytes in all", both, max_bytes=2500)
        fetch(
            s, version, "10 bytes a partition", asked(topic, (0, 0), (1, 0), partition_max_bytes=10)
        )
        fetch(
            s,
            version,
            "1500 bytes a partition",
            asked(topic, (0, 0), (1, 0), partition_max_bytes=1500),
        )
        fetch(s, version, "no bytes in all", both, max_bytes=0)
        fetch(
            s, version, "no bytes a partition", asked(topic, (0, 0), (1, 0), partition_max_bytes=0)
        )
        fetch(
            s,
            version,
            "min bytes beyond max",
            asked(topic, (0, 0)),
            max_bytes=100,
            min_bytes=10_000,
            max_wait_ms=200,
        )
        fetch(s, version, "waits in vain", asked(topic, (0, 3)), min_bytes=1, max_wait_ms=100)
        fetch(
            s,
            version,
            "negative limits",
            asked(topic, (0, 0)),
            max_bytes=-1,
            min_bytes=-1,
            max_wait_ms=-1,
        )


@case("Fetch")
def fetch_one_partition_twice(s: Session) -> None:
    topic = s.topic()
    s.produce(topic, b"a", b"b")
    for version in (4, 11, 12, 18):
        fetch(s, version, "one partition twice", asked(topic, (0, 0), (0, 1)))
        fetch(s, version, "one topic twice", asked(topic, (0, 0)), asked(topic, (0, 1)))
        fetch(s, version, "nothing")
        fetch(s, version, "no partition", asked(topic))


@case("Fetch")
def fetch_as_a_replica(s: Session) -> None:
    topic = s.topic()
    s.produce(topic, b"a")
    for version in (4, 11, 12, 14):
        fetch(s, version, "replica 31", asked(topic, (0, 0)), replica_id=31)
    for version in (15, 18):
        fetch(
            s,
            version,
            "replica 31",
            asked(topic, (0, 0)),
            replica_state={"replica_id": 31, "replica_epoch": 5},
        )
    fetch(s, 12, "debugging consumer", asked(topic, (0, 0)), replica_id=-2)
    fetch(s, 12, "replica of the leader itself", asked(topic, (0, 0)), replica_id=1)


@case("Fetch")
def fetch_sessions(s: Session) -> None:
    topic = s.topic(partitions=2)
    s.produce(topic, b"a")
    for version in (7, 11, 12, 13, 18):
        first = fetch(s, version, "full", asked(topic, (0, 0), (1, 0)), session_epoch=0)
        session = {"session_id": first.session_id}
        fetch(s, version, "nothing new", session_epoch=1, **session)
        fetch(s, version, "moved", asked(topic, (0, 0)), session_epoch=2, **session)
        fetch(s, version, "forgotten", session_epoch=3, **session, forgotten_topics_data=[
            {"topic": topic.name, "topic_id": topic.id, "partitions": [0]}])  # fmt: skip
        fetch(s, version, "old epoch", session_epoch=3, **session)
        fetch(s, version, "future epoch", session_epoch=9, **session)
        fetch(s, version, "unknown session", session_id=2_000_000_001, session_epoch=1)
        fetch(s, version, "session without epoch", session_id=0, session_epoch=5)
        fetch(
            s, version, "unknown partition joins", asked(topic, (9, 0)), session_epoch=4, **session
        )
        fetch(s, version, "and stays", session_epoch=5, **session)
        fetch(s, version, "closed", session_epoch=-1, **session)
        fetch(s, version, "after it was closed", session_epoch=6, **session)


@case("Fetch")
def fetch_session_of_unknown_topics(s: Session) -> None:
    topic = s.topic()
    unknown = Topic(s.name("no"), UNKNOWN_ID)
    for version in (7, 12, 13, 18):
        first = fetch(
            s, version, "full", asked(topic, (0, 0)), asked(unknown, (0, 0)), session_epoch=0
        )
        fetch(s, version, "again", session_id=first.session_id, session_epoch=1)


@case("Fetch")
def fetch_session_changes_between_names_and_ids(s: Session) -> None:
    topic = s.topic()
    s.produce(topic, b"a")
    first = fetch(s, 12, "by name", asked(topic, (0, 0)), session_epoch=0)
    fetch(s, 13, "by id", asked(topic, (0, 0)), session_id=first.session_id, session_epoch=1)
    second = fetch(s, 13, "by id, new", asked(topic, (0, 0)), session_epoch=0)
    fetch(
        s, 12, "by name, then", asked(topic, (0, 0)), session_id=second.session_id, session_epoch=1
    )


@case("Fetch", "DeleteTopics")
def fetch_of_a_deleted_topic(s: Session) -> None:
    topic = s.topic()
    s.produce(topic, b"a")
    old = fetch(s, 12, "by name", asked(topic, (0, 0)), session_epoch=0)
    new = fetch(s, 13, "by id", asked(topic, (0, 0)), session_epoch=0)
    s.quietly("DeleteTopics", 6, topics=[{"name": topic.name}], timeout_ms=5000)
    s.until(
        lambda: (
            s.quietly(
                "Metadata", 12, topics=[{"name": topic.name}], allow_auto_topic_creation=False
            )
            .topics[0]
            .error_code
            == 3
        ),
        "deleted",
    )
    fetch(s, 12, "deleted, by name", session_id=old.session_id, session_epoch=1)
    fetch(s, 13, "deleted, by id", session_id=new.session_id, session_epoch=1)
    s.topic()
    fetch(s, 12, "created again, by name", session_id=old.session_id, session_epoch=2)
    fetch(s, 13, "created again, by the old id", session_id=new.session_id, session_epoch=2)


@case("Fetch", "DeleteRecords")
def fetch_after_records_are_deleted(s: Session) -> None:
    topic = s.topic()
    s.produce(topic, b"a", b"b", b"c")
    s.produce(topic, b"d", b"e")
    s.quietly(
        "DeleteRecords",
        2,
        timeout_ms=5000,
        topics=[{"name": topic.name, "partitions": [{"partition_index": 0, "offset": 4}]}],
    )
    for version in (4, 11, 12, 18):
        fetch(s, version, "from 0", asked(topic, (0, 0)))
        fetch(s, version, "from 3", asked(topic, (0, 3)))
        fetch(s, version, "from 4", asked(topic, (0, 4)))
        fetch(s, version, "from 3 with a log start", asked(topic, (0, 4), log_start_offset=2))
