"""Input that may let us wait: a terminal or a pipe. Knows no lines.

Python hears of a signal between two instructions. One that comes when a read is about to wait, or that another thread is
given, is noted but does not end the wait: Ctrl-C would be heard with the next input only. So the wait looks up now and then.
"""

from __future__ import annotations

import io
import select
from typing import IO, TYPE_CHECKING, Final

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_LOOK_UP_S: Final = 0.2
_BUFFER_BYTES: Final = 65_536


def hearing_signals(source: IO[bytes]) -> IO[bytes]:
    """The same bytes. What has no file descriptor lets nobody wait, and is given back as it is."""
    raw = getattr(source, "raw", None)
    if not isinstance(raw, io.FileIO):
        return source
    return io.BufferedReader(_LookingUp(raw), _BUFFER_BYTES)


class _LookingUp(io.RawIOBase):
    def __init__(self, source: io.FileIO) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int | None:
        while not select.select([self._source], [], [], _LOOK_UP_S)[0]:
            pass
        return self._source.readinto(buffer)
