"""Cuts a byte stream into frames, receiving long ones straight into a buffer of their own.

A read goes either into the loop's shared receive buffer (many short frames per read, each copied out) or, once the size of
a long frame is known, into that frame's own buffer, so that a produce of a megabyte is received where it will be patched.
It knows no socket: the connection asks where the next bytes belong and says how many arrived.
"""

from __future__ import annotations

from collections.abc import Iterator

from millstream.errors import MalformedMessage

RECEIVE_BUFFER_BYTES = 64 * 1024
_SIZE_BYTES = 4
_TRUST_FACTOR = 32
"""A frame's buffer is at most this many times what has arrived of it: a size alone must not make us allocate."""


class FrameReceiver:
    """One connection's half-received bytes. `shared` may serve every connection of a loop: no frame outlives a call in it."""

    def __init__(self, shared: memoryview, frame_bytes_max: int) -> None:
        self._shared = shared
        self._frame_bytes_max = frame_bytes_max
        self._head = b""
        """Bytes of an incomplete size prefix: 0 to 3."""
        self._frame: bytearray | None = None
        self._frame_size = 0
        self._filled = 0

    @property
    def between_frames(self) -> bool:
        return self._frame is None and not self._head

    @property
    def expected_bytes(self) -> int:
        """Size of the frame that is being received; 0 between frames."""
        return 0 if self._frame is None else self._frame_size

    def target(self) -> memoryview:
        """Where the next bytes of the stream go. Never empty."""
        if self._frame is None:
            return self._shared
        if self._filled == len(self._frame):
            self._grow_frame(self._frame)
        return memoryview(self._frame)[self._filled :]

    def received(self, count: int) -> Iterator[memoryview]:
        """The frames completed by `count` bytes written to `target()`. Raises MalformedMessage at an impossible size."""
        frame = self._frame
        if frame is None:
            yield from self._cut(self._shared[:count])
            return
        self._filled += count
        if self._filled == self._frame_size:
            self._frame = None
            yield memoryview(frame)

    def _cut(self, data: memoryview) -> Iterator[memoryview]:
        if self._head:
            data = memoryview(self._head + data)
            self._head = b""
        at, end = 0, len(data)
        while end - at >= _SIZE_BYTES:
            start = at + _SIZE_BYTES
            size = int.from_bytes(data[at:start], "big", signed=True)
            if not 0 <= size <= self._frame_bytes_max:
                raise _impossible_size(size, bytes(data[at:start]), self._frame_bytes_max)
            if end - start < size:
                self._begin_frame(size, data[start:])
                return
            at = start + size
            yield memoryview(bytearray(data[start:at]))
        self._head = bytes(data[at:])

    def _begin_frame(self, size: int, first_bytes: memoryview) -> None:
        self._frame_size = size
        self._filled = len(first_bytes)
        trusted = max(RECEIVE_BUFFER_BYTES, self._filled * _TRUST_FACTOR)
        self._frame = bytearray(min(size, trusted))
        self._frame[: self._filled] = first_bytes

    def _grow_frame(self, frame: bytearray) -> None:
        larger = bytearray(min(self._frame_size, len(frame) * _TRUST_FACTOR))
        larger[: len(frame)] = frame
        self._frame = larger


def _impossible_size(size: int, prefix: bytes, size_max: int) -> MalformedMessage:
    reason = f"frame of {size} bytes, allowed are 0 to {size_max}"
    if prefix[:2] == b"\x16\x03":
        reason += "; these bytes look like a TLS hello on a plaintext listener"
    elif prefix in {b"GET ", b"POST", b"PUT ", b"HEAD"}:
        reason += "; these bytes look like HTTP"
    return MalformedMessage(reason, message="frame", field="size", offset=0)
