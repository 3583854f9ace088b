"""Applications of every shape, interrupted at every step of their tasks: what is read and stored is what one run gives.

`MILLSTREAM_STREAMS_SEEDS` says which seeds each shape is run with (`7`, or `0-99`).
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from itertools import count
from pathlib import Path

import pytest

from millstream.streams.runtime.steps import Step
from millstream.testing.broker import Broker
from tests.integration.streams.runtime.interruptions import (
    ANY,
    InterruptedApplication,
    OneByOne,
    TaskKey,
    by_key,
)
from tests.integration.streams.runtime.shapes import SHAPES

_NUMBERS = count()


def seeds() -> range:
    first, _, last = os.environ.get("MILLSTREAM_STREAMS_SEEDS", "0").partition("-")
    return range(int(first), int(last or first) + 1)


@pytest.mark.parametrize("seed", seeds())
@pytest.mark.parametrize("shape", SHAPES)
async def test_an_application_interrupted_anywhere_writes_what_one_run_writes(
    broker: Broker, tmp_path: Path, shape: str, seed: int
) -> None:
    await interrupted(broker, tmp_path, shape, seed)


async def interrupted(broker: Broker, directory: Path, shape: str, seed: int) -> int:
    """Runs one application, and returns how often it was interrupted."""
    again = (
        f'MILLSTREAM_STREAMS_SEEDS={seed} .venv/bin/python -m pytest {__file__} -n 0 -k "[{shape}-"'
    )
    sys.stdout.write(f"{again}\n")  # shown where the test fails
    name = f"{shape.replace(' ', '-')}-{seed}-{next(_NUMBERS)}"
    async with InterruptedApplication.open(
        SHAPES[shape], f"{shape}/{seed}", name, broker.bootstrap_servers, directory
    ) as application:
        await application.put_input()
        await application.run()
        assert set(application.interrupted_at) == set(Step)
        await check(application)
    return len(application.interrupted_at)


async def check(application: InterruptedApplication) -> None:
    alone = {key: await application.expected(key) for key in application.tasks}
    try:
        await check_outputs(application, alone)
        if application.partitions == 1:
            await check_against_the_driver(application, alone)
        for key, one in alone.items():
            wanted = one.stores()
            task = application.tasks[key]
            kept = await application.stores(key, task.directories[task.at])
            restored = await application.stores(key, application.directory / "nothing")
            for found in (kept, restored):
                assert {name: rows for name, (rows, _) in found.items()} == {
                    name: rows for name, (rows, _) in wanted.items()
                }
                assert {name: times for name, (_, times) in found.items()} == {
                    name: times for name, (_, times) in wanted.items()
                }
    finally:
        for one in alone.values():
            one.close()


async def check_outputs(
    application: InterruptedApplication, alone: dict[TaskKey, OneByOne]
) -> None:
    topics = {batch.topic for one in alone.values() for batch in one.sinks}
    counts = {topic: await application.partition_count(topic) for topic in topics}
    wanted = {key: list(one.written(counts)) for key, one in alone.items()}
    together = [record for records in wanted.values() for record in records]
    found = [
        record
        for topic, partitions in counts.items()
        for record in await application.written(topic, partitions)
    ]
    if not application.shape.is_cached:
        assert Counter(found) == Counter(together)
    else:
        assert not Counter(found) - Counter(together)
    in_order = by_key(found)
    for place, records in by_key(together).items():
        writers = [key for key, theirs in wanted.items() if set(records) & set(theirs)]
        if len(writers) > 1 or place[1] == ANY:
            continue  # their order is that of their transactions
        if application.shape.is_cached:
            assert in_order[place][-1] == records[-1]
        else:
            assert in_order[place] == records


async def check_against_the_driver(
    application: InterruptedApplication, alone: dict[TaskKey, OneByOne]
) -> None:
    driven = by_key(await application.driven(alone))
    found = by_key(await application.written(f"{application.name}-out", 1))
    assert found.keys() == driven.keys()
    if application.shape.is_cached or not application.shape.is_one_order:
        found = {key: records[-1:] for key, records in found.items()}
        driven = {key: records[-1:] for key, records in driven.items()}
    assert found == driven
