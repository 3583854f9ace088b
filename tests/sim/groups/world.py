"""Consumers' real members, of both protocols, and a real group coordinator, with a bad network between them.

Time is virtual, chance is seeded: a seed always tells the same story. What is simulated is the connection (requests and
answers come late, or not at all), the coordinator's host (it restarts from its log) and the application (it polls, pauses,
cancels polls, subscribes to something else, goes and comes).
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from millstream.clients.cluster.cluster import Lane
from millstream.clients.cluster.core.cluster_metadata import (
    BrokerNode,
    ClusterMetadata,
    PartitionMetadata,
    TopicMetadata,
)
from millstream.clients.config import ConsumerConfig
from millstream.clients.config.settings import parse_settings
from millstream.clients.consumer.core.subscription import SubscriptionState
from millstream.clients.group.classic_member import ClassicMember
from millstream.clients.group.consumer_member import ConsumerMember
from millstream.clients.group.member import Member, RebalanceListener
from millstream.coordinator.group.classic.group import ClassicGroup
from millstream.coordinator.group.config import ClassicGroupConfig, GroupCoordinatorConfig
from millstream.coordinator.group.consumer.group import ConsumerGroup
from millstream.coordinator.result import Token
from millstream.errors import (
    CoordinatorNotAvailable,
    KafkaError,
    NetworkException,
    RequestTimedOut,
)
from millstream.model import TopicPartition
from millstream.net.client.core.addresses import Address
from millstream.net.client.core.outages import Backoff
from millstream.net.client.tasks import TaskScope
from millstream.protocol.api import ApiKey
from millstream.protocol.enums import CoordinatorType
from millstream.protocol.generated.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from millstream.protocol.generated.heartbeat import HeartbeatResponse
from millstream.protocol.generated.join_group import JoinGroupResponse
from millstream.protocol.generated.leave_group import LeaveGroupResponse
from millstream.protocol.generated.sync_group import SyncGroupResponse
from millstream.testing.sim_random import SimRandom
from tests.sim.virtual_time import VirtualLoop
from tests.support.coordinators.consumer_group import GROUP, SimConsumerGroup
from tests.support.coordinators.coordinator import SimCoordinator

TICK_S = 0.02
REQUEST_TIMEOUT_MS = 5_000
MAX_POLL_INTERVAL_MS = 20_000
TOPICS = {"t": 4, "u": 3}

_SERVED: dict[ApiKey, tuple[int, Any]] = {  # Any: whichever request and answer
    ApiKey.JOIN_GROUP: (9, JoinGroupResponse),
    ApiKey.SYNC_GROUP: (5, SyncGroupResponse),
    ApiKey.HEARTBEAT: (4, HeartbeatResponse),
    ApiKey.LEAVE_GROUP: (5, LeaveGroupResponse),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: (
        1,
        ConsumerGroupHeartbeatResponse,
    ),
}


def now_ms() -> int:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop), "a world runs in virtual time"
    return loop.now_ms


@dataclass
class Weather:
    """How bad the network and the hosts are."""

    loss: float = 0.0
    delay_max_ms: int = 5
    restarts: bool = False


@dataclass
class World:
    seed: int
    weather: Weather = field(default_factory=Weather)
    clients: list[Client] = field(default_factory=list)
    is_up: bool = True

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        config = GroupCoordinatorConfig(classic=ClassicGroupConfig(initial_rebalance_delay_ms=0))
        own_chance = self.chance.randrange(2**32)  # else it would think of its clients' ids
        self.coordinator = SimCoordinator(config, seed=own_chance)
        self._at_ms = 0
        self._waiting: dict[Token, asyncio.Future[Any]] = {}
        SimConsumerGroup(self.coordinator).set_topics(TOPICS)

    async def run(self) -> None:
        """The coordinator's own time; and nobody owns what another one owns, ever."""
        while True:
            self._catch_up()
            self.check_owners()
            await asyncio.sleep(TICK_S)

    async def ask(self, key: ApiKey, request: Any) -> Any:
        """A request that has arrived; the answer as it leaves."""
        self._catch_up()
        version, response_type = _SERVED[key]
        token = self.coordinator.send(request, version=version)
        waiter = asyncio.get_running_loop().create_future()
        self._waiting[token] = waiter
        self._answer()
        outcome = await waiter
        if isinstance(outcome, KafkaError):
            return response_type(error_code=outcome.code)
        return outcome

    async def restart(self) -> None:
        """The coordinator goes down, and is back a while later with what is in its log."""
        self.is_up = False
        waiting, self._waiting = self._waiting, {}
        for waiter in waiting.values():
            if not waiter.done():
                waiter.set_exception(NetworkException("the coordinator is gone"))
        await asyncio.sleep(self.chance.uniform(0.05, 2))
        self._catch_up()
        self.coordinator = self.coordinator.restarted()
        SimConsumerGroup(self.coordinator).set_topics(TOPICS)
        self.is_up = True

    def check_owners(self) -> None:
        """Whoever the coordinator takes for a member holds nothing that another such member holds.

        One exception, which is Kafka's: a classic member that was counted out of a group with members of the new protocol
        may join again under its old id, and learns what it has lost from its next assignment only.
        """
        group = self.coordinator.shard.groups.find(GROUP)
        members = group.members if isinstance(group, ClassicGroup | ConsumerGroup) else ()
        owners: dict[TopicPartition, Client] = {}
        for client in self.clients:
            if client.member_id not in members:
                continue
            if isinstance(group, ConsumerGroup) and client.is_rejoining:
                continue
            for partition in client.held:
                other = owners.setdefault(partition, client)
                assert other is client, f"{partition} is held by {other.name} and by {client.name}"

    def check_settled(self) -> None:
        """Everything has an owner, and the coordinator thinks so too."""
        group = self.coordinator.shard.groups.find(GROUP)
        assert group is not None
        assert group.state_name == "Stable"
        held = [partition for client in self.clients for partition in client.held]
        wanted = {topic for client in self.clients for topic in client.topics}
        assert sorted(held) == sorted(
            TopicPartition(topic, index) for topic in wanted for index in range(TOPICS[topic])
        )

    def _catch_up(self) -> None:
        elapsed_ms = now_ms() - self._at_ms
        self._at_ms += elapsed_ms
        if self.is_up:
            self.coordinator.pass_time(elapsed_ms)
            self._answer()
        else:
            self.coordinator.stall(elapsed_ms)

    def _answer(self) -> None:
        for token in [token for token in self._waiting if token in self.coordinator.outcomes]:
            waiter = self._waiting.pop(token)
            if not waiter.done():
                waiter.set_result(self.coordinator.outcomes[token])


