"""CreateTopics, DeleteTopics, CreatePartitions, ElectLeaders and reassignments."""

from __future__ import annotations

from typing import Any

from tests.oracle.broker.runner import case
from tests.oracle.broker.session import Session, versions


def create(s: Session, version: int, note: str, *topics: dict[str, Any], **options: Any) -> Any:
    return s.ask(
        "CreateTopics", version, note, topics=list(topics), **({"timeout_ms": 5000} | options)
    )


def new(name: str, partitions: int = 1, replicas: int = 1, **fields: Any) -> dict[str, Any]:
    return {"name": name, "num_partitions": partitions, "replication_factor": replicas, **fields}


def assigned(name: str, *assignments: tuple[int, list[int]]) -> dict[str, Any]:
    return new(
        name, -1, -1, assignments=[{"partition_index": i, "broker_ids": b} for i, b in assignments]
    )


@case("CreateTopics")
def create_topics_in_every_version(s: Session) -> None:
    for version in versions("CreateTopics"):
        create(s, version, "", new(s.name(f"a{version}"), 3))
        create(s, version, "again", new(s.name(f"a{version}"), 3))
        create(s, version, "with configs", new(s.name(f"c{version}"), configs=[
            {"name": "cleanup.policy", "value": "compact"}, {"name": "retention.ms", "value": "1000"}]))  # fmt: skip
        create(s, version, "defaults", new(s.name(f"d{version}"), -1, -1))
        create(s, version, "only to check", new(s.name(f"v{version}"), 2), validate_only=True)
        create(s, version, "after the check", new(s.name(f"v{version}"), 2))
        create(s, version, "nothing")


@case("CreateTopics")
def create_topics_with_bad_names(s: Session) -> None:
    for version in (2, 4, 5, 7):
        for name in (
            "",
            ".",
            "..",
            "a b",
            "a/b",
            "é",
            "x" * 249,
            "x" * 250,
            "__consumer_offsets",
            "__cluster_metadata",
            "__x",
        ):
            create(s, version, f"name {name[:8]!r} of {len(name)}", new(name), validate_only=True)
    create(s, 7, "with a dot", new(s.name("a.b")))
    create(s, 7, "with an underscore for the dot", new(s.name("a_b")))
    create(s, 7, "both at once", new(s.name("c.d")), new(s.name("c_d")))


@case("CreateTopics")
def create_topics_with_bad_numbers(s: Session) -> None:
    for version in (2, 4, 5, 7):
        for partitions in (0, -1, -2, 10_001):
            create(
                s,
                version,
                f"{partitions} partitions",
                new(s.name("p"), partitions),
                validate_only=True,
            )
        for replicas in (0, -1, -2, 2):
            create(
                s,
                version,
                f"{replicas} replicas",
                new(s.name("r"), 1, replicas),
                validate_only=True,
            )


@case("CreateTopics")
def create_topics_with_assignments(s: Session) -> None:
    for version in (2, 5, 7):
        name = s.name(f"a{version}")
        create(s, version, "good", assigned(name, (0, [1]), (1, [1])))
        for note, topic in (
            ("unknown broker", assigned(s.name(), (0, [9]))),
            ("broker twice", assigned(s.name(), (0, [1, 1]))),
            ("no broker", assigned(s.name(), (0, []))),
            ("partition missing", assigned(s.name(), (0, [1]), (2, [1]))),
            ("not from 0", assigned(s.name(), (1, [1]))),
            ("partition twice", assigned(s.name(), (0, [1]), (0, [1]))),
            ("negative partition", assigned(s.name(), (-1, [1]))),
            ("different numbers of replicas", assigned(s.name(), (0, [1]), (1, [1, 2]))),
            ("with partitions", assigned(s.name(), (0, [1])) | {"num_partitions": 1}),
            ("with replicas", assigned(s.name(), (0, [1])) | {"replication_factor": 1}),
        ):
            create(s, version, note, topic, validate_only=True)


@case("CreateTopics")
def create_topics_with_bad_configs(s: Session) -> None:
    for version in (2, 5, 7):
        for key, value in (
            ("no.such.config", "1"), ("retention.ms", "x"), ("retention.ms", "-2"), ("cleanup.policy", "shred"), ("segment.bytes", "1"),
            ("min.insync.replicas", "0"), ("retention.ms", None), ("compression.type", "zip"), ("compression.zstd.level", "99"),
            ("unclean.leader.election.enable", "maybe"), ("leader.replication.throttled.replicas", "1:x"), ("remote.storage.enable", "true"),
            ("message.format.version", "2.0"), ("preallocate", "TRUE"), ("retention.bytes", " 7 "), ("max.message.bytes", "1.5"),
        ):  # fmt: skip
            create(
                s,
                version,
                f"{key}={value}",
                new(s.name(), configs=[{"name": key, "value": value}]),
                validate_only=True,
            )
        create(s, version, "a config twice", new(s.name(), configs=[
            {"name": "retention.ms", "value": "1"}, {"name": "retention.ms", "value": "2"}]), validate_only=True)  # fmt: skip


@case("CreateTopics")
def create_several_topics(s: Session) -> None:
    for version in (2, 5, 7):
        good, bad = new(s.name(f"good{version}")), new("a b")
        create(s, version, "good and bad", good, bad, new(s.name(f"n{version}"), 0))
        create(s, version, "one twice", new(s.name(f"t{version}")), new(s.name(f"t{version}")))


