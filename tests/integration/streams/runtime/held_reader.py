"""A reader that stands still in the middle of a changelog, so that a restoration can be looked at, or ended, there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from millstream.clients import RangeReader
from millstream.streams.runtime.spec import TaskEnvironment
from tests.integration.streams.runtime.world import World

if TYPE_CHECKING:
    import pyarrow as pa


class HeldReader:
    """Reads the first records of a range, and the others when it is let go on."""

    def __init__(self, reader: RangeReader, records: int) -> None:
        self._reader = reader
        self._records = records
        self.is_held = asyncio.Event()
        self.goes_on = asyncio.Event()

    def __getattr__(self, name: str) -> Any:  # Any: whatever else a reader has
        return getattr(self._reader, name)

    async def read(
        self, topic: str, partition: int, start: int, end: int, **settings: Any
    ) -> AsyncIterator[pa.RecordBatch]:
        middle = start + self._records
        async for batch in self._reader.read(topic, partition, start, middle, **settings):
            yield batch
        self.is_held.set()
        await self.goes_on.wait()
        async for batch in self._reader.read(topic, partition, middle, end, **settings):
            yield batch


def held(world: World, reader: HeldReader) -> TaskEnvironment:
    environment = world.environment()
    clients = replace(environment.clients, reader=cast("RangeReader", reader))
    return replace(environment, clients=clients)
