"""The serdes of streams are those of the clients: `millstream.clients.serdes`.

`bytes_` is Kafka's Bytes, ByteArray and ByteBuffer serde in one. A schema registry's serde becomes one of these with
`millstream.clients.serdes.registry.for_topic`.
"""

from __future__ import annotations

from millstream.clients.serdes.avro_data import avro
from millstream.clients.serdes.json_text import json, msgpack
from millstream.clients.serdes.lists import list_of
from millstream.clients.serdes.primitives import (
    boolean,
    bytes_,
    double,
    float_,
    integer,
    long,
    short,
    string,
    uuid,
    void,
)
from millstream.clients.serdes.protobuf_messages import protobuf
from millstream.clients.serdes.serde import Serde

__all__ = [
    "Serde",
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
    "short",
    "string",
    "uuid",
    "void",
]
