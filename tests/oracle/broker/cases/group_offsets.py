"""OffsetCommit, OffsetFetch, OffsetDelete."""

from __future__ import annotations

from typing import Any

from tests.oracle.broker.cases.groups import heartbeat, join, leave, stable
from tests.oracle.broker.runner import case
from tests.oracle.broker.session import Session, Topic, versions

UNKNOWN_ID = bytes(15) + b"\x09"


def commit(
    s: Session, version: int, note: str, topic: Topic, offset: int, *indexes: int, **options: Any
) -> None:
    given: dict[str, Any] = {
        "group_id": s.name(),
        "generation_id_or_member_epoch": -1,
        "member_id": "",
    }
    partition = {
        "committed_offset": offset,
        "committed_metadata": options.pop("metadata", "m"),
        "committed_leader_epoch": options.pop("epoch", -1),
    }
    s.ask("OffsetCommit", version, note, topics=[
        {"name": topic.name, "topic_id": topic.id, "partitions": [{"partition_index": i, **partition} for i in indexes or (0,)]}], **(given | options))  # fmt: skip


def fetch(
    s: Session,
    version: int,
    note: str,
    topics: list[tuple[Topic, list[int]]] | None,
    group: str = "",
    **options: Any,
) -> None:
    member = {key: options.pop(key) for key in ("member_id", "member_epoch") if key in options}
    asked = (
        None
        if topics is None
        else [{"name": t.name, "topic_id": t.id, "partition_indexes": i} for t, i in topics]
    )
    s.ask("OffsetFetch", version, note, group_id=group or s.name(), topics=asked or ([] if version < 2 else asked),
          groups=[{"group_id": group or s.name(), "topics": asked, **member}], **options)  # fmt: skip


@case("OffsetCommit", "OffsetFetch")
def commit_and_fetch_in_every_version(s: Session) -> None:
    topic = s.topic(partitions=3)
    s.quietly("OffsetCommit", 8, group_id=s.name(), generation_id_or_member_epoch=-1, member_id="",
              topics=[{"name": topic.name, "partitions": [{"partition_index": 2, "committed_offset": 99}]}])  # fmt: skip
    for version in versions("OffsetCommit"):
        commit(s, version, "", topic, 10 + version, epoch=0)
        commit(s, version, "unknown partition", topic, 5, 7)
        commit(s, version, "good and unknown partition", topic, 5, 0, 7)
        commit(s, version, "unknown topic", Topic(s.name("no"), UNKNOWN_ID), 5)
        commit(s, version, "offset -1", topic, -1, 1)
        commit(s, version, "metadata of 4096", topic, 5, 1, metadata="x" * 4096)
        commit(s, version, "metadata of 4097", topic, 5, 1, metadata="x" * 4097)
        commit(s, version, "no metadata", topic, 5, 1, metadata=None)
        commit(s, version, "no group", topic, 5, group_id="")
        s.ask(
            "OffsetCommit",
            version,
            "nothing",
            group_id=s.name(),
            generation_id_or_member_epoch=-1,
            topics=[],
        )
    for version in versions("OffsetFetch"):
        fetch(s, version, "one", [(topic, [0])])
        fetch(
            s,
            version,
            "unknown and uncommitted",
            [(topic, [0, 1, 9]), (Topic(s.name("no"), UNKNOWN_ID), [0])],
        )
        if version >= 2:
            fetch(s, version, "all", None)
        fetch(s, version, "unknown group", [(topic, [0])], s.name("nogroup"))
        fetch(s, version, "no group", [(topic, [0])], "x" if version < 0 else s.name("x"))
        fetch(s, version, "no topics", [])
        if version >= 7:
            fetch(s, version, "stable", [(topic, [0])], require_stable=True)


@case("OffsetFetch")
def fetch_of_several_groups(s: Session) -> None:
    topic = s.topic()
    commit(s, 9, "", topic, 3)
    for version in (8, 9, 10):
        asked = [{"name": topic.name, "topic_id": topic.id, "partition_indexes": [0]}]
        s.ask(
            "OffsetFetch",
            version,
            "two",
            groups=[
                {"group_id": s.name(), "topics": asked},
                {"group_id": s.name("b"), "topics": asked},
            ],
        )
        s.ask(
            "OffsetFetch",
            version,
            "one twice",
            groups=[
                {"group_id": s.name(), "topics": asked},
                {"group_id": s.name(), "topics": None},
            ],
        )
        s.ask("OffsetFetch", version, "none", groups=[])
        s.ask(
            "OffsetFetch", version, "with an empty id", groups=[{"group_id": "", "topics": asked}]
        )
    for version in (9, 10):
        fetch(
            s, version, "by an unknown member", [(topic, [0])], member_id="unknown", member_epoch=1
        )
        fetch(
            s,
            version,
            "by a member without epoch",
            [(topic, [0])],
            member_id="unknown",
            member_epoch=-1,
        )


