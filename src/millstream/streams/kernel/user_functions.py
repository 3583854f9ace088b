"""Functions of the user: how they are called for the rows of a batch, and what they must return.

They are called row by row, or once for all rows where they are vectorised. Mappers must return pairs, or something to
iterate over. Hardly anything is checked while all is well: operators unpack what they are given, and ask here when that
fails. Text of two characters can be unpacked like a pair; of a batch of results the first is asked for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sized
from typing import Any, Final, TypeVar

from millstream.streams.kernel.columns.column import AnyColumn, ArrowColumn, Column, values_of
from millstream.streams.topology.operators import UserFunction
from millstream.streams.vectorised import Vectorised

T = TypeVar("T")

_LOOKALIKES: Final = (str, bytes, dict, set, frozenset)


def mapped(function: UserFunction, *columns: AnyColumn) -> AnyColumn:
    """Applies a function to each row, or to all rows at once where it is vectorised; the columns are its arguments.

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
    """Applies a function to each row."""
    results = list(map(function, *columns))
    check_complete(function, results, columns[0])
    return results


def check_complete(function: object, results: Sized, rows: Sized) -> None:
    """Raise RuntimeError where the function has raised StopIteration: that ends a `map`, and rows would be lost."""
    if len(results) < len(rows):
        raise RuntimeError(
            f"{function!r} raised StopIteration, as next() does when nothing is left: give next() a default"
        )


def check_no_lookalike(result: object) -> None:
    """Raise TypeError for what can be unpacked if it has two items, although it is not meant as a pair."""
    if isinstance(result, _LOOKALIKES):
        raise TypeError(f"the mapper must return a pair (key, value), not {result!r}")


def no_pair(results: Iterable[object], error: Exception) -> Exception:
    """Returns the error to raise where results could not be unpacked: one that shows the first that is no pair."""
    for result in results:
        if not _is_pair(result):
            return TypeError(f"the mapper must return a pair (key, value), not {result!r}")
    return error


def not_several(result: object, error: Exception, *, pairs: bool) -> Exception:
    """Returns the error to raise where a result could not be gone through; that of the
    user's own iterator is left alone.
    """
    what = "pairs (key, value)" if pairs else "values"
    if not isinstance(result, Iterable):
        return TypeError(f"the mapper must return an iterable of {what}, not {result!r}")
    if pairs and isinstance(result, list | tuple):
        wrong = [each for each in result if not _is_pair(each)]
        if wrong:
            return TypeError(
                f"the mapper must return an iterable of {what}, not one of {wrong[0]!r}"
            )
    return error


def _is_pair(result: object) -> bool:
    return isinstance(result, tuple | list) and len(result) == 2


def _array(column: AnyColumn) -> Any:  # Any: pyarrow has no types
    if isinstance(column, Column):
        return column.array()
    if isinstance(column, ArrowColumn):
        return column.array
    import pyarrow as pa

    return pa.array(column)
