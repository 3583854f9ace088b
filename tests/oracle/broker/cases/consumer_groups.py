"""Consumer groups of KIP-848: heartbeats, epochs, assignments, static members, regular expressions, and classic members beside them."""

from __future__ import annotations

from typing import Any

from millstream.protocol.generated.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from tests.oracle.broker.runner import case
from tests.oracle.broker.session import Session, Topic, versions


def beat(s: Session, note: str, member: str, epoch: int, version: int = 1, **options: Any) -> Any:
    return s.ask(
        "ConsumerGroupHeartbeat",
        version,
        note,
        member_id=member,
        member_epoch=epoch,
        **({"group_id": s.name()} | options),
    )


def joins(s: Session, note: str, member: str, *topics: Topic | str, **options: Any) -> Any:
    """A first heartbeat."""
    names = [topic if isinstance(topic, str) else topic.name for topic in topics]
    given = {"subscribed_topic_names": names, "rebalance_timeout_ms": 5000, "topic_partitions": []}
    return beat(s, note, member, 0, **(given | options))


def owns(topic: Topic, *partitions: int) -> dict[str, Any]:
    return {"topic_partitions": [{"topic_id": topic.id, "partitions": list(partitions)}]}


def describe(s: Session, note: str, version: int = 1) -> Any:
    return s.ask("ConsumerGroupDescribe", version, note, group_ids=[s.name()])


def until_assigned(  # noqa: PLR0917  # read as a sentence: who, what, with what
    s: Session, member: str, epoch: int, topic: Topic, held: list[int], wanted: set[int]
) -> int:
    """Quiet heartbeats until the member is told to hold `wanted`; the epoch it is in then."""
    state: dict[str, Any] = {"epoch": epoch, "held": held}

    def step() -> bool:
        answer = s.quietly(
            "ConsumerGroupHeartbeat",
            1,
            group_id=s.name(),
            member_id=member,
            member_epoch=state["epoch"],
            rebalance_timeout_ms=5000,
            **owns(topic, *state["held"]),
        )
        assert not answer.error_code, answer
        state["epoch"] = answer.member_epoch
        if answer.assignment is not None:
            state["held"] = [p for t in answer.assignment.topic_partitions for p in t.partitions]
        return set(state["held"]) == wanted

    s.until(step, f"{member} holds {wanted}")
    beat(s, f"{member} confirms", member, state["epoch"], **owns(topic, *sorted(wanted)))
    return int(state["epoch"])


@case("ConsumerGroupHeartbeat", "ConsumerGroupDescribe")
def consumer_group_of_one(s: Session) -> None:
    topic = s.known_topic(partitions=3)
    for version in versions("ConsumerGroupHeartbeat"):
        group = s.name(f"g{version}")
        first = s.ask("ConsumerGroupHeartbeat", version, "joins", group_id=group, member_id="" if version == 0 else "m1", member_epoch=0, rebalance_timeout_ms=5000,
                      subscribed_topic_names=[topic.name], topic_partitions=[])  # fmt: skip
        member = first.member_id
        s.ask(
            "ConsumerGroupHeartbeat",
            version,
            "nothing new",
            group_id=group,
            member_id=member,
            member_epoch=first.member_epoch,
        )
        s.ask(
            "ConsumerGroupHeartbeat",
            version,
            "holds them",
            group_id=group,
            member_id=member,
            member_epoch=first.member_epoch,
            **owns(topic, 0, 1, 2),
        )
        s.ask("ConsumerGroupDescribe", version, "", group_ids=[group])
        s.ask(
            "ConsumerGroupDescribe",
            version,
            "with operations",
            group_ids=[group],
            include_authorized_operations=True,
        )
        s.ask(
            "ConsumerGroupHeartbeat",
            version,
            "leaves",
            group_id=group,
            member_id=member,
            member_epoch=-1,
        )
        s.ask(
            "ConsumerGroupHeartbeat",
            version,
            "after it left",
            group_id=group,
            member_id=member,
            member_epoch=first.member_epoch,
        )
        s.ask("ConsumerGroupDescribe", version, "empty", group_ids=[group])


