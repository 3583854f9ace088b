"""The timers of a streams group and its members. Owns how long each runs; what happens when one fires is `departure`."""

from __future__ import annotations

from millstream.coordinator.group.context import GroupTimer, TimerKind, Turn
from millstream.coordinator.group.streams.member import StreamsMember


def restart_session(group_id: str, member_id: str, timeout_ms: int, turn: Turn) -> None:
    """The member is known to be alive now."""
    _start(GroupTimer(TimerKind.SESSION, group_id, member_id), timeout_ms, turn)


def await_revocation(group_id: str, member: StreamsMember, turn: Turn) -> None:
    """It has been told to give tasks back, and has until then to say that it did."""
    timer = GroupTimer(TimerKind.REBALANCE, group_id, member.member_id)
    _start(timer, member.metadata.rebalance_timeout_ms, turn)


def stop_awaiting_revocation(group_id: str, member_id: str, turn: Turn) -> None:
    turn.result.cancel_timer(GroupTimer(TimerKind.REBALANCE, group_id, member_id))


def await_more_members(group_id: str, delay_ms: int, turn: Turn) -> None:
    _start(GroupTimer(TimerKind.INITIAL_REBALANCE, group_id), delay_ms, turn)


def stop_all(group_id: str, member_id: str, turn: Turn) -> None:
    for kind in (TimerKind.SESSION, TimerKind.REBALANCE):
        turn.result.cancel_timer(GroupTimer(kind, group_id, member_id))


def _start(timer: GroupTimer, delay_ms: int, turn: Turn) -> None:
    turn.result.start_timer(timer, turn.now.monotonic_ms + delay_ms)
