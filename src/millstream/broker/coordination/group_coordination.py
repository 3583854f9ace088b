"""The group coordinator of this node: the shards of `__consumer_offsets`, told of every new image.

What groups do is `coordinator.group`; which shards there are and how they are driven is `coordinator_topic`.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.coordination.coordinator_partition import (
    CoordinatorPartition,
    CoordinatorServices,
)
from millstream.broker.coordination.coordinator_topic import (
    CoordinatorKind,
    CoordinatorTopic,
)
from millstream.broker.coordination.internal_topics import CONSUMER_OFFSETS
from millstream.broker.patterns.group_patterns import GroupPatterns
from millstream.broker.services import BackgroundTasks, Metadata, Partitions
from millstream.coordinator.group.config import GroupCoordinatorConfig
from millstream.coordinator.group.consumer.regex import TopicsMatched, TopicsToMatch
from millstream.coordinator.group.context import TopicsChanged, TopicsDeleted
from millstream.coordinator.group.shard import GroupShard
from millstream.coordinator.result import NODE_ITSELF
from millstream.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    KafkaError,
    UnsupportedVersion,
)
from millstream.metadata.image import MetadataImage
from millstream.model import BrokerId
from millstream.protocol.record_frames import decode_group_record
from millstream.runtime import Random

_LOGGER = logging.getLogger(__name__)
_RETRY_S = 0.1
"""Ours: a full queue takes about as long."""


class GroupCoordination:
    """The group coordinator, which is asked by its `shards`.

    `apply` is to be called with every image, after the node's partitions have followed it.
    """

    def __init__(
        self,
        config: GroupCoordinatorConfig,
        broker_id: BrokerId,
        random: Random,
        *,
        partitions: Partitions,
        tasks: BackgroundTasks,
        services: CoordinatorServices,
        patterns: GroupPatterns,
    ) -> None:
        self._tasks = tasks
        self._patterns = patterns
        self._image = MetadataImage()
        self._config = config
        self._random = random
        self.shards = CoordinatorTopic(
            CoordinatorKind(
                CONSUMER_OFFSETS, self._new_shard, decode_group_record, self._on_notice
            ),
            broker_id,
            partitions=partitions,
            tasks=tasks,
            services=services,
        )

    # --- following the metadata

    def apply(self, image: MetadataImage) -> None:
        """Takes on the partitions this node leads now, lets go of the others, tells all of the new image."""
        previous, self._image = self._image, image
        self.shards.apply(image)
        for partition in self.shards:
            partition.change(lambda shard: shard.apply_image(image))
        if image.topics is not previous.topics:
            deleted = sorted(
                previous.topics.by_id[topic_id].name
                for topic_id in previous.topics.by_id.keys() - image.topics.by_id.keys()
            )
            for partition in self.shards:
                self._tell_of_topics(partition, deleted)

    def change_config(self, config: GroupCoordinatorConfig) -> None:
        """Takes over settings that were changed while the node runs."""
        self._config = config
        for partition in self.shards:
            partition.change(lambda shard: shard.change_config(self._config))

    def _new_shard(self, index: int) -> GroupShard:
        del index
        return GroupShard(self._config, self._random)

    def _tell_of_topics(
        self, partition: CoordinatorPartition[GroupShard], deleted: list[str]
    ) -> None:
        """Tells a shard without waiting.

        One that is loading, also after a crash, looks for itself when it is loaded.
        """
        name = partition.partition.topic_partition
        try:
            partition.submit(TopicsChanged(), NODE_ITSELF)
        except KafkaError as error:
            _LOGGER.debug("%s is not told of changed topics: %s", name, error)
        if deleted:
            forgetting = _told_to_forget(partition, deleted)
            self._tasks.start(
                _wait_until_forgotten(partition, deleted, forgetting), f"deleted topics in {name}"
            )

    # --- what shards ask for

    def _on_notice(self, partition: CoordinatorPartition[GroupShard], notice: object) -> None:
        assert isinstance(notice, TopicsToMatch), "the only notice of a group shard"
        self._tasks.start(self._match(partition, notice), f"topics of group {notice.group_id}")

    async def _match(
        self, partition: CoordinatorPartition[GroupShard], asked: TopicsToMatch
    ) -> None:
        """A shard that has gone meanwhile has no use for it: the next one asks again."""
        matches = await self._patterns.matches(asked)
        while not partition.is_closed:
            try:
                partition.submit(TopicsMatched(asked, matches), NODE_ITSELF)
            except CoordinatorNotAvailable:
                await asyncio.sleep(_RETRY_S)  # its queue is full
            else:
                return


def _told_to_forget(
    partition: CoordinatorPartition[GroupShard], deleted: list[str]
) -> asyncio.Future[object]:
    """The result is an error where it has to be told again."""
    try:
        return partition.submit(TopicsDeleted(deleted), NODE_ITSELF)
    except KafkaError as error:
        refused: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        refused.set_result(None if isinstance(error, CoordinatorLoadInProgress) else error)
        return refused


async def _wait_until_forgotten(
    partition: CoordinatorPartition[GroupShard],
    deleted: list[str],
    forgetting: asyncio.Future[object],
) -> None:
    """Tells it again until it is written: a queue may be full, and replicas may be missing."""
    while isinstance(error := await forgetting, KafkaError) and not partition.is_closed:
        name = partition.partition.topic_partition
        _LOGGER.debug("%s: offsets of deleted topics are not removed yet: %s", name, error)
        await asyncio.sleep(_RETRY_S)
        forgetting = _told_to_forget(partition, deleted)


_GROUP_VERSION: Final = "group.version"
_STREAMS_VERSION: Final = "streams.version"


def check_consumer_protocol(config: DynamicConfig, metadata: Metadata) -> None:
    """Checks that the protocol is served. Raises UnsupportedVersion if not."""
    is_listed = "consumer" in config.current.group_coordinator_rebalance_protocols
    if not is_listed or not metadata.image.features.get(_GROUP_VERSION, 0):
        raise UnsupportedVersion("the consumer group protocol is disabled on this broker")


def check_streams_protocol(config: DynamicConfig, metadata: Metadata) -> None:
    """Checks that the protocol is served. Raises UnsupportedVersion if not."""
    is_listed = "streams" in config.current.group_coordinator_rebalance_protocols
    if not is_listed or not metadata.image.features.get(_STREAMS_VERSION, 0):
        raise UnsupportedVersion("the streams group protocol is disabled on this broker")
