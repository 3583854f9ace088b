"""Reads the topology's result topics back with a client: the last value of every window and of every airline."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import orjson

from millstream.cli.demo.topology import BY_AIRLINE, BY_ORIGIN_AND_DAY, DAY, SET_ASIDE
from millstream.cli.demo.verification import AirlineDelay, OriginDay, OriginDelay, TopologyResults
from millstream.clients import RangeReader
from millstream.clients.admin import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from millstream.streams.serdes import string, time_windowed
from millstream.streams.windows import to_ms

if TYPE_CHECKING:
    import pyarrow as pa


async def read_results(bootstrap_servers: str) -> TopologyResults:
    windowed = time_windowed(string(), to_ms(DAY))
    windows: dict[OriginDay, OriginDelay] = {}
    airlines: dict[str, AirlineDelay] = {}
    async with RangeReader(
        bootstrap_servers=bootstrap_servers, isolation_level="read_committed"
    ) as reader:
        async for key, value in _last_values(reader, BY_ORIGIN_AND_DAY):
            window = windowed.decode(key)
            day = OriginDay(window.key, window.start_ms)
            windows[day] = OriginDelay(value["flights"], value["mean"], value["worst"])
        async for key, value in _last_values(reader, BY_AIRLINE):
            airlines[key.decode()] = AirlineDelay(value["airline"], value["flights"], value["mean"])
        set_aside = await _count(reader, SET_ASIDE)
    return TopologyResults(windows, airlines, set_aside)


async def _last_values(
    reader: RangeReader, topic: str
) -> AsyncIterator[tuple[bytes, dict[str, Any]]]:  # JSON
    """Every key once, with what was written for it last. A key lives in one partition, so the order is well defined."""
    last: dict[bytes, bytes] = {}
    async for batch in _records(reader, topic):
        last.update(
            zip(batch.column("key").to_pylist(), batch.column("value").to_pylist(), strict=True)
        )
    for key, value in last.items():
        yield key, orjson.loads(value)


async def _count(reader: RangeReader, topic: str) -> int:
    """Offsets would count the markers of transactions, too."""
    return sum([batch.num_rows async for batch in _records(reader, topic)])


async def _records(reader: RangeReader, topic: str) -> AsyncIterator[pa.RecordBatch]:
    starts, ends = (
        await reader.offsets(topic, EARLIEST_TIMESTAMP),
        await reader.offsets(topic, LATEST_TIMESTAMP),
    )
    for partition, end in ends.items():
        async for batch in reader.read(topic, partition, starts[partition], end):
            yield batch
