"""A cluster of scripted brokers for the admin client's driver: no sockets, and waits that end at once."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from types import SimpleNamespace

from millstream.clients.admin.driver import AdminApiDriver
from millstream.clients.cluster.core.cluster_metadata import BrokerNode, ClusterMetadata
from millstream.errors import KafkaError
from millstream.model import TopicPartition, Uuid
from millstream.net.client.core.addresses import Address
from millstream.net.client.core.api_versions import ApiVersionTable
from millstream.net.client.core.outages import Backoff
from millstream.net.client.tasks import TaskScope
from millstream.protocol.api import VERSIONS, ApiKey, Message

Answer = Callable[[int, Message], Message]
"""Takes the node asked (-1: any) and the request; raises what a connection would."""

NEWEST: Mapping[int, tuple[int, int]] = {
    key: (0, versions.highest) for key, versions in VERSIONS.items()
}


@dataclass
class Sent:
    node_id: int
    key: ApiKey
    version: int
    request: Message


@dataclass
class FakeCluster:
    """`answers` are used up in order, the last one for ever."""

    versions: Mapping[int, tuple[int, int]] = field(default_factory=lambda: dict(NEWEST))
    node_ids: tuple[int, ...] = (1, 2, 3)
    controller_ids: deque[int] = field(default_factory=lambda: deque([1]))
    answers: dict[ApiKey, deque[Answer]] = field(default_factory=lambda: defaultdict(deque))
    sent: list[Sent] = field(default_factory=list)
    now: int = 0
    unreachable: str = ""
    later: dict[TopicPartition, tuple[int, int]] = field(default_factory=dict)
    """Leaders that it knows of, with their epochs."""
    snapshot: ClusterMetadata = field(default_factory=ClusterMetadata)

    def __post_init__(self) -> None:
        self.backoff = Backoff(0, 0)
        self.random = Random(1)
        self.config = SimpleNamespace(request_timeout_ms=30_000)
        self.clock = SimpleNamespace(now=lambda: SimpleNamespace(wall_ms=self.now))

    def script(self, key: ApiKey, *answers: Answer) -> None:
        self.answers[key].extend(answers)

    def requests(self, key: ApiKey) -> list[tuple[int, Message]]:
        return [(each.node_id, each.request) for each in self.sent if each.key is key]

    def driver(self, *, asks_controllers: bool = False) -> AdminApiDriver:
        return AdminApiDriver(
            self,  # type: ignore[arg-type]  # as much of a Cluster as a driver uses
            TaskScope("admin"),
            default_timeout_ms=60_000,
            asks_controllers=asks_controllers,
        )

    def now_ms(self) -> int:
        return self.now

    def newest_leader(
        self, topic_id: Uuid, partition: TopicPartition, leader: int, epoch: int
    ) -> int:
        """Has heard of no other leader than `later`."""
        del topic_id
        node_id, later_epoch = self.later.get(partition, (leader, epoch))
        return node_id if later_epoch > epoch else leader

    async def refresh_metadata(self, deadline_ms: int) -> ClusterMetadata:
        del deadline_ms
        controller_id = self.controller_ids[0]
        if len(self.controller_ids) > 1:
            self.controller_ids.popleft()
        self.show_nodes(controller_id)
        return self.snapshot

    def show_nodes(self, controller_id: int = 1) -> None:
        """Has the client learn of the nodes that there are now."""
        nodes = {each: BrokerNode(each, Address("b", each)) for each in self.node_ids}
        self.snapshot = ClusterMetadata("c", controller_id, nodes)

    async def any_connection(self) -> FakeConnection:
        return FakeConnection(self, -1)

    async def connection(self, node_id: int) -> FakeConnection:
        return FakeConnection(self, node_id)


@dataclass
class FakeConnection:
    cluster: FakeCluster
    node_id: int

    @property
    def versions(self) -> ApiVersionTable:
        return ApiVersionTable(self.cluster.versions)

    async def request(
        self, key: ApiKey, request: Message, response: type[Message], *, version_max: int
    ) -> Message:
        del response
        version = self.versions.choose(key, version_max)
        request.encode(bytearray(), version)  # what cannot be sent is no request
        self.cluster.sent.append(Sent(self.node_id, key, version, request))
        answers = self.cluster.answers[key]
        answer = answers.popleft() if len(answers) > 1 else answers[0]
        return answer(self.node_id, request)


def fails(error: KafkaError) -> Answer:
    def answer(node_id: int, request: Message) -> Message:
        raise error

    return answer
