"""The streams groups of one shard, as the shard asks for them: heartbeats, timers, loading."""

from __future__ import annotations

from millstream.coordinator.group.context import GroupTimer, OperationContext, TimerKind
from millstream.coordinator.group.groups import Groups
from millstream.coordinator.group.streams.beat import Beat
from millstream.coordinator.group.streams.config import (
    NUM_STANDBY_REPLICAS,
    StreamsGroupConfig,
    StreamsGroupSettings,
)
from millstream.coordinator.group.streams.group import StreamsGroup
from millstream.coordinator.group.streams.heartbeat import StreamsHeartbeat, handle_heartbeat
from millstream.coordinator.group.streams.member import JOIN_EPOCH, MemberState
from millstream.coordinator.group.streams.removal import (
    expire_rebalance,
    expire_session,
    handle_leave,
)
from millstream.coordinator.group.streams.request_check import owned_tasks
from millstream.coordinator.group.streams.sessions import await_revocation, restart_session
from millstream.coordinator.group.streams.target_assignment import (
    Plan,
    assign,
    may_assign_again,
)
from millstream.coordinator.result import Caller
from millstream.protocol.generated.streams_group_heartbeat import StreamsGroupHeartbeatRequest


class StreamsGroupCoordinator:
    """Works on the shard's `groups`. Owns one thing of its own: which groups wait before their first assignment."""

    def __init__(self, groups: Groups, config: StreamsGroupConfig) -> None:
        self._groups = groups
        self._config = config
        self._delayed: set[str] = set()
        """Soft: a new coordinator assigns without waiting again. One timer runs for each of them."""

    def change_config(self, config: StreamsGroupConfig) -> None:
        self._config = config

    def handle_heartbeat(
        self,
        request: StreamsGroupHeartbeatRequest,
        caller: Caller,
        context: OperationContext,
    ) -> None:
        """Replies with a StreamsHeartbeat. The request has passed `request_check`; raises what its group refuses it with."""
        if request.member_epoch < JOIN_EPOCH:
            response = handle_leave(self._groups, request, context)
            context.result.reply(caller.token, StreamsHeartbeat(response))
            return
        settings = self._settings_of(request.group_id, context)
        beat = Beat(request, caller, context, settings, owned_tasks(request))
        handle_heartbeat(beat, self._groups, self._delayed)

    def expire(self, timer: GroupTimer, context: OperationContext) -> None:
        """A timer has fired; the group may be gone, or of another kind by now."""
        group = self._groups.find(timer.group_id)
        if timer.kind is TimerKind.INITIAL_REBALANCE:
            self._delayed.discard(timer.group_id)
            if isinstance(group, StreamsGroup):
                self._assign(group, context)
        elif timer.kind is TimerKind.SESSION and isinstance(group, StreamsGroup):
            expire_session(group, timer.member_id, context)
        elif timer.kind is TimerKind.REBALANCE and isinstance(group, StreamsGroup):
            expire_rebalance(group, timer.member_id, context)

    def resume(self, context: OperationContext) -> None:
        """After loading: each member has a whole session to show itself, and a whole time-out to give tasks back."""
        for group in self._groups.of_kind(StreamsGroup):
            timeout_ms = self._settings_of(group.group_id, context).session_timeout_ms
            for member in group.members.values():
                restart_session(group.group_id, member.member_id, timeout_ms, context)
                if member.current.state is MemberState.UNREVOKED_TASKS:
                    await_revocation(group.group_id, member, context)

    def _assign(self, group: StreamsGroup, context: OperationContext) -> None:
        """The first assignment of those who came during the delay. Members hear of it with their next heartbeat.

        Without a configured topology (only one heartbeat came) that heartbeat assigns.
        """
        topology = group.configured_topology
        if not group.members or topology is None or group.epoch <= group.assignment_epoch:
            return
        if may_assign_again(group, self._settings_of(group.group_id, context), context.now):
            standbys = int(group.last_assignment_configs.get(NUM_STANDBY_REPLICAS, "0"))
            assign(group, Plan(group.epoch, group.members, topology, standbys), context)

    def _settings_of(self, group_id: str, context: OperationContext) -> StreamsGroupSettings:
        return self._config.of_group(context.image, group_id)
