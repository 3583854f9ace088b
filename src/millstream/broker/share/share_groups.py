"""The parts of a node that serve share groups, except membership: sessions, share partitions, share state (KIP-932).

Owns how the parts live together: what starts and ends with the node, what a new image and a closed connection mean.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, final

from millstream.broker.config.broker_config import BrokerConfig
from millstream.broker.coordination.coordinator_partition import CoordinatorServices
from millstream.broker.coordination.share_state_coordination import ShareStateCoordination
from millstream.broker.forwarding.broker_channel import BrokerChannel
from millstream.broker.services import BackgroundTasks, Metadata, Partitions
from millstream.broker.share.group_settings import ShareGroupSettings
from millstream.broker.share.persister import SharePersister
from millstream.broker.share.sessions import (
    SessionKey,
    ShareSession,
    ShareSessionPartition,
    ShareSessions,
)
from millstream.broker.share.share_partitions import Outcome, SharePartitions
from millstream.broker.share.state_channel import ShareStateChannel
from millstream.coordinator.share.context import ShareCoordinatorConfig
from millstream.coordinator.share.state import SharePartitionKey
from millstream.errors import UnsupportedVersion
from millstream.metadata.image import MetadataImage
from millstream.net.server.client_connection import ClientConnection

_LOGGER = logging.getLogger(__name__)
SHARE_VERSION: Final = "share.version"


@final
class ShareGroups:
    def __init__(
        self,
        metadata: Metadata,
        config: BrokerConfig,
        ensure_topic: Callable[[], Awaitable[object]],
        brokers: BrokerChannel,
        *,
        partitions: Partitions,
        tasks: BackgroundTasks,
        services: CoordinatorServices,
    ) -> None:
        """`ensure_topic` makes `__share_group_state`."""
        self._metadata = metadata
        self._prune_interval_ms = config.share_coordinator_state_topic_prune_interval_ms
        self._tasks = tasks
        self._is_closed = False
        self.long_work: Final = services.long_work
        self.settings = ShareGroupSettings(metadata, config)
        self.sessions = ShareSessions(config.group_share_max_share_sessions)
        self.state = ShareStateCoordination(
            config.read(ShareCoordinatorConfig),
            brokers.broker_id,
            partitions=partitions,
            tasks=tasks,
            services=services,
        )
        self.persister = SharePersister(
            ShareStateChannel(self.state, metadata, brokers), ensure_topic
        )
        self.partitions = SharePartitions(
            partitions,
            self.persister,
            self.settings,
            services.clock,
            tasks=tasks,
            pool=services.pool,
            wake=services.wake,
        )

    def start(self) -> None:
        self._tasks.start(self.partitions.run(self.long_work), "share locks")
        self._tasks.start(self.state.keep_pruned(self._prune_interval_ms), "pruning of share state")

    def apply(self, image: MetadataImage) -> None:
        """Applies a new image; to be called after the node's partitions have followed it."""
        self.state.apply(image)
        self.partitions.apply(image)

    def close(self) -> None:
        """Closes share groups as the node stops: members look for the next leader, and locks end."""
        self._is_closed = True
        self.state.shards.close()

    def check_served(self) -> None:
        """Raises UnsupportedVersion while the cluster has not finalized `share.version` 1."""
        if self._metadata.image.features.get(SHARE_VERSION, 0) < 1:
            raise UnsupportedVersion("share groups are off: share.version is 0 in this cluster")

    # --- sessions that end

    def on_disconnect(self, connection: ClientConnection) -> None:
        """Releases the records of the members whose connection was closed, instead of
        waiting until their locks run out.
        """
        left = self.sessions.close_connection(connection.connection_id)
        if left and not self._is_closed:
            self._tasks.start(self._release_all(left), "share sessions that were left")

    async def _release_all(self, left: Sequence[ShareSession]) -> None:
        for session in left:
            await self.release(session)

    async def close_session(self, key: SessionKey) -> None:
        """Closes the session of a member and releases its records. Raises ShareSessionNotFound."""
        session = self.sessions.find(key)
        self.sessions.close(key)
        await self.release(session)

    async def release(self, session: ShareSession) -> None:
        """Releases the records that the member of the session holds, in all partitions before one is waited for.

        While it is stored the member may be back: what it acquires in another session is not released. Nor is
        anything of a partition that its new session reads already: it may be of that one, and the member may
        acknowledge the rest.

        Failures are logged: no request waits, and locks run out.
        """
        outcomes: list[Outcome | None] = []
        async for partition in self.long_work.in_turns(list(session.partitions)):
            if not self.sessions.reads(session.key, partition):
                key = share_key(session.key, partition)
                outcomes.append(self.partitions.release_member(key, session.key.member_id))
        for outcome in outcomes:
            error = None if outcome is None else await outcome
            if error is not None:
                _LOGGER.info("records of %s are not released: %s", session.key, error)
        if not self.sessions.has_group(session.key.group_id):
            self.partitions.forget_group(session.key.group_id)


def share_key(session: SessionKey, partition: ShareSessionPartition) -> SharePartitionKey:
    return SharePartitionKey(session.group_id, partition.topic_id, partition.partition)