@case("ConsumerGroupHeartbeat")
def consumer_heartbeat_errors(s: Session) -> None:
    topic = s.known_topic()
    for version in versions("ConsumerGroupHeartbeat"):
        for note, options in (
            ("no group", {"group_id": ""}), ("epoch -3", {"member_epoch": -3}), ("no topics", {"subscribed_topic_names": None}), ("empty topics", {"subscribed_topic_names": []}),
            ("no rebalance timeout", {"rebalance_timeout_ms": -1}), ("partitions at once", owns(topic, 0)), ("no partitions", {"topic_partitions": None}), ("unknown assignor", {"server_assignor": "odd"}),
            ("empty instance id", {"instance_id": ""}), ("empty rack", {"rack_id": ""}), ("no member id", {"member_id": ""}), ("bad regex", {"subscribed_topic_regex": "("}),
            ("empty assignor", {"server_assignor": ""}), ("unknown topic", {"subscribed_topic_names": [s.name("no")]}), ("bad topic name", {"subscribed_topic_names": ["a b"]}), ("spaces", {"group_id": "  "}),
        ):  # fmt: skip
            given = {
                "group_id": s.name(f"e{version}{note.replace(' ', '')}"),
                "member_id": "m1",
                "member_epoch": 0,
                "rebalance_timeout_ms": 5000,
                "subscribed_topic_names": [topic.name],
                "topic_partitions": [],
            }
            s.ask("ConsumerGroupHeartbeat", version, note, **(given | options))
        s.ask(
            "ConsumerGroupHeartbeat",
            version,
            "unknown group with an epoch",
            group_id=s.name("no"),
            member_id="m1",
            member_epoch=5,
        )
        s.ask(
            "ConsumerGroupHeartbeat",
            version,
            "unknown group leaves",
            group_id=s.name("no"),
            member_id="m1",
            member_epoch=-1,
        )
        s.ask(
            "ConsumerGroupHeartbeat",
            version,
            "unknown group, static member leaves",
            group_id=s.name("no"),
            member_id="m1",
            member_epoch=-2,
            instance_id="i",
        )
    joined = joins(s, "joins", "m1", topic)
    for note, member, epoch in (
        ("unknown member", "m2", 1), ("older epoch", "m1", joined.member_epoch - 1), ("newer epoch", "m1", joined.member_epoch + 1), ("unknown member leaves", "m2", -1),
        ("static leave of a dynamic member", "m1", -2), ("no member id", "", joined.member_epoch), ("joins again", "m1", 0),
    ):  # fmt: skip
        beat(s, note, member, epoch)
    beat(
        s,
        "joins again with all",
        "m1",
        0,
        subscribed_topic_names=[topic.name],
        rebalance_timeout_ms=5000,
        topic_partitions=[],
    )
    beat(s, "partition it does not hold", "m1", joined.member_epoch, **owns(topic, 7))


@case("ConsumerGroupHeartbeat", "ConsumerGroupDescribe", "OffsetCommit", "OffsetFetch")
def consumer_group_of_two(s: Session) -> None:
    topic = s.known_topic(partitions=4)
    first = joins(s, "m1 joins", "m1", topic)
    beat(s, "m1 holds all", "m1", first.member_epoch, **owns(topic, 0, 1, 2, 3))
    second = joins(s, "m2 joins", "m2", topic)
    describe(s, "m2 has joined")
    beat(s, "m1 hears of it", "m1", first.member_epoch)
    beat(s, "m2 waits", "m2", second.member_epoch)
    describe(s, "revoking")
    epoch_1 = beat(s, "m1 has revoked", "m1", first.member_epoch, **owns(topic, 0, 1)).member_epoch
    epoch_2 = beat(s, "m2 gets them", "m2", second.member_epoch).member_epoch
    beat(s, "m2 holds them", "m2", epoch_2, **owns(topic, 2, 3))
    describe(s, "stable")
    for note, epoch, member in (
        ("good", epoch_1, "m1"),
        ("older epoch", epoch_1 - 1, "m1"),
        ("newer epoch", epoch_1 + 1, "m1"),
        ("unknown member", epoch_1, "m3"),
        ("from outside", -1, ""),
    ):
        for version in (8, 9, 10):
            s.ask("OffsetCommit", version, note, group_id=s.name(), member_id=member, generation_id_or_member_epoch=epoch, topics=[
                {"name": topic.name, "topic_id": topic.id, "partitions": [{"partition_index": 0, "committed_offset": 5}]}])  # fmt: skip
            if version >= 9:
                s.ask("OffsetFetch", version, note, groups=[{"group_id": s.name(), "member_id": member or None, "member_epoch": epoch, "topics": [
                    {"name": topic.name, "topic_id": topic.id, "partition_indexes": [0]}]}])  # fmt: skip
    s.ask(
        "OffsetDelete",
        0,
        "subscribed",
        group_id=s.name(),
        topics=[{"name": topic.name, "partitions": [{"partition_index": 0}]}],
    )
    s.ask("DeleteGroups", 2, "not empty", groups_names=[s.name()])
    s.ask(
        "JoinGroup",
        9,
        "a classic member with an odd protocol",
        group_id=s.name(),
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="connect",
        protocols=[{"name": "x", "metadata": b""}],
    )
    s.ask(
        "Heartbeat",
        4,
        "classic heartbeat",
        group_id=s.name(),
        member_id="m1",
        generation_id=epoch_1,
    )
    s.ask("DescribeGroups", 6, "as a classic group", groups=[s.name()])
    beat(s, "m2 leaves", "m2", -1)
    until_assigned(s, "m1", epoch_1, topic, [0, 1], {0, 1, 2, 3})
    describe(s, "m1 holds all again")
    beat(s, "m1 leaves", "m1", -1)
    describe(s, "empty")
    s.ask("DeleteGroups", 2, "empty", groups_names=[s.name()])
    describe(s, "deleted")


