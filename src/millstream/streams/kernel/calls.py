"""How functions of the user are called for all rows of a batch: row by row, or once where they are vectorised."""

from __future__ import annotations

from typing import Any

from millstream.streams.kernel.columns import AnyColumn, ArrowColumn, Column, values_of
from millstream.streams.topology.operators import UserFunction
from millstream.streams.vectorised import Vectorised


def mapped(function: UserFunction, *columns: AnyColumn) -> AnyColumn:
    """What a function makes of each row; the columns are its arguments.

    Raises TypeError or ValueError where a vectorised function gives no array, or too few rows or too many.
    """
    if not isinstance(function, Vectorised):
        return list(map(function, *map(values_of, columns)))
    rows = len(columns[0])
    if rows == 0:
        return []
    array = function(*map(_array, columns))
    if not hasattr(array, "to_pylist"):
        given = type(array).__name__
        raise TypeError(f"{function.name} is vectorised and must give a pyarrow array, not {given}")
    if len(array) != rows:
        raise ValueError(
            f"{function.name} is vectorised and must give a row for each it is given, not {len(array)} for {rows}"
        )
    return ArrowColumn(array)


def _array(column: AnyColumn) -> Any:  # Any: pyarrow has no types
    if isinstance(column, Column):
        return column.array()
    if isinstance(column, ArrowColumn):
        return column.array
    import pyarrow as pa

    return pa.array(column)
