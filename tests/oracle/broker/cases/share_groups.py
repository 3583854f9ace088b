"""Share groups of KIP-932: heartbeats, fetches, acknowledgements, offsets, and the state behind them."""

from __future__ import annotations

from typing import Any

from tests.oracle.broker.runner import case
from tests.oracle.broker.session import Session, Topic, versions

ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4
GAP = 0
MEMBER = "AAAAAAAAAAAAAAAAAAAAAQ"
OTHER = "AAAAAAAAAAAAAAAAAAAAAg"
"""Members of share sessions are uuids."""
UNKNOWN_ID = bytes(15) + b"\x09"


def beat(s: Session, note: str, member: str, epoch: int, *topics: Topic, **options: Any) -> Any:
    names = [topic.name for topic in topics] or None
    return s.ask(
        "ShareGroupHeartbeat",
        1,
        note,
        member_id=member,
        member_epoch=epoch,
        subscribed_topic_names=names,
        **({"group_id": s.name()} | options),
    )


def fetch(
    s: Session,
    note: str,
    epoch: int,
    *topics: dict[str, Any],
    member: str = MEMBER,
    version: int = 2,
    **options: Any,
) -> Any:
    given = {
        "group_id": s.name(),
        "max_wait_ms": 300,
        "min_bytes": 1,
        "max_bytes": 1 << 20,
        "max_records": 500,
        "batch_size": 500,
    }
    return s.ask(
        "ShareFetch",
        version,
        note,
        member_id=member,
        share_session_epoch=epoch,
        topics=list(topics),
        **(given | options),
    )


def acknowledge(
    s: Session,
    note: str,
    epoch: int,
    *topics: dict[str, Any],
    member: str = MEMBER,
    version: int = 2,
    **options: Any,
) -> Any:
    return s.ask(
        "ShareAcknowledge",
        version,
        note,
        member_id=member,
        share_session_epoch=epoch,
        topics=list(topics),
        **({"group_id": s.name()} | options),
    )


def of(topic: Topic, partition: int, *acknowledged: tuple[int, int, int]) -> dict[str, Any]:
    """One partition, and what is said of (first, last, type)."""
    batches = [
        {"first_offset": first, "last_offset": last, "acknowledge_types": [kind]}
        for first, last, kind in acknowledged
    ]
    return {
        "topic_id": topic.id,
        "partitions": [{"partition_index": partition, "acknowledgement_batches": batches}],
    }


def joined(s: Session, topic: Topic, member: str = MEMBER, reset: str = "earliest") -> Any:
    """A member with its assignment, in a group that reads from the beginning. Share state is initialised in its own time."""
    s.quietly("IncrementalAlterConfigs", 1, resources=[{"resource_type": 32, "resource_name": s.name(), "configs": [
        {"name": "share.auto.offset.reset", "config_operation": 0, "value": reset}]}])  # fmt: skip
    first = s.quietly(
        "ShareGroupHeartbeat",
        1,
        group_id=s.name(),
        member_id=member,
        member_epoch=0,
        subscribed_topic_names=[topic.name],
    )
    state = {
        "epoch": first.member_epoch,
        "has": bool(first.assignment and first.assignment.topic_partitions),
    }

    def is_assigned() -> bool:
        answer = s.quietly(
            "ShareGroupHeartbeat",
            1,
            group_id=s.name(),
            member_id=member,
            member_epoch=state["epoch"],
        )
        state["epoch"] = answer.member_epoch
        state["has"] = state["has"] or bool(
            answer.assignment and answer.assignment.topic_partitions
        )
        return bool(state["has"])

    s.until(is_assigned, "assigned")
    return state["epoch"]


