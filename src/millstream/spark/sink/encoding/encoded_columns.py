"""Encodes one column of a batch: whole, and where a row of it cannot be encoded in halves, to find which and why.

Functions of users are called here, and a registry is asked for the ids of schemas.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from millstream.spark.dead_letters import error_of
from millstream.spark.sink.encoding.pieces import Writer, joined, with_nulls
from millstream.spark.sink.row_checks import illegal_name

if TYPE_CHECKING:
    import pyarrow as pa

Prefix = Callable[[str], bytes]
"""Gives what stands in front of the values of a topic."""


class EncodedPart(NamedTuple):
    """An encoded column, null where a value is null or cannot be encoded. `errors` by row of the batch."""

    values: pa.Array
    errors: dict[int, str]


class EncodedColumn(Protocol):
    """A column of the name, key or value, that is written as bytes."""

    @property
    def name(self) -> str: ...

    def encode(self, rows: pa.RecordBatch, topics: pa.Array) -> EncodedPart: ...


@dataclass(frozen=True)
class WrittenColumn:
    """`prefix` is the registry's part of each value; None without a registry."""

    name: str
    write: Writer
    prefix: Prefix | None

    def encode(self, rows: pa.RecordBatch, topics: pa.Array) -> EncodedPart:
        import pyarrow as pa

        pieces = list[pa.Array]()
        errors = dict[int, str]()
        self._encode(rows.column(self.name), 0, pieces, errors)
        values = pa.concat_arrays(pieces)
        if self.prefix is not None:
            values = joined(_prefixes(self.prefix, topics), values)
        return EncodedPart(values, errors)

    def _encode(
        self, values: pa.Array, first: int, pieces: list[pa.Array], errors: dict[int, str]
    ) -> None:
        import pyarrow as pa

        try:
            pieces.append(with_nulls(values, self.write, None))
        except ValueError as error:
            half = len(values) // 2
            if half:
                self._encode(values.slice(0, half), first, pieces, errors)
                self._encode(values.slice(half), first + half, pieces, errors)
                return
            errors[first] = error_of(error)
            pieces.append(pa.nulls(1, pa.binary()))


def _prefixes(prefix: Prefix, topics: pa.Array) -> pa.Array:
    """A row without a topic has none, and fails for that later; so does one whose topic has
    a name that no topic can have.
    """
    import pyarrow as pa

    names = topics.dictionary_encode()
    found = [
        b"" if illegal_name(name) is not None else prefix(name)
        for name in names.dictionary.to_pylist()
    ]
    return pa.array(found, pa.binary()).take(names.indices)


@dataclass(frozen=True)
class FunctionColumn:
    """A function is called with the columns of each row whose own is not null, and gives
    bytes, or None for a tombstone.
    """

    name: str
    function: Callable[..., object]

    def encode(self, rows: pa.RecordBatch, topics: pa.Array) -> EncodedPart:  # noqa: ARG002 - the signature is the EncodedColumn's
        import pyarrow as pa

        errors = dict[int, str]()
        found = list[bytes | None]()
        for number, row in enumerate(rows.to_pylist(maps_as_pydicts="strict")):
            try:
                found.append(None if row[self.name] is None else self._one(row))
            except Exception as error:  # noqa: BLE001 - functions of users raise anything, it is told with the row
                errors[number] = error_of(error)
                found.append(None)
        return EncodedPart(pa.array(found, pa.binary()), errors)

    def _one(self, row: dict[str, object]) -> bytes | None:
        made = self.function(row)
        if made is None or isinstance(made, bytes):
            return made
        raise TypeError(f"the function gives bytes or None, not {type(made).__name__}")


def readable(value: pa.Scalar) -> bytes | None:
    """Returns a value that has no encoding as JSON, for whoever reads the dead letter; None for
    text that is no UTF-8.
    """
    try:
        shown = json.dumps(
            value.as_py(maps_as_pydicts="strict"), default=_shown, ensure_ascii=False
        )
        return shown.encode()
    except ValueError:
        return None


def _shown(value: object) -> str:
    return b64encode(value).decode() if isinstance(value, bytes) else str(value)