@case("OffsetCommit", "JoinGroup")
def commit_by_members(s: Session) -> None:
    topic = s.topic()
    for version in (2, 5, 7, 8, 9, 10):
        commit(
            s,
            version,
            "unknown group with a generation",
            topic,
            1,
            group_id=s.name("no"),
            generation_id_or_member_epoch=1,
            member_id="unknown",
        )
        commit(
            s,
            version,
            "unknown group with a member",
            topic,
            1,
            group_id=s.name("no"),
            member_id="unknown",
        )
    joined = stable(s)
    for version in (2, 5, 7, 8, 9, 10):
        identity = {
            "generation_id_or_member_epoch": joined.generation_id,
            "member_id": joined.member_id,
        }
        commit(s, version, "good", topic, 1, **identity)
        commit(
            s,
            version,
            "older generation",
            topic,
            1,
            **identity | {"generation_id_or_member_epoch": joined.generation_id - 1},
        )
        commit(
            s,
            version,
            "newer generation",
            topic,
            1,
            **identity | {"generation_id_or_member_epoch": joined.generation_id + 1},
        )
        commit(s, version, "unknown member", topic, 1, **identity | {"member_id": "unknown"})
        commit(s, version, "no member", topic, 1, **identity | {"member_id": ""})
        commit(s, version, "from outside", topic, 1)
        if version >= 7:
            commit(s, version, "unknown instance", topic, 1, **identity, group_instance_id="no")
    other = s.quietly("JoinGroup", 9, connection="b", group_id=s.name(), session_timeout_ms=10_000, rebalance_timeout_ms=10_000, protocol_type="consumer",
                      protocols=[{"name": "range", "metadata": b""}])  # fmt: skip
    s.send("JoinGroup", 9, connection="b", group_id=s.name(), member_id=other.member_id, session_timeout_ms=10_000, rebalance_timeout_ms=10_000, protocol_type="consumer",
           protocols=[{"name": "range", "metadata": b""}])  # fmt: skip
    s.until(
        lambda: (
            s.quietly(
                "Heartbeat",
                4,
                group_id=s.name(),
                member_id=joined.member_id,
                generation_id=joined.generation_id,
            ).error_code
            == 27
        ),
        "rebalance",
    )
    commit(s, 9, "while preparing", topic, 2, **identity)
    again = join(s, 9, "leader joins again", joined.member_id)
    commit(
        s,
        9,
        "while completing",
        topic,
        3,
        **identity | {"generation_id_or_member_epoch": again.generation_id},
    )
    heartbeat(s, 4, "while completing", joined.member_id, again.generation_id)
    leave(s, 5, "both", joined.member_id, other.member_id)
    commit(s, 9, "after it left", topic, 4, **identity)
    commit(s, 9, "from outside, when empty", topic, 5)


@case("OffsetDelete")
def offset_delete(s: Session) -> None:
    topic = s.topic(partitions=2)

    def delete(note: str, name: str, *indexes: int, group: str = "") -> None:
        s.ask(
            "OffsetDelete",
            0,
            note,
            group_id=group or s.name(),
            topics=[{"name": name, "partitions": [{"partition_index": i} for i in indexes]}],
        )

    delete("unknown group", topic.name, 0)
    joined = stable(s)
    commit(
        s,
        9,
        "",
        topic,
        3,
        0,
        1,
        generation_id_or_member_epoch=joined.generation_id,
        member_id=joined.member_id,
    )
    delete("subscribed by who knows", topic.name, 0)
    delete("unknown topic", s.name("no"), 0)
    leave(s, 5, "leaves", joined.member_id)
    delete("one, and one unknown", topic.name, 0, 9)
    fetch(s, 9, "then", [(topic, [0, 1])])
    delete("again", topic.name, 0)
    s.ask("OffsetDelete", 0, "nothing", group_id=s.name(), topics=[])
    s.ask("OffsetDelete", 0, "no group", group_id="", topics=[])


@case("OffsetCommit", "OffsetFetch", "DeleteTopics")
def offsets_of_a_deleted_topic(s: Session) -> None:
    topic = s.topic()
    commit(s, 9, "", topic, 3)
    commit(s, 10, "by id", topic, 4)
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
    s.until(
        lambda: (
            not s.quietly("OffsetFetch", 9, groups=[{"group_id": s.name(), "topics": None}])
            .groups[0]
            .topics
        ),
        "forgotten",
    )
    fetch(s, 9, "by name", [(topic, [0])])
    fetch(s, 10, "by id", [(topic, [0])])
    commit(s, 10, "by the old id", topic, 5)
