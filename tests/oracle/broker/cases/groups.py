"""Classic groups: coordinators, membership, rebalances, static members, and what describes and deletes them."""

from __future__ import annotations

from typing import Any

from tests.oracle.broker.runner import case
from tests.oracle.broker.session import Session, versions

PROTOCOLS = [{"name": "range", "metadata": b"meta"}]


def join(s: Session, version: int, note: str, member: str = "", **options: Any) -> Any:
    settings = {
        "group_id": s.name(),
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 10_000,
        "protocol_type": "consumer",
        "protocols": PROTOCOLS,
    }
    return s.ask("JoinGroup", version, note, member_id=member, **(settings | options))


def sync(
    s: Session,
    version: int,
    note: str,
    member: str,
    generation: int,
    *assigned: str,
    **options: Any,
) -> Any:
    settings = {"group_id": s.name(), "protocol_type": "consumer", "protocol_name": "range"}
    assignments = [
        {"member_id": m, "assignment": f"to {number}".encode()} for number, m in enumerate(assigned)
    ]
    return s.ask(
        "SyncGroup",
        version,
        note,
        member_id=member,
        generation_id=generation,
        assignments=assignments,
        **(settings | options),
    )


def heartbeat(
    s: Session, version: int, note: str, member: str, generation: int, **options: Any
) -> Any:
    return s.ask(
        "Heartbeat",
        version,
        note,
        member_id=member,
        generation_id=generation,
        **({"group_id": s.name()} | options),
    )


def leave(s: Session, version: int, note: str, *members: str, **options: Any) -> Any:
    given = {
        "group_id": s.name(),
        "member_id": members[0] if members else "",
        "members": [{"member_id": m} for m in members],
    }
    return s.ask("LeaveGroup", version, note, **(given | options))


def describe(s: Session, note: str, version: int = 6, group: str = "") -> Any:
    return s.ask("DescribeGroups", version, note, groups=[group or s.name()])


def stable(s: Session, version: int = 9, **options: Any) -> Any:
    """A group of one member, with its assignment; the answer to its join."""
    member = s.quietly("JoinGroup", version, again=frozenset({14, 15, 16}), group_id=s.name(), session_timeout_ms=10_000, rebalance_timeout_ms=10_000,
                       protocol_type="consumer", protocols=PROTOCOLS, **options).member_id  # fmt: skip
    joined = join(s, version, "joins", member, **options)
    sync(s, 5, "leads", joined.member_id, joined.generation_id, joined.member_id, **options)
    return joined


@case("FindCoordinator")
def find_coordinator(s: Session) -> None:
    for version in versions("FindCoordinator"):
        for kind, note in (
            (0, "group"),
            (1, "transaction"),
            (2, "share"),
            (3, "type 3"),
            (-1, "type -1"),
        ):
            for key in ("some", "", "AAAAAAAAAAAAAAAAAAAAAA:0", "g:AAAAAAAAAAAAAAAAAAAAAg:0"):
                s.ask(
                    "FindCoordinator",
                    version,
                    f"{note} {key!r}",
                    key=key,
                    key_type=kind,
                    coordinator_keys=[key],
                )
        s.ask("FindCoordinator", version, "several", key="x", coordinator_keys=["x", "y", "x"])
    for version in (4, 6):
        s.ask("FindCoordinator", version, "nothing", coordinator_keys=[])


@case("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup")
def one_member_in_every_version(s: Session) -> None:
    for version in versions("JoinGroup"):
        group = s.name(f"g{version}")
        first = join(s, version, "first", group_id=group)
        joined = first
        if first.error_code == 79:
            joined = join(s, version, "with its id", first.member_id, group_id=group)
        identity = (joined.member_id, joined.generation_id)
        sync(s, min(version, 5), "", *identity, joined.member_id, group_id=group)
        sync(s, min(version, 5), "again", *identity, group_id=group)
        heartbeat(s, min(version, 4), "", *identity, group_id=group)
        join(s, version, "again", joined.member_id, group_id=group)
        heartbeat(s, min(version, 4), "in the rebalance", *identity, group_id=group)
        leave(s, min(version, 5), "", joined.member_id, group_id=group)
        heartbeat(s, min(version, 4), "after it left", *identity, group_id=group)


