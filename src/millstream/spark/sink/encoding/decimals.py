"""The unscaled values of decimals as Avro has them: two's complement, the highest byte first. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.spark.sink.encoding.pieces import cut

if TYPE_CHECKING:
    import pyarrow as pa

    from millstream.spark.sink.encoding.pieces import ByteMatrix, IntArray

_BYTES: Final = 16


def shortest(values: pa.Array) -> pa.Array:
    """Returns as few bytes as hold each value."""
    matrix = _matrix(values)
    return cut(matrix, _lengths(matrix), is_front=False)


def of_size(values: pa.Array, size: int) -> pa.Array:
    """Returns `size` bytes of each value, which hold what the schema's precision allows."""
    import numpy as np

    matrix = _matrix(values)
    missing = np.repeat(_sign(matrix)[:, None], max(0, size - _BYTES), axis=1)
    whole = np.concatenate([missing, matrix], axis=1)
    return cut(whole, np.full(len(values), size, np.int64), is_front=False)


def _matrix(values: pa.Array) -> ByteMatrix:
    import numpy as np

    buffer = values.buffers()[1]
    data = np.frombuffer(buffer, np.uint8, len(values) * _BYTES, values.offset * _BYTES)
    return data.reshape(len(values), _BYTES)[:, ::-1]


def _sign(matrix: ByteMatrix) -> ByteMatrix:
    """The byte with which a value goes on to the left."""
    import numpy as np

    return np.where(matrix[:, 0] >= 0x80, 0xFF, 0).astype(np.uint8)


def _lengths(matrix: ByteMatrix) -> IntArray:
    import numpy as np

    sign = _sign(matrix)
    told = matrix != sign[:, None]
    told[:, -1] = True  # zero and minus one have a byte, too
    first = told.argmax(axis=1)
    has_room = (matrix[np.arange(len(matrix)), first] >= 0x80) == (sign == 0xFF)
    lengths: IntArray = np.minimum(_BYTES - first + ~has_room, _BYTES)
    return lengths