@case("ShareGroupHeartbeat", "ShareGroupDescribe")
def share_group_members(s: Session) -> None:
    topic = s.known_topic(partitions=2)
    first = beat(s, "joins", "m1", 0, topic)
    s.until(
        lambda: (
            s.quietly("ShareGroupDescribe", 1, group_ids=[s.name()]).groups[0].group_state
            == "Stable"
        ),
        "stable",
    )
    epoch = first.member_epoch
    state = {"epoch": epoch}

    def has_assignment() -> bool:
        answer = s.quietly(
            "ShareGroupHeartbeat", 1, group_id=s.name(), member_id="m1", member_epoch=state["epoch"]
        )
        state["epoch"] = answer.member_epoch
        found = s.quietly("ShareGroupDescribe", 1, group_ids=[s.name()]).groups[0].members[0]
        return bool(found.assignment.topic_partitions)

    s.until(has_assignment, "assigned")
    s.ask("ShareGroupDescribe", 1, "one member", group_ids=[s.name()])
    s.ask(
        "ShareGroupDescribe",
        1,
        "with operations",
        group_ids=[s.name()],
        include_authorized_operations=True,
    )
    for note, member, at in (("unknown member", "m9", 1), ("newer epoch", "m1", state["epoch"] + 1), ("older epoch", "m1", state["epoch"] - 1), ("far older epoch", "m1", state["epoch"] - 2),
                             ("unknown member leaves", "m9", -1), ("epoch -3", "m1", -3), ("epoch -2", "m1", -2)):  # fmt: skip
        beat(s, note, member, at)
    beat(s, "no group", "m1", 0, topic, group_id="")
    beat(s, "no member id", "", 0, topic)
    beat(s, "joins without topics", "m2", 0)
    beat(s, "unknown topic", "m3", 0, Topic(s.name("no"), UNKNOWN_ID))
    beat(s, "unknown group with an epoch", "m1", 3, group_id=s.name("no"))
    beat(s, "unknown group leaves", "m1", -1, group_id=s.name("no"))
    s.ask(
        "ShareGroupHeartbeat",
        1,
        "empty rack",
        group_id=s.name(),
        member_id="m4",
        member_epoch=0,
        rack_id="",
        subscribed_topic_names=[topic.name],
    )
    s.ask("ShareGroupDescribe", 1, "unknown and none", group_ids=[s.name("no"), ""])
    s.ask("DeleteGroups", 2, "not empty", groups_names=[s.name()])
    beat(s, "leaves", "m1", -1)
    beat(s, "leaves again", "m1", -1)


@case("ShareGroupHeartbeat", "ShareFetch", "ShareAcknowledge")
def share_fetch_and_acknowledge(s: Session) -> None:
    topic = s.known_topic()
    for value in (b"a", b"b", b"c", b"d", b"e", b"f"):
        s.produce(topic, value)
    joined(s, topic)
    for version in (1,):
        fetch(s, "unknown session", 5, of(topic, 0), version=version)
    s.until(
        lambda: (
            s.quietly(
                "DescribeShareGroupOffsets", 1, groups=[{"group_id": s.name(), "topics": None}]
            )
            .groups[0]
            .error_code
            == 0
        ),
        "offsets known",
    )
    fetch(s, "all", 0, of(topic, 0))
    fetch(s, "nothing more", 1)
    acknowledge(s, "accepts 0 and 1", 2, of(topic, 0, (0, 1, ACCEPT)))
    acknowledge(s, "accepts 0 again", 3, of(topic, 0, (0, 0, ACCEPT)))
    acknowledge(s, "releases 2", 4, of(topic, 0, (2, 2, RELEASE)))
    acknowledge(s, "rejects 3", 5, of(topic, 0, (3, 3, REJECT)))
    fetch(s, "accepts 4, gets 2 again", 6, of(topic, 0, (4, 4, ACCEPT)))
    acknowledge(s, "old epoch", 3, of(topic, 0, (5, 5, ACCEPT)))
    acknowledge(s, "unknown member", 7, of(topic, 0, (5, 5, ACCEPT)), member=OTHER)
    acknowledge(s, "behind the end", 7, of(topic, 0, (50, 51, ACCEPT)))
    acknowledge(s, "backwards", 8, of(topic, 0, (5, 4, ACCEPT)))
    acknowledge(s, "unknown type", 9, of(topic, 0, (5, 5, 9)))
    acknowledge(s, "unknown partition", 10, of(topic, 7, (5, 5, ACCEPT)))
    acknowledge(s, "unknown topic", 11, of(Topic("no", UNKNOWN_ID), 0, (5, 5, ACCEPT)))
    acknowledge(s, "renews 5", 12, of(topic, 0, (5, 5, RENEW)), is_renew_ack=True)
    acknowledge(s, "renews 5 in version 1", 13, of(topic, 0, (5, 5, RENEW)), version=1)
    acknowledge(s, "renews without saying so", 14, of(topic, 0, (5, 5, RENEW)))
    acknowledge(s, "the rest, and closes", -1, of(topic, 0, (2, 2, ACCEPT), (5, 5, ACCEPT)))
    fetch(s, "after it was closed", 15)
    s.ask("DescribeShareGroupOffsets", 1, "then", groups=[{"group_id": s.name(), "topics": None}])


