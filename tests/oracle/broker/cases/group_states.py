"""Whatever a member of a classic group asks for, in every state of its group and as whoever it may be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.oracle.broker.runner import case
from tests.oracle.broker.session import Session, codes_of

_REBALANCE_TIMEOUT_MS = 100
"""Who waits for a member that does not come back waits so long."""
_OTHER = [{"name": "range", "metadata": b"other"}]
_OPTIONS = {
    "session_timeout_ms": 10_000,
    "rebalance_timeout_ms": _REBALANCE_TIMEOUT_MS,
    "protocol_type": "consumer",
}
_AGAIN = frozenset({14, 15, 16})


@dataclass(frozen=True)
class _Member:
    """The first member of a group, and the generation that it knows of."""

    group: str
    id: str = "nobody"
    generation: int = 0


_Lead = Callable[[Session, str], _Member]
_Ask = Callable[[Session, _Member], Any]


def _join(s: Session, group: str, member: str = "", connection: str = "a", **said: Any) -> Any:
    options = _OPTIONS | {"protocols": [{"name": "range", "metadata": b"meta"}]} | said
    return s.quietly(
        "JoinGroup", 9, again=_AGAIN, connection=connection, group_id=group, member_id=member, **options
    )  # fmt: skip


def _sync(s: Session, member: _Member, **said: Any) -> Any:
    given: dict[str, Any] = {
        "member_id": member.id,
        "generation_id": member.generation,
        "protocol_type": "consumer",
        "protocol_name": "range",
        "assignments": [{"member_id": member.id, "assignment": b"all"}],
    }
    return s.quietly("SyncGroup", 5, again=_AGAIN, group_id=member.group, **(given | said))


def _dead(s: Session, group: str) -> _Member:
    del s
    return _Member(group)


def _completing(s: Session, group: str, **said: Any) -> _Member:
    """It has joined; what it is assigned is missing."""
    member = "" if "group_instance_id" in said else _join(s, group).member_id
    joined = _join(s, group, member, **said)
    return _Member(group, joined.member_id, joined.generation_id)


def _stable(s: Session, group: str, **said: Any) -> _Member:
    member = _completing(s, group, **said)
    _sync(s, member, **said)
    return member


def _static(s: Session, group: str) -> _Member:
    return _stable(s, group, group_instance_id="i")


def _empty(s: Session, group: str) -> _Member:
    member = _stable(s, group)
    _leave({"member_id": member.id})(s, member)
    return member


def _promised(s: Session, group: str) -> _Member:
    """It has an id, and has not joined with it yet."""
    return _Member(group, _join(s, group).member_id)


def _preparing(s: Session, group: str) -> _Member:
    """Another member waits for the first one to join again."""
    member = _stable(s, group)
    second = _join(s, group, connection="b").member_id
    s.send("JoinGroup", 9, connection=f"waits in {group}", group_id=group, member_id=second,
           protocols=[{"name": "range", "metadata": b"meta"}], **(_OPTIONS | {"rebalance_timeout_ms": 5_000}))  # fmt: skip
    s.until(lambda: _state(s, group)[0] == "PreparingRebalance", "a rebalance")
    return member


_LEADS: Mapping[str, _Lead] = {
    "dead": _dead,
    "empty": _empty,
    "promised": _promised,
    "preparing": _preparing,
    "completing": _completing,
    "stable": _stable,
    "stable, static": _static,
}


def _joins(**said: Any) -> _Ask:
    """`member`: its id, where it is not the first member's."""
    options = dict(said)
    member_id = options.pop("member", None)
    return lambda s, member: _join(
        s, member.group, member.id if member_id is None else member_id, **options
    )


def _syncs(generation: int = 0, **said: Any) -> _Ask:
    return lambda s, member: _sync(
        s, member, **({"generation_id": member.generation + generation} | said)
    )


