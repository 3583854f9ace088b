"""The edge of the pattern process: starts `program` beside the node and carries frames to it and back."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from typing import Final, Self

from millstream.broker.patterns.frames import LENGTH, framed

_START_S_MAX: Final = 60.0
_PROGRAM: Final = "millstream.broker.patterns.program"


class PatternProcess:
    """The pattern process.

    One question is asked at a time; after one without an answer, the process can only be ended.
    """

    def __init__(self, process: subprocess.Popen[bytes], pipe: socket.socket) -> None:
        self._process = process
        self._pipe = pipe

    @classmethod
    async def start(cls) -> Self:
        """Returns when it is ready. Raises OSError when it does not become so."""
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                process = _started(theirs)
        except BaseException:
            ours.close()
            raise
        ours.setblocking(False)
        started = cls(process, ours)
        try:
            async with asyncio.timeout(_START_S_MAX):
                await started._receive()
        except BaseException:
            started.end()
            raise
        return started

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    async def ask(self, message: bytes) -> bytes:
        """Sends a message to the process and returns its answer.

        Raises OSError when the process ends instead of answering.
        """
        await asyncio.get_running_loop().sock_sendall(self._pipe, framed(message))
        return await self._receive()

    def end(self) -> None:
        """Ends the process at once. The system may take a while to free its memory; that is not waited for."""
        self._pipe.close()
        self._process.kill()
        asyncio.get_running_loop().run_in_executor(None, self._process.wait)

    async def _receive(self) -> bytes:
        (length,) = LENGTH.unpack(await self._receive_exactly(LENGTH.size))
        return await self._receive_exactly(length)

    async def _receive_exactly(self, count: int) -> bytes:
        loop, received = asyncio.get_running_loop(), b""
        while len(received) < count:
            some = await loop.sock_recv(self._pipe, count - len(received))
            if not some:
                raise ConnectionError("the process has ended")
            received += some
        return received


def _started(pipe: socket.socket) -> subprocess.Popen[bytes]:
    """`Popen` and not asyncio's subprocesses: it does not copy the page tables of a large node, and
    needs no watcher of children.
    """
    if not sys.executable:
        raise OSError("Python does not know its own program")
    return subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-P", "-m", _PROGRAM],
        stdin=pipe.fileno(),
        stdout=pipe.fileno(),
        env={**os.environ, "PYTHONPATH": _import_path()},
        start_new_session=True,  # Ctrl-C is for the node
    )


def _import_path() -> str:
    """The process finds its modules where this one does, and nowhere else."""
    return os.pathsep.join(os.path.abspath(entry) for entry in sys.path)  # noqa: PTH100 - `Path.absolute` keeps ".."