@case("ShareGroupHeartbeat", "ShareFetch")
def share_fetch_errors(s: Session) -> None:
    topic = s.known_topic()
    s.produce(topic, b"a")
    joined(s, topic)
    for version in versions("ShareFetch"):
        fetch(s, "acknowledges in the first", 0, of(topic, 0, (0, 0, ACCEPT)), version=version)
        fetch(s, "unknown topic", 0, of(Topic("no", UNKNOWN_ID), 0), version=version)
        fetch(s, "closes", -1, version=version)
        fetch(s, "unknown partition", 0, of(topic, 9), version=version)
        fetch(s, "closes too", -1, version=version)
        fetch(s, "no group", 0, of(topic, 0), version=version, group_id=None)
        fetch(s, "no member", 0, of(topic, 0), version=version, member="")
        fetch(s, "member is no uuid", 0, of(topic, 0), version=version, member="m1")
        fetch(s, "unknown group", 0, of(topic, 0), version=version, group_id=s.name("no"))
        fetch(s, "renew in a fetch", 0, of(topic, 0), version=version, is_renew_ack=True)
        fetch(s, "closes at last", -1, version=version)
        fetch(s, "closes again", -1, version=version)


@case("ShareGroupHeartbeat", "ShareFetch", "ShareAcknowledge")
def share_delivery_counts(s: Session) -> None:
    topic = s.known_topic()
    s.produce(topic, b"a", b"b")
    joined(s, topic)
    fetch(s, "delivery 1", 0, of(topic, 0))
    for number in range(2, 7):
        fetch(s, f"delivery {number}", number - 1, of(topic, 0, (0, 1, RELEASE)))


@case("ShareGroupHeartbeat", "ShareFetch")
def share_records_for_two_members(s: Session) -> None:
    topic = s.known_topic()
    for value in (b"a", b"b", b"c", b"d"):
        s.produce(topic, value)
    joined(s, topic)
    joined(s, topic, OTHER)
    fetch(s, "at most 2", 0, of(topic, 0), max_records=2, batch_size=1)
    fetch(s, "the other takes the rest", 0, of(topic, 0), member=OTHER)
    fetch(s, "the first leaves, which releases", -1)
    fetch(s, "the other gets them", 1, member=OTHER)


