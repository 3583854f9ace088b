"""The buffers that encoders write to: a `bytearray`, or a `FrameBuffer` that leaves large payloads out of it.

Owns the rule when a payload is copied and when it is spliced. Must not know messages or sockets.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Protocol, runtime_checkable

SPLICE_BYTES_MIN: Final = 4096
"""Payloads of this size and more are not copied into a frame. Below it one more buffer costs more than the copy."""


@runtime_checkable
class Splice(Protocol):
    """A payload that is sent from where it lies, such as a range of a file."""

    def __len__(self) -> int: ...

    def read(self) -> bytes:
        """Returns the whole payload as bytes, for writers that cannot splice."""


_IN_MEMORY: Final = (bytes, bytearray, memoryview)
Records = bytes | bytearray | memoryview | Splice
"""The value of a field of type `records`: opaque batches, never looked into by the codec."""


class FrameBuffer(bytearray):
    """A frame under construction. Each splice is (position in this buffer that it stands before, payload)."""

    __slots__ = ("splices",)

    def __init__(self, data: bytes | bytearray = b"") -> None:
        super().__init__(data)
        self.splices: list[tuple[int, memoryview | Splice]] = []

    def frame_bytes(self) -> int:
        """Length of the frame with its splices."""
        if not self.splices:  # as most responses are
            return len(self)
        return len(self) + sum(len(payload) for _, payload in self.splices)

    def pieces(self) -> Iterator[memoryview | Splice]:
        """Yields the frame in order: stretches of this buffer, and the splices between them."""
        view = memoryview(self)
        start = 0
        for position, payload in self.splices:
            if position > start:
                yield view[start:position]
            yield payload
            start = position
        if start < len(view):
            yield view[start:]


def append_records(out: bytearray, records: Records) -> None:
    """Adds `records` to `out`; large ones become splices where `out` is a FrameBuffer."""
    if isinstance(records, _IN_MEMORY):
        if len(records) >= SPLICE_BYTES_MIN and isinstance(out, FrameBuffer):
            out.splices.append((len(out), memoryview(records)))
        else:
            out += records
    elif len(records) >= SPLICE_BYTES_MIN and isinstance(out, FrameBuffer):
        out.splices.append((len(out), records))
    else:
        out += records.read()