class _Connection:
    """Requests are answered one after the other; one that is not answered in time ends it."""

    def __init__(self, world: World, scope: TaskScope) -> None:
        self._world = world
        self._scope = scope
        self._last: asyncio.Task[Any] | None = None
        self.is_closed = False
        self.versions = self

    def choose(self, key: ApiKey, _at_most: int = 0) -> int:
        return _SERVED[key][0]

    async def request(
        self, key: ApiKey, request: Any, _type: Any, *, timeout_ms: int | None = None
    ) -> Any:
        self._last = self._scope.start(self._carry(key, request, self._last), "wire", awaited=True)
        timeout_s = (timeout_ms or REQUEST_TIMEOUT_MS) / 1000
        done, _ = await asyncio.wait((self._last,), timeout=timeout_s)
        if not done or self._last.cancelled():
            self.is_closed = True
            raise RequestTimedOut("no answer")
        return next(iter(done)).result()

    async def _carry(self, key: ApiKey, request: Any, before: asyncio.Task[Any] | None) -> Any:
        if before is not None:
            await asyncio.wait((before,))
        await self._travel()
        if not self._world.is_up:
            raise NetworkException("the coordinator is gone")
        answer = await self._world.ask(key, request)
        await self._travel()
        return answer

    async def _travel(self) -> None:
        weather, chance = self._world.weather, self._world.chance
        await asyncio.sleep(chance.randint(0, weather.delay_max_ms) / 1000)
        if chance.random() < weather.loss:
            self.is_closed = True
            await asyncio.sleep(3_600)


