"""The serdes of streams are those of the clients: `millstream.clients.serdes`."""

from __future__ import annotations

from millstream.clients.serdes.json_text import json
from millstream.clients.serdes.primitives import (
    boolean,
    bytes_,
    double,
    float_,
    integer,
    long,
    short,
    string,
)
from millstream.clients.serdes.serde import Serde

__all__ = [
    "Serde",
    "boolean",
    "bytes_",
    "double",
    "float_",
    "integer",
    "json",
    "long",
    "short",
    "string",
]
