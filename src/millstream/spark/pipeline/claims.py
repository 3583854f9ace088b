"""The host that has a task's stores open on a machine: a file beside them names it, so that the
next host can ask for them.

Executors on one machine share a directory where they are not given one each. A task that moves between them finds its
stores there, and open: RocksDB lets one process in. Without an answer, as from the host of another driver, which has
another secret, the next host waits for the lock, and then says who has it.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TextIO

from millstream.spark.pipeline.driver_secret import is_of_this_user
from millstream.spark.pipeline.messages import CloseTask
from millstream.streams.runtime.process import LENGTH, encode
from millstream.streams.state.storage.directories import make_state_directory

CLAIM_TIMEOUT_S: Final = 10.0
"""The run that the other host is in may take as long. It may also be asking us for the same task: neither answers then.
After that the stores' own lock is waited for."""


async def claim(
    directory: Path, own_socket: Path, secret: bytes, application_id: str, task_name: str
) -> None:
    """Notes that the task is ours, and has it closed by the host that had it last, if that is
    another one and still there.
    """
    with _held(directory / f"{task_name}.host") as note:
        other = _exchanged(note, str(own_socket))
    if other is not None and other != str(own_socket):
        await _request_close(other, secret, CloseTask(application_id, task_name))


def may_stand_by(directory: Path, own_socket: Path, task_name: str) -> bool:
    """Notes that a standby of the task is ours.

    False where another host that is still there has the task in this directory.
    """
    with _held(directory / f"{task_name}.host") as note:
        other = note.read()
        if other not in {"", str(own_socket)} and Path(other).exists():
            return False
        _exchanged(note, str(own_socket))
    return True


@contextlib.contextmanager
def _held(path: Path) -> Iterator[TextIO]:
    """The note, which no other host reads or changes meanwhile: of two that came at a time one would not be named, and
    nobody would ask it to close what it has open. It is held for a read and a write.
    """
    make_state_directory(path.parent)
    with path.open("a+") as note:
        fcntl.flock(note, fcntl.LOCK_EX)
        note.seek(0)
        yield note


def _exchanged(note: TextIO, own_socket: str) -> str | None:
    """Returns the host that was named before; None where there was none."""
    note.seek(0)
    other = note.read()
    note.seek(0)
    note.truncate()
    note.write(own_socket)
    return other or None


async def _request_close(socket: str, secret: bytes, message: CloseTask) -> None:
    with contextlib.suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
        async with asyncio.timeout(CLAIM_TIMEOUT_S):
            reader, writer = await asyncio.open_unix_connection(socket)
            try:
                if not is_of_this_user(writer.get_extra_info("socket")):
                    return  # a stranger has written the note: it is not told the secret
                writer.write(secret + encode(message))
                await reader.readexactly(LENGTH.size)
            finally:
                writer.close()
