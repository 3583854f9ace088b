"""Changes the cluster as administrators want it, as their users."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Final

from millstream.clients import Admin
from millstream.clients.admin import NewTopic
from millstream.errors import RequestTimedOut

_BY_DEFAULT: Final = -1


class ClusterChanges:
    """Each raises the typed error of what the cluster refuses, and RequestTimedOut where it says
    nothing within `limit_ms`.
    """

    def __init__(self, admin: Admin, limit_ms: int) -> None:
        self._admin = admin
        self._limit_ms = limit_ms

    async def create_topic(self, name: str, partitions: int | None) -> None:
        """Creates a topic with the replication factor that is the default of the cluster, and
        partitions where none are given.
        """
        topic = NewTopic(name, _BY_DEFAULT if partitions is None else partitions)
        async with self._deadline():
            (await self._admin.create_topics([topic])).result(name)

    async def delete_topic(self, name: str) -> None:
        async with self._deadline():
            (await self._admin.delete_topics([name])).result(name)

    async def delete_group(self, group_id: str) -> None:
        async with self._deadline():
            (await self._admin.delete_groups([group_id])).result(group_id)

    def _deadline(self) -> contextlib.AbstractAsyncContextManager[None]:
        return deadline(self._limit_ms, "what this form asks")


@contextlib.asynccontextmanager
async def deadline(limit_ms: int, asked: str) -> AsyncIterator[None]:
    """Raises RequestTimedOut where its block takes longer. `asked`: what the cluster has not answered then."""
    try:
        async with asyncio.timeout(limit_ms / 1000):
            yield
    except TimeoutError as error:
        raise RequestTimedOut(
            f"The cluster did not answer {asked} within {limit_ms} ms."
        ) from error
