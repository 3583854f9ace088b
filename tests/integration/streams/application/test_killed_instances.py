"""Instances that are killed: others go on with their tasks, and each record counts once."""

from __future__ import annotations

import asyncio
import random
import signal
import sys
from pathlib import Path

import pytest

from millstream.testing.broker import Broker
from tests.integration.streams.application.instances import Instances

ROOT = Path(__file__).parents[4]
SCRIPT = ROOT / "examples" / "streams" / "word_count.py"
KILLS = 3
SEED = 5


async def started(servers: str, directory: Path) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, str(SCRIPT), servers, str(directory)
    )


@pytest.mark.slow
async def test_instances_that_are_killed_again_and_again_count_each_record_once(
    broker: Broker, tmp_path: Path
) -> None:
    """Those of the example of the guide. One that comes back finds the disk of the one that was killed."""
    servers = broker.bootstrap_servers
    async with Instances.open(servers, tmp_path, "word-count", ("words", "counts")) as instances:
        words = await counted_by_killed_processes(instances)
        await instances.until_counted(words)


async def counted_by_killed_processes(instances: Instances) -> list[str]:
    """Returns the words once all of them have been counted."""
    chance = random.Random(SEED)
    words: list[str] = []
    directories = [instances.directory / str(number) for number in range(2)]
    processes = [await started(instances.servers, directory) for directory in directories]
    try:
        for kill in range(KILLS):
            more = [f"w{chance.randrange(20)}" for _ in range(500)]
            words += more
            putting = asyncio.create_task(instances.put(more))
            await asyncio.sleep(chance.uniform(0.0, 1.5))  # any moment will do
            processes[kill % 2].send_signal(signal.SIGKILL)
            await processes[kill % 2].wait()
            await putting
            processes[kill % 2] = await started(instances.servers, directories[kill % 2])
        await instances.until_counted(words)
        for process in processes:
            process.send_signal(signal.SIGTERM)
        assert [await process.wait() for process in processes] == [0, 0]
        return words
    finally:
        for process in processes:
            if process.returncode is None:
                process.kill()
                await process.wait()
