"""Cuts a stream of bytes into frames. Sans-IO: bytes in, frames out.

Owns the size prefix on the way in and the limit on frame sizes. Must not know what frames contain.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from millstream.errors import MalformedMessage

_SIZE: Final = Struct(">i")


class FrameReader:
    """Collects frames of at most `frame_bytes_max` bytes; memory grows with what arrives, not with what is announced."""

    def __init__(self, frame_bytes_max: int) -> None:
        self._frame_bytes_max = frame_bytes_max
        self._prefix = bytearray()
        self._size = 0
        self._frame = bytearray()

    def receive_data(self, data: bytes | bytearray | memoryview) -> list[memoryview]:
        """The frames that `data` completes, without size prefix, each writable and in memory of its own.

        Raises MalformedMessage when a size is negative or over the limit: the stream is lost, close it.
        """
        view = memoryview(data)
        frames = []
        at = 0
        while at < len(view):
            if len(self._prefix) < _SIZE.size:
                at = self._read_prefix(view, at)
            if len(self._prefix) == _SIZE.size:
                end = min(len(view), at + self._size - len(self._frame))
                self._frame += view[at:end]
                at = end
                if len(self._frame) == self._size:
                    frames.append(memoryview(self._frame))
                    self._prefix, self._frame = bytearray(), bytearray()
        return frames

    @property
    def is_between_frames(self) -> bool:
        """Whether the stream may end here: no frame has been begun."""
        return not self._prefix

    def _read_prefix(self, view: memoryview, at: int) -> int:
        end = min(len(view), at + _SIZE.size - len(self._prefix))
        self._prefix += view[at:end]
        if len(self._prefix) == _SIZE.size:
            (self._size,) = _SIZE.unpack(self._prefix)
            if not 0 <= self._size <= self._frame_bytes_max:
                raise MalformedMessage(
                    f"a frame of {self._size} bytes is not between 0 and {self._frame_bytes_max}",
                    message="frame",
                    field="size",
                    offset=0,
                )
        return end
