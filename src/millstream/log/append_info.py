"""The answer of an append: which offsets the records got."""

from __future__ import annotations

from typing import Final, NamedTuple

NO_OFFSET: Final = -1


class AppendInfo(NamedTuple):
    """Both offsets are NO_OFFSET where nothing was written. Times are in ms; -1 where producers set the time."""

    first_offset: int
    last_offset: int
    log_append_time_ms: int = -1
    is_duplicate: bool = False
    """Nothing was written: these are the offsets that the batch got the first time."""
