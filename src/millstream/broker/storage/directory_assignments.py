"""Tells the controller which data directory each replica lives in, where the metadata does not say so yet (KIP-858)."""

from __future__ import annotations

import asyncio
from typing import Final, final

from millstream.broker.metadata_log.broker_session import BrokerSession
from millstream.broker.node.services import ControllerClient
from millstream.controller.apis import ASSIGN_REPLICAS_TO_DIRS
from millstream.errors import RetriableError
from millstream.metadata.image import TopicImage
from millstream.model import BrokerId, Uuid
from millstream.protocol.generated.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsRequestDirectoryData,
    AssignReplicasToDirsRequestPartitionData,
    AssignReplicasToDirsRequestTopicData,
)

_RETRY_S: Final = 0.5
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

    def placed(self, topic: TopicImage, partition: int, directory_id: Uuid) -> None:
        self._pending[topic.topic_id, partition] = directory_id
        self._is_needed.set()

    async def run(self) -> None:
        """Sends pending assignments, all in one request, until cancelled. To be started once the broker is registered."""
        while True:
            await self._is_needed.wait()
            self._is_needed.clear()
            sent = dict(self._pending)
            try:
                await self._controller.ask(ASSIGN_REPLICAS_TO_DIRS, self._request(sent))
            except RetriableError:
                await asyncio.sleep(_RETRY_S)
                self._is_needed.set()
                continue
            for replica, directory_id in sent.items():
                if self._pending.get(replica) == directory_id:
                    del self._pending[replica]

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
