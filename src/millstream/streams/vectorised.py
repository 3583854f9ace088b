"""Functions that are called once for a run of records, with columns of them.

    @vectorised
    def is_dear(keys: pa.Array, values: pa.Array) -> pa.Array:
        return pc.greater(values, 100)

    builder.stream("prices", value=long()).filter(is_dear)

`filter`, `filter_not`, `map_values`, `select_key` and the joiner of a stream with a table take them. Arguments are
those of the plain function, as pyarrow arrays: text of string serdes, int64 and float64 of long and double, binary of
bytes, and what pyarrow infers of anything else (its null type, where all rows are null). What is given back is one
array, chunked or not, with a row for each row. A run is as long as the input happens to be, so no row may depend on
another. Not part of Kafka Streams. Knows no kernel.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


class Vectorised:
    """A function that `vectorised` has marked."""

    def __init__(self, function: Callable[..., Any]) -> None:  # Any: pyarrow has no types
        self.function = function
        self.name = getattr(function, "__name__", repr(function))

    def __call__(self, *columns: Any) -> Any:  # Any: pyarrow has no types
        return self.function(*columns)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.function)


def vectorised(function: Callable[..., Any]) -> Callable[..., Any]:  # Any: pyarrow has no types
    """Mark a function of columns."""
    return Vectorised(function)