def _beats(generation: int = 0, **said: Any) -> _Ask:
    return lambda s, member: s.quietly(
        "Heartbeat", 4, again=_AGAIN, group_id=member.group,
        **({"member_id": member.id, "generation_id": member.generation + generation} | said),
    )  # fmt: skip


def _leave(*identities: dict[str, Any]) -> _Ask:
    """Nothing said: as the first member."""
    return lambda s, member: s.quietly(
        "LeaveGroup", 5, again=_AGAIN, group_id=member.group,
        members=[{"member_id": member.id} | identity for identity in identities],
    )  # fmt: skip


_ASKED: Mapping[str, _Ask] = {
    "joins again": _joins(),
    "joins again, changed": _joins(protocols=_OTHER),
    "joins, unknown": _joins(member="made up"),
    "joins, static": _joins(member="", group_instance_id="i"),
    "joins, static with its id": _joins(group_instance_id="i"),
    "joins, static with an unknown id": _joins(member="made up", group_instance_id="i"),
    "joins, another static": _joins(member="", group_instance_id="j"),
    "joins, nothing in common": _joins(protocols=[{"name": "own", "metadata": b""}]),
    "joins, more to choose from": _joins(
        protocols=[{"name": "own", "metadata": b""}, {"name": "range", "metadata": b"meta"}]
    ),
    "joins, another type": _joins(protocol_type="connect"),
    "joins, no protocols": _joins(protocols=[]),
    "syncs": _syncs(),
    "syncs, with nothing": _syncs(assignments=[]),
    "syncs, older generation": _syncs(-1),
    "syncs, newer generation": _syncs(1),
    "syncs, unknown": _syncs(member_id="made up"),
    "syncs, another protocol": _syncs(protocol_name="other"),
    "syncs, another type": _syncs(protocol_type="connect"),
    "syncs, no protocol": _syncs(protocol_type=None, protocol_name=None),
    "syncs, static": _syncs(group_instance_id="i"),
    "syncs, static unknown": _syncs(member_id="made up", group_instance_id="i"),
    "heartbeat": _beats(),
    "heartbeat, older generation": _beats(-1),
    "heartbeat, newer generation": _beats(1),
    "heartbeat, unknown": _beats(member_id="made up"),
    "heartbeat, static": _beats(group_instance_id="i"),
    "heartbeat, static unknown": _beats(member_id="made up", group_instance_id="i"),
    "leaves": _leave({}),
    "leaves, unknown": _leave({"member_id": "made up"}),
    "leaves, static": _leave({"group_instance_id": "i"}),
    "leaves, static without an id": _leave({"member_id": "", "group_instance_id": "i"}),
    "leaves, twice": _leave({}, {}),
}

_WAITS_FOR_THE_FIRST = {"joins, static", "joins, another static"}


@case("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup")
def everything_in_every_state_of_a_group(s: Session) -> None:
    for state, lead in _LEADS.items():
        for number, (asked, ask) in enumerate(_ASKED.items()):
            if state == "preparing" and asked in _WAITS_FOR_THE_FIRST:
                continue  # until its time is up; who leads then is as good as random in Kafka
            group = s.name(f"{state}-{number}")
            member = lead(s, group)
            answer = ask(s, member)
            told = {"errorCodes": sorted(codes_of(answer)), "state": _state(s, group)}
            if hasattr(answer, "generation_id"):
                told |= {
                    "generation": answer.generation_id - member.generation,
                    "leads": answer.leader == answer.member_id,
                    "members": len(answer.members),
                    "protocol": answer.protocol_name,
                }
            if hasattr(answer, "assignment"):
                told["assignment"] = bytes(answer.assignment).decode()
            s.steps.append((f"{state}: {asked}", told))


def _state(s: Session, group: str) -> list[Any]:
    """With the number of members."""
    described = s.quietly("DescribeGroups", 5, groups=[group]).groups[0]
    return [described.group_state, len(described.members)]