@case("ConsumerGroupHeartbeat", "ConsumerGroupDescribe")
def consumer_static_members(s: Session) -> None:
    topic = s.known_topic(partitions=2)
    first = joins(s, "joins", "m1", topic, instance_id="inst")
    beat(s, "holds", "m1", first.member_epoch, instance_id="inst", **owns(topic, 0, 1))
    joins(s, "another with its instance id", "m2", topic, instance_id="inst")
    beat(s, "other instance id", "m1", first.member_epoch, instance_id="other")
    beat(s, "no instance id", "m1", first.member_epoch)
    beat(s, "goes for a while", "m1", -2, instance_id="inst")
    describe(s, "away")
    second = joins(s, "comes back", "m2", topic, instance_id="inst")
    beat(s, "the old one", "m1", first.member_epoch, instance_id="inst")
    beat(s, "holds again", "m2", second.member_epoch, instance_id="inst", **owns(topic, 0, 1))
    describe(s, "back")
    beat(s, "unknown instance leaves", "m2", -1, instance_id="no")
    beat(s, "leaves for good", "m2", -1, instance_id="inst")
    describe(s, "gone")


@case("ConsumerGroupHeartbeat", "ConsumerGroupDescribe")
def consumer_members_that_join_again(s: Session) -> None:
    """With the id that they had; with and without an instance id, the same one and another."""
    topic, more = s.known_topic(partitions=2), s.known_topic("more")
    for before in (None, "a"):
        for after in (None, "a", "b"):
            group = s.name(f"{before}-{after}")

            def comes(note: str, epoch: int = 0, group: str = group, **options: Any) -> Any:
                told = {"subscribed_topic_names": [topic.name], "rebalance_timeout_ms": 5000}
                given = {"group_id": group, "topic_partitions": []}
                return beat(s, note, "m", epoch, **(told | given | options))

            said = f"{before} then {after}"
            first = comes(f"joins, {said}", instance_id=before)
            held = owns(topic, 0, 1)
            comes(f"holds, {said}", first.member_epoch, instance_id=before, **held)
            again = comes(f"again, {said}", instance_id=after)
            if again.error_code:
                again = first
            s.ask("ConsumerGroupDescribe", 1, said, group_ids=[group])
            comes(f"holds again, {said}", again.member_epoch, instance_id=after, **held)
            comes(f"as before, {said}", again.member_epoch, instance_id=before, **held)
            comes(
                f"again with more topics, {said}",
                instance_id=after,
                subscribed_topic_names=[topic.name, more.name],
            )
            s.ask("ConsumerGroupDescribe", 1, f"more topics, {said}", group_ids=[group])
            comes(f"goes for a while, {said}", -2, instance_id=after)
            comes(f"comes back, {said}", instance_id=after)
            comes(f"leaves as it was, {said}", -1, instance_id=before)
            comes(f"leaves, {said}", -1, instance_id=after)
            s.ask("ConsumerGroupDescribe", 1, f"left, {said}", group_ids=[group])


@case("ConsumerGroupHeartbeat", "ConsumerGroupDescribe")
def consumer_members_that_take_a_place(s: Session) -> None:
    """A member without an instance id joins again with that of a static member, while that is there, away, and gone."""
    topic = s.known_topic(partitions=2)
    joins(s, "static", "m1", topic, instance_id="a")
    first = joins(s, "dynamic", "m2", topic)
    joins(s, "takes a place that is held", "m2", topic, instance_id="a")
    beat(s, "static goes for a while", "m1", -2, instance_id="a")
    again = joins(s, "takes it", "m2", topic, instance_id="a")
    describe(s, "taken")
    beat(s, "the static one", "m1", first.member_epoch, instance_id="a")
    beat(s, "goes on", "m2", again.member_epoch, rebalance_timeout_ms=5000, topic_partitions=[])
    describe(s, "goes on")
    beat(s, "leaves", "m2", -1, instance_id="a")
    joins(s, "comes to a place that is gone", "m2", topic, instance_id="a")
    joins(s, "and without a place", "m2", topic)
    describe(s, "keeps the place")


