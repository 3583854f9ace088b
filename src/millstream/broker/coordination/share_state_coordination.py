"""The share coordinator of this node: the shards of `__share_group_state`, told of every new image, and their pruning.

What is kept is `coordinator.share`; which shards there are and how they are driven is `coordinator_topic`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from typing import TypeVar

from millstream.broker.coordination.coordinator_partition import (
    CoordinatorPartition,
    CoordinatorServices,
)
from millstream.broker.coordination.coordinator_topic import (
    CoordinatorKind,
    CoordinatorTopic,
    ask_shard,
)
from millstream.broker.coordination.internal_topics import SHARE_GROUP_STATE
from millstream.broker.services import BackgroundTasks, Partitions
from millstream.coordinator.result import NODE_ITSELF
from millstream.coordinator.share.context import (
    FirstNeededOffset,
    ShareCoordinatorConfig,
    TopicIdsDeleted,
)
from millstream.coordinator.share.shard import ShareShard
from millstream.coordinator.share.state import SharePartitionKey
from millstream.errors import CoordinatorLoadInProgress, KafkaError, NotCoordinator
from millstream.metadata.image import MetadataImage
from millstream.model import BrokerId, Uuid
from millstream.protocol.record_frames import decode_share_record

_LOGGER = logging.getLogger(__name__)

ResponseT = TypeVar("ResponseT")


class ShareStateCoordination:
    """The share coordinator. `apply` is to be called with every image, after the node's partitions have followed it."""

    def __init__(
        self,
        config: ShareCoordinatorConfig,
        broker_id: BrokerId,
        *,
        partitions: Partitions,
        tasks: BackgroundTasks,
        services: CoordinatorServices,
    ) -> None:
        self._image = MetadataImage()
        self._config = config
        self._long_work = services.long_work
        self.shards = CoordinatorTopic(
            CoordinatorKind(SHARE_GROUP_STATE, self._new_shard, decode_share_record),
            broker_id,
            partitions=partitions,
            tasks=tasks,
            services=services,
        )

    # --- following the metadata

    def apply(self, image: MetadataImage) -> None:
        """Takes on the partitions this node leads now, lets go of the others, tells all of deleted topics."""
        previous, self._image = self._image, image
        self.shards.apply(image)
        for partition in self.shards:
            partition.change(lambda shard: shard.apply_image(image))
        if image.topics is not previous.topics:
            deleted = previous.topics.by_id.keys() - image.topics.by_id.keys()
            for partition in self.shards if deleted else ():
                _tell_of_topics(partition, deleted)

    def _new_shard(self, index: int) -> ShareShard:
        del index
        return ShareShard(self._config)

    # --- requests

    async def ask(
        self,
        key: SharePartitionKey,
        request: object,
        expected: type[ResponseT],
    ) -> ResponseT:
        """Returns the answer of the shard that keeps `key`. Raises what the shard refuses with.

        Raises NotCoordinator, CoordinatorLoadInProgress, CoordinatorNotAvailable when there is no shard to ask.
        """
        return await self.shards.ask(key.text, request, expected, NODE_ITSELF)

    # --- upkeep

    async def keep_pruned(self, interval_ms: int) -> None:
        """Deletes records that later snapshots have made redundant, until cancelled."""
        while True:
            await asyncio.sleep(interval_ms / 1000)
            await self.prune()

    async def prune(self) -> None:
        """Prunes all partitions once. A failure is logged and the partition tried again later."""
        async for shard in self._long_work.in_turns(self.shards):
            partition = shard.partition
            try:
                # The answer waits for the high watermark: a snapshot that another leader may still cut off makes nothing redundant.
                # What it says stays right, whoever leads by then.
                needed = await ask_shard(shard, FirstNeededOffset(), int, NODE_ITSELF)
                if needed > partition.log_start_offset:
                    partition.delete_records_before(needed)
            except (CoordinatorLoadInProgress, NotCoordinator):
                continue
            except KafkaError as error:
                _LOGGER.warning("%s is not pruned: %s", partition.topic_partition, error)


def _tell_of_topics(
    partition: CoordinatorPartition[ShareShard], topic_ids: Collection[Uuid]
) -> None:
    """Tells a shard without waiting. A shard that is loading keeps state of the topic, which no request can ask for."""
    try:
        partition.submit(TopicIdsDeleted(topic_ids), NODE_ITSELF)
    except KafkaError as error:
        _LOGGER.debug("%s: %s", partition.partition.topic_partition, error)
