"""Decodes one column of a batch: whole, and where a row of it is bad row by row, to say which and why.

Functions of users are called here, and a registry is asked for schemas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from pyspark.sql.types import DataType

from millstream.clients.serdes.registry import SchemaNotFound, SchemaRegistryError
from millstream.runtime.extras import MissingExtra
from millstream.spark.dead_letters import error_of
from millstream.spark.formats.column_formats import ColumnFormat, Registry, RowFormat
from millstream.spark.formats.schemas import function_of
from millstream.spark.source.rows.formats import Read, reader_of
from millstream.spark.source.rows.row_values import Converter, converter_of

if TYPE_CHECKING:
    import pyarrow as pa

_Function = Callable[..., object]


class DecodedPart(NamedTuple):
    """A decoded column.

    `errors` by row of the batch; `rows` says which row of the batch each value is of, None: one after the other.
    """

    values: pa.Array
    errors: dict[int, str]
    rows: pa.Array | None = None


class DecodedColumn(Protocol):
    """A column of the name, key or value, that is made of records."""

    @property
    def name(self) -> str: ...

    def decode(self, rows: pa.RecordBatch) -> DecodedPart: ...


def decoded_column(
    column: ColumnFormat, kind: DataType, arrow_type: pa.DataType, registry: Registry | None
) -> DecodedColumn:
    """Raises ConfigError where a function, a class or a type cannot be used."""
    if column.format is RowFormat.FUNCTION:
        return _FunctionColumn(column.name, arrow_type, function_of(column), converter_of(kind))
    if column.format is RowFormat.STRING:
        return _TextColumn(column.name, arrow_type, bytes.decode)
    read = _converting(reader_of(column, kind, registry), converter_of(kind))
    return _ReadColumn(column.name, arrow_type, read)


@dataclass(frozen=True)
class _ReadColumn:
    name: str
    type: pa.DataType
    read: Read

    def decode(self, rows: pa.RecordBatch) -> DecodedPart:
        import pyarrow as pa

        read, values = self.read, rows.column(self.name).to_pylist()
        try:
            found = [None if value is None else read(value) for value in values]
            return DecodedPart(pa.array(found, self.type), {})
        except Exception as error:  # noqa: BLE001 - formats raise anything; which row it was is found below
            _require_bad_row(error)
        errors: dict[int, str] = {}
        found = [self._one(row, value, errors) for row, value in enumerate(values)]
        return DecodedPart(pa.array(found, self.type), errors)

    def _one(self, row: int, data: bytes | None, errors: dict[int, str]) -> object:
        import pyarrow as pa

        if data is None:
            return None
        try:
            value = self.read(data)
            pa.array([value], self.type)
        except Exception as error:  # noqa: BLE001 - formats raise anything, it is told with the row
            _require_bad_row(error)
            errors[row] = error_of(error)
            return None
        return value


class _TextColumn(_ReadColumn):
    """A cast, unless there is a row that is not UTF-8."""

    def decode(self, rows: pa.RecordBatch) -> DecodedPart:
        import pyarrow as pa

        try:
            return DecodedPart(rows.column(self.name).cast(self.type), {})
        except pa.ArrowInvalid:
            return super().decode(rows)


@dataclass(frozen=True)
class _FunctionColumn:
    """A function gives 0 to n rows of each record. A bad record has one row, which is null."""

    name: str
    type: pa.DataType
    function: _Function
    convert: Converter

    def decode(self, rows: pa.RecordBatch) -> DecodedPart:
        import pyarrow as pa

        errors: dict[int, str] = {}
        found: list[object] = []
        sources: list[int] = []
        for row, arguments in enumerate(_arguments(rows)):
            try:
                made = self._rows(self.function(*arguments))
                pa.array(made, self.type)
            except Exception as error:  # noqa: BLE001 - functions of users raise anything, it is told with the row
                errors[row] = error_of(error)
                made = [None]
            found += made
            sources += [row] * len(made)
        return DecodedPart(pa.array(found, self.type), errors, pa.array(sources, pa.int64()))

    def _rows(self, made: object) -> list[object]:
        if made is None:
            return []
        rows = made if isinstance(made, list) else [made]
        return [None if row is None else self.convert(row) for row in rows]


def _arguments(rows: pa.RecordBatch) -> Iterator[tuple[object, ...]]:
    import pyarrow as pa

    times = rows.column("timestamp").cast(pa.int64()).to_pylist()
    headers = (
        [(each["key"], each["value"]) for each in headers]
        for headers in rows.column("headers").to_pylist()
    )
    names = ("key", "value", "topic", "partition", "offset")
    return zip(
        *(rows.column(name).to_pylist() for name in names),
        (None if time is None else time // 1000 for time in times),
        headers,
        strict=True,
    )


def _converting(read: Read, convert: Converter) -> Read:
    def converted(data: bytes) -> object:
        value = read(data)
        return None if value is None else convert(value)

    return converted


def _require_bad_row(error: Exception) -> None:
    """Raises what says nothing about the row: a registry that is away, a library that is missing."""
    if isinstance(error, MissingExtra):
        raise error
    if isinstance(error, SchemaRegistryError) and not isinstance(error, SchemaNotFound):
        raise error
