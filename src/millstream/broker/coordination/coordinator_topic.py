"""The shards of one coordinator on this node: one for every partition of its internal topic that this node leads.

Follows the metadata (which partitions are ours) and finds the shard of a key. What a shard does is
its package's business (`coordinator.group`, `coordinator.transaction`, `coordinator.share`); how
one is driven is `coordinator_partition`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from millstream.broker.coordination.coordinator_partition import (
    CoordinatorPartition,
    CoordinatorServices,
    DecodeRecord,
    OnNotice,
)
from millstream.broker.services import BackgroundTasks, Partitions
from millstream.coordinator.record import partition_for
from millstream.coordinator.result import Caller
from millstream.coordinator.runtime import Shard
from millstream.errors import KafkaError, MillstreamError, NotCoordinator
from millstream.metadata.image import MetadataImage, TopicImage
from millstream.model import BrokerId

_LOGGER = logging.getLogger(__name__)
ShardT = TypeVar("ShardT", bound=Shard)
ResponseT = TypeVar("ResponseT")


def _refuse_notice(partition: CoordinatorPartition[ShardT], notice: object) -> None:
    raise AssertionError(f"{partition.partition.topic_partition} gives no notices: {notice}")


@dataclass(frozen=True, slots=True)
class CoordinatorKind(Generic[ShardT]):
    """The kind of a coordinator: everything in which one coordinator differs from another."""

    topic: str
    """The internal topic that keeps its records."""
    new_shard: Callable[[int], ShardT]
    """A shard for the partition of this index, before anything has been replayed into it."""
    decode_record: DecodeRecord
    on_notice: OnNotice[ShardT] = _refuse_notice


class CoordinatorTopic(Generic[ShardT]):
    """The shards of one coordinator.

    `apply` is to be called with every image, after the node's partitions have followed it.
    """

    def __init__(
        self,
        kind: CoordinatorKind[ShardT],
        broker_id: BrokerId,
        *,
        partitions: Partitions,
        tasks: BackgroundTasks,
        services: CoordinatorServices,
    ) -> None:
        self._kind = kind
        self._broker_id = broker_id
        self._partitions = partitions
        self._tasks = tasks
        self._services = services
        self._led: dict[int, CoordinatorPartition[ShardT]] = {}
        self._refused: dict[int, int] = {}
        """Partitions that cannot be taken on, with the leader epoch in which that was told."""
        self._partition_count = 0

    def __iter__(self) -> Iterator[CoordinatorPartition[ShardT]]:
        """The shards of this node, loading ones included."""
        return iter(list(self._led.values()))

    # --- following the metadata

    def apply(self, image: MetadataImage) -> None:
        """Takes on the partitions this node leads now, lets go of the others.

        The partitions have followed the image and nothing has run since, or they follow when they are asked for here:
        no shard has seen its partition in an epoch that is not its own.
        """
        topic = image.topic(self._kind.topic)
        self._partition_count = 0 if topic is None else len(topic.partitions)
        epochs = self._led_epochs(topic)
        for index, shard in list(self._led.items()):
            if self._is_over(shard, topic):
                shard.close()
                del self._led[index]
        for index in sorted(epochs.keys() - self._led.keys()):
            try:
                self._led[index] = self._started_shard(index)
            except MillstreamError as error:
                # Its log is offline: the other shards and the node go on.
                if self._refused.get(index) != epochs[index]:  # once, not with every image
                    self._refused[index] = epochs[index]
                    _LOGGER.warning("%s-%d is not coordinated: %s", self._kind.topic, index, error)

    def close(self) -> None:
        """Closes the shards as the node stops: waiting clients are told to look for the next coordinator."""
        for shard in self._led.values():
            shard.close()
        self._led.clear()

    def _led_epochs(self, topic: TopicImage | None) -> dict[int, int]:
        if topic is None:
            return {}
        return {
            partition.partition: partition.leader_epoch
            for partition in topic.partitions
            if partition.leader == self._broker_id
        }

    def _is_over(self, shard: CoordinatorPartition[ShardT], topic: TopicImage | None) -> bool:
        """Whether the leader epoch of a shard is over. An image that is older than it says nothing of it."""
        hosted = shard.partition
        index = hosted.topic_partition.partition
        if topic is None or topic.topic_id != hosted.topic_id or index >= len(topic.partitions):
            return True
        found = topic.partitions[index]
        return found.leader_epoch > shard.leader_epoch or (
            found.leader_epoch == shard.leader_epoch and found.leader != self._broker_id
        )

    def _started_shard(self, index: int) -> CoordinatorPartition[ShardT]:
        """Raises a MillstreamError where the partition cannot be used here."""
        kind = self._kind
        partition = self._partitions.get(kind.topic, index)
        partition.check_leader()  # it may know of a later epoch than the image
        shard = CoordinatorPartition(
            partition, kind.new_shard(index), kind.decode_record, self._services, kind.on_notice
        )
        self._tasks.start(shard.run(), f"coordinator {partition.topic_partition}")
        return shard

    # --- requests

    def partition_led(self, index: int) -> CoordinatorPartition[ShardT]:
        """Returns the shard of a partition that this node leads. Raises NotCoordinator."""
        shard = self._led.get(index)
        if shard is None:
            raise NotCoordinator
        return shard

    def shard_of(self, key: str) -> CoordinatorPartition[ShardT]:
        """Returns the shard that coordinates the key. Raises NotCoordinator, also while the topic does not exist."""
        if not self._partition_count:
            raise NotCoordinator(f"{self._kind.topic} does not exist yet")
        return self.partition_led(partition_for(key, self._partition_count))

    async def ask(
        self,
        key: str,
        request: object,
        expected: type[ResponseT],
        caller: Caller,
    ) -> ResponseT:
        """Returns the response of the shard of `key`. Raises what the shard refuses with.

        Raises NotCoordinator, CoordinatorLoadInProgress, CoordinatorNotAvailable when there is no shard to ask.
        """
        return await ask_shard(self.shard_of(key), request, expected, caller)

    async def ask_all(
        self,
        request: object,
        expected: type[ResponseT],
        caller: Caller,
    ) -> tuple[list[ResponseT], KafkaError | None]:
        """Returns the responses of all shards of this node, and the error of one that failed.

        All are asked before one is waited for: each may wait for its replicas, and the time
        is that of one, not the sum.
        """
        outcomes: list[object] = []
        asked: list[asyncio.Future[object]] = []
        for shard in self:
            try:
                asked.append(shard.submit(request, caller))
            except KafkaError as error:
                outcomes.append(error)
        outcomes += [await answer for answer in asked]
        # Another node has taken over where this one is not the coordinator any more, and will be asked too.
        failures = [
            each
            for each in outcomes
            if isinstance(each, KafkaError) and not isinstance(each, NotCoordinator)
        ]
        answers = [each for each in outcomes if isinstance(each, expected)]
        return answers, failures[-1] if failures else None


def coordinator_of(topic: TopicImage, key: str) -> BrokerId:
    """Returns the broker that coordinates the key: it leads the key's partition of the internal topic.

    NO_LEADER where nobody does.
    """
    return topic.partitions[partition_for(key, len(topic.partitions))].leader


async def ask_shard(
    shard: CoordinatorPartition[ShardT],
    request: object,
    expected: type[ResponseT],
    caller: Caller,
    check: Callable[[], None] | None = None,
) -> ResponseT:
    """Returns the response of a shard; `check` is as in `CoordinatorPartition.submit`.

    Raises the shard's error, NotCoordinator, CoordinatorLoadInProgress, CoordinatorNotAvailable.
    """
    outcome = await shard.submit(request, caller, check)
    if isinstance(outcome, KafkaError):
        raise outcome
    assert isinstance(outcome, expected), f"a shard answers with {expected.__name__}"
    return outcome
