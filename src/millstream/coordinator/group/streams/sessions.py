"""The timers of a streams group and its members. Owns how long each runs; what happens when one fires is `departure`."""

from __future__ import annotations

from millstream.coordinator.group.context import GroupTimer, OperationContext, TimerKind
from millstream.coordinator.group.streams.member import StreamsMember


def restart_session(
    group_id: str, member_id: str, timeout_ms: int, context: OperationContext
) -> None:
    """The member is known to be alive now."""
    _start(GroupTimer(TimerKind.SESSION, group_id, member_id), timeout_ms, context)


def await_revocation(group_id: str, member: StreamsMember, context: OperationContext) -> None:
    """It has been told to give tasks back, and has until then to say that it did."""
    timer = GroupTimer(TimerKind.REBALANCE, group_id, member.member_id)
    _start(timer, member.metadata.rebalance_timeout_ms, context)


def stop_awaiting_revocation(group_id: str, member_id: str, context: OperationContext) -> None:
    context.result.cancel_timer(GroupTimer(TimerKind.REBALANCE, group_id, member_id))


def await_more_members(group_id: str, delay_ms: int, context: OperationContext) -> None:
    _start(GroupTimer(TimerKind.INITIAL_REBALANCE, group_id), delay_ms, context)


def stop_all(group_id: str, member_id: str, context: OperationContext) -> None:
    for kind in (TimerKind.SESSION, TimerKind.REBALANCE):
        context.result.cancel_timer(GroupTimer(kind, group_id, member_id))


def _start(timer: GroupTimer, delay_ms: int, context: OperationContext) -> None:
    context.result.start_timer(timer, context.now.monotonic_ms + delay_ms)
