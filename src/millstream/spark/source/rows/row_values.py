"""Values of formats and functions as Arrow takes them for a Spark type, strictly: nothing
is cut or taken for another type.

Only digits that a decimal's scale does not hold are rounded, half up, as Spark's from_json rounds them. Pure.
A converter raises ValueError that says which field is wrong. Members that the type does not have are left
out, those that are missing are null.
"""

from __future__ import annotations

import math
import re
from base64 import b64decode
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Final
from uuid import UUID

from pyspark.sql import types as spark

from millstream.errors import ConfigError

Converter = Callable[[object], object]
"""From what a format gives to what Arrow takes."""


def converter_of(kind: spark.DataType) -> Converter:
    """Returns the converter of values that are not null. Raises ConfigError for a type that is not read."""
    if isinstance(kind, spark.StructType):
        return _struct(kind)
    if isinstance(kind, spark.ArrayType):
        return _array(converter_of(kind.elementType))
    if isinstance(kind, spark.MapType):
        return _map(converter_of(kind.keyType), converter_of(kind.valueType))
    if isinstance(kind, spark.DecimalType):
        return _decimal(kind)
    found = _LEAVES.get(type(kind))
    if found is None:
        raise ConfigError(f"a column of type {kind.simpleString()} cannot be read: use string")
    return found


def _struct(kind: spark.StructType) -> Converter:
    fields = [(field.name, converter_of(field.dataType)) for field in kind.fields]

    def convert(value: object) -> dict[str, object]:
        if isinstance(value, tuple):
            value = _named(value, fields)
        elif not isinstance(value, dict):
            raise _wrong(value, "an object")
        found: dict[str, object] = {}
        for name, inner in fields:
            member = value.get(name)
            if member is not None:
                try:
                    found[name] = inner(member)
                except ValueError as error:
                    raise ValueError(f"{name}: {error}") from None
        return found

    return convert


def _named(row: tuple[object, ...], fields: list[tuple[str, Converter]]) -> dict[object, object]:
    """Tuples, named ones and Rows of PySpark are in the order of the fields."""
    if len(row) != len(fields):
        raise ValueError(f"a row of {len(row)} values does not fit {len(fields)} columns")
    return {name: member for (name, _), member in zip(fields, row, strict=True)}


def _array(inner: Converter) -> Converter:
    def convert(value: object) -> list[object]:
        if not isinstance(value, list):
            raise _wrong(value, "an array")
        return [None if each is None else inner(each) for each in value]

    return convert


def _map(key: Converter, inner: Converter) -> Converter:
    def convert(value: object) -> list[tuple[object, object]]:
        if not isinstance(value, dict):
            raise _wrong(value, "a map")
        return [
            (key(name), None if member is None else inner(member)) for name, member in value.items()
        ]

    return convert


def _boolean(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise _wrong(value, "a boolean")


def _integer(value: object) -> int:
    if type(value) is int:  # bool is one of its kinds
        return value
    raise _wrong(value, "a whole number")


def _floating(value: object) -> float:
    if type(value) is float:
        return value
    if isinstance(value, float | int | Decimal) and not isinstance(value, bool):
        return _nearest(value)
    raise _wrong(value, "a number")


def _single(value: object) -> float:
    found = _floating(value)
    if abs(found) < _SINGLE_MAX or not math.isfinite(found):
        return found
    raise _wrong(value, "a number that 32 bits hold")


def _nearest(value: float | Decimal) -> float:
    """Raises ValueError for a number of which only an infinity is near."""
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if math.isinf(found):
        raise _wrong(value, "a number that 64 bits hold")
    return found


def _decimal(kind: spark.DecimalType) -> Converter:
    unit = Decimal((0, (1,), -kind.scale))
    context = Context(prec=kind.precision, rounding=ROUND_HALF_UP, Emax=MAX_EMAX, Emin=MIN_EMIN)

    def convert(value: object) -> Decimal:
        found = _number(value)
        try:
            return context.quantize(found, unit)
        except InvalidOperation:
            raise _wrong(value, f"a number of {kind.simpleString()}") from None

    return convert


def _number(value: object) -> Decimal:
    if type(value) is int:
        return Decimal(value)
    if type(value) is float or (isinstance(value, str) and _DECIMAL_TEXT.fullmatch(value)):
        value = Decimal(str(value))
    if isinstance(value, Decimal) and value.is_finite():
        return value
    raise _wrong(value, "a decimal number")


def _string(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, UUID | time):
        return str(value)
    raise _wrong(value, "a string")


def _binary(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        try:
            return b64decode(value, validate=True)
        except ValueError:
            raise _wrong(value, "bytes in base64") from None
    raise _wrong(value, "bytes")


def _date(value: object) -> date:
    if type(value) is date:
        return value
    if isinstance(value, str):
        return date.fromisoformat(value)
    raise _wrong(value, "a date")


def _timestamp(value: object) -> datetime:
    found = _datetime(value)
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _local_timestamp(value: object) -> datetime:
    found = _datetime(value)
    if found.tzinfo is not None:
        raise _wrong(value, "a timestamp without a time zone")
    return found


def _datetime(value: object) -> datetime:
    if isinstance(value, datetime):
        return value
    if isinstance(value, str):
        return datetime.fromisoformat(value)
    raise _wrong(value, "a timestamp")


def _wrong(value: object, wanted: str) -> ValueError:
    shown = str(value) if isinstance(value, Decimal) else repr(value)
    if len(shown) > _SHOWN_MAX:
        shown = f"{shown[:_SHOWN_MAX]}…"
    return ValueError(f"{shown} is not {wanted}")


_SHOWN_MAX: Final = 60
_DECIMAL_TEXT: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,9})?", re.ASCII)
_SINGLE_MAX: Final = 3.4028235677973366e38
"""The first double that is rounded to an infinity of 32 bits."""
_LEAVES: Final[dict[type[spark.DataType], Converter]] = {
    spark.BooleanType: _boolean,
    spark.ByteType: _integer, spark.ShortType: _integer, spark.IntegerType: _integer, spark.LongType: _integer,
    spark.FloatType: _single, spark.DoubleType: _floating,
    spark.StringType: _string, spark.BinaryType: _binary,
    spark.DateType: _date, spark.TimestampType: _timestamp, spark.TimestampNTZType: _local_timestamp,
}  # fmt: skip