@case(
    "ShareGroupHeartbeat",
    "DescribeShareGroupOffsets",
    "AlterShareGroupOffsets",
    "DeleteShareGroupOffsets",
)
def share_group_offsets(s: Session) -> None:
    topic = s.known_topic(partitions=2)
    for _ in range(5):
        s.produce(topic, b"a")
    joined(s, topic)
    described = [
        {
            "group_id": s.name(),
            "topics": [
                {"topic_name": topic.name, "partitions": [0, 1, 9]},
                {"topic_name": s.name("no"), "partitions": [0]},
            ],
        }
    ]
    for version in versions("DescribeShareGroupOffsets"):
        s.ask("DescribeShareGroupOffsets", version, "some", groups=described)
        s.ask(
            "DescribeShareGroupOffsets",
            version,
            "unknown group",
            groups=[{"group_id": s.name("no"), "topics": None}, {"group_id": "", "topics": None}],
        )
        s.ask("DescribeShareGroupOffsets", version, "nothing", groups=[])

    def alter(note: str, name: str, partition: int, offset: int, group: str = "") -> None:
        s.ask(
            "AlterShareGroupOffsets",
            0,
            note,
            group_id=group or s.name(),
            topics=[
                {
                    "topic_name": name,
                    "partitions": [{"partition_index": partition, "start_offset": offset}],
                }
            ],
        )

    alter("not empty", topic.name, 0, 2)
    s.ask(
        "DeleteShareGroupOffsets",
        0,
        "not empty",
        group_id=s.name(),
        topics=[{"topic_name": topic.name}],
    )
    s.quietly("ShareGroupHeartbeat", 1, group_id=s.name(), member_id=MEMBER, member_epoch=-1)
    alter("empty", topic.name, 0, 2)
    alter("unknown partition", topic.name, 9, 2)
    alter("unknown topic", s.name("no"), 0, 2)
    alter("unknown group", topic.name, 0, 2, s.name("no"))
    s.ask("DescribeShareGroupOffsets", 1, "altered", groups=described)
    s.ask(
        "DeleteShareGroupOffsets",
        0,
        "unknown topic",
        group_id=s.name(),
        topics=[{"topic_name": s.name("no")}],
    )
    s.ask(
        "DeleteShareGroupOffsets",
        0,
        "empty",
        group_id=s.name(),
        topics=[{"topic_name": topic.name}],
    )
    s.ask(
        "DeleteShareGroupOffsets",
        0,
        "unknown group",
        group_id=s.name("no"),
        topics=[{"topic_name": topic.name}],
    )
    s.ask("DescribeShareGroupOffsets", 1, "deleted", groups=described)
    s.ask("DeleteGroups", 2, "empty", groups_names=[s.name()])
    s.ask("ShareGroupDescribe", 1, "deleted", group_ids=[s.name()])


@case(
    "AlterShareGroupOffsets",
    "DeleteShareGroupOffsets",
    "ShareGroupDescribe",
    "ShareGroupHeartbeat",
    "OffsetCommit",
    "OffsetDelete",
)
def offsets_of_nothing_that_exists(s: Session) -> None:
    """Which verbs make a group although nothing of what they name exists, and what is known of it then."""
    topic = s.known_topic(partitions=2)
    no = Topic(s.name("no"), UNKNOWN_ID)
    partition = {"partition_index": 9, "start_offset": 2}
    both = [{"topic_name": topic.name}, {"topic_name": no.name}]

    def known(note: str, group: str) -> None:
        listed = s.quietly("ListGroups", 5).groups
        found = [[each.group_type, each.group_state] for each in listed if each.group_id == group]
        s.note("ListGroups", 5, note, found)

    for note, group, topics in (
        ("unknown partition", s.name("partition"), [{"topic_name": topic.name, "partitions": [partition]}]),
        ("unknown topic", s.name("topic"), [{"topic_name": no.name, "partitions": [partition]}]),
        ("no partitions", s.name("empty"), [{"topic_name": topic.name, "partitions": []}]),
        ("no topics", s.name("nothing"), []),
    ):  # fmt: skip
        s.ask("AlterShareGroupOffsets", 0, note, group_id=group, topics=topics)
        known(f"{note}, altered", group)
        s.ask("ShareGroupDescribe", 1, note, group_ids=[group])
        s.ask("DescribeGroups", 6, note, groups=[group])
        everything = [{"group_id": group, "topics": None}]
        s.ask("DescribeShareGroupOffsets", 1, note, groups=everything)
        s.ask("DeleteShareGroupOffsets", 0, note, group_id=group, topics=both)
        known(f"{note}, offsets deleted", group)
        s.ask("DeleteGroups", 2, note, groups_names=[group])
        known(f"{note}, deleted", group)
    for note, group, named in (("unknown partition", s.name("p"), topic), ("unknown topic", s.name("t"), no)):  # fmt: skip
        s.ask("OffsetCommit", 9, note, group_id=group, generation_id_or_member_epoch=-1, member_id="", topics=[
            named.partition(9, committed_offset=1)])  # fmt: skip
        known(f"{note}, committed", group)
        s.ask("OffsetDelete", 0, note, group_id=group, topics=[named.partition(9)])
    s.ask("AlterShareGroupOffsets", 0, "before it is read", group_id=s.name(), topics=[
        {"topic_name": topic.name, "partitions": [partition]}])  # fmt: skip
    s.produce(topic, b"a")
    joined(s, topic)
    fetch(s, "it is read as any other", 0, of(topic, 0))


