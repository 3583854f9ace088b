"""A serde: two functions and a name. Null (None) never reaches them: it is written as a null key or value.

A serde of one's own is one line: `Serde("point", encode=pack_point, decode=unpack_point)`. Streams, producers and
consumers take the same ones. Owns no formats: those are in the modules beside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from millstream.clients.core.serialization import SerializationError

if TYPE_CHECKING:
    from millstream.clients.core.values import Headers

T = TypeVar("T")

BYTES: Final = "bytes"
UTF_8: Final = "utf-8"
INT_64: Final = "int64"
FLOAT_64: Final = "float64"


@dataclass(frozen=True, slots=True)
class Serde(Generic[T]):
    """Writes and reads values of one type.

    `immutable` says that decoded values cannot change under a store that keeps them: such values are
    kept decoded between reads. Leave it False for lists, dicts and objects of your own.
    `inner` is the serde of the key inside a windowed key, and `window_size_ms` the size of its windows.
    `layout` names what the bytes are, where reading and writing them again changes nothing (broken UTF-8 apart): serdes
    of one layout are the same to those who handle whole columns. None: not known.
    """

    name: str
    encode: Callable[[T], bytes]
    decode: Callable[[bytes], T]
    immutable: bool = False
    inner: Serde[Any] | None = None  # Any: the type of the inner key is not part of ours
    window_size_ms: int | None = None
    layout: str | None = None

    def encode_all(self, values: Iterable[T | None]) -> list[bytes | None]:
        """Returns a column of values as bytes; None stays None."""
        encode = self.encode
        return [None if value is None else encode(value) for value in values]

    def decode_all(self, column: Iterable[bytes | None]) -> list[T | None]:
        """Returns a column of bytes as values; None stays None."""
        decode = self.decode
        return [None if data is None else decode(data) for data in column]

    def serialize(self, topic: str, data: T, headers: Headers) -> bytes:  # noqa: ARG002 - the signature is the Serializer's
        """Serializes a value; called by producers.

        Raises SerializationError that names the serde and the type of the value.
        """
        try:
            return self.encode(data)
        except Exception as error:
            raise SerializationError(
                f"the {self.name} serde cannot write a value of type {type(data).__name__}: {error}"
            ) from error

    def deserialize(self, topic: str, data: bytes, headers: Headers) -> T:  # noqa: ARG002 - the signature is the Deserializer's
        """Deserializes bytes; called by consumers.

        Raises SerializationError that names the serde and the number of bytes.
        """
        try:
            return self.decode(data)
        except Exception as error:
            raise SerializationError(
                f"the {self.name} serde cannot read these {len(data)} bytes: {error}"
            ) from error
