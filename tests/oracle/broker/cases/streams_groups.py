"""Streams groups of KIP-1071: heartbeats with topologies, internal topics, tasks, and their description."""

from __future__ import annotations

from typing import Any

from tests.oracle.broker.runner import case
from tests.oracle.broker.session import Session, Topic


def topology(*subtopologies: dict[str, Any], epoch: int = 0) -> dict[str, Any]:
    return {"epoch": epoch, "subtopologies": list(subtopologies)}


def reading(topic: Topic | str, number: str = "0", **fields: Any) -> dict[str, Any]:
    return {
        "subtopology_id": number,
        "source_topics": [topic if isinstance(topic, str) else topic.name],
        **fields,
    }


def beat(s: Session, note: str, member: str, epoch: int, **options: Any) -> Any:
    return s.ask(
        "StreamsGroupHeartbeat",
        0,
        note,
        member_id=member,
        member_epoch=epoch,
        **({"group_id": s.name()} | options),
    )


def joins(s: Session, note: str, member: str, shape: dict[str, Any] | None, **options: Any) -> Any:
    given = {
        "topology": shape,
        "rebalance_timeout_ms": 5000,
        "process_id": f"p-{member}",
        "active_tasks": [],
        "standby_tasks": [],
        "warmup_tasks": [],
        "client_tags": [],
    }
    return beat(s, note, member, 0, **(given | options))


def tasks(*partitions: int, number: str = "0") -> dict[str, Any]:
    return {
        "active_tasks": [{"subtopology_id": number, "partitions": list(partitions)}]
        if partitions
        else [],
        "standby_tasks": [],
        "warmup_tasks": [],
    }


def describe(s: Session, note: str) -> Any:
    return s.ask("StreamsGroupDescribe", 0, note, group_ids=[s.name()])


def _settled(s: Session, member: str, epoch: int) -> int:
    """Quiet heartbeats until the group is stable or this member needs to act."""
    state: dict[str, Any] = {"epoch": epoch}

    def step() -> bool:
        answer = s.quietly(
            "StreamsGroupHeartbeat",
            0,
            group_id=s.name(),
            member_id=member,
            member_epoch=state["epoch"],
        )
        assert not answer.error_code, answer
        state["epoch"] = answer.member_epoch
        return answer.active_tasks is not None

    s.until(step, "tasks")
    return int(state["epoch"])


@case("StreamsGroupHeartbeat", "StreamsGroupDescribe")
def streams_group_of_one(s: Session) -> None:
    topic = s.known_topic(partitions=2)
    first = joins(s, "joins", "m1", topology(reading(topic)))
    describe(s, "joined")
    beat(s, "nothing new", "m1", first.member_epoch)
    beat(s, "has its tasks", "m1", first.member_epoch, **tasks(0, 1))
    describe(s, "stable")
    s.ask(
        "StreamsGroupDescribe",
        0,
        "with operations",
        group_ids=[s.name()],
        include_authorized_operations=True,
    )
    s.ask("StreamsGroupDescribe", 0, "unknown and none", group_ids=[s.name("no"), ""])
    for note, member, epoch in (
        ("unknown member", "m9", 1),
        ("newer epoch", "m1", first.member_epoch + 1),
        ("older epoch", "m1", first.member_epoch - 2),
        ("unknown member leaves", "m9", -1),
    ):
        beat(s, note, member, epoch)
    s.ask("DeleteGroups", 2, "not empty", groups_names=[s.name()])
    s.ask(
        "OffsetCommit",
        9,
        "good",
        group_id=s.name(),
        member_id="m1",
        generation_id_or_member_epoch=first.member_epoch,
        topics=[
            {"name": topic.name, "partitions": [{"partition_index": 0, "committed_offset": 5}]}
        ],
    )
    s.ask(
        "OffsetCommit",
        9,
        "newer epoch",
        group_id=s.name(),
        member_id="m1",
        generation_id_or_member_epoch=first.member_epoch + 1,
        topics=[
            {"name": topic.name, "partitions": [{"partition_index": 0, "committed_offset": 5}]}
        ],
    )
    s.ask(
        "OffsetCommit",
        9,
        "unknown member",
        group_id=s.name(),
        member_id="m9",
        generation_id_or_member_epoch=1,
        topics=[
            {"name": topic.name, "partitions": [{"partition_index": 0, "committed_offset": 5}]}
        ],
    )
    beat(s, "leaves", "m1", -1)
    beat(s, "after it left", "m1", first.member_epoch)
    describe(s, "empty")
    s.ask("DeleteGroups", 2, "empty", groups_names=[s.name()])