@case("ConsumerGroupHeartbeat", "ConsumerGroupDescribe")
def consumer_regular_expressions(s: Session) -> None:
    topic = s.known_topic("one", partitions=2)
    s.known_topic("two")
    joined = joins(
        s,
        "joins",
        "m1",
        subscribed_topic_names=None,
        subscribed_topic_regex=topic.name[:-3] + "o.*",
    )
    until_assigned(s, "m1", joined.member_epoch, topic, [], {0, 1})
    describe(s, "assigned")
    for regex in ("(", "[", "a{1001}", "(?=x)", "\\", "*"):
        joins(s, f"regex {regex}", "m2", subscribed_topic_names=None, subscribed_topic_regex=regex)
    joins(s, "names and a regex", "m3", s.name("two"), subscribed_topic_regex="x.*")


@case("ConsumerGroupHeartbeat", "ConsumerGroupDescribe")
def consumer_assignors(s: Session) -> None:
    one, two = s.known_topic("one", partitions=5), s.known_topic("two", partitions=3)
    for assignor in ("uniform", "range"):
        group = s.name(assignor)
        for member in ("m1", "m2"):
            topics = (one,) if assignor == "uniform" else (one, two)
            joins(
                s,
                f"{member} of {assignor}",
                member,
                *topics,
                server_assignor=assignor,
                group_id=group,
            )
        s.until(
            lambda group=group: (
                s.quietly("ConsumerGroupDescribe", 1, group_ids=[group]).groups[0].assignment_epoch
                >= 2
            ),
            "assigned",
        )
        s.ask("ConsumerGroupDescribe", 1, assignor, group_ids=[group])
    joins(s, "m3 wants another", "m3", one, server_assignor="uniform", group_id=s.name("range"))


@case("ConsumerGroupHeartbeat", "ConsumerGroupDescribe")
def consumer_session_times_out(s: Session) -> None:
    topic = s.known_topic()
    s.quietly("IncrementalAlterConfigs", 1, resources=[{"resource_type": 32, "resource_name": s.name(), "configs": [
        {"name": "consumer.session.timeout.ms", "config_operation": 0, "value": "700"}, {"name": "consumer.heartbeat.interval.ms", "config_operation": 0, "value": "150"}]}])  # fmt: skip
    joined = joins(s, "joins", "m1", topic)
    s.until(
        lambda: (
            s.quietly("ConsumerGroupDescribe", 1, group_ids=[s.name()]).groups[0].group_state
            == "Empty"
        ),
        "expired",
    )
    beat(s, "after its session", "m1", joined.member_epoch)
    describe(s, "then")


@case("ConsumerGroupDescribe", "ListGroups")
def describe_consumer_groups(s: Session) -> None:
    topic = s.known_topic()
    joins(s, "joins", "m1", topic)
    s.quietly(
        "OffsetCommit",
        9,
        group_id=s.name("classic"),
        generation_id_or_member_epoch=-1,
        topics=[
            {"name": topic.name, "partitions": [{"partition_index": 0, "committed_offset": 5}]}
        ],
    )
    for version in versions("ConsumerGroupDescribe"):
        s.ask("ConsumerGroupDescribe", version, "unknown and none", group_ids=[s.name("no"), ""])
        s.ask("ConsumerGroupDescribe", version, "classic", group_ids=[s.name("classic")])
        s.ask("ConsumerGroupDescribe", version, "nothing", group_ids=[])
    for version in (3, 4, 5):
        answer = s.quietly("ListGroups", version)
        s.note(
            "ListGroups",
            version,
            "",
            sorted(
                [g.group_id, g.protocol_type, g.group_state, g.group_type]
                for g in answer.groups
                if g.group_id.startswith(s.name())
            ),
        )


def _subscription(topic: Topic) -> bytes:
    out = bytearray(b"\x00\x01")
    ConsumerProtocolSubscription(topics=[topic.name]).encode(out, 1)
    return bytes(out)


