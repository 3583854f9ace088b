"""The services that parts of a node ask of each other: each takes the few that it needs, never the whole node.

Interfaces only; `shared_parts` and `broker_part` make the objects that implement them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Coroutine, Iterable

    from millstream.broker.metadata_log.driver import QuorumDescription
    from millstream.broker.requests.request_context import RequestContext
    from millstream.controller.operation import ControllerApi
    from millstream.log.partition_log import PartitionLog
    from millstream.metadata.image import MetadataImage
    from millstream.model import TopicPartition
    from millstream.net.server.client_connection import ClientConnection
    from millstream.net.server.request_handler import Response
    from millstream.protocol.api import ApiKey, Message
    from millstream.raft.messages import VoterChangeRequest
    from millstream.replication.partition import Partition

RequestT = TypeVar("RequestT")
ResponseT = TypeVar("ResponseT")


class Metadata(Protocol):
    """The cluster's metadata as this node has applied it."""

    @property
    def image(self) -> MetadataImage: ...


class Partitions(Protocol):
    """The replicas this node hosts."""

    def get(self, topic: str, partition: int) -> Partition:
        """Returns a partition of this node.

        Raises UnknownTopicOrPartition when the image has no such partition, NotLeaderOrFollower
        when this node is no replica.
        """
        ...

    def all(self) -> Iterable[tuple[TopicPartition, Partition]]: ...

    def offline_count(self) -> int:
        """Returns the number of replicas that the metadata have here and whose log cannot be used."""
        ...


class ControllerClient(Protocol):
    """The way to the active controller, wherever it runs."""

    async def ask(
        self,
        api: ControllerApi[RequestT, ResponseT],
        request: RequestT,
        caller: RequestContext | None = None,
    ) -> ResponseT:
        """Returns what the active controller answers, once its records are committed and, where the
        controller runs here, applied.

        Used as `await controller.ask(CREATE_TOPICS, request, context)`. `caller`: the context of the client's
        request that asks for it; None where the node itself does. Raises NotController, RequestTimedOut, and
        errors of the controller.
        """
        ...

    async def forward(self, key: ApiKey, request: Message, caller: RequestContext) -> Message:
        """Returns what the leader of the quorum answers to a client's request. For a node where it does not lead.

        Raises as `ask`.
        """
        ...

    async def change_voters(self, change: VoterChangeRequest) -> None:
        """Adds, removes or updates a voter of the quorum where its leader is this node.

        Raises the error of the quorum.
        """
        ...

    def leads(self) -> bool:
        """Whether the active controller runs in this node."""
        ...

    def is_elsewhere(self) -> bool:
        """Whether a client's request for the controller is to be passed on to another node, by `forward`."""
        ...

    def quorum(self) -> QuorumDescription:
        """Returns the metadata quorum as this node knows it."""
        ...


class EnvelopedRequests(Protocol):
    """Answers the requests that stand in Envelope requests."""

    def handle(
        self, frame: memoryview, connection: ClientConnection
    ) -> Response | Awaitable[Response | None] | None:
        """Handles one frame as the network edge has it handled."""
        ...


class LogFlusher(Protocol):
    """Group-commit fsync: everything waiting for one log shares one call in the pool."""

    async def flush_to(self, log: PartitionLog, offset: int) -> None:
        """Returns once every record below `offset` of `log` is on the disk.

        Raises KafkaStorageError when fsync failed.
        """
        ...

    def start_flush(self, log: PartitionLog) -> None:
        """Brings `log` to the disk, while no request waits for it."""
        ...


class BackgroundTasks(Protocol):
    """The node's TaskGroup: what runs here ends with the node, and what fails here ends it."""

    def start(self, coroutine: Coroutine[None, None, None], name: str) -> None: ...
