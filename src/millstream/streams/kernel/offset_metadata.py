"""The metadata that Kafka Streams writes beside a committed offset: the partition's time,
and times that processors keep.

    base64 of   02 | int64 partition time | [int32 count | for each: int32 length, key, int64 time]

A task that starts takes the time from here, so that it does not begin with -1 again; operators that give out
closed windows keep the time up to which they have. Pure text; the runner commits it.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from struct import Struct
from struct import error as StructError  # noqa: N812 - a class, though struct writes it small

_TIME = Struct(">q")
_COUNT = Struct(">i")
_WITHOUT_PROCESSORS, _LATEST = 1, 2
"""The first byte, the versions of Kafka Streams' TopicPartitionMetadata."""


@dataclass(frozen=True, slots=True)
class OffsetMetadata:
    """`partition_time` is -1 before the first record; `processor_times` are by name of the processor."""

    partition_time: int = -1
    processor_times: Mapping[str, int] = field(default_factory=dict)

    def encode(self) -> str:
        """Returns the metadata of an offset commit."""
        parts = [bytes((_LATEST,)), _TIME.pack(self.partition_time)]
        if self.processor_times:
            parts.append(_COUNT.pack(len(self.processor_times)))
        for name, time in self.processor_times.items():
            data = name.encode()
            parts += (_COUNT.pack(len(data)), data, _TIME.pack(time))
        return base64.b64encode(b"".join(parts)).decode("ascii")

    @classmethod
    def decode(cls, text: str) -> OffsetMetadata:
        """Reads the metadata of a commit. As in Kafka Streams, a text that it has not written means no times."""
        try:
            data = base64.b64decode(text, validate=True)
            if data[:1] not in {bytes((_WITHOUT_PROCESSORS,)), bytes((_LATEST,))}:
                return cls()
            (time,) = _TIME.unpack_from(data, 1)
            return cls(time, _processor_times(data, 1 + _TIME.size))
        except (binascii.Error, StructError, UnicodeDecodeError):
            return cls()


def _processor_times(data: bytes, at: int) -> dict[str, int]:
    if at == len(data):
        return {}
    (count,) = _COUNT.unpack_from(data, at)
    at += _COUNT.size
    times = {}
    for _ in range(count):
        (length,) = _COUNT.unpack_from(data, at)
        at += _COUNT.size
        name = data[at : at + length].decode()
        (times[name],) = _TIME.unpack_from(data, at + length)
        at += length + _TIME.size
    return times
