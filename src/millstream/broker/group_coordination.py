"""The group coordinator of this node: a shard for every partition of `__consumer_offsets` it leads.

Follows the metadata (which partitions are ours, which topics are gone) and finds the shard of a group. What groups do is
`coordinator.group`; how a shard is driven is `coordinator_partition`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final, TypeVar

from millstream.broker.config import BrokerConfig
from millstream.broker.coordinator_partition import CoordinatorPartition, CoordinatorServices
from millstream.broker.internal_topics import CONSUMER_OFFSETS
from millstream.broker.node import Partitions, Tasks
from millstream.broker.request_context import RequestContext
from millstream.coordinator.group.config import GroupCoordinatorConfig
from millstream.coordinator.group.shard import GroupShard
from millstream.coordinator.placement import partition_for
from millstream.coordinator.result import CoordinatorContext, CoordinatorResult, Token
from millstream.errors import CoordinatorNotAvailable, KafkaError, NotCoordinator
from millstream.metadata.image import MetadataImage, TopicImage
from millstream.model import BrokerId
from millstream.protocol.record_frames import decode_group_record
from millstream.runtime import Instant, Random

_LOGGER = logging.getLogger(__name__)
_NO_TOKEN: Final = Token(0)
_MINUTE_MS: Final = 60_000

RequestT = TypeVar("RequestT")
ResponseT = TypeVar("ResponseT")
Handle = Callable[[GroupShard, RequestT, CoordinatorContext, Instant], CoordinatorResult]


def group_coordinator_config(config: BrokerConfig) -> GroupCoordinatorConfig:
    return GroupCoordinatorConfig(
        group_min_session_timeout_ms=config.group_min_session_timeout_ms,
        group_max_session_timeout_ms=config.group_max_session_timeout_ms,
        group_initial_rebalance_delay_ms=config.group_initial_rebalance_delay_ms,
        group_max_size=config.group_max_size,
        offset_metadata_max_bytes=config.offset_metadata_max_bytes,
        offsets_retention_ms=config.offsets_retention_minutes * _MINUTE_MS,
        offsets_retention_check_interval_ms=config.offsets_retention_check_interval_ms,
    )


class GroupCoordination:
    """`apply` is to be called with every image, after the node's partitions have followed it."""

    def __init__(
        self,
        config: GroupCoordinatorConfig,
        broker_id: BrokerId,
        random: Random,
        *,
        partitions: Partitions,
        tasks: Tasks,
        services: CoordinatorServices,
    ) -> None:
        self._config = config
        self._broker_id = broker_id
        self._random = random
        self._partitions = partitions
        self._tasks = tasks
        self._services = services
        self._shards: dict[int, CoordinatorPartition[GroupShard]] = {}
        self._partition_count = 0
        self._topic_names: frozenset[str] = frozenset()

    # --- following the metadata

    def apply(self, image: MetadataImage) -> None:
        """Takes on the partitions this node leads now, lets go of the others, forgets offsets of deleted topics."""
        self._follow_leadership(image.topic(CONSUMER_OFFSETS))
        names = frozenset(image.topics.by_name)
        deleted = self._topic_names - names
        self._topic_names = names
        if deleted:
            self._forget_topics(sorted(deleted))

    def close(self) -> None:
        """The node goes down: whoever waits is sent to look for the next coordinator."""
        for shard in self._shards.values():
            shard.close()
        self._shards.clear()

    def _follow_leadership(self, topic: TopicImage | None) -> None:
        led = (
            {}
            if topic is None
            else {
                partition.partition: partition.leader_epoch
                for partition in topic.partitions
                if partition.leader == self._broker_id
            }
        )
        self._partition_count = 0 if topic is None else len(topic.partitions)
        for index, shard in list(self._shards.items()):
            if led.get(index) != shard.leader_epoch:
                shard.close()
                del self._shards[index]
        for index in sorted(led.keys() - self._shards.keys()):
            self._shards[index] = self._started_shard(index)

    def _started_shard(self, index: int) -> CoordinatorPartition[GroupShard]:
        shard = CoordinatorPartition(
            self._partitions.get(CONSUMER_OFFSETS, index),
            GroupShard(self._config, self._random),
            decode_group_record,
            self._services,
        )
        self._tasks.start(shard.run(), f"group coordinator {index}")
        return shard

    def _forget_topics(self, topics: list[str]) -> None:
        """Nobody waits for it. A shard that is still loading, or a node that dies now, leaves it to expiry."""
        for index, shard in self._shards.items():
            try:
                shard.submit(
                    "topics deleted",
                    lambda s, context, now: s.handle_topics_deleted(topics, context, now),
                    CoordinatorContext(_NO_TOKEN, 0),
                )
            except KafkaError as error:
                _LOGGER.info("offsets of %s stay in partition %d: %s", topics, index, error)

    # --- requests

    async def ask(
        self,
        group_id: str,
        handle: Handle[RequestT],
        request: RequestT,
        expected: type[ResponseT],
        context: RequestContext,
    ) -> ResponseT:
        """The response of the group's shard. Raises what the shard refuses with.

        Raises NotCoordinator, CoordinatorLoadInProgress, CoordinatorNotAvailable when there is no shard to ask.
        """
        return await _ask(self._shard_of(group_id), handle, request, expected, context)

    async def ask_all(
        self,
        handle: Handle[RequestT],
        request: RequestT,
        expected: type[ResponseT],
        context: RequestContext,
    ) -> tuple[list[ResponseT], KafkaError | None]:
        """What the shards of this node say, and the error of one that could not."""
        answers: list[ResponseT] = []
        failure: KafkaError | None = None
        for shard in list(self._shards.values()):
            try:
                answers.append(await _ask(shard, handle, request, expected, context))
            except NotCoordinator:
                continue  # another node has taken over and will be asked too
            except KafkaError as error:
                failure = error
        return answers, failure

    def _shard_of(self, group_id: str) -> CoordinatorPartition[GroupShard]:
        if not self._partition_count:
            raise CoordinatorNotAvailable(f"{CONSUMER_OFFSETS} does not exist yet")
        shard = self._shards.get(partition_for(group_id, self._partition_count))
        if shard is None:
            raise NotCoordinator
        return shard


async def _ask(
    shard: CoordinatorPartition[GroupShard],
    handle: Handle[RequestT],
    request: RequestT,
    expected: type[ResponseT],
    context: RequestContext,
) -> ResponseT:
    caller = CoordinatorContext(
        _NO_TOKEN, context.version, context.client_id, f"/{context.client_host}"
    )
    outcome = await shard.submit(
        type(request).__name__, lambda s, given, now: handle(s, request, given, now), caller
    )
    if isinstance(outcome, KafkaError):
        raise outcome
    assert isinstance(outcome, expected), f"a shard answers with {expected.__name__}"
    return outcome
