"""Tells the controller which data directory each replica lives in, where the metadata does not say so yet (KIP-858)."""

from __future__ import annotations

import asyncio
import logging
from itertools import islice
from typing import Final, final

from millstream.broker.metadata_log.broker_session import BrokerSession
from millstream.broker.services import ControllerClient
from millstream.controller.partitions.replica_directories import ASSIGN_REPLICAS_TO_DIRS
from millstream.errors import KafkaError, RetriableError
from millstream.metadata.features import Capability, can
from millstream.metadata.image import MetadataImage, TopicImage
from millstream.model import BrokerId, Uuid
from millstream.protocol.generated.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsRequestDirectoryData,
    AssignReplicasToDirsRequestPartitionData,
    AssignReplicasToDirsRequestTopicData,
)

_LOGGER = logging.getLogger(__name__)
_RETRY_S: Final = 0.5
"""Ours: records are taken meanwhile."""
_PER_REQUEST_MAX: Final = 2_250
"""Kafka's (`AssignReplicasToDirsRequest.MAX_ASSIGNMENTS_PER_REQUEST`): its brokers put no more into one."""
_Replica = tuple[Uuid, int]


@final
class DirectoryAssignments:
    def __init__(
        self, controller: ControllerClient, session: BrokerSession, broker_id: BrokerId
    ) -> None:
        self._controller = controller
        self._session = session
        self._broker_id = broker_id
        self._pending: dict[_Replica, Uuid] = {}
        """Topic id and partition to directory id; never more than the replicas of this broker."""
        self._is_needed = asyncio.Event()
        self._is_supported = asyncio.Event()

    def follow(self, image: MetadataImage) -> None:
        """Holds assignments back while the level of the cluster has none.

        Kafka's brokers forget them then until they are started again.
        """
        if can(image, Capability.DIRECTORY_ASSIGNMENT):
            self._is_supported.set()
        else:
            self._is_supported.clear()

    def on_assignment(self, topic: TopicImage, partition: int, directory_id: Uuid) -> None:
        self._pending[topic.topic_id, partition] = directory_id
        self._is_needed.set()

    async def run(self) -> None:
        """Sends pending assignments, many in a request, until cancelled.

        To be started once the broker is registered.
        """
        refused: KafkaError | None = None
        while True:
            await self._is_supported.wait()
            await self._is_needed.wait()
            self._is_needed.clear()
            sent = dict(islice(self._pending.items(), _PER_REQUEST_MAX))
            try:
                await self._controller.ask(ASSIGN_REPLICAS_TO_DIRS, self._request(sent))
            except KafkaError as error:
                # One that is no RetriableError says that somebody has unregistered this broker: it goes on, as its heartbeats do.
                if not isinstance(error, RetriableError) and type(error) is not type(refused):
                    _LOGGER.warning("the controller takes no directories of replicas: %s", error)
                refused = error
                await asyncio.sleep(_RETRY_S)
                self._is_needed.set()
                continue
            refused = None
            for replica, directory_id in sent.items():
                if self._pending.get(replica) == directory_id:
                    del self._pending[replica]
            if self._pending:
                self._is_needed.set()

    def _request(self, placed: dict[_Replica, Uuid]) -> AssignReplicasToDirsRequest:
        found: dict[Uuid, dict[Uuid, list[int]]] = {}
        for (topic_id, partition), directory_id in placed.items():
            found.setdefault(directory_id, {}).setdefault(topic_id, []).append(partition)
        return AssignReplicasToDirsRequest(
            broker_id=self._broker_id,
            broker_epoch=self._session.broker_epoch,
            directories=[
                AssignReplicasToDirsRequestDirectoryData(
                    id=directory_id,
                    topics=[
                        AssignReplicasToDirsRequestTopicData(
                            topic_id=topic_id,
                            partitions=[
                                AssignReplicasToDirsRequestPartitionData(partition_index=number)
                                for number in numbers
                            ],
                        )
                        for topic_id, numbers in topics.items()
                    ],
                )
                for directory_id, topics in found.items()
            ],
        )
