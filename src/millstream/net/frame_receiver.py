"""Cuts a byte stream into frames, receiving long ones straight into a buffer of their own.

A read goes either into the loop's shared receive buffer (many short frames per read, each copied out) or,
once the size of a long frame is known, into that frame's own buffer, so that a produce of a megabyte is
received where it will be patched. Frames are cut when they are asked for. It knows no socket: the connection
asks where the next bytes belong and says how many arrived.
"""

from __future__ import annotations

from millstream.errors import MalformedMessage

RECEIVE_BUFFER_BYTES = 64 * 1024
"""Ours: small frames are cut from it, a long one gets a buffer of its own."""
_SIZE_BYTES = 4
"""Of the int32 before each message of Kafka's protocol."""
_TRUST_FACTOR = 32
"""Ours: a frame's buffer grows by as much as this many times what has arrived. A size alone must not
make us allocate."""
_PIECE_BYTES = 1024 * 1024
"""Ours: it grows by no more than a piece, or doubles, for it is copied each time."""
_GROWTH = memoryview(bytes(9 * 1024 * 1024))
"""Ours: the most at once: a hundred megabytes would take the time of others."""
_NOTHING = memoryview(b"")


class ImpossibleFrameSize(MalformedMessage):
    """A frame announces a size that is negative, or larger than allowed."""

    def __init__(self, size: int, reason: str) -> None:
        super().__init__(reason, message="frame", field="size", offset=0)
        self.size = size


class FrameReceiver:
    """One connection's received bytes. `shared` may serve every connection of a loop: see `keep_rest`.

    `believes_sizes`: of a peer that answers what it was asked, so that a buffer is made in one piece and never copied.
    """

    def __init__(
        self, shared: memoryview, frame_bytes_max: int, *, believes_sizes: bool = False
    ) -> None:
        self._shared = shared
        self._believes_sizes = believes_sizes
        self._frame_bytes_max = frame_bytes_max
        self._uncut = _NOTHING
        """Received, and not asked for yet: whole frames and the start of another."""
        self._frame: bytearray | None = None
        """Of a frame whose size is known and which has not arrived whole."""
        self._frame_size = 0
        self._filled = 0

    @property
    def needs_bytes(self) -> bool:
        """Whether more bytes must come. False as well while nothing has looked for a frame in those that are here."""
        if self._frame is None:
            return len(self._uncut) < _SIZE_BYTES
        return self._filled < self._frame_size

    @property
    def between_frames(self) -> bool:
        """Whether nothing has arrived of the next frame."""
        return self._frame is None and not self._uncut

    @property
    def held_bytes(self) -> int:
        """Memory that was taken because of what has arrived; what is only announced takes none."""
        return len(self._uncut) + (0 if self._frame is None else len(self._frame))

    def limit(self, frame_bytes_max: int) -> None:
        """Takes frames up to that size from now on; one whose size is known already is taken as it is."""
        self._frame_bytes_max = frame_bytes_max

    def target(self) -> memoryview:
        """Returns the memory into which the next bytes of the stream go. It is never empty.

        Call it only while bytes are needed.
        """
        if self._frame is None:
            if self._uncut:
                self.keep_rest()
            return self._shared
        if self._filled == len(self._frame):
            self._frame += _GROWTH[: self._growth()]
        return memoryview(self._frame)[self._filled :]

    def note_received(self, count: int) -> None:
        """Notes that `count` bytes were written to `target()`."""
        if self._frame is not None:
            self._filled += count
        elif self._uncut:
            self._uncut = memoryview(bytes(self._uncut) + self._shared[:count])
        else:
            self._uncut = self._shared[:count]

    def next_frame(self) -> memoryview | None:
        """Returns the next frame, once it is whole. Raises ImpossibleFrameSize."""
        frame = self._frame
        if frame is not None:
            if self._filled < self._frame_size:
                return None
            self._frame = None
            return memoryview(frame)
        uncut = self._uncut
        if len(uncut) < _SIZE_BYTES:
            return None
        size = int.from_bytes(uncut[:_SIZE_BYTES], "big", signed=True)
        if not 0 <= size <= self._frame_bytes_max:
            raise _impossible_size(size, bytes(uncut[:_SIZE_BYTES]), self._frame_bytes_max)
        end = _SIZE_BYTES + size
        if len(uncut) < end:
            self._begin_frame(size, uncut[_SIZE_BYTES:])
            self._uncut = _NOTHING
            return None
        self._uncut = uncut[end:]
        return memoryview(bytearray(uncut[_SIZE_BYTES:end]))

    def keep_rest(self) -> None:
        """Moves what was not cut out of the shared buffer, before another connection reads."""
        if self._uncut.obj is self._shared.obj:
            self._uncut = memoryview(bytes(self._uncut))

    def _begin_frame(self, size: int, first_bytes: memoryview) -> None:
        self._frame_size = size
        self._filled = len(first_bytes)
        self._frame = bytearray(self._filled + self._growth())
        self._frame[: self._filled] = first_bytes

    def _growth(self) -> int:
        wanted = min(self._frame_size - self._filled, len(_GROWTH))
        if self._believes_sizes:
            return wanted
        trusted = max(RECEIVE_BUFFER_BYTES, self._filled * _TRUST_FACTOR)
        return min(wanted, trusted, max(_PIECE_BYTES, self._filled))


def _impossible_size(size: int, prefix: bytes, size_max: int) -> ImpossibleFrameSize:
    reason = f"frame of {size} bytes, allowed are 0 to {size_max}"
    if prefix[:2] == b"\x16\x03":
        reason += "; these bytes look like a TLS hello on a plaintext listener"
    elif prefix in {b"GET ", b"POST", b"PUT ", b"HEAD"}:
        reason += "; these bytes look like HTTP"
    return ImpossibleFrameSize(size, reason)