@case("JoinGroup")
def join_errors(s: Session) -> None:
    for version in (0, 2, 4, 5, 7, 9):
        join(s, version, "no group id", group_id="")
        join(s, version, "unknown member", "unknown", group_id=s.name("new"))
        for timeout in (0, 99, 1_800_001, -1):
            join(
                s,
                version,
                f"session of {timeout} ms",
                session_timeout_ms=timeout,
                group_id=s.name("new"),
            )
        join(s, version, "no protocols", protocols=[], group_id=s.name("new"))
        join(s, version, "no protocol type", protocol_type="", group_id=s.name("new"))
        if version >= 5:
            join(s, version, "empty instance id", group_instance_id="", group_id=s.name("new"))
            join(
                s,
                version,
                "static with an unknown member id",
                "unknown",
                group_instance_id="i",
                group_id=s.name("new"),
            )


@case("JoinGroup", "SyncGroup")
def join_with_other_protocols(s: Session) -> None:
    stable(s)
    for version in (0, 3, 4, 9):
        join(s, version, "other name", protocols=[{"name": "other", "metadata": b""}])
        join(s, version, "other type", protocol_type="connect")
        join(s, version, "no protocols", protocols=[])


@case("SyncGroup")
def sync_errors(s: Session) -> None:
    joined = stable(s)
    for version in versions("SyncGroup"):
        sync(s, version, "unknown group", "unknown", 1, group_id=s.name("no"))
        sync(s, version, "unknown member", "unknown", 1)
        sync(s, version, "older generation", joined.member_id, joined.generation_id - 1)
        sync(s, version, "newer generation", joined.member_id, joined.generation_id + 1)
        sync(s, version, "no group id", joined.member_id, 1, group_id="")
        if version >= 3:
            sync(
                s,
                version,
                "unknown instance",
                joined.member_id,
                joined.generation_id,
                group_instance_id="no",
            )
        if version >= 5:
            sync(
                s,
                version,
                "other protocol",
                joined.member_id,
                joined.generation_id,
                protocol_name="other",
            )
            sync(
                s,
                version,
                "other type",
                joined.member_id,
                joined.generation_id,
                protocol_type="connect",
            )
            sync(
                s,
                version,
                "no protocol",
                joined.member_id,
                joined.generation_id,
                protocol_name=None,
                protocol_type=None,
            )
        sync(s, version, "good", joined.member_id, joined.generation_id)


@case("Heartbeat")
def heartbeat_errors(s: Session) -> None:
    joined = stable(s)
    for version in versions("Heartbeat"):
        heartbeat(s, version, "unknown group", "unknown", 1, group_id=s.name("no"))
        heartbeat(s, version, "unknown member", "unknown", joined.generation_id)
        heartbeat(s, version, "older generation", joined.member_id, joined.generation_id - 1)
        heartbeat(s, version, "newer generation", joined.member_id, joined.generation_id + 1)
        heartbeat(s, version, "generation -1", joined.member_id, -1)
        heartbeat(s, version, "no group id", joined.member_id, 1, group_id="")
        if version >= 3:
            heartbeat(
                s,
                version,
                "unknown instance",
                joined.member_id,
                joined.generation_id,
                group_instance_id="no",
            )
        heartbeat(s, version, "good", joined.member_id, joined.generation_id)


@case("LeaveGroup")
def leave_errors(s: Session) -> None:
    joined = stable(s)
    for version in versions("LeaveGroup"):
        leave(s, version, "unknown group", "unknown", group_id=s.name("no"))
        leave(s, version, "unknown member", "unknown")
        leave(s, version, "no group id", "unknown", group_id="")
        leave(s, version, "nobody")
        if version >= 3:
            leave(
                s,
                version,
                "unknown instance",
                members=[{"member_id": "", "group_instance_id": "no"}],
            )
            leave(
                s,
                version,
                "unknown instance with a member id",
                members=[{"member_id": joined.member_id, "group_instance_id": "no"}],
            )
            leave(s, version, "two unknown", "unknown", "unknown2")
    leave(s, 5, "good and unknown", joined.member_id, "unknown")
    describe(s, "then")


