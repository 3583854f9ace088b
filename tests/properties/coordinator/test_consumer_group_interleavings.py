"""Consumer groups under any order of joining, leaving, silence, lost answers, restarts and changing topics (KIP-848)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from millstream.coordinator.group.classic.group import ClassicGroup
from millstream.coordinator.group.config import ClassicGroupConfig, GroupCoordinatorConfig
from millstream.coordinator.group.consumer.group import ConsumerGroup
from millstream.errors import (
    FencedInstanceId,
    FencedMemberEpoch,
    GroupIdNotFound,
    StaleMemberEpoch,
    UnknownMemberId,
    UnreleasedInstanceId,
)
from tests.support.coordinators.classic_group import SimGroup
from tests.support.coordinators.consumer_group import SimConsumer, SimConsumerGroup
from tests.support.coordinators.coordinator import SimCoordinator

NAMES = ["a", "b", "c", "d"]
TOPICS = ["t", "u", "v"]
SUBSCRIPTIONS = st.sampled_from([{"t"}, {"t", "u"}, {"t", "u"}, {"t", "u", "v"}, {"v"}, set[str]()])
REJOIN = (FencedMemberEpoch, UnknownMemberId, GroupIdNotFound)
GONE = (FencedInstanceId, UnreleasedInstanceId)


class ConsumerGroups(RuleBasedStateMachine):
    """Clients behave; the network loses answers, the coordinator is restarted, topics come and go."""

    def __init__(self) -> None:
        super().__init__()
        config = GroupCoordinatorConfig(classic=ClassicGroupConfig(initial_rebalance_delay_ms=0))
        self.group = SimConsumerGroup(SimCoordinator(config))
        self.members: dict[str, SimConsumer] = {}
        self.sizes = {"t": 3, "u": 2}
        self.committed: dict[tuple[str, int], int] = {}
        self.uncertain: set[str] = set()
        """Whose last answer was lost."""

    @initialize(size=st.integers(0, 3))
    def begin(self, size: int) -> None:
        self.group.set_topics(self.sizes)
        for name in NAMES[:size]:
            self.somebody_joins(name, {"t", "u"}, None, False, None)

    # Members

    @rule(
        name=st.sampled_from(NAMES),
        topics=SUBSCRIPTIONS,
        regex=st.sampled_from([None, None, "[tu]", "v|t"]),
        is_static=st.booleans(),
        assignor=st.sampled_from([None, "range", "uniform"]),
    )
    def somebody_joins(
        self, name: str, topics: set[str], regex: str | None, is_static: bool, assignor: str | None
    ) -> None:
        if name in self.members:
            return
        instance_id = f"i-{name}" if is_static else None
        member_id = f"{name}-{len(self.group.coordinator.log)}"
        with suppress(UnreleasedInstanceId):  # its last life may not have been missed yet
            self.members[name] = self.group.joins(
                member_id, *sorted(topics), regex=regex, instance_id=instance_id, assignor=assignor
            )

    @rule(names=st.permutations(NAMES), pause_ms=st.sampled_from([0, 1_100]))
    def everybody_heartbeats(self, names: list[str], pause_ms: int) -> None:
        self.group.coordinator.pass_time(pause_ms)
        for name in names:
            self.somebody_heartbeats(name)

    @rule(name=st.sampled_from(NAMES))
    def somebody_heartbeats(self, name: str) -> None:
        self._ask(name, self._hear)

    @rule(name=st.sampled_from(NAMES))
    def an_answer_is_lost(self, name: str) -> None:
        """The member tells everything with its next heartbeat, and is told everything."""
        self._ask(name, lambda member: self.group.ask(member, says_owned=True))
        self.uncertain.add(name)

    @rule(name=st.sampled_from(NAMES), topics=SUBSCRIPTIONS)
    def somebody_subscribes_to_something_else(self, name: str, topics: set[str]) -> None:
        self._ask(name, lambda member: self.group.changes(member, sorted(topics), regex=""))

    @rule(name=st.sampled_from(NAMES), for_a_while=st.booleans())
    def somebody_leaves(self, name: str, for_a_while: bool) -> None:
        member = self.members.pop(name, None)
        if member is None:
            return
        with suppress(*REJOIN, *GONE):
            self.group.leaves(member, for_a_while=for_a_while and member.instance_id is not None)

    @rule(name=st.sampled_from(NAMES))
    def somebody_is_killed(self, name: str) -> None:
        self.members.pop(name, None)

    @rule(name=st.sampled_from(NAMES), offset=st.integers(1, 1_000))
    def somebody_commits(self, name: str, offset: int) -> None:
        member = self.members.get(name)
        if member is None or not member.owned:
            return
        topic, partitions = min(member.owned.items())
        by_name = self.group.coordinator.shard.image.topics.by_name
        if topic not in by_name:
            return
        group = SimGroup(self.group.coordinator)
        token = group.commit(
            {(topic, partitions[0]): offset},
            member_id=member.member_id,
            generation=member.epoch,
            topic_id=by_name[topic].topic_id,
        )
        try:
            group.answer(token)
        except (UnknownMemberId, StaleMemberEpoch, GroupIdNotFound):
            return
        self.committed[topic, partitions[0]] = offset

    # The world

    @rule(duration_ms=st.sampled_from([10, 1_000, 6_000, 20_000, 50_000]))
    def time_passes(self, duration_ms: int) -> None:
        self.group.coordinator.pass_time(duration_ms)

    @rule(topic=st.sampled_from(TOPICS), size=st.integers(0, 5))
    def a_topic_changes(self, topic: str, size: int) -> None:
        """Without partitions it is gone, and its offsets go with it, at the next load at the latest."""
        self.sizes = {t: s for t, s in {**self.sizes, topic: size}.items() if s}
        if not size:
            self.committed = {tp: at for tp, at in self.committed.items() if tp[0] != topic}
        self.group.set_topics(self.sizes)

    @rule()
    def the_coordinator_is_restarted(self) -> None:
        before = self.group.coordinator.shard.groups.find(self.group.group_id)
        self.group.coordinator = self.group.coordinator.restarted()
        self.group.set_topics(self.sizes)
        after = self.group.coordinator.shard.groups.find(self.group.group_id)
        assert hard_state(before) == hard_state(after)

    @precondition(lambda self: self.members)
    @rule()
    def everybody_is_left_in_peace(self) -> None:
        """Then everyone reaches the target, and every partition that somebody reads has one owner."""
        for _ in range(9):
            for name in list(self.members):
                self.somebody_heartbeats(name)
            self.group.coordinator.pass_time(6_000)
        if not self.members:
            return
        self.group.settles(*self.members.values(), rounds_max=30)
        owned = sorted(
            (topic, partition)
            for member in self.members.values()
            for topic, partitions in member.owned.items()
            for partition in partitions
        )
        read = set(self.group.state.subscribed_topics()) & self.sizes.keys()
        assert owned == sorted((t, p) for t in read for p in range(self.sizes[t]))

    def _hear(self, member: SimConsumer) -> None:
        if member.member_id.split("-")[0] in self.uncertain:
            self.group.hears(member, says_all=True)
            self.uncertain.discard(member.member_id.split("-")[0])
        else:
            self.group.hears(member)

    def _ask(self, name: str, ask: Callable[[SimConsumer], object]) -> None:
        """As a client does: who is fenced gives everything up and joins again; who has been replaced is gone."""
        member = self.members.get(name)
        if member is None:
            return
        try:
            try:
                ask(member)
            except REJOIN:
                self.uncertain.discard(name)
                self.group.rejoins(member)
        except GONE:
            del self.members[name]

    # What always holds

    @invariant()
    def each_partition_has_one_owner(self) -> None:
        group = self._state()
        if group is None:
            return
        held = [
            (topic_id, partition)
            for member in group.members.values()
            for owned in (member.assigned, member.pending_revocation)
            for topic_id, partitions in owned.items()
            for partition in partitions
        ]
        assert len(held) == len(set(held))
        assert set(held) == set(group.owners())

    @invariant()
    def who_is_told_owns(self) -> None:
        """What a member believes to own is its own until it has said that it gave it up, or was removed."""
        group = self._state()
        by_name = self.group.coordinator.shard.image.topics.by_name
        for member in self.members.values():
            known = None if group is None else group.members.get(member.member_id)
            if known is None:
                continue
            for topic, partitions in member.owned.items():
                if topic in by_name:
                    mine = known.owned().get(by_name[topic].topic_id, frozenset())
                    assert mine.issuperset(partitions)

    @invariant()
    def no_commit_is_lost(self) -> None:
        offsets = self.group.coordinator.shard.offsets
        for (topic, partition), offset in self.committed.items():
            stored = offsets.find(self.group.group_id, topic, partition)
            assert stored is not None
            assert stored.value.offset == offset

    @invariant()
    def epochs_do_not_run_ahead(self) -> None:
        group = self._state()
        if group is not None:
            assert group.assignment_epoch <= group.epoch
            assert all(m.member_epoch <= group.assignment_epoch for m in group.members.values())

    def _state(self) -> ConsumerGroup | None:
        group = self.group.coordinator.shard.groups.find(self.group.group_id)
        return group if isinstance(group, ConsumerGroup) else None


def hard_state(group: object) -> object:
    """What the log says of a group, comparable."""
    if group is None or isinstance(group, ClassicGroup):
        return None
    assert isinstance(group, ConsumerGroup)
    return (
        group.epoch,
        group.metadata_hash,
        group.assignment_epoch,
        group.assignment_timestamp_ms,
        group.members,
        group.static_members,
        group.targets,
        group.regexes,
        group.owners(),
    )


ConsumerGroups.TestCase.settings = settings(max_examples=60, stateful_step_count=40)
TestConsumerGroups = ConsumerGroups.TestCase
