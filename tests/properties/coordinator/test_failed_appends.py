"""Whatever operation it is whose records the log refuses: afterwards memory is what the log says, and the operation can be tried again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.coordinator.group.classic.group import ClassicGroup
from millstream.coordinator.group.config import (
    ClassicGroupConfig,
    ConsumerGroupConfig,
    GroupCoordinatorConfig,
    Limited,
    ShareGroupConfig,
    StreamsGroupConfig,
)
from millstream.coordinator.group.consumer.embedded_protocol import write_assignment
from millstream.coordinator.group.consumer.group import ConsumerGroup
from millstream.coordinator.group.consumer.regex import TopicsMatched, TopicsToMatch
from millstream.coordinator.group.context import TopicsChanged, TopicsDeleted, TransactionalCommit
from millstream.coordinator.group.share.group import ShareGroup
from millstream.coordinator.group.share.heartbeat import HeartbeatOutcome
from millstream.coordinator.group.share.requests import (
    DeleteGroupState,
    OffsetsDeleted,
    PartitionsInitialized,
    PartitionsNotInitialized,
)
from millstream.coordinator.group.streams.group import StreamsGroup
from millstream.coordinator.result import NODE_ITSELF
from millstream.errors import KafkaError
from millstream.metadata.image import MetadataImage
from millstream.model import Offset, ProducerId
from millstream.protocol.generated.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from millstream.protocol.generated.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from millstream.protocol.generated.consumer_protocol import ConsumerProtocolSubscription
from millstream.protocol.generated.delete_groups import DeleteGroupsRequest
from millstream.protocol.generated.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from millstream.protocol.generated.heartbeat import HeartbeatRequest
from millstream.protocol.generated.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from millstream.protocol.generated.leave_group import LeaveGroupRequest, MemberIdentity
from millstream.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from millstream.protocol.generated.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from millstream.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest
from millstream.protocol.generated.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from millstream.protocol.generated.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from millstream.protocol.generated.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.support.coordinators.coordinator import topics_image
from tests.support.coordinators.streams_group import subtopology, topology
from tests.support.coordinators.unreliable import UnreliableCoordinator, hard_state, soft_state

GROUP = "g"
PRODUCER = ProducerId(7)
SESSION_MS = 45_000
REBALANCE_MS = 20_000
CONFIG = GroupCoordinatorConfig(
    classic=ClassicGroupConfig(initial_rebalance_delay_ms=0),
    offsets_retention_ms=600_000,
    consumer=ConsumerGroupConfig(
        assignment_interval_ms=Limited("consumer.assignment.interval.ms", 0, 0, 15_000)
    ),
    share=ShareGroupConfig(
        assignment_interval_ms=Limited("share.assignment.interval.ms", 0, 0, 15_000)
    ),
    streams=StreamsGroupConfig(
        assignment_interval_ms=Limited("streams.assignment.interval.ms", 0, 0, 15_000),
        initial_rebalance_delay_ms=Limited("streams.initial.rebalance.delay.ms", 3_000, 0, 60_000),
    ),
)
SUBSCRIPTION = bytearray(b"\0\1")
ConsumerProtocolSubscription(["t"], None, []).encode(SUBSCRIPTION, 1)


class World:
    """Members that know what the coordinator knows of them."""

    def __init__(self) -> None:
        self.coordinator = UnreliableCoordinator(CONFIG)
        self._images = 0
        self.topics(t=2, u=2)

    def topics(self, **sizes: int) -> None:
        self._images += 1
        image = MetadataImage(offset=Offset(self._images), topics=topics_image(sizes))
        self.coordinator.shard.apply_image(image)

    def send(self, request: object, version: int = 9) -> object:
        token = self.coordinator.send(request, version=version)
        outcome = self.coordinator.outcomes.get(token)
        if isinstance(outcome, KafkaError):
            raise outcome
        return outcome

    @property
    def group(self) -> object:
        return self.coordinator.shard.groups.find(GROUP)


Step = Callable[[World], object]
Story = Mapping[str, Step]

# --- every kind


def pass_time(world: World, duration_ms: int) -> None:
    world.coordinator.pass_time(duration_ms)


def commit(world: World) -> None:
    group, member_id, epoch = world.group, "", -1
    if isinstance(group, ConsumerGroup | StreamsGroup) and group.members:
        member_id, member = next(iter(group.members.items()))
        epoch = member.member_epoch if hasattr(member, "member_epoch") else member.epoch
    elif isinstance(group, ClassicGroup) and group.members:
        member_id, epoch = next(iter(group.members)), group.generation
    partition = OffsetCommitRequestPartition(0, 5, -1, "")
    topics = [OffsetCommitRequestTopic("t", partitions=[partition])]
    world.send(OffsetCommitRequest(GROUP, epoch, member_id, topics=topics))


def commit_in_transaction(world: World) -> None:
    partition = TxnOffsetCommitRequestPartition(0, 6, -1, "")
    topics = [TxnOffsetCommitRequestTopic("t", [partition])]
    request = TxnOffsetCommitRequest("x", GROUP, PRODUCER, 0, topics=topics)
    image = world.coordinator.shard.image
    world.send(TransactionalCommit(request, {"t": image.topics.by_name["t"].topic_id}), 3)
    if not world.coordinator.refuses:
        world.coordinator.end_transaction(PRODUCER, committed=True)


def delete_offsets(world: World) -> None:
    topics = [OffsetDeleteRequestTopic("t", [OffsetDeleteRequestPartition(0)])]
    world.send(OffsetDeleteRequest(GROUP, topics), 0)


def delete_topic(world: World) -> None:
    world.send(TopicsDeleted(["t"]))


def delete_group(world: World) -> None:
    world.send(DeleteGroupsRequest([GROUP]), 2)


EVERY_KIND: Story = {
    "commit": commit,
    "commit in a transaction": commit_in_transaction,
    "delete offsets": delete_offsets,
    "commit again": commit,
    "delete a topic": delete_topic,
    "commit once more": commit,
    "offsets expire": partial(pass_time, duration_ms=1_300_000),
    "delete the group": delete_group,
}

# --- classic groups, and classic members of consumer groups


def join(world: World, name: str, *, version: int = 9) -> None:
    """Static, so that the member can be found by its name."""
    group = world.group
    known = None
    if isinstance(group, ClassicGroup):
        known = group.static_member_id(name)
    elif isinstance(group, ConsumerGroup):
        known = group.static_members.get(name)
    request = JoinGroupRequest(
        group_id=GROUP,
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=REBALANCE_MS,
        member_id=known or "",
        group_instance_id=name,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol("range", bytes(SUBSCRIPTION))],
    )
    answer = world.send(request, version)
    assert answer is None or isinstance(answer, JoinGroupResponse)


def restart(world: World, name: str) -> None:
    """The process behind the instance id comes back without its member id."""
    request = JoinGroupRequest(
        group_id=GROUP,
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=REBALANCE_MS,
        group_instance_id=name,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol("range", bytes(SUBSCRIPTION))],
    )
    world.send(request)


def join_as_dynamic(world: World) -> None:
    """Before version 4 the request waits for the generation."""
    request = JoinGroupRequest(
        group_id=GROUP,
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=REBALANCE_MS,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol("range", bytes(SUBSCRIPTION))],
    )
    world.send(request, 3)


def sync(world: World) -> None:
    """The leader assigns everything to itself."""
    group = world.group
    if not isinstance(group, ClassicGroup) or group.leader is None:
        return
    topics = world.coordinator.shard.image.topics
    everything = write_assignment({topics.by_name["t"].topic_id: [0, 1]}, topics, b"\0\1")
    assignments = [SyncGroupRequestAssignment(group.leader, everything)]
    request = SyncGroupRequest(
        GROUP, group.generation, group.leader, assignments=assignments, protocol_type="consumer"
    )
    world.send(request, 5)


def leave(world: World, name: str) -> None:
    request = LeaveGroupRequest(GROUP, members=[MemberIdentity("", name)])
    world.send(request, 5)


CLASSIC: Story = {
    "a dynamic member joins a new group": join_as_dynamic,
    "nobody syncs": partial(pass_time, duration_ms=60_000),
    "a joins": partial(join, name="a"),
    "the generation begins": partial(pass_time, duration_ms=1),
    "a leads": sync,
    "a restarts": partial(restart, name="a"),
    "commit": commit,
    "b joins": partial(join, name="b"),
    "a rejoins": partial(join, name="a"),
    "a leads again": sync,
    "b falls silent": partial(pass_time, duration_ms=SESSION_MS),
    "a rejoins alone": partial(join, name="a"),
    "a leads alone": sync,
    "a leaves": partial(leave, name="a"),
    **{name: step for name, step in EVERY_KIND.items() if name != "commit"},
}

# --- consumer groups


def consume(
    world: World,
    name: str,
    *,
    topics: Sequence[str] = ("t",),
    regex: str | None = None,
    instance_id: str | None = None,
    revokes: bool = True,
) -> None:
    """A full heartbeat; the first joins."""
    group = world.group
    known = group.members.get(name) if isinstance(group, ConsumerGroup) else None
    owned: list[TopicPartitions] = []
    if known is not None and known.member_epoch > 0:
        held = known.assigned if revokes else known.owned()
        owned = [TopicPartitions(topic_id, sorted(ps)) for topic_id, ps in held.items()]
    joins = known is None or known.member_epoch <= 0
    request = ConsumerGroupHeartbeatRequest(
        GROUP,
        name,
        0 if joins else known.member_epoch,  # type: ignore[union-attr]  # known where it does not join
        instance_id=instance_id,
        rebalance_timeout_ms=REBALANCE_MS,
        subscribed_topic_names=list(topics),
        subscribed_topic_regex=regex,
        topic_partitions=[] if joins else owned,
    )
    world.send(request, 1)


def stop_consuming(
    world: World, name: str, *, epoch: int = -1, instance_id: str | None = None
) -> None:
    world.send(ConsumerGroupHeartbeatRequest(GROUP, name, epoch, instance_id=instance_id), 1)


def grow_topics(world: World) -> None:
    world.topics(t=4, u=2)
    if isinstance(world.group, ConsumerGroup):
        consume(world, "a")


def match_topics(world: World) -> None:
    """The newest expression is matched in an operation of its own, and its answer is another."""
    consume(world, "a", topics=(), regex="u")


def topics_matched(world: World) -> None:
    asked = TopicsToMatch(GROUP, {"u": "/127.0.0.1"}, ("t", "u"), Offset(1), NODE_ITSELF)
    world.send(TopicsMatched(asked, {"u": frozenset({"u"})}))


def sync_as_consumer(world: World, name: str) -> None:
    group = world.group
    holder = group.static_member(name) if isinstance(group, ConsumerGroup) else None
    if holder is not None:
        world.send(SyncGroupRequest(GROUP, holder.member_epoch, holder.member_id, name), 5)


def hear_of_rebalance(world: World, name: str) -> None:
    """Others have made the group assign anew."""
    group = world.group
    holder = group.static_member(name) if isinstance(group, ConsumerGroup) else None
    if holder is not None:
        world.send(HeartbeatRequest(GROUP, holder.member_epoch, holder.member_id, name), 4)


CONSUMER: Story = {
    "a joins": partial(consume, name="a"),
    "topics grow": grow_topics,
    "commit": commit,
    "b joins": partial(consume, name="b"),
    "a keeps what it is to revoke": partial(consume, name="a", revokes=False),
    "a is too slow": partial(pass_time, duration_ms=REBALANCE_MS),
    "a joins again": partial(consume, name="a"),
    "b gives up": partial(consume, name="b"),
    "a has its part": partial(consume, name="a"),
    "a subscribes to an expression": match_topics,
    "its topics are told": topics_matched,
    "s joins as a static member": partial(consume, name="s", instance_id="s"),
    "s goes for a while": partial(stop_consuming, name="s", epoch=-2, instance_id="s"),
    "s comes back as s2": partial(consume, name="s2", instance_id="s"),
    "c joins with the classic protocol": partial(join, name="c"),
    "c never syncs": partial(pass_time, duration_ms=REBALANCE_MS),
    "c joins once more": partial(join, name="c"),
    "c syncs": partial(sync_as_consumer, name="c"),
    "d joins": partial(consume, name="d"),
    "c is to rejoin": partial(hear_of_rebalance, name="c"),
    "c never rejoins": partial(pass_time, duration_ms=REBALANCE_MS),
    "c joins for the last time": partial(join, name="c"),
    "d leaves": partial(stop_consuming, name="d"),
    "a leaves": partial(stop_consuming, name="a"),
    "b leaves": partial(stop_consuming, name="b"),
    "s2 leaves and the group is classic": partial(stop_consuming, name="s2", instance_id="s"),
    "c rejoins": partial(join, name="c"),
    "c leads": sync,
    "a joins, and the group is a consumer group": partial(consume, name="a"),
    "all fall silent": partial(pass_time, duration_ms=2 * SESSION_MS),
    **{name: step for name, step in EVERY_KIND.items() if name != "commit"},
}

# --- share groups


def share(world: World, name: str, *, topics: Sequence[str] | None = ("t",)) -> None:
    """A heartbeat; the share coordinator answers later."""
    group = world.group
    known = group.members.get(name) if isinstance(group, ShareGroup) else None
    if known is None:
        topics = topics or ("t",)
    request = ShareGroupHeartbeatRequest(
        GROUP,
        name,
        0 if known is None or known.member_epoch <= 0 else known.member_epoch,
        subscribed_topic_names=None if topics is None else list(topics),
    )
    assert isinstance(world.send(request, 1), HeartbeatOutcome)


def initialized(world: World) -> None:
    if isinstance(world.group, ShareGroup):
        world.send(PartitionsInitialized(GROUP, world.group.state_partitions.initializing))


def not_initialized(world: World) -> None:
    if isinstance(world.group, ShareGroup):
        world.send(PartitionsNotInitialized(GROUP, world.group.state_partitions.initializing))


def stop_sharing(world: World, name: str) -> None:
    world.send(ShareGroupHeartbeatRequest(GROUP, name, -1), 1)


def lose_topics(world: World) -> None:
    world.topics(t=2)
    world.send(TopicsChanged())


def alter_share_offsets(world: World) -> None:
    partitions = [AlterShareGroupOffsetsRequestPartition(0, 3)]
    topics = [AlterShareGroupOffsetsRequestTopic("t", partitions)]
    world.send(AlterShareGroupOffsetsRequest(GROUP, topics), 0)


def delete_share_offsets(world: World) -> None:
    topics = [DeleteShareGroupOffsetsRequestTopic("t")]
    world.send(DeleteShareGroupOffsetsRequest(GROUP, topics), 0)


def share_offsets_deleted(world: World) -> None:
    if isinstance(world.group, ShareGroup):
        world.send(OffsetsDeleted(GROUP, world.group.state_partitions.deleting))


SHARE: Story = {
    "a joins": partial(share, name="a", topics=("t", "u")),
    "the share coordinator refuses": not_initialized,
    "a asks again": partial(share, name="a", topics=None),
    "the share coordinator has its partitions": initialized,
    "a is assigned them": partial(share, name="a", topics=None),
    "b joins": partial(share, name="b"),
    "a has less": partial(share, name="a", topics=("t",)),
    "a topic goes": lose_topics,
    "b leaves": partial(stop_sharing, name="b"),
    "a falls silent": partial(pass_time, duration_ms=SESSION_MS),
    "an administrator sets offsets": alter_share_offsets,
    "they are set": initialized,
    "an administrator deletes offsets": delete_share_offsets,
    "they are deleted": share_offsets_deleted,
    "offsets are set again": alter_share_offsets,
    "its state is deleted": lambda world: world.send(DeleteGroupState(GROUP)),
    "delete the group": delete_group,
}

# --- streams groups

TOPOLOGY = topology(subtopology(sources=["t"]))


def stream(world: World, name: str, *, revokes: bool = True) -> None:
    """A heartbeat that tells what the member holds; the first joins."""
    group = world.group
    known = group.members.get(name) if isinstance(group, StreamsGroup) else None
    joins = known is None or known.epoch <= 0
    request = StreamsGroupHeartbeatRequest(
        group_id=GROUP,
        member_id=name,
        member_epoch=0 if joins else known.epoch,  # type: ignore[union-attr]  # known where it does not join
        rebalance_timeout_ms=REBALANCE_MS,
        process_id=f"process-{name}",
        topology=TOPOLOGY if joins else None,
        active_tasks=[],
        standby_tasks=[],
        warmup_tasks=[],
    )
    if not joins and not revokes:
        request.active_tasks = request.standby_tasks = request.warmup_tasks = None
    world.send(request, 0)


def stop_streaming(world: World, name: str) -> None:
    request = StreamsGroupHeartbeatRequest(group_id=GROUP, member_id=name, member_epoch=-1)
    world.send(request, 0)


STREAMS: Story = {
    "a joins": partial(stream, name="a"),
    "a second heartbeat of a": partial(stream, name="a"),
    "the initial delay is over": partial(pass_time, duration_ms=3_000),
    "a has its tasks": partial(stream, name="a"),
    "commit": commit,
    "b joins": partial(stream, name="b"),
    "a keeps what it is to give back": partial(stream, name="a", revokes=False),
    "a is too slow": partial(pass_time, duration_ms=REBALANCE_MS),
    "a joins again": partial(stream, name="a"),
    "b gives tasks back": partial(stream, name="b"),
    "a has its part": partial(stream, name="a"),
    "b leaves": partial(stop_streaming, name="b"),
    "a falls silent": partial(pass_time, duration_ms=2 * SESSION_MS),
    **{name: step for name, step in EVERY_KIND.items() if name != "commit"},
}

STORIES = {"classic": CLASSIC, "consumer": CONSUMER, "share": SHARE, "streams": STREAMS}

WRITING = {
    "AlterShareGroupOffsetsRequest",
    "ConsumerGroupHeartbeatRequest",
    "DeleteGroupState",
    "DeleteGroupsRequest",
    "DeleteShareGroupOffsetsRequest",
    "INITIAL_REBALANCE timer",
    "JOIN timer",
    "JoinGroupRequest",
    "LeaveGroupRequest",
    "OFFSET_EXPIRY timer",
    "OffsetCommitRequest",
    "OffsetDeleteRequest",
    "OffsetsDeleted",
    "PartitionsInitialized",
    "PartitionsNotInitialized",
    "REBALANCE timer",
    "SESSION timer",
    "SYNC timer",
    "ShareGroupHeartbeatRequest",
    "StreamsGroupHeartbeatRequest",
    "SyncGroupRequest",
    "TopicsChanged",
    "TopicsDeleted",
    "TopicsMatched",
    "TransactionalCommit",
}
"""Operations and timers that write records. The others only read, or begin what another one writes."""


def run(world: World, step: Step) -> None:
    with suppress(KafkaError):
        step(world)


def run_refused(world: World, step: Step) -> None:
    """The step, while the log refuses everything; afterwards nothing has changed."""
    coordinator = world.coordinator
    hard, soft = hard_state(coordinator.shard), soft_state(coordinator.shard)
    coordinator.refuses, coordinator.requests_run, coordinator.refusals = True, 0, 0
    try:
        run(world, step)
    finally:
        coordinator.refuses = False
    assert hard_state(coordinator.shard) == hard
    check_log(world)
    if coordinator.requests_run == coordinator.refusals == 1:
        assert soft_state(coordinator.shard) == soft


def check_log(world: World) -> None:
    loaded = world.coordinator.restarted().shard
    assert hard_state(loaded) == hard_state(world.coordinator.shard)


@pytest.mark.parametrize("kind", STORIES)
def test_after_a_refused_operation_memory_is_the_log_and_it_can_be_tried_again(kind: str) -> None:
    """Every step of the story is refused once and then done, in one world."""
    world = World()
    for step in STORIES[kind].values():
        run_refused(world, step)
        run(world, step)
        check_log(world)


def test_every_operation_that_writes_has_been_refused() -> None:
    refused: set[str] = set()
    for story in STORIES.values():
        for refused_from in (0, 1):
            world = World()
            for index, step in enumerate(story.values()):
                if index % 2 == refused_from:
                    run_refused(world, step)
                run(world, step)
            refused |= world.coordinator.refused
    assert refused == WRITING


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_steps_in_any_order_some_refused(data: st.DataObject) -> None:
    story = STORIES[data.draw(st.sampled_from(sorted(STORIES)), "kind")]
    world = World()
    for name in data.draw(st.lists(st.sampled_from(sorted(story)), max_size=16), "steps"):
        if data.draw(st.booleans(), "refused"):
            run_refused(world, story[name])
        else:
            run(world, story[name])
            check_log(world)
