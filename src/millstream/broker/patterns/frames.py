"""The messages between a node and its pattern process: frames of a length and that many bytes.

    node     P expression      compile this one
    process  nothing, or the reason why it is refused
    node     T texts           which of them match? asked for as often as there are texts left
    process  one byte for each text: 1 for a match, else 0

One asks, the other answers, so neither can be waiting with a full pipe. Imports nothing of the
broker: the process is to be small.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from struct import Struct
from typing import Final

LENGTH: Final = Struct(">I")
TEXTS_MAX: Final = 1_000
TEXT_BYTES_MAX: Final = 64 * 1024
"""Of the texts of one frame, but for the last of them: to be encoded within a millisecond, on the event loop."""


class Ask(Enum):
    COMPILE = b"P"
    MATCH = b"T"


def framed(message: bytes) -> bytes:
    return LENGTH.pack(len(message)) + message


def compile_message(pattern: str) -> bytes:
    return Ask.COMPILE.value + pattern.encode()


def match_message(texts: Sequence[bytes]) -> bytes:
    parts = [Ask.MATCH.value]
    for text in texts:
        parts += (LENGTH.pack(len(text)), text)
    return b"".join(parts)


def read_message(message: bytes) -> tuple[Ask, bytes]:
    """Splits a message into the kind of question and its content."""
    return Ask(message[:1]), message[1:]


def read_texts(content: bytes) -> Iterator[str]:
    at = 0
    while at < len(content):
        (length,) = LENGTH.unpack_from(content, at)
        at += LENGTH.size
        yield content[at : at + length].decode()
        at += length


def portions(texts: Sequence[str]) -> Iterator[Sequence[bytes]]:
    """Yields the `texts` of one frame after another, in their order."""
    portion: list[bytes] = []
    size = 0
    for text in texts:
        encoded = text.encode()
        portion.append(encoded)
        size += len(encoded)
        if len(portion) == TEXTS_MAX or size >= TEXT_BYTES_MAX:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion
