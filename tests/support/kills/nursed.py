"""Instances of an application as processes that can be killed: `nursery` forks them."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self

import orjson

from tests.patience import LONG_ENOUGH_S
from tests.support.kills.orders import INSTANCE_MODULE
from tests.support.kills.run import ROOT


class Nursery:
    """Starts processes of instances; a start of Python for each would take most of the time."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._started: asyncio.Queue[int] = asyncio.Queue()
        self._turn = asyncio.Lock()
        self._ended: dict[int, asyncio.Future[int]] = {}

    @classmethod
    @asynccontextmanager
    async def open(cls, module: str, variables: Mapping[str, str]) -> AsyncIterator[Self]:
        """`module` has a function `main`, which is an instance."""
        environment = os.environ | {
            **variables,
            "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)]),
        }
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", INSTANCE_MODULE, module,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env=environment, cwd=ROOT,
        )  # fmt: skip
        nursery = cls(process)
        hearing = asyncio.create_task(nursery._hear())
        try:
            yield nursery
        finally:
            await nursery._kill_all()
            process.kill()
            await process.wait()
            await hearing

    async def start(self, log: Path, *arguments: str) -> tuple[int, asyncio.Future[int]]:
        """Returns the process id, and the exit code to be waited for."""
        assert self._process.stdin is not None, "it is a pipe"
        async with self._turn:
            self._process.stdin.write(orjson.dumps([str(log), *arguments]) + b"\n")
            async with asyncio.timeout(LONG_ENOUGH_S):
                pid = await self._started.get()
        return pid, self._ended[pid]

    async def _hear(self) -> None:
        assert self._process.stdout is not None, "it is a pipe"
        async for line in self._process.stdout:
            match line.decode().split():
                case ["started", pid]:
                    self._ended[int(pid)] = asyncio.get_running_loop().create_future()
                    self._started.put_nowait(int(pid))
                case ["ended", pid, code]:
                    self._ended[int(pid)].set_result(int(code))
                case other:
                    raise AssertionError(f"no nursery says {other}")

    async def _kill_all(self) -> None:
        """Nothing goes on, whatever has failed."""
        running = {pid: ended for pid, ended in self._ended.items() if not ended.done()}
        for pid in running:
            os.kill(pid, signal.SIGKILL)  # it stays until the nursery has told its end
        if running:
            await asyncio.wait(running.values(), timeout=LONG_ENOUGH_S)
