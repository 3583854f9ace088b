"""Serdes: how keys and values become bytes and back."""

from __future__ import annotations

from millstream.streams.serdes.serde import (
    Serde,
    boolean,
    bytes_,
    double,
    float_,
    integer,
    json,
    long,
    short,
    string,
)
from millstream.streams.serdes.windowed import (
    Windowed,
    session_windowed,
    time_windowed,
)

__all__ = [
    "Serde",
    "Windowed",
    "boolean",
    "bytes_",
    "double",
    "float_",
    "integer",
    "json",
    "long",
    "session_windowed",
    "short",
    "string",
    "time_windowed",
]