@case("ConsumerGroupHeartbeat", "JoinGroup", "SyncGroup")
def classic_members_of_a_consumer_group(s: Session) -> None:
    topic = s.known_topic(partitions=2)
    first = joins(s, "m1 joins", "m1", topic)
    beat(s, "m1 holds all", "m1", first.member_epoch, **owns(topic, 0, 1))
    options: dict[str, Any] = {
        "group_id": s.name(),
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 10_000,
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": _subscription(topic)}],
    }
    asked = s.ask("JoinGroup", 9, "a classic member asks", **options)
    joined = s.ask("JoinGroup", 9, "it joins", member_id=asked.member_id, **options)
    s.ask(
        "SyncGroup",
        5,
        "its assignment",
        group_id=s.name(),
        member_id=joined.member_id,
        generation_id=joined.generation_id,
        protocol_type="consumer",
        protocol_name="range",
    )
    describe(s, "mixed")
    beat(s, "m1 hears of it", "m1", first.member_epoch)
    revoked = beat(s, "m1 has revoked", "m1", first.member_epoch, **owns(topic, 0))
    s.ask(
        "Heartbeat",
        4,
        "the classic member is told to join again",
        group_id=s.name(),
        member_id=joined.member_id,
        generation_id=joined.generation_id,
    )
    again = s.ask("JoinGroup", 9, "it joins again", member_id=joined.member_id, **options)
    synced = s.ask(
        "SyncGroup",
        5,
        "its new assignment",
        group_id=s.name(),
        member_id=joined.member_id,
        generation_id=again.generation_id,
        protocol_type="consumer",
        protocol_name="range",
    )
    if synced.assignment:
        s.note(
            "SyncGroup",
            5,
            "assignment",
            str(
                ConsumerProtocolAssignment.decode(memoryview(synced.assignment), 2, 0)[
                    0
                ].assigned_partitions
            ).replace(s.run, ""),
        )
    describe(s, "mixed, then")
    beat(s, "m1 leaves", "m1", -1)
    s.ask("DescribeGroups", 6, "after the last consumer member left", groups=[s.name()])
    s.ask(
        "LeaveGroup",
        5,
        "the classic member leaves",
        group_id=s.name(),
        members=[{"member_id": joined.member_id}],
    )
    assert revoked


@case("ConsumerGroupHeartbeat", "JoinGroup", "SyncGroup")
def a_classic_group_becomes_a_consumer_group(s: Session) -> None:
    topic = s.known_topic(partitions=2)
    options: dict[str, Any] = {
        "group_id": s.name(),
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 10_000,
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": _subscription(topic)}],
    }
    asked = s.ask("JoinGroup", 9, "asks", **options)
    joined = s.ask("JoinGroup", 9, "joins", member_id=asked.member_id, **options)
    out = bytearray(b"\x00\x01")
    ConsumerProtocolAssignment(assigned_partitions=[]).encode(out, 1)
    s.ask("SyncGroup", 5, "leads", group_id=s.name(), member_id=joined.member_id, generation_id=joined.generation_id, protocol_type="consumer", protocol_name="range",
          assignments=[{"member_id": joined.member_id, "assignment": bytes(out)}])  # fmt: skip
    joins(s, "a consumer member joins", "m1", topic)
    describe(s, "converted")
    s.ask(
        "Heartbeat",
        4,
        "the classic member",
        group_id=s.name(),
        member_id=joined.member_id,
        generation_id=joined.generation_id,
    )
    s.ask("DescribeGroups", 6, "as a classic group", groups=[s.name()])


@case("ConsumerGroupHeartbeat", "JoinGroup")
def groups_of_another_kind(s: Session) -> None:
    topic = s.known_topic()
    s.quietly(
        "JoinGroup",
        3,
        group_id=s.name("connect"),
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="connect",
        protocols=[{"name": "x", "metadata": b""}],
    )
    joins(s, "into a group of another protocol", "m1", topic, group_id=s.name("connect"))
    s.quietly(
        "OffsetCommit",
        9,
        group_id=s.name("offsets"),
        generation_id_or_member_epoch=-1,
        topics=[
            {"name": topic.name, "partitions": [{"partition_index": 0, "committed_offset": 5}]}
        ],
    )
    joins(s, "into a group of offsets alone", "m1", topic, group_id=s.name("offsets"))
    for api, version in (("ShareGroupHeartbeat", 1), ("StreamsGroupHeartbeat", 0)):
        fields: dict[str, Any] = {
            "group_id": s.name("offsets"),
            "member_id": "m9",
            "member_epoch": 0,
        }
        if api.startswith("Share"):
            fields["subscribed_topic_names"] = [topic.name]
        else:
            fields |= {"process_id": "p", "rebalance_timeout_ms": 5000, "active_tasks": [], "standby_tasks": [], "warmup_tasks": [],
                       "topology": {"epoch": 0, "subtopologies": [{"subtopology_id": "0", "source_topics": [topic.name]}]}}  # fmt: skip
        s.ask(api, version, "into a consumer group", **fields)
