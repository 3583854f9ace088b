"""Metadata and DescribeTopicPartitions."""

from __future__ import annotations

from millstream.model import ZERO_UUID
from tests.oracle.broker.runner import case
from tests.oracle.broker.session import Session, versions

UNKNOWN_ID = bytes(15) + b"\x09"


def _named(name: str | None, topic_id: bytes = ZERO_UUID) -> dict[str, object]:
    return {"name": name, "topic_id": topic_id}


@case("Metadata")
def metadata_of_a_topic(s: Session) -> None:
    topic = s.topic(partitions=3)
    for version in versions("Metadata"):
        s.ask("Metadata", version, topics=[_named(topic.name)], allow_auto_topic_creation=False)
        s.ask(
            "Metadata", version, "with operations", topics=[_named(topic.name)],
            include_topic_authorized_operations=version >= 8, include_cluster_authorized_operations=8 <= version <= 10,
        )  # fmt: skip


@case("Metadata")
def metadata_of_no_topic(s: Session) -> None:
    for version in range(1, 14):
        s.ask("Metadata", version, topics=[])


@case("Metadata")
def metadata_by_id(s: Session) -> None:
    topic = s.topic()
    for version in (10, 11, 12, 13):
        s.ask("Metadata", version, "id and no name", topics=[_named(None, topic.id)])
        s.ask("Metadata", version, "id and name", topics=[_named(topic.name, topic.id)])
        s.ask("Metadata", version, "id and another name", topics=[_named("other", topic.id)])
        s.ask("Metadata", version, "unknown id", topics=[_named(None, UNKNOWN_ID)])
        s.ask("Metadata", version, "neither", topics=[_named(None)])
        s.ask(
            "Metadata",
            version,
            "id and name apart",
            topics=[_named(None, topic.id), _named(topic.name)],
        )


@case("Metadata")
def metadata_of_unknown_topics(s: Session) -> None:
    topic = s.topic()
    for version in (0, 3, 4, 8, 9, 12, 13):
        s.ask(
            "Metadata",
            version,
            "bad names",
            topics=[_named(n) for n in ("", ".", "..", "a b", "x" * 250)],
        )
    for version in (4, 9, 12, 13):
        s.ask(
            "Metadata",
            version,
            "unknown",
            topics=[_named(s.name("no"))],
            allow_auto_topic_creation=False,
        )
        s.ask("Metadata", version, "twice", topics=[_named(topic.name), _named(topic.name)])
        s.ask(
            "Metadata",
            version,
            "one good one not",
            topics=[_named(topic.name), _named(s.name("no"))],
            allow_auto_topic_creation=False,
        )


@case("Metadata")
def metadata_creates_topics(s: Session) -> None:
    for version in (0, 3, 4, 9, 12, 13):
        name = s.name(f"made{version}")
        s.ask("Metadata", version, "first", topics=[_named(name)], allow_auto_topic_creation=True)
        s.until(lambda name=name: _exists(s, name), f"{name} exists")
        s.ask("Metadata", version, "then", topics=[_named(name)], allow_auto_topic_creation=True)
    s.ask(
        "Metadata",
        9,
        "colliding names",
        topics=[_named(s.name("a.b")), _named(s.name("a_b"))],
        allow_auto_topic_creation=True,
    )
    s.ask("Metadata", 9, "bad name", topics=[_named("no/slash")], allow_auto_topic_creation=True)


def _exists(s: Session, name: str) -> bool:
    found = s.quietly("Metadata", 9, topics=[_named(name)], allow_auto_topic_creation=False).topics[
        0
    ]
    return not found.error_code and all(p.error_code == 0 for p in found.partitions)


@case("DescribeTopicPartitions")
def describe_topic_partitions(s: Session) -> None:
    one, two = s.topic("a", partitions=2), s.topic("b", partitions=3)
    both = [{"name": one.name}, {"name": two.name}]
    s.ask("DescribeTopicPartitions", 0, topics=both, response_partition_limit=2000)
    s.ask("DescribeTopicPartitions", 0, "limit 3", topics=both, response_partition_limit=3)
    s.ask("DescribeTopicPartitions", 0, "limit 1", topics=both, response_partition_limit=1)
    s.ask("DescribeTopicPartitions", 0, "limit 0", topics=both, response_partition_limit=0)
    s.ask("DescribeTopicPartitions", 0, "limit -1", topics=both, response_partition_limit=-1)
    s.ask(
        "DescribeTopicPartitions",
        0,
        "cursor in b",
        topics=both,
        response_partition_limit=2,
        cursor={"topic_name": two.name, "partition_index": 1},
    )
    s.ask(
        "DescribeTopicPartitions",
        0,
        "cursor behind b",
        topics=both,
        response_partition_limit=2,
        cursor={"topic_name": two.name, "partition_index": 3},
    )
    s.ask(
        "DescribeTopicPartitions",
        0,
        "cursor below zero",
        topics=both,
        response_partition_limit=2,
        cursor={"topic_name": two.name, "partition_index": -1},
    )
    s.ask(
        "DescribeTopicPartitions",
        0,
        "cursor at a topic not asked for",
        topics=both,
        response_partition_limit=2,
        cursor={"topic_name": "zzz", "partition_index": 0},
    )
    for name in (s.name("no"), "a b", ""):
        s.ask(
            "DescribeTopicPartitions",
            0,
            f"name {name!r}",
            topics=[{"name": name}],
            response_partition_limit=9,
        )
    s.ask("DescribeTopicPartitions", 0, "twice", topics=[*both, *both], response_partition_limit=10)
