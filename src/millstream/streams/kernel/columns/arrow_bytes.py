"""A column of bytes that came as Arrow: no Python object for a row until one is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload


class ArrowBytes(Sequence[bytes | None]):
    """Rows of a binary array of pyarrow."""

    __slots__ = ("_rows", "array")

    def __init__(self, array: Any) -> None:  # Any: pyarrow has no types
        self.array = array
        self._rows: list[bytes | None] | None = None

    def __len__(self) -> int:
        return len(self.array)

    @overload
    def __getitem__(self, row: int) -> bytes | None: ...
    @overload
    def __getitem__(self, row: slice) -> ArrowBytes: ...
    def __getitem__(self, row: int | slice) -> bytes | ArrowBytes | None:
        if isinstance(row, slice):
            return ArrowBytes(self.array[row])
        found: bytes | None = self.array[row].as_py()
        return found

    def __iter__(self) -> Iterator[bytes | None]:
        return iter(self.rows())

    @property
    def has_nulls(self) -> bool:
        return bool(self.array.null_count)

    @property
    def size_bytes(self) -> int:
        """The size of the rows together; that of a null is none."""
        array, offsets = self.array, self.array.buffers()[1]
        if offsets is None:
            return 0
        ends = memoryview(offsets).cast("i")
        return int(ends[array.offset + len(array)] - ends[array.offset])

    def rows(self) -> list[bytes | None]:
        """Returns all rows as objects, made when first asked for."""
        if self._rows is None:
            self._rows = self.array.to_pylist()
        return self._rows

    def text(self) -> Any:  # Any: pyarrow has no types
        """Returns the same rows as an array of text, None where some are no UTF-8."""
        import pyarrow as pa

        try:
            return self.array.cast(pa.string())
        except pa.ArrowInvalid:
            return None
