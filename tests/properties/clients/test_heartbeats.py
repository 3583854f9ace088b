"""Members of every kind live through the same storms, in virtual time, and keep the same rules.

The shells are the real ones. What is simulated is the coordinator, which moves, loads, forgets the member, answers late or not at all, and
the application, which polls, or does not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Protocol
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.clients.cluster.cluster import Lane
from millstream.clients.cluster.core.cluster_metadata import (
    BrokerNode,
    ClusterMetadata,
    PartitionMetadata,
    TopicMetadata,
)
from millstream.clients.config import ConsumerConfig
from millstream.clients.config.settings import parse_settings
from millstream.clients.config.share import ShareConsumerConfig
from millstream.clients.consumer.core.subscription import SubscriptionState
from millstream.clients.group.classic_member import ClassicMember
from millstream.clients.group.consumer_member import ConsumerMember
from millstream.clients.group.core.consumer_protocol import encode_assignment
from millstream.clients.group.owned_partitions import commit_nothing
from millstream.clients.share.member import ShareMember
from millstream.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    FencedMemberEpoch,
    KafkaError,
    NetworkException,
    NotCoordinator,
    RequestTimedOut,
    UnknownMemberId,
)
from millstream.model import Uuid
from millstream.net.client.core.addresses import Address
from millstream.net.client.core.outages import Backoff
from millstream.net.client.tasks import TaskScope
from millstream.protocol.api import ApiKey
from millstream.protocol.generated import consumer_group_heartbeat, share_group_heartbeat
from millstream.protocol.generated.heartbeat import HeartbeatResponse
from millstream.protocol.generated.join_group import JoinGroupResponse
from millstream.protocol.generated.leave_group import LeaveGroupResponse
from millstream.protocol.generated.streams_group_heartbeat import (
    StreamsGroupHeartbeatResponse,
    TaskIds,
    Topology,
)
from millstream.protocol.generated.sync_group import SyncGroupResponse
from millstream.streams import StreamsBuilder
from millstream.streams.application.group import member as streams_member
from millstream.streams.application.group.classic import member as classic_streams_member
from millstream.streams.application.group.classic.membership import ClassicStreamsPolicy
from millstream.streams.application.group.classic.source_topics import SourceTopics
from millstream.streams.application.group.classic.user_data import AssignmentInfo
from millstream.streams.application.group.membership import StreamsMembershipPolicy
from millstream.testing.sim_random import SimRandom
from tests.sim.groups.world import SimFetching, now_ms
from tests.sim.virtual_time import VirtualClock, run_in_virtual_time

GROUP: Final = "g"
TOPIC: Final = Uuid(b"t" * 16)
INTERVAL_MS: Final = 5_000
MAX_POLL_INTERVAL_MS: Final = 20_000
REQUEST_TIMEOUT_MS: Final = 30_000
BACKOFF: Final = Backoff(100, 1_000)
LATE_MS: Final = 12_000
TRAVEL_MS: Final = 5
METADATA: Final = ClusterMetadata(
    nodes={1: BrokerNode(1, Address("sim", 1))},
    topics={"t": TopicMetadata("t", TOPIC, partitions={0: PartitionMetadata(0, 1)})},
)
STORM_MAX_MS: Final = 1_200_000
TURN_MS: Final = 500
"""So often an application polls that is well."""


class Weather(Enum):
    """What becomes of one heartbeat."""

    CALM = "it is answered"
    LATE = "it is answered long after the next one was due"
    MOVED = "the coordinator is another one from now on"
    NOT_AVAILABLE = "there is none"
    LOADING = "it reads its log"
    FORGOTTEN = "it does not count the member in"
    LOST = "the connection breaks"
    UNANSWERED = "nothing comes until the request times out"
    NOT_FOUND = "nobody knows the coordinator"


UNHEARD: Final = frozenset(
    {Weather.MOVED, Weather.NOT_AVAILABLE, Weather.LOADING, Weather.LOST, Weather.UNANSWERED}
)


@dataclass
class Heartbeat:
    request: Any  # of any kind
    sent_ms: int
    weather: Weather
    done_ms: int | None = None


@dataclass
class Coordinator:
    """It knows of one member. Writes down what it hears, and when it is looked for and left."""

    storm: list[Weather]
    node: int = 1
    epoch: int = 0
    """Of the member, or its generation; 0: it is none."""
    heard: list[Heartbeat] = field(default_factory=list)
    looked_for_ms: list[int] = field(default_factory=list)
    joined_ms: list[int] = field(default_factory=list)
    left_ms: list[int] = field(default_factory=list)
    under_way: int = 0
    _epochs: int = 0

    @property
    def is_calm(self) -> bool:
        return not self.storm and (not self.under_way or self.heard[-1].weather is Weather.CALM)

    def find(self) -> int:
        self.looked_for_ms.append(now_ms())
        if self.storm and self.storm[0] is Weather.NOT_FOUND:
            self.storm.pop(0)
            raise CoordinatorNotAvailable
        return self.node

    async def answer(self, node: int, request: Any) -> Any:
        kind = type(request).__name__
        if kind == "JoinGroupRequest":
            await asyncio.sleep(TRAVEL_MS / 1000)
            self.joined_ms.append(now_ms())
            name = request.protocols[0].name
            return JoinGroupResponse(
                generation_id=self._join(), protocol_name=name, leader="l", member_id="m"
            )
        if kind == "SyncGroupRequest":
            assignment = encode_assignment([], AssignmentInfo().encode())
            return SyncGroupResponse(assignment=assignment)
        if kind == "LeaveGroupRequest" or getattr(request, "member_epoch", 0) < 0:
            self.left_ms.append(now_ms())
            self.epoch = 0
            return LeaveGroupResponse()
        assert not self.under_way, "one heartbeat at a time"
        self.under_way += 1
        try:
            return await self._answer_heartbeat(node, request)
        finally:
            self.under_way -= 1
            self.heard[-1].done_ms = now_ms()

    async def _answer_heartbeat(self, node: int, request: Any) -> Any:
        weather = self.storm.pop(0) if self.storm else Weather.CALM
        if weather is Weather.NOT_FOUND:
            weather = Weather.LOST
        if node != self.node:
            weather = Weather.MOVED
        self.heard.append(Heartbeat(request, now_ms(), weather))
        error = self._error(weather, node, request)
        delays_ms = {Weather.LATE: LATE_MS, Weather.UNANSWERED: REQUEST_TIMEOUT_MS}
        epoch = self._join() if error is None and _joins(request) else self.epoch
        await asyncio.sleep(delays_ms.get(weather, TRAVEL_MS) / 1000)
        if isinstance(error, NetworkException | RequestTimedOut):
            raise error
        return _answer(request, epoch, error)

    def _join(self) -> int:
        self._epochs += 1
        self.epoch = self._epochs
        return self.epoch

    def _error(self, weather: Weather, node: int, request: Any) -> KafkaError | None:
        if weather is Weather.MOVED:
            self.node += node == self.node
            return NotCoordinator()
        if weather is Weather.FORGOTTEN:
            self.epoch = 0
        errors: dict[Weather, type[KafkaError]] = {
            Weather.NOT_AVAILABLE: CoordinatorNotAvailable,
            Weather.LOADING: CoordinatorLoadInProgress,
            Weather.FORGOTTEN: UnknownMemberId,
            Weather.LOST: NetworkException,
            Weather.UNANSWERED: RequestTimedOut,
        }
        if weather in errors:
            return errors[weather]()
        return None if _joins(request) or _epoch(request) == self.epoch else FencedMemberEpoch()


def _epoch(request: Any) -> int:
    said = getattr(request, "member_epoch", None)
    return int(request.generation_id if said is None else said)


def _joins(request: Any) -> bool:
    return getattr(request, "member_epoch", None) == 0


def _answer(request: Any, epoch: int, error: KafkaError | None) -> Any:
    code = 0 if error is None else error.code
    if (
        error is not None
        and error.code == FencedMemberEpoch.code
        and not hasattr(request, "member_epoch")
    ):
        code = UnknownMemberId.code
    match type(request).__name__:
        case "HeartbeatRequest":
            return HeartbeatResponse(error_code=code)
        case "StreamsGroupHeartbeatRequest":
            tasks = [TaskIds("0", [0])] if _joins(request) else None
            none = list[TaskIds]() if _joins(request) else None
            return StreamsGroupHeartbeatResponse(
                error_code=code,
                member_id=request.member_id,
                member_epoch=epoch,
                heartbeat_interval_ms=INTERVAL_MS,
                active_tasks=tasks,
                standby_tasks=none,
                warmup_tasks=none,
            )
        case name:
            api = share_group_heartbeat if name.startswith("Share") else consumer_group_heartbeat
            assignment = api.Assignment([api.TopicPartitions(TOPIC, [0])])
            response = {
                "ShareGroupHeartbeatRequest": share_group_heartbeat.ShareGroupHeartbeatResponse,
                "ConsumerGroupHeartbeatRequest": consumer_group_heartbeat.ConsumerGroupHeartbeatResponse,
            }[name]
            return response(
                error_code=code,
                member_id=request.member_id,
                member_epoch=epoch,
                heartbeat_interval_ms=INTERVAL_MS,
                assignment=assignment if _joins(request) else None,
            )


@dataclass
class StormyConnection:
    coordinator: Coordinator
    node: int

    @property
    def versions(self) -> StormyConnection:
        return self

    def choose(self, _key: ApiKey) -> int:
        return 5

    async def request(self, _key: ApiKey, request: Any, _type: object, **_options: object) -> Any:
        return await self.coordinator.answer(self.node, request)


@dataclass
class StormyCluster:
    """What members use of `Cluster`."""

    there: Coordinator
    known: int | None = None
    backoff: Backoff = BACKOFF
    random: SimRandom = field(default_factory=lambda: SimRandom(0))
    clock: VirtualClock = field(default_factory=VirtualClock)
    version: int = 1
    snapshot: ClusterMetadata = METADATA

    @property
    def metadata(self) -> StormyCluster:
        return self

    def now_ms(self) -> int:
        return now_ms()

    async def coordinator(self, _key: str) -> int:
        if self.known is None:
            await asyncio.sleep(TRAVEL_MS / 1000)
            self.known = self.there.find()
        return self.known

    def forget_coordinator(self, _key: str) -> None:
        self.known = None

    async def connection(self, node_id: int, _lane: Lane = Lane.MAIN) -> StormyConnection:
        return StormyConnection(self.there, node_id)

    def use_all_topics(self, _wanted: bool) -> None:
        """All are known."""

    def request_metadata(self) -> None:
        """They do not change."""

    async def close(self) -> None:
        """Nothing is open."""


class Life(Protocol):
    """One member and its application."""

    async def poll(self) -> None: ...

    async def leave(self) -> None: ...

    async def close(self) -> None: ...


class ShareLife:
    def __init__(self, cluster: Any) -> None:  # Any: what stands in for a Cluster
        given = {
            "bootstrap_servers": "sim:1",
            "group_id": GROUP,
            "max_poll_interval_ms": MAX_POLL_INTERVAL_MS,
        }
        config = parse_settings(ShareConsumerConfig, given)
        self._scope = TaskScope("share")
        self.member = ShareMember(config, cluster, self._scope, "m" * 22, lambda: None)
        self.member.subscribe(["t"])

    async def poll(self) -> None:
        self.member.begin_poll()
        self.member.end_poll()

    async def leave(self) -> None:
        await self.member.leave()

    async def close(self) -> None:
        await self._scope.close()


class ConsumerLife:
    def __init__(self, cluster: Any, protocol: str) -> None:  # Any: as above
        given = {
            "bootstrap_servers": "sim:1",
            "group_id": GROUP,
            "group_protocol": protocol,
            "max_poll_interval_ms": MAX_POLL_INTERVAL_MS,
        }
        config = parse_settings(ConsumerConfig, given)
        self._scope = TaskScope(protocol)
        subscription = SubscriptionState()
        subscription.subscribe(["t"])
        kind: Any = ConsumerMember if protocol == "consumer" else ClassicMember
        self.member = kind(config, cluster, subscription, SimFetching(), self._scope)
        self.member.on_subscription_updated(None)

    async def poll(self) -> None:
        await self.member.poll(now_ms() + TURN_MS, commit_nothing)

    async def leave(self) -> None:
        await self.member.leave()

    async def close(self) -> None:
        await self._scope.close()


class StreamsLife:
    def __init__(self, member: Any) -> None:  # Any: of either protocol
        self.member = member
        member.start()

    async def poll(self) -> None:
        membership = self.member.membership
        self.member.check()
        if membership.has_lost_tasks:
            self.member.rejoin()
        elif membership.target is not None and not membership.is_reconciled:
            self.member.acknowledge(membership.target)

    async def leave(self) -> None:
        await self.member.leave()

    async def close(self) -> None:
        """Leaving has closed everything."""


def streams(_cluster: StormyCluster) -> StreamsLife:
    policy = StreamsMembershipPolicy(GROUP, Topology(epoch=0, subtopologies=[]), "p", 300_000)
    given = {"bootstrap_servers": "sim:1", "group_id": GROUP}
    return StreamsLife(streams_member.StreamsMember(policy, given))


def classic_streams(_cluster: StormyCluster) -> StreamsLife:
    builder = StreamsBuilder()
    builder.stream("t").to("out")
    policy = ClassicStreamsPolicy(
        group_id=GROUP,
        sources=SourceTopics(builder.build(), GROUP),
        process_id="01020304-0506-0708-090a-0b0c0d0e0f10",
        session_timeout_ms=45_000,
        heartbeat_interval_ms=INTERVAL_MS,
        rebalance_timeout_ms=300_000,
    )
    config = parse_settings(ConsumerConfig, {"bootstrap_servers": "sim:1", "group_id": GROUP})

    async def stored() -> dict[Any, int]:
        return {}

    leader: Any = None  # it never leads
    return StreamsLife(classic_streams_member.ClassicStreamsMember(policy, config, leader, stored))


@dataclass(frozen=True)
class Kind:
    live: Callable[[StormyCluster], Life]
    polls: bool
    has_epoch: bool
    """It joins by a heartbeat with epoch 0; the others join by JoinGroup."""


KINDS: Final = {
    "share": Kind(ShareLife, polls=True, has_epoch=True),
    "consumer": Kind(lambda cluster: ConsumerLife(cluster, "consumer"), polls=True, has_epoch=True),
    "streams": Kind(streams, polls=False, has_epoch=True),
    "classic": Kind(lambda cluster: ConsumerLife(cluster, "classic"), polls=True, has_epoch=False),
    "classic streams": Kind(classic_streams, polls=False, has_epoch=False),
}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())


@contextmanager
def in_place_of_clusters(cluster: StormyCluster) -> Iterator[None]:
    """Members of applications make their own."""
    with (
        patch.object(streams_member, "Cluster", lambda *_, **__: cluster),
        patch.object(classic_streams_member, "Cluster", lambda *_, **__: cluster),
    ):
        yield


@dataclass
class Story:
    coordinator: Coordinator
    polled_ms: list[int] = field(default_factory=list)


async def tell(kind: Kind, storm: list[Weather], pauses_ms: list[int], calm_ms: int) -> Story:
    """The application polls after each of the pauses, then in turns until the storm is over, and for some calm time."""
    story = Story(Coordinator(list(storm)))
    cluster = StormyCluster(story.coordinator)
    with in_place_of_clusters(cluster):
        life = kind.live(cluster)
        for pause_ms in (0, *pauses_ms):
            await asyncio.sleep(pause_ms / 1000)
            await life.poll()
            story.polled_ms.append(now_ms())
        calm_since_ms = now_ms()
        while now_ms() < calm_since_ms + calm_ms:
            assert now_ms() < STORM_MAX_MS, "somebody who is alive says nothing"
            await asyncio.sleep(TURN_MS / 1000)
            await life.poll()
            story.polled_ms.append(now_ms())
            if not story.coordinator.is_calm:
                calm_since_ms = now_ms()
        assert story.coordinator.epoch > 0, "who can be a member is one"
        await life.leave()
        await life.close()
    return story


STORMS: Final = st.lists(st.sampled_from(Weather), max_size=10)
PAUSES: Final = st.lists(st.sampled_from([TURN_MS, 3_000, 45_000]), max_size=5)


@every_kind
@settings(max_examples=100)
@given(storm=STORMS, pauses_ms=PAUSES)
def test_every_kind_keeps_the_rules_in_every_storm(
    kind: Kind, storm: list[Weather], pauses_ms: list[int]
) -> None:
    story = run_in_virtual_time(tell(kind, storm, pauses_ms, calm_ms=20_000))
    check_back_off(story.coordinator)
    check_looks_again(story.coordinator)
    check_says_all_again(story.coordinator, kind)
    check_joins_again(story.coordinator, kind)
    if kind.polls:
        check_is_silent_unpolled(story)
    *_, before_last, last = story.coordinator.heard
    assert last.sent_ms - before_last.sent_ms <= INTERVAL_MS + 2 * TRAVEL_MS, "it beats on"


def pairs(coordinator: Coordinator) -> Iterator[tuple[Heartbeat, Heartbeat, int]]:
    """Two heartbeats that followed each other, with the time at which the first was over."""
    for one, other in zip(coordinator.heard, coordinator.heard[1:], strict=False):
        assert one.done_ms is not None
        yield one, other, one.done_ms


def check_back_off(coordinator: Coordinator) -> None:
    """KIP-580: 100 ms, then twice that, up to a second, each spread by 20 %."""
    failures = 0
    for one, other, done_ms in pairs(coordinator):
        if one.weather in UNHEARD:
            failures += 1
            least_ms = min(100 * 2 ** (failures - 1), 1_000) * 8 // 10
            assert other.sent_ms - done_ms >= least_ms, (one, other)
        elif one.weather in (Weather.CALM, Weather.LATE, Weather.FORGOTTEN):
            failures = 0  # it was heard


def check_looks_again(coordinator: Coordinator) -> None:
    """After what may mean that it has moved, and at no other time."""
    looks = coordinator.looked_for_ms
    for one, other, done_ms in pairs(coordinator):
        if one.weather in UNHEARD - {Weather.LOADING}:
            assert any(done_ms <= look <= other.sent_ms for look in looks), (one, other)
        elif one.weather is Weather.CALM:
            assert not any(done_ms < look <= other.sent_ms for look in looks), (one, other)


def check_says_all_again(coordinator: Coordinator, kind: Kind) -> None:
    """Nobody knows what the coordinator has heard."""
    if not kind.has_epoch:
        return
    for one, other, _ in pairs(coordinator):
        if one.weather in UNHEARD:
            is_streams = hasattr(other.request, "active_tasks")
            said = (
                other.request.active_tasks if is_streams else other.request.subscribed_topic_names
            )
            assert said is not None, (one, other)


def check_joins_again(coordinator: Coordinator, kind: Kind) -> None:
    """Under the same id, and before it says anything else."""
    for one, other, done_ms in pairs(coordinator):
        if one.weather is Weather.FORGOTTEN and kind.has_epoch:
            assert other.request.member_epoch == 0
            assert other.request.member_id == one.request.member_id
        elif one.weather is Weather.FORGOTTEN:
            assert any(done_ms <= joined <= other.sent_ms for joined in coordinator.joined_ms)


def check_is_silent_unpolled(story: Story) -> None:
    """Nothing is said of a member whose application is stuck. A classic one that joins behind a poll is given the time anew."""
    limit_ms = MAX_POLL_INTERVAL_MS
    for poll_ms, next_ms in zip(story.polled_ms, story.polled_ms[1:], strict=False):
        joined_ms = [at for at in story.coordinator.joined_ms if poll_ms <= at <= next_ms]
        silent_ms = max([poll_ms, *joined_ms]) + limit_ms + 2 * TRAVEL_MS
        said = [
            beat.sent_ms for beat in story.coordinator.heard if silent_ms < beat.sent_ms < next_ms
        ]
        assert said == []


@every_kind
def test_it_leaves_when_it_ends_and_when_nobody_polls_and_at_no_other_time(kind: Kind) -> None:
    story = run_in_virtual_time(tell(kind, [], [1_000, 45_000], calm_ms=20_000))
    assert story.coordinator.left_ms[-1] == story.polled_ms[-1]
    stuck_since_ms = story.polled_ms[1]
    unpolled = [stuck_since_ms + MAX_POLL_INTERVAL_MS] if kind.polls else []
    assert story.coordinator.left_ms[:-1] == unpolled


@every_kind
@pytest.mark.parametrize("weather", sorted(UNHEARD, key=lambda each: each.name))
def test_what_nobody_heard_is_said_again_after_a_back_off(kind: Kind, weather: Weather) -> None:
    storm = [Weather.CALM, *[weather] * 2, Weather.CALM, weather]
    story = run_in_virtual_time(tell(kind, storm, [], calm_ms=20_000))
    look_up_ms = 0 if weather is Weather.LOADING else TRAVEL_MS
    waits_ms = [
        other.sent_ms - done_ms - look_up_ms
        for one, other, done_ms in pairs(story.coordinator)
        if one.weather is weather
    ]
    assert waits_ms[0] in range(80, 121)
    assert waits_ms[1] in range(160, 241)
    assert waits_ms[2] in range(80, 121)


@every_kind
def test_an_answer_that_comes_after_the_member_has_left_means_nothing(kind: Kind) -> None:
    async def leave_in_the_middle() -> Coordinator:
        coordinator = Coordinator([Weather.CALM, Weather.LATE])
        cluster = StormyCluster(coordinator)
        with in_place_of_clusters(cluster):
            life = kind.live(cluster)
            while not coordinator.under_way or len(coordinator.heard) < 2:
                await life.poll()
                await asyncio.sleep(0.001)
            await life.leave()
            assert not coordinator.under_way, "nobody waits for it any more"
            await life.close()
        return coordinator

    coordinator = run_in_virtual_time(leave_in_the_middle())
    assert (coordinator.epoch, len(coordinator.left_ms)) == (0, 1)
    assert len(coordinator.heard) == 2
