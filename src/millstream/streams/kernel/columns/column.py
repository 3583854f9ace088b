"""Columns of keys or values that are read late: an operator that does not look at them does not pay for them.

A column knows its rows as bytes of its serde, as objects, or as both, and makes one from the other when it is first
asked for. Where the bytes that came in are those that would be written (`Serde.layout` says so), they go on as they
are: a key that passes from a source through a store to a sink is neither read nor written. Owns no rows of batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import compress
from typing import Any, Final

from millstream.clients.serdes.serde import BYTES, FLOAT_64, INT_64, UTF_8, Serde
from millstream.streams.kernel.columns.arrow_bytes import ArrowBytes

Data = list[bytes | None]
_ARROW_ROWS_MIN: Final = 256
"""From so many rows on it is cheaper to read text through Arrow."""
_JOINED_ROWS: Final = 1_024
"""Rows are looked at together, but not all: a megabyte is new memory each time, which costs
ten times what looking does."""
_READ_LATE: Final = frozenset({BYTES, UTF_8})
"""Layouts that can be read from any bytes: reading them later fails no later."""


class Column:
    """Rows of one serde. Give `data`, `values`, or both.

    `as_written`: the data are what the serde writes, not what another program has written.
    `read`: how the data become values, where that is not the serde's affair; it is called once, with all of them.
    """

    __slots__ = ("_as_written", "_data", "_read", "_values", "serde")

    def __init__(
        self,
        serde: Serde[Any],  # Any: columns of any type
        *,
        data: Data | ArrowBytes | None = None,
        values: list[object] | None = None,
        as_written: bool = True,
        read: Callable[[Data], list[object]] | None = None,
    ) -> None:
        self.serde = serde
        self._data = data
        self._values = values
        self._read = read
        self._as_written = as_written

    def __len__(self) -> int:
        known = self._data if self._values is None else self._values
        assert known is not None, "a column has data or values"
        return len(known)

    @property
    def values(self) -> list[object]:
        """The rows as objects."""
        if self._values is None:
            assert self._data is not None, "a column has data or values"
            if self._read is None:
                self._values = _read(self.serde, self._data)
            else:
                self._values = self._read(_as_list(self._data))
        return self._values

    def array(self) -> Any:  # Any: pyarrow has no types
        """Returns the rows as an array, of the type that the serde's layout says, or that pyarrow infers."""
        import pyarrow as pa

        if self.serde.layout == UTF_8 and self._values is None and self._data is not None:
            text = _as_arrow(self._data).text()
            if text is not None:
                return text
        types = {
            UTF_8: pa.string(),
            BYTES: pa.binary(),
            INT_64: pa.int64(),
            FLOAT_64: pa.float64(),
        }
        return pa.array(self.values, types.get(self.serde.layout or ""))

    @property
    def has_nulls(self) -> bool:
        if self._data is None:
            assert self._values is not None, "a column has data or values"
            return None in self._values
        return self._data.has_nulls if isinstance(self._data, ArrowBytes) else any_null(self._data)

    def written(self) -> Data | ArrowBytes:
        """Returns the rows as the column's own serde writes them, as Arrow where they came so."""
        if self._data is None or not self._is_as_written():
            self._data = self.serde.encode_all(self.values)
            self._as_written = True
        return self._data

    def where(self, mask: Iterable[object]) -> Column:
        """Returns the rows whose mask is true."""
        if self._values is None:
            assert self._data is not None, "a column has data or values"
            kept = list(compress(_as_list(self._data), mask))
            return Column(self.serde, data=kept, as_written=self._as_written, read=self._read)
        return Column(self.serde, values=list(compress(self._values, mask)))

    def take(self, rows: Sequence[int]) -> Column:
        """Returns the rows at these positions."""
        values = self.values if rows else []
        return Column(self.serde, values=[values[row] for row in rows])

    def part(self, first: int, end: int) -> Column:
        """Returns rows first to end."""
        if end - first == len(self):
            return self
        if end - first < _ARROW_ROWS_MIN:  # reading all rows once is cheaper than a few at a time
            return Column(self.serde, values=self.values[first:end])
        data, values = self._data, self._values
        return Column(
            self.serde,
            data=None if data is None else data[first:end],
            values=None if values is None else values[first:end],
            as_written=self._as_written,
            read=self._read,
        )

    def _is_as_written(self) -> bool:
        if not self._as_written and self.serde.layout == UTF_8:
            assert self._data is not None, "asked for only where there are data"
            self._as_written = _is_text(self._data)
        return self._as_written


