"""The timers of the members of a consumer group. Owns how long each runs; what happens when one fires is `expiry`."""

from __future__ import annotations

from millstream.coordinator.group.consumer.group import ConsumerGroup
from millstream.coordinator.group.consumer.member import ConsumerMember
from millstream.coordinator.group.context import GroupTimer, OperationContext, TimerKind


def heartbeat_interval_ms(group_id: str, context: OperationContext) -> int:
    limits = context.config.consumer.heartbeat_interval_ms
    return limits.of_group(context.image, group_id, "consumer.heartbeat.interval.ms")


def restart_session(group_id: str, member: ConsumerMember, context: OperationContext) -> None:
    """The member is known to be alive now. A classic member has said itself how long it may be silent."""
    limits = context.config.consumer.session_timeout_ms
    timeout_ms = (
        limits.of_group(context.image, group_id, "consumer.session.timeout.ms")
        if member.classic is None
        else member.classic.session_timeout_ms
    )
    _start(TimerKind.SESSION, group_id, member, timeout_ms, context)


def await_revocation(group_id: str, member: ConsumerMember, context: OperationContext) -> None:
    """It has been told to revoke partitions. Each step that it takes on the way gives it the whole time again."""
    _start(TimerKind.REBALANCE, group_id, member, member.rebalance_timeout_ms, context)


def stop_awaiting_revocation(
    group_id: str, member: ConsumerMember, context: OperationContext
) -> None:
    context.result.cancel_timer(GroupTimer(TimerKind.REBALANCE, group_id, member.member_id))


def await_join(group_id: str, member: ConsumerMember, context: OperationContext) -> None:
    """A classic member has been told to rejoin; being told again gives it no more time."""
    timer = GroupTimer(TimerKind.JOIN, group_id, member.member_id)
    deadline_ms = context.now.monotonic_ms + member.rebalance_timeout_ms
    context.result.start_timer(timer, deadline_ms, unless_running=True)


def await_sync(group_id: str, member: ConsumerMember, context: OperationContext) -> None:
    """A classic member has joined: now it is to fetch its assignment."""
    context.result.cancel_timer(GroupTimer(TimerKind.JOIN, group_id, member.member_id))
    _start(TimerKind.SYNC, group_id, member, member.rebalance_timeout_ms, context)


def stop_awaiting_sync(group_id: str, member: ConsumerMember, context: OperationContext) -> None:
    context.result.cancel_timer(GroupTimer(TimerKind.SYNC, group_id, member.member_id))


def stop_all(group: ConsumerGroup, member: ConsumerMember, context: OperationContext) -> None:
    for kind in (TimerKind.SESSION, TimerKind.REBALANCE, TimerKind.JOIN, TimerKind.SYNC):
        context.result.cancel_timer(GroupTimer(kind, group.group_id, member.member_id))


def _start(
    kind: TimerKind,
    group_id: str,
    member: ConsumerMember,
    timeout_ms: int,
    context: OperationContext,
) -> None:
    timer = GroupTimer(kind, group_id, member.member_id)
    context.result.start_timer(timer, context.now.monotonic_ms + timeout_ms)
