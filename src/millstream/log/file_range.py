"""A stretch of a log file that is sent without being read into Python. Satisfies `protocol.buffers.Splice`."""

from __future__ import annotations

from typing import final

from millstream.errors import KafkaStorageError
from millstream.runtime import File


@final
class FileRange:
    """A range of `length` bytes of `file` from `position`; always whole record batches.

    The file stays open while a range of it may be on its way: segments are closed only `file.delete.delay.ms` after
    they left the log. The sender asks `file.fileno()` each time it sends; a closed file answers an unusable number,
    never those of another file.
    """

    __slots__ = ("file", "length", "position")

    def __init__(self, file: File, position: int, length: int) -> None:
        self.file = file
        self.position = position
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __repr__(self) -> str:
        return f"FileRange(position={self.position}, length={self.length})"

    def read(self) -> bytes:
        """Returns the bytes themselves, for senders without sendfile (TLS, simulations)."""
        data = self.file.read_at(self.position, self.length)
        if len(data) != self.length:
            raise KafkaStorageError(
                f"the log file ended after {len(data)} of {self.length} bytes at position {self.position}; "
                "it was cut by something else than this broker"
            )
        return data
