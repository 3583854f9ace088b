"""Serdes: how keys and values become bytes and back, in Kafka's own formats and in JSON, Avro,
Protobuf, MessagePack.
"""

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
from millstream.runtime.extras import MissingExtra

__all__ = [
    "MissingExtra",
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
