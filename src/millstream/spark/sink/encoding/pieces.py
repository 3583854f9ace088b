"""Columns of bytes that are put together piece by piece, whole columns at a time: no Python object is made for a row.

Pure. A writer takes a column without nulls and gives as many pieces; it raises ValueError, which
says what cannot be written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    IntArray = NDArray[np.int64]
    UintArray = NDArray[np.uint64]
    ByteMatrix = NDArray[np.uint8]

Writer = Callable[["pa.Array"], "pa.Array"]
_VARINT_BYTES_MAX: Final = 10


def at(name: str, writer: Writer) -> Writer:
    """Returns the writer of a member, whose errors name it."""

    def write(values: pa.Array) -> pa.Array:
        try:
            return writer(values)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None

    return write


def joined(*parts: pa.Array | bytes) -> pa.Array:
    """Concatenates pieces and constants, row by row; at least one part is a column. Null where one of them is."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.binary_join_element_wise(
        *(pa.scalar(part) if isinstance(part, bytes) else part for part in parts), pa.scalar(b"")
    )


def repeated(piece: bytes, count: int) -> pa.Array:
    import pyarrow as pa

    return pa.repeat(pa.scalar(piece, pa.binary()), count)


def with_nulls(values: pa.Array, write: Writer, null: bytes | None) -> pa.Array:
    """Returns what is written of the values, and the piece `null` (None: a null) for those that are null."""
    import numpy as np
    import pyarrow as pa

    if not values.null_count:
        return write(values)
    is_valid = values.is_valid().to_numpy(zero_copy_only=False)
    places = pa.array(np.cumsum(is_valid) - 1, mask=~is_valid)
    written = write(values.drop_null()).take(places)
    return written if null is None else written.fill_null(null)


class Items(NamedTuple):
    """The elements of lists or maps, one behind the other: row n has those from `offsets[n]` to `offsets[n + 1]`."""

    offsets: IntArray
    columns: tuple[pa.Array, ...]

    @property
    def lengths(self) -> IntArray:
        import numpy as np

        return np.diff(self.offsets)


def items_of(values: pa.Array) -> Items:
    """Returns the elements of a list, or the keys and the values of a map."""
    import pyarrow as pa

    offsets = values.offsets.to_numpy().astype("int64")
    first, count = int(offsets[0]), int(offsets[-1] - offsets[0])
    is_map = pa.types.is_map(values.type)
    columns = (values.keys, values.items) if is_map else (values.values,)
    return Items(offsets - first, tuple(column.slice(first, count) for column in columns))


def joined_items(pieces: pa.Array, offsets: IntArray, separator: bytes = b"") -> pa.Array:
    """Returns, for each row, its items joined."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pieces)
    return pc.binary_join(lists, pa.scalar(separator))


def member(values: pa.Array, name: str) -> pa.Array:
    """Returns a member of structs, null where the struct is."""
    return values.flatten()[values.type.get_field_index(name)]


def text(values: pa.Array) -> pa.Array:
    """Returns strings as bytes. Raises ValueError where Spark has made a string of bytes that are no UTF-8."""
    import pyarrow as pa

    strings = values.cast(pa.string())
    strings.validate(full=True)
    return strings.cast(pa.binary())


def varints(numbers: UintArray) -> pa.Array:
    """Returns unsigned numbers in base 128, the lowest digit first."""
    import numpy as np

    lengths = np.ones(len(numbers), np.int64)
    for digits in range(1, _VARINT_BYTES_MAX):
        is_longer = numbers >= np.uint64(1 << (7 * digits))
        if not is_longer.any():
            break
        lengths += is_longer
    width = int(lengths.max(initial=1))
    places = np.arange(width)
    digits_of = numbers[:, None] >> (7 * places).astype(np.uint64)
    matrix = (digits_of & np.uint64(0x7F)).astype(np.uint8)
    matrix |= np.where(places < lengths[:, None] - 1, 0x80, 0).astype(np.uint8)
    return cut(matrix, lengths)


def zigzag(numbers: IntArray) -> UintArray:
    """Returns signed numbers as unsigned ones: 0, -1, 1, -2 are 0, 1, 2, 3."""
    return ((numbers << 1) ^ (numbers >> 63)).view("uint64")


def cut(matrix: ByteMatrix, lengths: IntArray, *, is_front: bool = True) -> pa.Array:
    """Returns the first `lengths[n]` bytes of each row n, or the last ones."""
    import numpy as np
    import pyarrow as pa

    width = matrix.shape[1]
    places = np.arange(width) if is_front else np.arange(width)[::-1]
    data = matrix[places < lengths[:, None]]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), len(lengths), buffers)


def fixed(numbers: NDArray[np.generic]) -> pa.Array:
    """Returns the bytes of numbers, the lowest first."""
    import numpy as np

    width = numbers.dtype.itemsize
    little = np.ascontiguousarray(numbers.astype(numbers.dtype.newbyteorder("<")))
    matrix = little.view(np.uint8).reshape(len(numbers), width)
    return cut(matrix, np.full(len(numbers), width, np.int64))


def integers(values: pa.Array, kind: pa.DataType) -> IntArray:
    """Returns whole numbers, dates and times as 64-bit numbers.

    Raises ValueError for one that is out of the range of the type.
    """
    import pyarrow as pa

    found = values.cast(kind)
    if pa.types.is_date32(kind):
        found = found.cast(pa.int32())
    numbers: IntArray = found.cast(pa.int64()).to_numpy()
    return numbers


def lengths_of(pieces: pa.Array) -> IntArray:
    import pyarrow.compute as pc

    lengths: IntArray = pc.binary_length(pieces).to_numpy().astype("int64")
    return lengths
