"""Records that could not be read or processed, as they are written to the dead letter topic (KIP-1034, rule S47)."""

from __future__ import annotations

import traceback
from typing import NamedTuple

from millstream.streams.kernel.batch import Headers, SinkBatch


class SourceRecord(NamedTuple):
    """A record as it came from its topic, and where that was."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


def dead_letter(
    topic: str, source: SourceRecord, timestamp: int, headers: Headers, error: BaseException
) -> SinkBatch:
    """The bytes of `source`, with headers behind its own that tell what happened: Kafka Streams' names and order.

    The exception is the one that the user's function or the serde raised, by its Python name.
    """
    kind = type(error)
    told = {
        "exception": f"{kind.__module__}.{kind.__qualname__}",
        "message": str(error),
        "stacktrace": "".join(traceback.format_exception(error)),
        "topic": source.topic,
        "partition": str(source.partition),
        "offset": str(source.offset),
    }
    added = tuple((f"__streams.errors.{name}", text.encode()) for name, text in told.items())
    return SinkBatch(topic, [source.key], [source.value], [timestamp], [headers + added])