@case("DeleteTopics")
def delete_topics(s: Session) -> None:
    for version in versions("DeleteTopics"):
        topic, other = s.topic(f"a{version}"), s.topic(f"b{version}")

        def delete(note: str, *names: str, version: int = version) -> None:
            s.ask(
                "DeleteTopics",
                version,
                note,
                timeout_ms=5000,
                topic_names=list(names),
                topics=[{"name": n} for n in names],
            )

        delete("one", topic.name)
        delete("again", topic.name)
        delete("bad name and good", "a b", other.name)
        delete("nothing")
        third = s.topic(f"c{version}")
        delete("twice", third.name, third.name)
        delete("an empty name", "")


@case("DeleteTopics")
def delete_topics_by_id(s: Session) -> None:
    topic, other = s.topic(), s.topic("other")
    for note, *topics in (
        ("unknown id", {"name": None, "topic_id": bytes(15) + b"\x09"}),
        ("neither", {"name": None, "topic_id": bytes(16)}),
        ("name and id", {"name": topic.name, "topic_id": topic.id}),
        ("by id, and the same by name", {"name": None, "topic_id": other.id}, {"name": other.name}),
        ("twice by id", {"name": None, "topic_id": other.id}, {"name": None, "topic_id": other.id}),
        ("by id", {"name": None, "topic_id": topic.id}),
        ("by id again", {"name": None, "topic_id": topic.id}),
    ):
        s.ask("DeleteTopics", 6, note, timeout_ms=5000, topics=topics)


@case("CreatePartitions")
def create_partitions(s: Session) -> None:
    for version in versions("CreatePartitions"):
        topic = s.topic(f"a{version}", partitions=2)

        def ask(
            note: str, *topics: dict[str, Any], validate_only: bool = False, version: int = version
        ) -> None:
            s.ask(
                "CreatePartitions",
                version,
                note,
                timeout_ms=5000,
                topics=list(topics),
                validate_only=validate_only,
            )

        ask("to check", {"name": topic.name, "count": 4}, validate_only=True)
        ask("to 4", {"name": topic.name, "count": 4})
        ask("to 4 again", {"name": topic.name, "count": 4})
        ask("to 3", {"name": topic.name, "count": 3})
        ask("to 0", {"name": topic.name, "count": 0})
        ask("to -1", {"name": topic.name, "count": -1})
        ask("unknown topic", {"name": s.name("no"), "count": 4})
        ask("twice", {"name": topic.name, "count": 5}, {"name": topic.name, "count": 6})
        ask("assigned", {"name": topic.name, "count": 5, "assignments": [{"broker_ids": [1]}]})
        ask(
            "assigned too few",
            {"name": topic.name, "count": 8, "assignments": [{"broker_ids": [1]}]},
        )
        ask(
            "assigned too many",
            {"name": topic.name, "count": 6, "assignments": [{"broker_ids": [1]}] * 2},
        )
        ask(
            "assigned to an unknown broker",
            {"name": topic.name, "count": 6, "assignments": [{"broker_ids": [7]}]},
        )
        ask(
            "assigned to nobody",
            {"name": topic.name, "count": 6, "assignments": [{"broker_ids": []}]},
        )
        ask(
            "assigned to one broker twice",
            {"name": topic.name, "count": 6, "assignments": [{"broker_ids": [1, 1]}]},
        )
        ask("far too many", {"name": topic.name, "count": 100_000}, validate_only=True)
        ask("nothing")


@case("ElectLeaders")
def elect_leaders(s: Session) -> None:
    topic = s.topic(partitions=2)
    for version in versions("ElectLeaders"):
        for kind in (0, 1, 2) if version else (0,):
            for note, name, partitions in (
                ("good", topic.name, [0, 1]), ("unknown partition", topic.name, [7]), ("unknown topic", s.name("no"), [0]),
            ):  # fmt: skip
                s.ask("ElectLeaders", version, f"{note}, type {kind}", election_type=kind, timeout_ms=3000,
                      topic_partitions=[{"topic": name, "partitions": partitions}])  # fmt: skip
        s.ask("ElectLeaders", version, "nothing", timeout_ms=3000, topic_partitions=[])


@case("AlterPartitionReassignments", "ListPartitionReassignments")
def reassign_partitions(s: Session) -> None:
    topic = s.topic(partitions=2)
    for version in versions("AlterPartitionReassignments"):
        for note, name, partition, replicas in (
            ("to where it is", topic.name, 0, [1]), ("to an unknown broker", topic.name, 0, [9]), ("to one broker twice", topic.name, 0, [1, 1]),
            ("to nobody", topic.name, 0, []), ("to a negative broker", topic.name, 0, [-1]), ("cancelled", topic.name, 0, None),
            ("unknown partition", topic.name, 9, [1]), ("unknown topic", s.name("no"), 0, [1]), ("to more replicas", topic.name, 1, [1, 2]),
        ):  # fmt: skip
            s.ask("AlterPartitionReassignments", version, note, timeout_ms=3000, topics=[
                {"name": name, "partitions": [{"partition_index": partition, "replicas": replicas}]}])  # fmt: skip
        s.ask("AlterPartitionReassignments", version, "nothing", timeout_ms=3000, topics=[])
        s.ask("AlterPartitionReassignments", version, "replication factor fixed", timeout_ms=3000, allow_replication_factor_change=False,
              topics=[{"name": topic.name, "partitions": [{"partition_index": 0, "replicas": [1]}]}])  # fmt: skip
    s.ask("ListPartitionReassignments", 0, "all", timeout_ms=3000, topics=None)
    s.ask(
        "ListPartitionReassignments",
        0,
        "some",
        timeout_ms=3000,
        topics=[{"name": topic.name, "partition_indexes": [0, 9]}],
    )
    s.ask(
        "ListPartitionReassignments",
        0,
        "unknown",
        timeout_ms=3000,
        topics=[{"name": s.name("no"), "partition_indexes": [0]}],
    )
