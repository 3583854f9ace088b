"""Standby tasks: copies of stores on other instances, kept up to date, asked, and taken over when an instance goes."""

from __future__ import annotations

import asyncio
from collections import Counter

from tests.integration.streams.application.instances import PARTITIONS, Instances
from tests.patience import until

WORDS = [f"w{number % 23}" for number in range(200)]
COUNTS = Counter(WORDS)


async def test_an_instance_goes_on_from_its_copies(instances: Instances) -> None:
    await instances.put(WORDS)
    one, two = instances.new(num_standby_replicas=1), instances.new(num_standby_replicas=1)
    await asyncio.gather(one.start(), two.start())
    await instances.until_counted(WORDS)

    def settled() -> bool:
        copies = [
            len(t.standby_tasks) for app in (one, two) for t in app.metadata_for_local_threads()
        ]
        return sum(copies) == PARTITIONS

    await until(settled)
    await asyncio.sleep(2)
