"""A group goes from the classic to the consumer protocol and back while its members stay (KIP-848, online migration)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from millstream.coordinator.group.classic.group import ClassicGroup
from millstream.coordinator.group.config import MigrationPolicy
from millstream.coordinator.group.consumer.embedded_protocol import (
    read_assignment,
    write_assignment,
)
from millstream.errors import (
    GroupIdNotFound,
    IllegalGeneration,
    InconsistentGroupProtocol,
    RebalanceInProgress,
    UnknownMemberId,
)
from millstream.protocol.enums import GroupState
from millstream.protocol.generated.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    ConsumerProtocolSubscriptionTopicPartition,
)
from tests.support.coordinators.classic_group import JoinSettings, SimGroup
from tests.support.coordinators.consumer_group import SimConsumerGroup

V1 = b"\0\1"
INCONSISTENT_GROUP_PROTOCOL, REBALANCE_IN_PROGRESS, FENCED_INSTANCE_ID = 23, 27, 82


def settings(
    topics: Sequence[str] = ("t",), owned: Mapping[str, list[int]] | None = None
) -> JoinSettings:
    subscription = bytearray(V1)
    ConsumerProtocolSubscription(
        list(topics),
        None,
        [ConsumerProtocolSubscriptionTopicPartition(t, ps) for t, ps in (owned or {}).items()],
    ).encode(subscription, 1)
    return JoinSettings(protocols={"range": bytes(subscription)})


def assignment(consumers: SimConsumerGroup, partitions: Mapping[str, list[int]]) -> bytes:
    topics = consumers.coordinator.shard.image.topics
    by_id = {topics.by_name[t].topic_id: ps for t, ps in partitions.items()}
    return write_assignment(by_id, topics, V1)


class Classic:
    """A classic member of the group that `consumers` asks."""

    def __init__(self, consumers: SimConsumerGroup) -> None:
        self.consumers = consumers
        self.group = SimGroup(consumers.coordinator)
        self.member_id = ""
        self.generation = 0
        self.owned: dict[str, list[int]] = {}

    def joins(self, *, instance_id: str | None = None, topics: Sequence[str] = ("t",)) -> None:
        said = settings(topics, self.owned)
        if instance_id is None and not self.member_id:
            self.member_id, token = self.group.enter(settings=said)
        else:
            token = self.group.join(self.member_id, settings=said, instance_id=instance_id)
        answer = self.group.answer(token)
        assert answer.error_code == 0, answer
        self.member_id, self.generation = answer.member_id, answer.generation_id

    def leads(self, partitions: Mapping[str, list[int]], instance_id: str | None = None) -> None:
        """The only member of a classic group assigns itself something."""
        mine = {self.member_id: assignment(self.consumers, partitions)}
        self.group.sync(self.member_id, self.generation, mine, instance_id=instance_id)
        self.owned = dict(partitions)

    def syncs(self) -> None:
        answer = self.group.answer(self.group.sync(self.member_id, self.generation))
        topics = self.consumers.coordinator.shard.image.topics
        partitions, _ = read_assignment(answer.assignment, topics)
        self.owned = {topics.by_id[t].name: sorted(ps) for t, ps in partitions.items()}

    def hears_of_rebalance(self) -> bool:
        try:
            self.group.answer(self.group.heartbeat(self.member_id, self.generation))
        except RebalanceInProgress:
            return True
        return False

    def lives(self) -> None:
        """A heartbeat, and what it asks for."""
        if self.hears_of_rebalance():
            self.joins()
            self.syncs()


@pytest.fixture
def classic(consumers: SimConsumerGroup) -> Classic:
    """The stable classic group of one member that owns all of `t`."""
    return stable_classic(consumers)


def stable_classic(consumers: SimConsumerGroup) -> Classic:
    member = Classic(consumers)
    member.joins()
    member.leads({"t": [0, 1, 2, 3]})
    return member


def test_a_consumer_that_joins_a_classic_group_makes_it_a_consumer_group(
    consumers: SimConsumerGroup, classic: Classic
) -> None:
    newcomer = consumers.joins("new", "t")
    described = consumers.described()
    assert (described.group_epoch, sorted(m.member_type for m in described.members)) == (2, [0, 1])
    for _ in range(4):
        consumers.coordinator.pass_time(1_100)
        consumers.beats(newcomer)
        classic.lives()
    assert sorted([newcomer.owned["t"], classic.owned["t"]]) == [[0, 1], [2, 3]]
    assert consumers.described().group_state == "Stable"


def test_the_classic_member_keeps_what_it_owns_until_it_has_joined_again(
    consumers: SimConsumerGroup, classic: Classic
) -> None:
    newcomer = consumers.joins("new", "t")
    assert newcomer.owned == {}
    owners = set(consumers.state.owners().values())
    assert owners == {classic.member_id}


def test_with_the_last_consumer_the_group_becomes_classic_and_rebalances(
    consumers: SimConsumerGroup, classic: Classic
) -> None:
    consumers.leaves(consumers.joins("new", "t"))
    group = classic.group.state
    assert (group.state, group.generation) == (GroupState.PREPARING_REBALANCE, 2)
    classic.joins()
    assert classic.generation == 3
    assert classic.group.state.state is GroupState.COMPLETING_REBALANCE


def test_a_consumer_whose_session_ends_can_be_the_last(
    consumers: SimConsumerGroup, classic: Classic
) -> None:
    consumers.joins("new", "t")
    for _ in range(10):
        consumers.coordinator.pass_time(5_000)
        classic.lives()
    assert isinstance(consumers.coordinator.shard.groups.get("group"), ClassicGroup)


def test_members_that_wait_in_the_classic_group_are_told_to_join_again(
    consumers: SimConsumerGroup, classic: Classic
) -> None:
    _, waiting = classic.group.enter(client_id="other", settings=settings())
    assert classic.group.answer(waiting) is None
    consumers.joins("new", "t")
    assert classic.group.answer(waiting).error_code == REBALANCE_IN_PROGRESS


def test_a_new_coordinator_knows_what_the_group_has_become(
    consumers: SimConsumerGroup, classic: Classic
) -> None:
    newcomer = consumers.joins("new", "t")
    after = SimConsumerGroup(consumers.coordinator.restarted())
    assert sorted(after.state.members) == sorted([classic.member_id, "new"])
    consumers.leaves(newcomer)
    again = SimGroup(consumers.coordinator.restarted())
    assert (again.state.state, list(again.state.members)) == (
        GroupState.STABLE,
        [classic.member_id],
    )


def test_commits_stay_with_the_group(consumers: SimConsumerGroup, classic: Classic) -> None:
    classic.group.commit({("t", 0): 7}, member_id=classic.member_id, generation=1)
    newcomer = consumers.joins("new", "t")
    consumers.leaves(newcomer)
    fetched = classic.group.answer(classic.group.fetch({"t": [0]}))
    assert fetched.groups[0].topics[0].partitions[0].committed_offset == 7


def test_a_static_member_may_change_its_protocol_and_change_it_back(
    consumers: SimConsumerGroup,
) -> None:
    old = Classic(consumers)
    old.joins(instance_id="i")
    old.leads({"t": [0, 1, 2, 3]}, instance_id="i")
    upgraded = consumers.joins("new", "t", instance_id="i")
    assert upgraded.owned == {"t": [0, 1, 2, 3]}
    again = Classic(consumers)
    again.joins(instance_id="i")
    assert again.group.state.state is GroupState.STABLE
    answer = again.group.sync(again.member_id, again.generation, instance_id="i")
    assert again.group.answer(answer).assignment != b""


def test_an_empty_group_changes_its_kind_and_keeps_its_offsets(consumers: SimConsumerGroup) -> None:
    group = SimGroup(consumers.coordinator)
    group.commit({("t", 0): 5})
    consumers.leaves(consumers.joins("a", "t"))
    assert consumers.described().group_state == "Empty"
    member = Classic(consumers)
    member.joins()
    assert member.group.state.state is GroupState.COMPLETING_REBALANCE
    fetched = group.answer(group.fetch({"t": [0]}))
    assert fetched.groups[0].topics[0].partitions[0].committed_offset == 5


def test_a_group_of_another_protocol_type_stays_classic(consumers: SimConsumerGroup) -> None:
    SimGroup(consumers.coordinator).enter(settings=JoinSettings(protocol_type="connect"))
    with pytest.raises(GroupIdNotFound):
        consumers.joins("new", "t")


def test_a_group_whose_subscriptions_cannot_be_read_stays_classic(
    consumers: SimConsumerGroup,
) -> None:
    SimGroup(consumers.coordinator).enter(settings=JoinSettings(protocols={"range": b"?"}))
    with pytest.raises(GroupIdNotFound):
        consumers.joins("new", "t")


def test_a_group_of_a_custom_assignor_stays_classic(consumers: SimConsumerGroup) -> None:
    member = Classic(consumers)
    member.joins()
    with_user_data = bytearray(V1)
    ConsumerProtocolAssignment([], b"custom").encode(with_user_data, 1)
    member.group.sync(member.member_id, 1, {member.member_id: bytes(with_user_data)})
    with pytest.raises(GroupIdNotFound):
        consumers.joins("new", "t")


@pytest.mark.parametrize("policy", [MigrationPolicy.DISABLED, MigrationPolicy.DOWNGRADE])
def test_the_policy_can_forbid_the_upgrade(
    consumers_with: Callable[..., SimConsumerGroup], policy: MigrationPolicy
) -> None:
    consumers = consumers_with(migration_policy=policy)
    stable_classic(consumers)
    with pytest.raises(GroupIdNotFound):
        consumers.joins("new", "t")


def test_the_policy_can_forbid_the_downgrade(
    consumers_with: Callable[..., SimConsumerGroup],
) -> None:
    consumers = consumers_with(migration_policy=MigrationPolicy.UPGRADE)
    classic = stable_classic(consumers)
    consumers.leaves(consumers.joins("new", "t"))
    assert list(consumers.state.members) == [classic.member_id]


def test_the_policy_can_keep_classic_members_out(
    consumers_with: Callable[..., SimConsumerGroup],
) -> None:
    consumers = consumers_with(migration_policy=MigrationPolicy.DISABLED)
    consumers.joins("new", "t")
    group = SimGroup(consumers.coordinator)
    with pytest.raises(InconsistentGroupProtocol):
        group.answer(group.join(settings=settings()))


# Classic members of a consumer group


@pytest.fixture
def mixed(consumers: SimConsumerGroup) -> Classic:
    """A consumer group of one consumer, joined by a classic member."""
    consumers.joins("new", "t")
    consumers.coordinator.pass_time(1_100)
    member = Classic(consumers)
    member.joins()
    return member


def test_a_classic_member_joins_and_fetches_its_assignment(
    consumers: SimConsumerGroup, mixed: Classic
) -> None:
    mixed.syncs()
    assert (mixed.generation, mixed.owned) == (3, {})
    assert not mixed.hears_of_rebalance()


def test_a_classic_member_must_speak_what_the_others_speak(
    consumers: SimConsumerGroup, mixed: Classic
) -> None:
    for refused in (JoinSettings({"sticky": b"\0\1"}), JoinSettings(protocol_type="connect")):
        with pytest.raises(InconsistentGroupProtocol):
            mixed.group.answer(mixed.group.join(settings=refused, version=3))


def test_who_does_not_sync_in_time_is_removed(consumers: SimConsumerGroup) -> None:
    partner = consumers.joins("new", "t")
    consumers.coordinator.pass_time(1_100)
    mixed = Classic(consumers)
    mixed.joins()
    for _ in range(5):
        mixed.hears_of_rebalance()
        consumers.coordinator.pass_time(5_900)
        consumers.beats(partner)
    assert mixed.member_id in consumers.state.members
    consumers.coordinator.pass_time(600)
    assert mixed.member_id not in consumers.state.members


def test_generations_and_members_are_checked(consumers: SimConsumerGroup, mixed: Classic) -> None:
    with pytest.raises(IllegalGeneration):
        mixed.group.answer(mixed.group.heartbeat(mixed.member_id, 99))
    with pytest.raises(IllegalGeneration):
        mixed.group.answer(mixed.group.sync(mixed.member_id, 99))
    with pytest.raises(UnknownMemberId):
        mixed.group.answer(mixed.group.heartbeat("new", 3))
    with pytest.raises(InconsistentGroupProtocol):
        mixed.group.answer(
            mixed.group.sync(mixed.member_id, mixed.generation, protocol=("consumer", "other"))
        )


def test_anyone_can_be_removed_by_leave_group(consumers: SimConsumerGroup, mixed: Classic) -> None:
    answer = mixed.group.answer(mixed.group.leave((mixed.member_id, None), ("nobody", None)))
    assert [each.error_code for each in answer.members] == [0, UnknownMemberId.code]
    assert list(consumers.state.members) == ["new"]