@case("StreamsGroupHeartbeat")
def streams_heartbeat_errors(s: Session) -> None:
    topic = s.known_topic()
    shape = topology(reading(topic))
    for note, options in (
        ("no group", {"group_id": ""}), ("no topology", {"topology": None}), ("no rebalance timeout", {"rebalance_timeout_ms": -1}), ("no process id", {"process_id": None}), ("empty process id", {"process_id": ""}),
        ("no tasks", {"active_tasks": None}), ("tasks at once", tasks(0)), ("epoch -3", {"member_epoch": -3}), ("no member id", {"member_id": ""}), ("empty instance id", {"instance_id": ""}), ("empty rack", {"rack_id": ""}),
        ("instance id", {"instance_id": "i"}), ("no subtopologies", {"topology": topology()}), ("unknown source", {"topology": topology(reading(s.name("no")))}),
        ("subtopology twice", {"topology": topology(reading(topic), reading(topic))}), ("regex", {"topology": topology({"subtopology_id": "0", "source_topic_regex": ["a.*"]})}),
        ("bad changelog name", {"topology": topology(reading(topic, state_changelog_topics=[{"name": "a b"}]))}), ("no client tags", {"client_tags": None}),
        ("epoch of the topology 1", {"topology": topology(reading(topic), epoch=1)}), ("shuts down", {"shutdown_application": True}),
        ("repartition topic unknown", {"topology": topology(reading(topic, repartition_sink_topics=[s.name("rep")]))}),
    ):  # fmt: skip
        given: dict[str, Any] = {
            "group_id": s.name(note.replace(" ", "")),
            "member_id": "m1",
            "member_epoch": 0,
            "topology": shape,
            "rebalance_timeout_ms": 5000,
            "process_id": "p",
            "active_tasks": [],
            "standby_tasks": [],
            "warmup_tasks": [],
            "client_tags": [],
        }
        s.ask("StreamsGroupHeartbeat", 0, note, **(given | options))
    s.ask(
        "StreamsGroupHeartbeat",
        0,
        "unknown group with an epoch",
        group_id=s.name("no"),
        member_id="m1",
        member_epoch=3,
    )
    s.ask(
        "StreamsGroupHeartbeat",
        0,
        "unknown group leaves",
        group_id=s.name("no"),
        member_id="m1",
        member_epoch=-1,
    )


@case("StreamsGroupHeartbeat", "StreamsGroupDescribe")
def streams_internal_topics(s: Session) -> None:
    topic = s.known_topic(partitions=3)
    repartition, changelog = s.name("x-repartition"), s.name("x-changelog")
    shape = topology(
        reading(topic, repartition_sink_topics=[repartition]),
        {"subtopology_id": "1", "source_topics": [], "repartition_source_topics": [{"name": repartition}],
         "state_changelog_topics": [{"name": changelog, "topic_configs": [{"key": "cleanup.policy", "value": "compact"}]}]},
    )  # fmt: skip
    first = joins(s, "joins", "m1", shape)
    s.until(
        lambda: all(
            t.error_code == 0
            for t in s.quietly(
                "Metadata",
                12,
                topics=[{"name": repartition}, {"name": changelog}],
                allow_auto_topic_creation=False,
            ).topics
        ),
        "internal topics exist",
    )
    s.ask(
        "Metadata",
        12,
        "internal topics",
        topics=[{"name": repartition}, {"name": changelog}],
        allow_auto_topic_creation=False,
    )
    epoch = _settled(s, "m1", first.member_epoch)
    s.ask(
        "DescribeConfigs",
        4,
        "changelog",
        resources=[
            {
                "resource_type": 2,
                "resource_name": changelog,
                "configuration_keys": [
                    "cleanup.policy",
                    "message.timestamp.type",
                    "retention.ms",
                    "segment.bytes",
                ],
            }
        ],
    )
    s.ask(
        "DescribeConfigs",
        4,
        "repartition",
        resources=[
            {
                "resource_type": 2,
                "resource_name": repartition,
                "configuration_keys": [
                    "cleanup.policy",
                    "message.timestamp.type",
                    "retention.ms",
                    "segment.bytes",
                ],
            }
        ],
    )
    describe(s, "assigned")
    assert epoch


@case("StreamsGroupHeartbeat", "StreamsGroupDescribe")
def streams_group_of_two(s: Session) -> None:
    topic = s.known_topic(partitions=4)
    shape = topology(reading(topic))
    first = joins(s, "m1 joins", "m1", shape)
    beat(s, "m1 has all", "m1", first.member_epoch, **tasks(0, 1, 2, 3))
    second = joins(s, "m2 joins", "m2", shape, user_endpoint={"host": "localhost", "port": 1234})
    beat(s, "m1 hears of it", "m1", first.member_epoch)
    describe(s, "revoking")
    beat(s, "m1 has revoked", "m1", first.member_epoch, **tasks(0, 1))
    beat(s, "m2 gets tasks", "m2", second.member_epoch)
    describe(s, "assigned")
    joins(s, "m3 has another topology", "m3", topology(reading(topic, number="7")))
    joins(s, "m4 has a newer topology", "m4", topology(reading(topic), epoch=1))
    beat(s, "m2 shuts the application down", "m2", second.member_epoch, shutdown_application=True)
    beat(s, "m1 hears of the shutdown", "m1", second.member_epoch)


@case("StreamsGroupHeartbeat")
def streams_copartitioning(s: Session) -> None:
    one, two = s.known_topic("one", partitions=2), s.known_topic("two", partitions=3)
    both = {
        "subtopology_id": "0",
        "source_topics": [one.name, two.name],
        "copartition_groups": [{"source_topics": [0, 1]}],
    }
    joins(s, "different numbers of partitions", "m1", topology(both))
    describe(s, "then")
    joins(
        s,
        "bad index",
        "m1",
        topology(both | {"copartition_groups": [{"source_topics": [7]}]}),
        group_id=s.name("x"),
    )
