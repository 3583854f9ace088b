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

    A file that is cut while a range of it waits to be sent is gone for that range: `fileno` and `read` raise, and the
    connection ends. Other batches may stand at its position by then. (Kafka sends them, and ends the connection only
    where the file is now too short.)
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
        try:
            data = self.file.read_at(self.position, self.length)
        except OSError as error:
            raise KafkaStorageError(
                f"the log file cannot be read any more: {error.strerror or error}"
            ) from error
        if len(data) != self.length:
            raise KafkaStorageError(
                f"the log file ended after {len(data)} of {self.length} bytes at position {self.position}; "
                "it was cut by something else than this broker"
            )
        return data
