"""Random lives of a streams group: members come, go, fall silent and miss answers; topics grow; the coordinator is restarted.

Whatever happens, no task is in the hands of two members, a coordinator that loads the log knows what the one before it knew, and
when things calm down every task is active exactly once.
"""

from __future__ import annotations

from collections import Counter

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from millstream.coordinator.group.config import GroupCoordinatorConfig, Limited, StreamsGroupConfig
from millstream.coordinator.group.streams.group import StreamsGroup
from millstream.errors import FencedMemberEpoch, KafkaError, UnknownMemberId
from millstream.protocol.enums import GroupState
from tests.support.coordinators.coordinator import SimCoordinator
from tests.support.coordinators.streams_group import (
    SimStreamsGroup,
    Tasks,
    subtopology,
    task_set,
)

MEMBERS = st.sampled_from("abcde")
ROUNDS_TO_CALM = 12
INTERVAL_MS = 1_000


class StreamsGroupLife(RuleBasedStateMachine):
    @initialize(delay_ms=st.sampled_from([0, 3_000]), standbys=st.integers(0, 2))
    def start(self, delay_ms: int, standbys: int) -> None:
        config = StreamsGroupConfig(
            initial_rebalance_delay_ms=Limited(
                "streams.initial.rebalance.delay.ms", delay_ms, 0, 60_000
            ),
            assignment_interval_ms=Limited(
                "streams.assignment.interval.ms", INTERVAL_MS, 0, 60_000
            ),
            num_standby_replicas=Limited("streams.num.standby.replicas", standbys, 0, 2),
        )
        self.partitions = 2
        self.group = SimStreamsGroup(
            SimCoordinator(GroupCoordinatorConfig(streams=config)),
            {"in": 2, "log": 2},
            subtopology("0", sources=["in"]),
            subtopology("1", sources=["in"], changelogs=["log"]),
        )

    @rule(member_id=MEMBERS, process=st.sampled_from("pqr"))
    def join(self, member_id: str, process: str) -> None:
        known = self.group.members.get(member_id)
        self.group.join(member_id, known.process_id if known else process)

    @rule(member_id=MEMBERS)
    def heartbeat(self, member_id: str) -> None:
        if member_id in self.group.members:
            self.beat(member_id)

    @rule(member_id=MEMBERS)
    def heartbeat_before_anything_was_given_back(self, member_id: str) -> None:
        """The client still works on what it was told to revoke: it says what it held before."""
        member = self.group.members.get(member_id)
        if member is None or not member.epoch:
            return
        before = member.held
        self.beat(member_id)
        if member.epoch and not task_set(member.held.active) - task_set(before.active):
            member.held = before

    @rule(member_id=MEMBERS)
    def answer_is_lost(self, member_id: str) -> None:
        """The coordinator has taken a step, the client does not know."""
        member = self.group.members.get(member_id)
        if member is None or not member.epoch:
            return
        epoch, held = member.epoch, member.held
        self.beat(member_id)
        if member_id in self.group.members:
            member.epoch, member.held = epoch, held

    @rule(member_id=MEMBERS)
    def leave(self, member_id: str) -> None:
        if member_id in self.group.members:
            try:
                self.group.leave(member_id)
            except UnknownMemberId:
                del self.group.members[member_id]

    @rule(duration_ms=st.sampled_from([500, 1_000, 3_000, 31_000, 46_000]))
    def time_passes(self, duration_ms: int) -> None:
        self.group.coordinator.pass_time(duration_ms)
        self.forget_the_removed()

    @precondition(lambda self: self.partitions < 4)
    @rule()
    def topics_grow(self) -> None:
        self.partitions += 1
        self.group.set_topics(**{"in": self.partitions, "log": self.partitions})

    @rule()
    def coordinator_restarts(self) -> None:
        before = hard_state(self.group)
        self.group.move_to(self.group.coordinator.restarted())
        assert hard_state(self.group) == before

    @invariant()
    def no_task_is_in_the_hands_of_two_members(self) -> None:
        group = found(self.group)
        if group is None:
            return
        held = Counter(
            task
            for member in group.members.values()
            for tasks in (member.current.assigned, member.current.pending_revocation)
            for task in tasks.active
        )
        assert all(count == 1 for count in held.values()), held
        at_clients = Counter(
            task
            for member_id, member in self.group.members.items()
            if member_id in group.members
            for task in task_set(member.held.active)
        )
        assert all(count == 1 for count in at_clients.values()), at_clients

    def teardown(self) -> None:
        if not hasattr(self, "group") or not self.group.members:
            return
        for _ in range(ROUNDS_TO_CALM):
            self.group.coordinator.pass_time(3_000)
            self.forget_the_removed()
            for member_id in list(self.group.members):
                self.beat(member_id)
        group = found(self.group)
        assert group is not None
        assert group.state is GroupState.STABLE
        active = Counter(
            task for member in group.members.values() for task in member.current.assigned.active
        )
        assert active == Counter(
            task_set(" ".join(f"{s}_{p}" for s in "01" for p in range(self.partitions)))
        )
        for member_id, member in group.members.items():
            assert task_set(self.group.members[member_id].held.active) == frozenset(
                member.current.assigned.active
            )

    def beat(self, member_id: str) -> None:
        """A client that is fenced drops everything and joins again."""
        try:
            self.group.heartbeat(member_id)
        except (FencedMemberEpoch, UnknownMemberId):
            self.group.join(member_id)

    def forget_the_removed(self) -> None:
        """A client that was silent for too long counts as dead until it speaks again."""
        group = found(self.group)
        for member_id in list(self.group.members):
            if group is None or member_id not in group.members:
                self.group.members[member_id].held = Tasks()


def found(group: SimStreamsGroup) -> StreamsGroup | None:
    try:
        return group.state
    except KafkaError:
        return None


def hard_state(group: SimStreamsGroup) -> object:
    state = found(group)
    return state and (
        state.epoch,
        state.assignment_epoch,
        state.metadata_hash,
        state.validated_topology_epoch,
        state.last_assignment_configs,
        state.topology,
        state.members,
        state.target_assignment,
    )


TestStreamsGroupLife = StreamsGroupLife.TestCase
