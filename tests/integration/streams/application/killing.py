"""Kills instances of the example of the guide, and their broker, at any moment, while words keep coming."""

from __future__ import annotations

import asyncio
import random
import signal
import sys
from itertools import cycle
from pathlib import Path
from typing import Final

from millstream.streams.application.group.standby_replicas import set_standby_replicas
from millstream.testing.broker import Broker
from tests.integration.streams.application.instances import Instances

SCRIPT: Final = Path(__file__).parents[4] / "examples" / "streams" / "word_count.py"
INSTANCES: Final = 2
WORDS_A_KILL: Final = 500
WAIT_MAX_S: Final = 1.5
BROKER_AMONG: Final = 6
"""One kill among so many is the broker's."""


async def count_while_killing(
    broker: Broker, directory: Path, seed: int, kills: int, *, broker_too: bool
) -> None:
    """Checks that each word has counted once. An instance that comes back finds the disk of the one that was killed.

    Every other start is one with two processes, which end on their own when their application is killed. With every other seed the
    instances keep copies of each other's stores.
    """
    chance = random.Random(seed)
    words: list[str] = []
    servers = broker.bootstrap_servers
    directories = [directory / str(number) for number in range(INSTANCES)]
    async with Instances.open(servers, directory, "word-count", ("words", "counts")) as instances:
        await set_standby_replicas(instances.admin, "word-count", seed % 2)
        threads = cycle((1, 2))
        processes = [await _started(servers, each, next(threads)) for each in directories]
        try:
            for _ in range(kills):
                more = [f"w{chance.randrange(20)}" for _ in range(WORDS_A_KILL)]
                words += more
                putting = asyncio.create_task(instances.put(more))
                await asyncio.sleep(chance.uniform(0.0, WAIT_MAX_S))  # any moment will do
                if broker_too and chance.randrange(BROKER_AMONG) == 0:
                    await asyncio.to_thread(broker.kill)
                    await asyncio.to_thread(broker.restart)
                else:
                    number = chance.randrange(INSTANCES)
                    processes[number].send_signal(signal.SIGKILL)
                    await processes[number].wait()
                    processes[number] = await _started(servers, directories[number], next(threads))
                await putting
            await instances.until_counted(words)
            for process in processes:
                process.send_signal(signal.SIGTERM)
            codes = [await process.wait() for process in processes]
            # One that has only just been started is ended before it can end itself.
            assert set(codes) <= {0, -signal.SIGTERM}, f"ended with {codes}"
        finally:
            for process in processes:
                if process.returncode is None:
                    process.kill()
                    await process.wait()


async def _started(servers: str, directory: Path, threads: int) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, str(SCRIPT), servers, str(directory), str(threads)
    )