class SimCluster:
    """What members use of `Cluster`."""

    def __init__(self, world: World, scope: TaskScope) -> None:
        self._world = world
        self._scope = scope
        self._connections: dict[Lane, _Connection] = {}
        self.random = SimRandom(world.chance.randrange(2**32))
        self.backoff = Backoff(50, 1_000)
        self.metadata = self
        self.version = 1
        topics = world.coordinator.shard.image.topics.by_name
        self.snapshot = ClusterMetadata(
            nodes={1: BrokerNode(1, Address("sim", 1))},
            topics={
                name: TopicMetadata(
                    name,
                    topics[name].topic_id,
                    partitions={index: PartitionMetadata(index, 1) for index in range(size)},
                )
                for name, size in TOPICS.items()
            },
        )

    def now_ms(self) -> int:
        return now_ms()

    async def coordinator(self, _key: str, _kind: CoordinatorType = CoordinatorType.GROUP) -> int:
        await asyncio.sleep(0.001)
        if not self._world.is_up:
            raise CoordinatorNotAvailable
        return 1

    def forget_coordinator(self, _key: str) -> None:
        """It is always the same one."""

    def use_topics(self, *_topics: str) -> None:
        """All are known."""

    async def connection(self, _node_id: int, lane: Lane = Lane.MAIN) -> _Connection:
        connection = self._connections.get(lane)
        if connection is None or connection.is_closed:
            connection = self._connections[lane] = _Connection(self._world, self._scope)
        return connection

    async def request(
        self, node_id: int, key: ApiKey, request: Any, response_type: Any, *, lane: Lane = Lane.MAIN
    ) -> Any:
        return await (await self.connection(node_id, lane)).request(key, request, response_type)


class SimFetching:
    """What members use of `Fetcher`."""

    def __init__(self) -> None:
        self.news = asyncio.Event()

    def want_position(self, _state: object) -> None:
        """Nothing is read here."""

    def ask_as(self, _member: object) -> None:
        """Nothing is asked here."""

    def wake(self) -> None:
        """Nothing is fetched here."""

    def announce(self) -> None:
        self.news.set()


class Client(RebalanceListener):
    """One consumer and its application. `held` is what it was told, which is what it has."""

    def __init__(self, world: World, name: str, protocol: str, **settings: object) -> None:
        self.name = name
        self.world = world
        self.held: set[TopicPartition] = set()
        self.topics: frozenset[str] = frozenset()
        self._scope = TaskScope(name)
        self._subscription = SubscriptionState()
        self._fetcher = SimFetching()
        given: Mapping[str, object] = {
            "bootstrap_servers": "sim:1",
            "group_id": GROUP,
            "group_protocol": protocol,
            "max_poll_interval_ms": MAX_POLL_INTERVAL_MS,
            **settings,
        }
        config = parse_settings(ConsumerConfig, given)
        make: Callable[..., Member] = ConsumerMember if protocol == "consumer" else ClassicMember
        cluster = SimCluster(world, self._scope)
        self.member = make(config, cluster, self._subscription, self._fetcher, self._scope)

    @property
    def is_rejoining(self) -> bool:
        """A classic member that is about to join, or has joined and not taken over what it is given."""
        return isinstance(self.member, ClassicMember) and self.member._needs_join()

    @property
    def member_id(self) -> str:
        membership: Any = self.member._membership  # type: ignore[attr-defined]  # both have one
        return str(membership.member_id)

    def subscribe(self, *topics: str) -> None:
        self.topics = frozenset(topics)
        self._subscription.subscribe(topics)
        self.member.on_subscription_updated(self)

    async def poll(self, timeout_ms: int) -> None:
        """As Consumer.poll does it, with nothing to read."""
        deadline_ms = now_ms() + timeout_ms
        while True:
            self._scope.check()
            await self.member.poll(deadline_ms, self._commit)
            assert self.held == set(self._subscription.partitions)
            remaining_ms = min(deadline_ms - now_ms(), self.member.next_turn_ms())
            if now_ms() >= deadline_ms:
                return
            self._fetcher.news.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(remaining_ms / 1000):
                    await self._fetcher.news.wait()

    async def close(self) -> None:
        try:
            await self.member.leave()
        finally:
            await self._scope.close()

    async def vanish(self) -> None:
        """Without a word."""
        await self._scope.close()

    async def on_partitions_revoked(self, partitions: set[TopicPartition]) -> None:
        assert partitions <= self.held, f"{self.name} gives up what it does not hold"
        await self._think()
        self.held -= partitions

    async def on_partitions_lost(self, partitions: set[TopicPartition]) -> None:
        assert partitions <= self.held, f"{self.name} loses what it does not hold"
        self.held -= partitions

    async def on_partitions_assigned(self, partitions: set[TopicPartition]) -> None:
        assert partitions.isdisjoint(self.held), f"{self.name} is given what it holds"
        self.held |= partitions
        self.world.check_owners()

    async def _commit(self) -> None:
        await self._think()

    async def _think(self) -> None:
        await asyncio.sleep(self.world.chance.uniform(0, 0.2))
