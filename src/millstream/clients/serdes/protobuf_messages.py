"""Protobuf messages of one type (extra `protobuf`): classes that protoc generated."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeVar

from millstream.clients.serdes.serde import Serde
from millstream.runtime.extras import library

if TYPE_CHECKING:
    from google.protobuf.message import Message

    M = TypeVar("M", bound=Message)
else:
    M = TypeVar("M")


def protobuf(message_type: type[M]) -> Serde[M]:
    """Messages of `message_type`, with nothing around them."""
    library("google.protobuf.message", "protobuf")
    name = f"protobuf({message_type.DESCRIPTOR.full_name})"
    return Serde(name, partial(write_message, message_type), partial(read_message, message_type))


def write_message(message_type: type[Message], message: Message) -> bytes:
    if not isinstance(message, message_type):
        raise TypeError(
            f"a {message_type.DESCRIPTOR.full_name} is written, not {type(message).__name__}"
        )
    return message.SerializeToString()


def read_message(message_type: type[M], data: bytes) -> M:
    return message_type.FromString(data)
