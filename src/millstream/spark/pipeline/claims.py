"""The host that has a task's stores open on a machine: a file beside them names it, so that the
next host can ask for them.

Executors on one machine share a directory where they are not given one each. A task that moves between them finds its
stores there, and open: RocksDB lets one process in. Without an answer, as from the host of another driver, which has
another secret, the next host waits for the lock, and then says who has it.
"""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Final

from millstream.spark.pipeline.driver_secret import is_of_this_user
from millstream.spark.pipeline.messages import CloseTask
from millstream.streams.runtime.process.frames import LENGTH, encode
from millstream.streams.state.storage.directories import make_state_directory

CLAIM_TIMEOUT_S: Final = 10.0


async def claim(
    directory: Path, own_socket: Path, secret: bytes, application_id: str, task_name: str
) -> None:
    """Notes that the task is ours, and has it closed by the host that had it last, if that is
    another one and still there.
    """
    other = _exchanged(directory / f"{task_name}.host", str(own_socket))
    if other is not None and other != str(own_socket):
        await _request_close(other, secret, CloseTask(application_id, task_name))


def may_stand_by(directory: Path, own_socket: Path, task_name: str) -> bool:
    """Notes that a standby of the task is ours.

    False where another host that is still there has the task in this directory.
    """
    note = directory / f"{task_name}.host"
    other = note.read_text() if note.exists() else None
    if other not in {None, str(own_socket)} and Path(str(other)).exists():
        return False
    _exchanged(note, str(own_socket))
    return True


def _exchanged(note: Path, own_socket: str) -> str | None:
    make_state_directory(note.parent)
    other = note.read_text() if note.exists() else None
    note.write_text(own_socket)
    return other


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
