"""How functions of the user are called for all rows of a batch: row by row, or once where they are vectorised."""

from __future__ import annotations

from collections.abc import Callable, Sized
from typing import Any, TypeVar

from millstream.streams.kernel.columns.column import AnyColumn, ArrowColumn, Column, values_of
from millstream.streams.topology.operators import UserFunction
from millstream.streams.vectorised import Vectorised

T = TypeVar("T")


def mapped(function: UserFunction, *columns: AnyColumn) -> AnyColumn:
    """What a function makes of each row; the columns are its arguments.

    Raises TypeError or ValueError where a vectorised function gives no array, or too few rows or too many.
    """
    if not isinstance(function, Vectorised):
        return of_rows(function, *map(values_of, columns))
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


def of_rows(function: Callable[..., T], *columns: list[Any]) -> list[T]:  # Any: user types
    """What a function makes of each row."""
    results = list(map(function, *columns))
    check_complete(function, results, columns[0])
    return results


def check_complete(function: object, results: Sized, rows: Sized) -> None:
    """Raise RuntimeError where the function has raised StopIteration: that ends a `map`, and rows would be lost."""
    if len(results) < len(rows):
        raise RuntimeError(
            f"{function!r} raised StopIteration, as next() does when nothing is left: give next() a default"
        )


def _array(column: AnyColumn) -> Any:  # Any: pyarrow has no types
    if isinstance(column, Column):
        return column.array()
    if isinstance(column, ArrowColumn):
        return column.array
    import pyarrow as pa

    return pa.array(column)
