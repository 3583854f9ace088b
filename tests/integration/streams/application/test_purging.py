"""Repartition topics keep what was not read yet, and not what was."""

from __future__ import annotations

from tests.integration.streams.application.instances import Instances
from tests.patience import eventually

WORDS = [f"w{number % 7}" for number in range(100)]


async def test_what_was_read_of_repartition_topics_is_deleted(instances: Instances) -> None:
    repartition = f"{instances.application}-by-value-repartition"

    async def is_empty() -> bool:
        starts = await instances.reader.offsets(repartition, -2)
        return sum(starts.values()) > 0 and starts == await instances.reader.offsets(
            repartition, -1
        )

    async with instances.new(repartition_purge_interval_ms=100):
        await instances.put(WORDS)
        await instances.until_counted(WORDS)
        await eventually(is_empty)
        await instances.put(WORDS)
        await instances.until_counted(WORDS * 2)
