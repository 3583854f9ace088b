"""Instances that are killed: others go on with their tasks, and each record counts once."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from pathlib import Path

import pytest

from tests.integration.streams.application.instances import Instances

SCRIPT = Path(__file__).parent / "count_words.py"
ROOT = Path(__file__).parents[4]
KILLS = 3
SEED = 5


async def started(instances: Instances, number: int) -> asyncio.subprocess.Process:
    """Starts an instance, which finds the disk of the one with its number that was killed."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(SCRIPT), instances.servers, instances.application, str(instances.directory / f"process-{number}"),
        stdout=asyncio.subprocess.PIPE, env=os.environ | {"PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"},
    )  # fmt: skip
    assert process.stdout is not None
    assert await process.stdout.readline() == b"started\n"
    return process


@pytest.mark.slow
async def test_instances_that_are_killed_again_and_again_count_each_record_once(
    instances: Instances,
) -> None:
    chance = random.Random(SEED)
    words: list[str] = []
    processes = [await started(instances, number) for number in range(2)]
    try:
        for kill in range(KILLS):
            more = [f"w{chance.randrange(20)}" for _ in range(500)]
            words += more
            putting = asyncio.create_task(instances.put(more))
            await asyncio.sleep(chance.uniform(0.0, 1.5))  # any moment will do
            processes[kill % 2].send_signal(signal.SIGKILL)
            await processes[kill % 2].wait()
            await putting
            processes[kill % 2] = await started(instances, kill % 2)
        await instances.until_counted(words)
        for process in processes:
            process.send_signal(signal.SIGTERM)
        assert [await process.wait() for process in processes] == [0, 0]
    finally:
        for process in processes:
            if process.returncode is None:
                process.kill()
                await process.wait()
