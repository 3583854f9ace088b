"""Changes the cluster as administrators want it, as their users."""

from __future__ import annotations

from typing import Final

from millstream.clients import Admin
from millstream.clients.admin import NewTopic

_BY_DEFAULT: Final = -1


class ClusterChanges:
    """Each raises the typed error of what the cluster refuses."""

    def __init__(self, admin: Admin) -> None:
        self._admin = admin

    async def create_topic(self, name: str, partitions: int | None) -> None:
        """Creates a topic with the replication factor that is the default of the cluster, and partitions where none are given."""
        topic = NewTopic(name, _BY_DEFAULT if partitions is None else partitions)
        (await self._admin.create_topics([topic])).result(name)

    async def delete_topic(self, name: str) -> None:
        (await self._admin.delete_topics([name])).result(name)

    async def delete_group(self, group_id: str) -> None:
        (await self._admin.delete_groups([group_id])).result(group_id)
