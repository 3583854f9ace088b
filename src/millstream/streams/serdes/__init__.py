"""Serdes: how keys and values become bytes and back."""

from __future__ import annotations

from millstream.streams.serdes.serde import (
    Serde,
    avro,
    boolean,
    bytes_,
    double,
    float_,
    integer,
    json,
    list_of,
    long,
    msgpack,
    protobuf,
    short,
    string,
    uuid,
    void,
)
from millstream.streams.serdes.windowed import (
    Windowed,
    session_windowed,
    time_windowed,
)

__all__ = [
    "Serde",
    "Windowed",
    "avro",
    "boolean",
    "bytes_",
    "double",
    "float_",
    "integer",
    "json",
    "list_of",
    "long",
    "msgpack",
    "protobuf",
    "session_windowed",
    "short",
    "string",
    "time_windowed",
    "uuid",
    "void",
]
