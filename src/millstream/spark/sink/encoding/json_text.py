"""JSON text of whole columns, as the source's decoder reads it: dates and times in ISO 8601, bytes in base64,
members that are null left out.

Pure. Decimals that a double would not hold (more than 15 digits) are text.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Final

import orjson
from pyspark.sql import types as spark

from millstream.errors import ConfigError
from millstream.spark.sink.encoding.pieces import (
    Writer,
    at,
    items_of,
    joined,
    joined_items,
    member,
    repeated,
    text,
    with_nulls,
)

if TYPE_CHECKING:
    import pyarrow as pa

_NULL: Final = b"null"
_DIGITS_OF_DOUBLE: Final = 15
_DAY_MIN, _DAY_MAX = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31, in days from 1970
_DAY_US: Final = 86_400_000_000
_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_CONTROLS: Final = {chr(code): f"\\u{code:04x}" for code in range(32) if chr(code) not in _ESCAPES}


def json_writer(kind: spark.DataType) -> Writer:
    """Returns the writer of values of a type. Raises ConfigError for a type that JSON text is not made of."""
    if isinstance(kind, spark.StructType):
        return _struct(kind)
    if isinstance(kind, spark.ArrayType):
        return _array(json_writer(kind.elementType))
    if isinstance(kind, spark.MapType):
        if not isinstance(kind.keyType, _AS_TEXT):
            raise ConfigError(
                f"names in JSON are text, not {kind.keyType.simpleString()}: cast the keys of {kind.simpleString()} to string"
            )
        return _map(json_writer(kind.keyType), json_writer(kind.valueType))
    if isinstance(kind, spark.DecimalType):
        return _decimal_text if kind.precision > _DIGITS_OF_DOUBLE else _plain
    found = _LEAVES.get(type(kind))
    if found is None:
        raise ConfigError(f"a column of type {kind.simpleString()} is not written as JSON")
    return found


def _struct(kind: spark.StructType) -> Writer:
    members = [
        (field.name, b"," + orjson.dumps(field.name) + b":", json_writer(field.dataType))
        for field in kind.fields
    ]

    def write(values: pa.Array) -> pa.Array:
        import pyarrow.compute as pc

        if not members:
            return repeated(b"{}", len(values))
        written = [
            _member(member(values, name), at(name, inner), head) for name, head, inner in members
        ]
        # Each member brings its comma along: the first one's goes. An object of nulls has neither.
        return pc.replace_substring(joined(b"{", *written, b"}"), b"{,", b"{", max_replacements=1)

    return write


def _member(values: pa.Array, write: Writer, head: bytes) -> pa.Array:
    return with_nulls(values, lambda found: joined(head, write(found)), b"")


def _array(inner: Writer) -> Writer:
    def write(values: pa.Array) -> pa.Array:
        offsets, (found,) = items_of(values)
        return joined(b"[", joined_items(with_nulls(found, inner, _NULL), offsets, b","), b"]")

    return write


def _map(key: Writer, inner: Writer) -> Writer:
    def write(values: pa.Array) -> pa.Array:
        offsets, (names, found) = items_of(values)
        entries = joined(key(names), b":", with_nulls(found, inner, _NULL))
        return joined(b"{", joined_items(entries, offsets, b","), b"}")

    return write


def _plain(values: pa.Array) -> pa.Array:
    """Numbers and booleans, as Arrow writes them."""
    import pyarrow as pa

    return values.cast(pa.string()).cast(pa.binary())


def _decimal_text(values: pa.Array) -> pa.Array:
    return joined(b'"', _plain(values), b'"')


def _floating(values: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    strange = values.filter(pc.invert(pc.is_finite(values)))
    if len(strange):
        raise ValueError(f"{strange[0].as_py()} is no number of JSON")
    shortest = pc.replace_substring_regex(values.cast(pa.string()), r"^(-?\d+)$", r"\1.0")
    return shortest.cast(pa.binary())


def _string(values: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    found = text(values).cast(pa.string())
    if pc.any(pc.match_substring_regex(found, r'["\\\x00-\x1f]')).as_py():
        found = _replaced(found, _ESCAPES)
        if pc.any(pc.match_substring_regex(found, r"[\x00-\x1f]")).as_py():
            found = _replaced(found, _CONTROLS)
    return joined(b'"', found.cast(pa.binary()), b'"')


def _replaced(values: pa.Array, replacements: dict[str, str]) -> pa.Array:
    import pyarrow.compute as pc

    for character, replacement in replacements.items():
        values = pc.replace_substring(values, character, replacement)
    return values


def _binary(values: pa.Array) -> pa.Array:
    """One call for each value: Arrow has no base64."""
    import pyarrow as pa

    return pa.array([b'"' + b64encode(value) + b'"' for value in values.to_pylist()], pa.binary())


def _date(values: pa.Array) -> pa.Array:
    import pyarrow as pa

    _require_years(values.cast(pa.int32()), 1)
    return joined(b'"', _plain(values), b'"')


def _timestamp(values: pa.Array) -> pa.Array:
    return joined(b'"', _time_text(values), b'Z"')


def _local_timestamp(values: pa.Array) -> pa.Array:
    return joined(b'"', _time_text(values), b'"')


def _time_text(values: pa.Array) -> pa.Array:
    """Microseconds and all, in UTC where there is a zone."""
    import pyarrow as pa
    import pyarrow.compute as pc

    times = values.cast(pa.timestamp("us"))
    _require_years(times.cast(pa.int64()), _DAY_US)
    return pc.utf8_replace_slice(times.cast(pa.string()), 10, 11, "T").cast(pa.binary())


def _require_years(values: pa.Array, of_day: int) -> None:
    import pyarrow.compute as pc

    found = pc.min_max(values).as_py()
    lowest, highest = found["min"], found["max"]
    if lowest is None:
        return
    if lowest < _DAY_MIN * of_day or highest >= (_DAY_MAX + 1) * of_day:
        raise ValueError("a date before the year 1 or behind the year 9999 has no text in ISO 8601")


_AS_TEXT: Final = (
    spark.StringType, spark.CharType, spark.VarcharType, spark.BinaryType, spark.DateType, spark.TimestampType,
    spark.TimestampNTZType,
)  # fmt: skip
_LEAVES: Final[dict[type[spark.DataType], Writer]] = {
    spark.BooleanType: _plain,
    spark.ByteType: _plain, spark.ShortType: _plain, spark.IntegerType: _plain, spark.LongType: _plain,
    spark.FloatType: _floating, spark.DoubleType: _floating,
    spark.StringType: _string, spark.CharType: _string, spark.VarcharType: _string, spark.BinaryType: _binary,
    spark.DateType: _date, spark.TimestampType: _timestamp, spark.TimestampNTZType: _local_timestamp,
}  # fmt: skip