class ArrowColumn:
    """A column that a vectorised function has returned."""

    __slots__ = ("_values", "array")

    def __init__(self, array: Any) -> None:  # Any: pyarrow has no types
        self.array = array
        self._values: list[object] | None = None

    def __len__(self) -> int:
        return len(self.array)

    @property
    def values(self) -> list[object]:
        if self._values is None:
            self._values = self.array.to_pylist()
        return self._values

    @property
    def has_nulls(self) -> bool:
        return bool(self.array.null_count)

    def written(self, serde: Serde[Any]) -> Data:  # Any: columns of any type
        """Returns the rows as bytes; text becomes bytes without becoming str first."""
        import pyarrow as pa

        if serde.layout == UTF_8 and pa.types.is_string(self.array.type):
            data: Data = self.array.cast(pa.binary()).to_pylist()
            return data
        return serde.encode_all(self.values)

    def where(self, mask: Iterable[object]) -> list[object]:
        """Returns the rows whose mask is true."""
        return list(compress(self.values, mask))

    def take(self, rows: Sequence[int]) -> list[object]:
        values = self.values
        return [values[row] for row in rows]

    def part(self, first: int, end: int) -> list[object]:
        return self.values[first:end]


AnyColumn = list[object] | Column | ArrowColumn


def source_column(
    serde: Serde[Any],  # Any: sources of any type
    data: Sequence[bytes | None],
) -> AnyColumn:
    """Makes the column of a source. Raises what the serde raises for bytes that cannot be read."""
    if serde.layout is None:
        return serde.decode_all(data)
    known = data if isinstance(data, list | ArrowBytes) else list(data)
    if serde.layout in _READ_LATE:
        return Column(serde, data=known, as_written=serde.layout != UTF_8)
    return Column(serde, data=known, values=serde.decode_all(known))


def written_column(
    serde: Serde[Any],  # Any: columns of any type
    data: Data,
) -> AnyColumn:
    """Makes the column of what the serde itself has written: it can be read later, where its layout is known."""
    return serde.decode_all(data) if serde.layout is None else Column(serde, data=data)


def values_of(column: AnyColumn) -> list[object]:
    """Returns the rows as objects; reads them if they are not read yet."""
    return column if isinstance(column, list) else column.values


def written(column: AnyColumn, serde: Serde[Any]) -> Data:  # Any: columns of any type
    """Returns the column as bytes of a serde. The list may be shared: do not change it."""
    return _as_list(written_as_it_came(column, serde))


def written_as_it_came(
    column: AnyColumn,
    serde: Serde[Any],  # Any: columns of any type
) -> Data | ArrowBytes:
    """Returns the same, as Arrow where the column came so and is passed on as it is: no object for a row is made."""
    if isinstance(column, list):
        return serde.encode_all(column)
    if isinstance(column, ArrowColumn):
        return column.written(serde)
    if column.serde is serde or (serde.layout is not None and serde.layout == column.serde.layout):
        return column.written()
    return serde.encode_all(column.values)


def has_nulls(column: AnyColumn) -> bool:
    """Whether a row is null; reads nothing."""
    return None in column if isinstance(column, list) else column.has_nulls


def any_null(data: Data) -> bool:
    """Whether a row is null: a row of bytes that is not empty is told apart in a third of the time."""
    return not all(data) and None in data


def _read(
    serde: Serde[Any],  # Any: columns of any type
    data: Data | ArrowBytes,
) -> list[object]:
    if serde.layout == BYTES:
        return list(data)
    if serde.layout == UTF_8 and len(data) >= _ARROW_ROWS_MIN:
        text = _as_arrow(data).text()
        if text is not None:
            values: list[object] = text.to_pylist()
            return values
    return serde.decode_all(data)


def _is_text(data: Data | ArrowBytes) -> bool:
    """Whether every row is valid UTF-8. Zero bytes between rows keep broken ends from being completed."""
    if isinstance(data, ArrowBytes):
        return data.text() is not None
    rows = data if not any_null(data) else [row for row in data if row is not None]
    return all(
        _is_joined_text(rows[first : first + _JOINED_ROWS])
        for first in range(0, len(rows), _JOINED_ROWS)
    )


def _is_joined_text(rows: Sequence[bytes | None]) -> bool:
    joined = b"\x00".join(rows)  # type: ignore[arg-type]  # no row is null
    if joined.isascii():
        return True
    try:
        joined.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _as_list(data: Data | ArrowBytes) -> Data:
    return data.rows() if isinstance(data, ArrowBytes) else data


def _as_arrow(data: Data | ArrowBytes) -> ArrowBytes:
    if isinstance(data, ArrowBytes):
        return data
    import pyarrow as pa

    return ArrowBytes(pa.array(data, pa.binary()))