@case("JoinGroup", "SyncGroup", "DescribeGroups")
def two_members(s: Session) -> None:
    leader = stable(s)
    describe(s, "one member")
    first = s.quietly("JoinGroup", 9, again=frozenset(), connection="b", group_id=s.name(), session_timeout_ms=10_000, rebalance_timeout_ms=10_000,
                      protocol_type="consumer", protocols=PROTOCOLS)  # fmt: skip
    options: dict[str, Any] = {
        "group_id": s.name(),
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 10_000,
        "protocol_type": "consumer",
        "protocols": PROTOCOLS,
    }
    s.send("JoinGroup", 9, connection="b", member_id=first.member_id, **options)
    s.until(
        lambda: (
            s.quietly(
                "Heartbeat",
                4,
                group_id=s.name(),
                member_id=leader.member_id,
                generation_id=leader.generation_id,
            ).error_code
            == 27
        ),
        "rebalance",
    )
    describe(s, "preparing")
    sync(s, 5, "while preparing", leader.member_id, leader.generation_id)
    again = join(s, 9, "leader joins again", leader.member_id)
    follower = s.receive("JoinGroup", 9, "follower", connection="b")
    describe(s, "completing")
    heartbeat(s, 4, "while completing", leader.member_id, again.generation_id)
    s.send(
        "SyncGroup",
        5,
        connection="b",
        group_id=s.name(),
        member_id=follower.member_id,
        generation_id=follower.generation_id,
        protocol_type="consumer",
        protocol_name="range",
    )
    sync(
        s, 5, "leader", leader.member_id, again.generation_id, leader.member_id, follower.member_id
    )
    s.receive("SyncGroup", 5, "follower", connection="b")
    describe(s, "stable")
    heartbeat(s, 4, "older generation", leader.member_id, leader.generation_id)
    leave(s, 5, "follower", follower.member_id)
    heartbeat(s, 4, "after the follower left", leader.member_id, again.generation_id)
    leave(s, 5, "leader", leader.member_id)
    describe(s, "empty")


@case("JoinGroup", "SyncGroup", "LeaveGroup")
def static_members(s: Session) -> None:
    joined = join(s, 9, "first", group_instance_id="inst")
    sync(
        s,
        5,
        "first",
        joined.member_id,
        joined.generation_id,
        joined.member_id,
        group_instance_id="inst",
    )
    describe(s, "stable")
    again = join(s, 9, "a new incarnation", group_instance_id="inst")
    heartbeat(
        s,
        4,
        "the old incarnation",
        joined.member_id,
        joined.generation_id,
        group_instance_id="inst",
    )
    heartbeat(s, 4, "the old one without an instance id", joined.member_id, joined.generation_id)
    sync(
        s,
        5,
        "the old incarnation",
        joined.member_id,
        joined.generation_id,
        group_instance_id="inst",
    )
    join(s, 9, "the old incarnation", joined.member_id, group_instance_id="inst")
    sync(
        s, 5, "the new incarnation", again.member_id, again.generation_id, group_instance_id="inst"
    )
    heartbeat(
        s, 4, "the new incarnation", again.member_id, again.generation_id, group_instance_id="inst"
    )
    s.ask("OffsetCommit", 9, "by the old incarnation", group_id=s.name(), generation_id_or_member_epoch=joined.generation_id, member_id=joined.member_id, group_instance_id="inst",
          topics=[{"name": "x", "partitions": [{"partition_index": 0, "committed_offset": 1}]}])  # fmt: skip
    join(
        s,
        9,
        "with other metadata",
        group_instance_id="inst",
        protocols=[{"name": "range", "metadata": b"new"}],
    )
    leave(
        s,
        5,
        "the old incarnation",
        members=[{"member_id": joined.member_id, "group_instance_id": "inst"}],
    )
    leave(
        s,
        5,
        "by instance id alone",
        members=[{"member_id": "", "group_instance_id": "inst", "reason": "done"}],
    )
    describe(s, "empty")