@case("ShareGroupHeartbeat", "DeleteShareGroupOffsets")
def offsets_of_a_group_that_never_had_any(s: Session) -> None:
    topic = s.known_topic()
    beat(s, "reads what does not exist", MEMBER, 0, Topic(s.name("no"), UNKNOWN_ID))
    beat(s, "leaves", MEMBER, -1)
    s.ask("DeleteShareGroupOffsets", 0, "", group_id=s.name(), topics=[
        {"topic_name": topic.name}, {"topic_name": s.name("no")}])  # fmt: skip


@case(
    "InitializeShareGroupState",
    "ReadShareGroupState",
    "WriteShareGroupState",
    "ReadShareGroupStateSummary",
    "DeleteShareGroupState",
)
def share_group_state(s: Session) -> None:
    topic = s.known_topic(partitions=2)
    group = s.name()
    key = f"{group}:{_text(topic.id)}:0"
    s.quietly("FindCoordinator", 6, key_type=2, coordinator_keys=[key])

    def ask(
        api: str,
        note: str,
        version: int = 0,
        topic_id: bytes = topic.id,
        group_id: str = group,
        **partition: Any,
    ) -> None:
        s.ask(
            api,
            version,
            note,
            group_id=group_id,
            topics=[{"topic_id": topic_id, "partitions": [{"partition": 0, **partition}]}],
        )

    ask("ReadShareGroupState", "before", leader_epoch=0)
    ask("InitializeShareGroupState", "", state_epoch=1, start_offset=5)
    ask("InitializeShareGroupState", "older epoch", state_epoch=0, start_offset=5)
    ask("ReadShareGroupState", "then", leader_epoch=0)
    for version in versions("WriteShareGroupState"):
        batches = [
            {
                "first_offset": 5 + version,
                "last_offset": 9,
                "delivery_state": 2,
                "delivery_count": 1 + version,
            }
        ]
        ask(
            "WriteShareGroupState",
            "",
            version,
            state_epoch=1,
            leader_epoch=0,
            start_offset=5,
            state_batches=batches,
            delivery_complete_count=5,
        )
        ask(
            "WriteShareGroupState",
            "older state epoch",
            version,
            state_epoch=0,
            leader_epoch=0,
            start_offset=5,
            state_batches=[],
        )
        ask("ReadShareGroupState", f"after version {version}", leader_epoch=0)
        ask("ReadShareGroupStateSummary", "", version, leader_epoch=0)
    ask("ReadShareGroupState", "newer leader epoch", leader_epoch=3)
    ask("ReadShareGroupState", "older leader epoch", leader_epoch=1)
    ask(
        "WriteShareGroupState",
        "older leader epoch",
        1,
        state_epoch=1,
        leader_epoch=1,
        start_offset=5,
        state_batches=[],
    )
    for api in (
        "InitializeShareGroupState",
        "ReadShareGroupState",
        "WriteShareGroupState",
        "ReadShareGroupStateSummary",
        "DeleteShareGroupState",
    ):
        ask(api, "no group", group_id="")
        ask(api, "unknown topic", topic_id=UNKNOWN_ID)
        s.ask(api, 0, "no topic", group_id=group, topics=[])
    ask("DeleteShareGroupState", "")
    ask("DeleteShareGroupState", "again")
    ask("ReadShareGroupState", "deleted", leader_epoch=0)


def _text(topic_id: bytes) -> str:
    from millstream.model import uuid_text

    return uuid_text(topic_id)
