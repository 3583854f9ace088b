"""The asyncio admin client: what operators and test suites ask a cluster for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Self, Unpack

from millstream.clients.admin import configs as config_calls
from millstream.clients.admin import groups as group_calls
from millstream.clients.admin import topics as topic_calls
from millstream.clients.admin.results import (
    AlterConfig,
    ClusterDescription,
    ConfigEntry,
    ConfigResource,
    CreatedTopic,
    GroupDescription,
    GroupListing,
    NewTopic,
    Results,
    TopicDescription,
    TopicListing,
)
from millstream.clients.cluster import Cluster
from millstream.clients.core.config import AdminConfig, AdminSettings
from millstream.clients.core.settings import parse_settings
from millstream.clients.core.values import OffsetAndMetadata, OffsetAndTimestamp
from millstream.clients.offset_lookup import list_offsets
from millstream.clients.tasks import TaskScope
from millstream.model import TopicPartition
from millstream.runtime.system import SystemClock, SystemRandom


class Admin:
    """Use as `async with Admin(bootstrap_servers=...) as admin`. Settings: see AdminConfig.

    Calls on several items return Results: one result or one typed error per item. Every call has `timeout_ms`, which
    covers its retries; left out it is default_api_timeout_ms.
    """

    def __init__(self, **settings: Unpack[AdminSettings]) -> None:
        self.config = parse_settings(AdminConfig, settings)
        self._scope = TaskScope("admin")
        self._cluster = Cluster(
            self.config,
            self._scope,
            SystemClock(),
            SystemRandom(),
            allow_auto_create_topics=False,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        try:
            await self._scope.close()
        finally:
            await self._cluster.close()

    async def create_topics(
        self,
        topics: Sequence[NewTopic],
        *,
        validate_only: bool = False,
        timeout_ms: int | None = None,
    ) -> Results[str, CreatedTopic]:
        return await topic_calls.create_topics(
            self._cluster, topics, self._deadline(timeout_ms), validate_only=validate_only
        )

    async def delete_topics(
        self, names: Sequence[str], *, timeout_ms: int | None = None
    ) -> Results[str, None]:
        return await topic_calls.delete_topics(self._cluster, names, self._deadline(timeout_ms))

    async def create_partitions(
        self,
        totals: Mapping[str, int],
        *,
        validate_only: bool = False,
        timeout_ms: int | None = None,
    ) -> Results[str, None]:
        """`totals` is the number of partitions that each topic shall have in the end."""
        return await topic_calls.create_partitions(
            self._cluster, totals, self._deadline(timeout_ms), validate_only=validate_only
        )

    async def list_topics(
        self, *, include_internal: bool = False, timeout_ms: int | None = None
    ) -> dict[str, TopicListing]:
        return await topic_calls.list_topics(
            self._cluster, self._deadline(timeout_ms), include_internal=include_internal
        )

    async def describe_topics(
        self, names: Iterable[str], *, timeout_ms: int | None = None
    ) -> Results[str, TopicDescription]:
        return await topic_calls.describe_topics(self._cluster, names, self._deadline(timeout_ms))

    async def describe_cluster(self, *, timeout_ms: int | None = None) -> ClusterDescription:
        picture = await self._cluster.refresh_metadata(self._deadline(timeout_ms))
        return ClusterDescription(
            picture.cluster_id, picture.controller_id, list(picture.nodes.values())
        )

    async def describe_configs(
        self, resources: Sequence[ConfigResource], *, timeout_ms: int | None = None
    ) -> Results[ConfigResource, dict[str, ConfigEntry]]:
        return await config_calls.describe_configs(
            self._cluster, resources, self._deadline(timeout_ms)
        )

    async def incremental_alter_configs(
        self,
        changes: Mapping[ConfigResource, Sequence[AlterConfig]],
        *,
        validate_only: bool = False,
        timeout_ms: int | None = None,
    ) -> Results[ConfigResource, None]:
        return await config_calls.incremental_alter_configs(
            self._cluster, changes, self._deadline(timeout_ms), validate_only=validate_only
        )

    async def list_groups(
        self,
        *,
        states: Sequence[str] = (),
        types: Sequence[str] = (),
        timeout_ms: int | None = None,
    ) -> list[GroupListing]:
        return await group_calls.list_groups(
            self._cluster, states, types, self._deadline(timeout_ms)
        )

    async def describe_groups(
        self, group_ids: Sequence[str], *, timeout_ms: int | None = None
    ) -> Results[str, GroupDescription]:
        return await group_calls.describe_groups(
            self._cluster, group_ids, self._deadline(timeout_ms)
        )

    async def delete_groups(
        self, group_ids: Sequence[str], *, timeout_ms: int | None = None
    ) -> Results[str, None]:
        return await group_calls.delete_groups(self._cluster, group_ids, self._deadline(timeout_ms))

    async def list_offsets(
        self,
        timestamps: Mapping[TopicPartition, int],
        *,
        read_committed: bool = False,
        timeout_ms: int | None = None,
    ) -> Results[TopicPartition, OffsetAndTimestamp]:
        """By partition a timestamp (ms), or EARLIEST_TIMESTAMP, LATEST_TIMESTAMP; offset -1 when nothing is so late."""
        return Results(
            await list_offsets(
                self._cluster,
                timestamps,
                read_committed=read_committed,
                deadline_ms=self._deadline(timeout_ms),
            )
        )

    async def committed_offsets(
        self, group_id: str, *, timeout_ms: int | None = None
    ) -> Results[TopicPartition, OffsetAndMetadata]:
        """All that the group has committed."""
        return await group_calls.committed_offsets(
            self._cluster, group_id, self._deadline(timeout_ms)
        )

    async def alter_offsets(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        *,
        timeout_ms: int | None = None,
    ) -> Results[TopicPartition, None]:
        """Set what an empty group has committed."""
        return await group_calls.alter_offsets(
            self._cluster, group_id, offsets, self._deadline(timeout_ms)
        )

    def _deadline(self, timeout_ms: int | None) -> int:
        self._scope.check()
        limit = self.config.default_api_timeout_ms if timeout_ms is None else timeout_ms
        return self._cluster.now_ms() + limit