@case("JoinGroup", "SyncGroup")
def session_times_out(s: Session) -> None:
    first = s.quietly(
        "JoinGroup",
        9,
        group_id=s.name(),
        session_timeout_ms=300,
        rebalance_timeout_ms=300,
        protocol_type="consumer",
        protocols=PROTOCOLS,
    )
    joined = join(s, 9, "joins", first.member_id, session_timeout_ms=300, rebalance_timeout_ms=300)
    sync(s, 5, "leads", joined.member_id, joined.generation_id, joined.member_id)
    s.until(
        lambda: s.quietly("DescribeGroups", 6, groups=[s.name()]).groups[0].group_state == "Empty",
        "expired",
    )
    heartbeat(s, 4, "after its session", joined.member_id, joined.generation_id)
    describe(s, "then")


def commit_without_group(s: Session) -> None:
    """What makes the group "" exist, whichever case ran before."""
    topic = s.topic()
    s.quietly("OffsetCommit", 7, group_id="", generation_id_or_member_epoch=-1,
              topics=[{"name": topic.name, "partitions": [{"partition_index": 0, "committed_offset": 1}]}])  # fmt: skip


@case("DescribeGroups", "ListGroups")
def describe_and_list_groups(s: Session) -> None:
    commit_without_group(s)
    for version in versions("DescribeGroups"):
        s.ask("DescribeGroups", version, "unknown and none", groups=[s.name("no"), ""])
        s.ask("DescribeGroups", version, "nothing", groups=[])
    joined = stable(s)
    for version in versions("DescribeGroups"):
        s.ask(
            "DescribeGroups",
            version,
            "stable",
            groups=[s.name()],
            include_authorized_operations=False,
        )
        s.ask(
            "DescribeGroups",
            version,
            "with operations",
            groups=[s.name()],
            include_authorized_operations=version >= 3,
        )
        s.ask("DescribeGroups", version, "twice", groups=[s.name(), s.name()])
    for version in versions("ListGroups"):
        for note, options in (
            ("", {}), ("stable", {"states_filter": ["Stable"]}), ("stable in small letters", {"states_filter": ["stable"]}), ("empty", {"states_filter": ["Empty"]}),
            ("unknown state", {"states_filter": ["Odd"]}), ("classic", {"types_filter": ["classic"]}), ("consumer", {"types_filter": ["consumer"]}), ("unknown type", {"types_filter": ["odd"]}),
        ):  # fmt: skip
            if ("states_filter" in options and version < 4) or (
                "types_filter" in options and version < 5
            ):
                continue
            answer = s.quietly("ListGroups", version, **options)
            own = [
                [g.group_id, g.protocol_type, g.group_state, g.group_type]
                for g in answer.groups
                if g.group_id == s.name()
            ]
            s.note("ListGroups", version, note, {"errorCode": answer.error_code, "groups": own})
    leave(s, 5, "leaves", joined.member_id)
    s.ask("DescribeGroups", 6, "empty", groups=[s.name()])


@case("DeleteGroups")
def delete_groups(s: Session) -> None:
    commit_without_group(s)
    joined = stable(s)
    for version in versions("DeleteGroups"):
        s.ask("DeleteGroups", version, "not empty", groups_names=[s.name()])
        s.ask("DeleteGroups", version, "unknown and none", groups_names=[s.name("no"), ""])
        s.ask("DeleteGroups", version, "nothing", groups_names=[])
    leave(s, 5, "leaves", joined.member_id)
    s.ask("DeleteGroups", 2, "twice", groups_names=[s.name(), s.name()])
    s.ask("DeleteGroups", 2, "again", groups_names=[s.name()])
    describe(s, "deleted")
