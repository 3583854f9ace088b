"""An operation of the controller: what it is given besides its request, its result, and the API that asks for it.

An operation is a function of a context and a request that decides and changes nothing. Who asks the controller for
something names a `ControllerApi`, which stands beside its operation, wherever the active controller runs. What a
controller does by itself, as when a session ends, is an operation without an API.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from millstream.controller.brokers.broker_sessions import BrokerSessions
from millstream.controller.partitions.partition_changes import PartitionChanges
from millstream.controller.settings import ControllerSettings
from millstream.metadata.delta import MetadataRecord
from millstream.metadata.image import MetadataImage
from millstream.model import Offset
from millstream.protocol.api import ApiKey
from millstream.quota.token_bucket import MutationCharge
from millstream.runtime.interfaces import Instant, Random
from millstream.security.delegation_token import TokenIds
from millstream.security.principal import ANONYMOUS, KafkaPrincipal

RequestT = TypeVar("RequestT")
ResponseT = TypeVar("ResponseT")
ResponseT_co = TypeVar("ResponseT_co", covariant=True)


@dataclass(frozen=True, slots=True)
class ControllerContext:
    """The newest metadata, and readings of the moment a request is handled."""

    image: MetadataImage
    """Of every record that this controller has written, committed or not."""
    settings: ControllerSettings
    sessions: BrokerSessions
    """The one thing that an operation may change: who was heard of is no record."""
    now: Instant
    random: Random
    next_offset: Offset
    """Offset that the first record of the result will have: a broker's epoch is the offset of its registration."""
    principal: KafkaPrincipal = ANONYMOUS
    """The principal that asks."""
    kraft_version: int = 1
    """0 where the configuration names the voters of the metadata quorum, 1 where its log does."""
    mutations: MutationCharge | None = None
    """What the request is charged with partitions that it creates and deletes; None: there is no quota for who asks."""
    token_ids: TokenIds | None = None
    """Finds delegation tokens; None without a secret key of theirs. What it remembers follows from the image."""

    def partition_changes(self) -> PartitionChanges:
        return PartitionChanges(self.image, self.settings)

    def charge(self, partitions: int) -> None:
        """Charges partitions. Raises ThrottlingQuotaExceeded where the quota is used up."""
        if self.mutations is not None:
            self.mutations.take(partitions)

    @property
    def throttle_time_ms(self) -> int:
        """The time that the client has to wait for what was charged."""
        return 0 if self.mutations is None else self.mutations.throttle_time_ms


@dataclass(frozen=True, slots=True)
class ControllerResult(Generic[ResponseT_co]):
    """Records to append as one batch, and the answer that is true once they are committed. Nothing has changed yet."""

    records: tuple[MetadataRecord, ...]
    response: ResponseT_co
    upgrades_kraft_version: bool = False
    """Whether the voters of the quorum are written to its log first: they are no metadata records,
    which are the controller's."""
    log_lines: tuple[str, ...] = ()
    """What becomes of brokers by it, for the log of the node."""
    timed_out_brokers: int = 0
    """How many brokers the records fence because they are silent."""


Operation: TypeAlias = Callable[[ControllerContext, RequestT], ControllerResult[ResponseT]]


def every_partition(_request: object, image: MetadataImage) -> int:
    return sum(len(topic.partitions) for topic in image.topics)


@dataclass(frozen=True, slots=True)
class ControllerApi(Generic[RequestT, ResponseT]):
    """An API with the types of its request and of its response."""

    key: ApiKey
    plan: Operation[RequestT, ResponseT]
    partitions: Callable[[RequestT, MetadataImage], int] = lambda _request, _image: 0
    """At most so many partitions the controller has to look at: it plans in a thread where they are many."""
