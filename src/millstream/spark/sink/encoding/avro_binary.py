"""Avro's binary encoding of whole columns, by a schema. Pure.

Bytes of UUIDs alone are made value by value. What a schema has and a column has not must be null in the schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import UUID

from pyspark.sql import types as spark

from millstream.clients.serdes.avro_data import Parsed, parsed
from millstream.errors import ConfigError
from millstream.spark.sink.encoding import decimals
from millstream.spark.sink.encoding.pieces import (
    Writer,
    at,
    fixed,
    integers,
    items_of,
    joined,
    joined_items,
    lengths_of,
    member,
    repeated,
    text,
    varints,
    with_nulls,
    zigzag,
)

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

_END: Final = b"\x00"
_UUID: Final = r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"
_MS_US: Final = 1_000


def avro_writer(option: str, schema: str, kind: spark.DataType) -> Writer:
    """Returns the writer of a column whose type fits the schema.

    Raises ConfigError for members that the column needs and lacks.
    """
    named: dict[str, Parsed] = {}
    whole = parsed(schema, named)
    return _Schemas(option, named).required(whole, kind)


def is_plain_bytes(schema: str) -> bool:
    """Whether the schema is that of bytes alone, which Confluent's serializers write without a length."""
    whole = parsed(schema)
    plain = whole.get("type") if isinstance(whole, dict) and "logicalType" not in whole else whole
    return bool(plain == "bytes")


class _Schemas(NamedTuple):
    """Writers for the parts of one schema. `named`: the types that its parts may refer to."""

    option: str
    named: dict[str, Parsed]

    def writer(self, schema: Parsed, kind: spark.DataType) -> Writer:
        """Returns a writer of values of which some may be null."""
        if isinstance(schema, list):
            return self._union(schema, kind)
        if schema == "null":
            return _null
        return _without_nulls(self.required(schema, kind))

    def required(self, schema: Parsed, kind: spark.DataType) -> Writer:
        if isinstance(schema, list):
            content, index = _content(schema)
            return _after(_varint(index), self.required(content, kind))
        if isinstance(schema, str):
            return (
                _PRIMITIVES[schema] if schema in _PRIMITIVES else self._of(self.named[schema], kind)
            )
        return self._of(schema, kind)

    def _union(self, members: list[Parsed], kind: spark.DataType) -> Writer:
        write = self.required(members, kind)
        if "null" not in members:
            return _without_nulls(write)
        return partial(_nullable, write, _varint(members.index("null")))

    def _of(self, schema: Parsed, kind: spark.DataType) -> Writer:
        name, logical = schema["type"], schema.get("logicalType")
        if logical == "decimal":
            return _decimal(schema)
        if logical == "uuid" and name == "fixed":
            return _uuid_bytes
        if logical in _LOGICAL:
            return _LOGICAL[logical]
        if name in {"record", "error"}:
            assert isinstance(kind, spark.StructType), "the type fits the schema"
            return self._record(schema, kind)
        if name == "array":
            assert isinstance(kind, spark.ArrayType), "the type fits the schema"
            return partial(_array, self.writer(schema["items"], kind.elementType))
        if name == "map":
            assert isinstance(kind, spark.MapType), "the type fits the schema"
            return partial(_map, self.writer(schema["values"], kind.valueType))
        if name == "enum":
            return partial(_enumeration, tuple(schema["symbols"]))
        if name == "fixed":
            return partial(_fixed, schema["size"])
        return self.required(name, kind)

    def _record(self, schema: Parsed, kind: spark.StructType) -> Writer:
        types = {field.name: field.dataType for field in kind.fields}
        members: list[tuple[str, Writer] | bytes] = []
        for field in schema["fields"]:
            name, of_field = field["name"], field["type"]
            if name in types:
                members.append((name, at(name, self.writer(of_field, types[name]))))
            elif isinstance(of_field, list) and "null" in of_field:
                members.append(_varint(of_field.index("null")))
            elif of_field != "null":
                raise ConfigError(
                    f"{self.option} has {schema['name']}.{name}, which may not be null and which the column has not: add it"
                )
        return partial(_record, members)


def _content(members: list[Parsed]) -> tuple[Parsed, int]:
    """Returns the widest member that is not null, and its index."""
    found = [(each, index) for index, each in enumerate(members) if each != "null"]
    if len(found) == 1:
        return found[0]
    return next((each, index) for each, index in found if _type_name(each) in {"long", "double"})


def _type_name(schema: Parsed) -> str:
    return str(schema["type"] if isinstance(schema, dict) else schema)


def _varint(number: int) -> bytes:
    import numpy as np

    piece: bytes = varints(zigzag(np.array([number], np.int64)))[0].as_py()
    return piece


def _without_nulls(write: Writer) -> Writer:
    def written(values: pa.Array) -> pa.Array:
        if values.null_count:
            raise ValueError("null, and the schema has no null here")
        return write(values)

    return written


def _after(head: bytes, write: Writer) -> Writer:
    return lambda values: joined(head, write(values))


def _nullable(write: Writer, null: bytes, values: pa.Array) -> pa.Array:
    return with_nulls(values, write, null)


def _record(members: list[tuple[str, Writer] | bytes], values: pa.Array) -> pa.Array:
    pieces = [
        each if isinstance(each, bytes) else each[1](member(values, each[0])) for each in members
    ]
    return joined(repeated(b"", len(values)), *pieces)


def _array(inner: Writer, values: pa.Array) -> pa.Array:
    found = items_of(values)
    return _blocks(found.lengths, joined_items(inner(found.columns[0]), found.offsets))


def _map(inner: Writer, values: pa.Array) -> pa.Array:
    found = items_of(values)
    names, members = found.columns
    return _blocks(
        found.lengths, joined_items(joined(_string(names), inner(members)), found.offsets)
    )


def _blocks(counts: NDArray[np.int64], items: pa.Array) -> pa.Array:
    """One block, and the end; an empty one has the end alone."""
    import pyarrow as pa
    import pyarrow.compute as pc

    heads = pc.if_else(pa.array(counts > 0), varints(zigzag(counts)), pa.scalar(b""))
    return joined(heads, items, _END)


def _with_length(pieces: pa.Array) -> pa.Array:
    return joined(varints(zigzag(lengths_of(pieces))), pieces)


def _string(values: pa.Array) -> pa.Array:
    return _with_length(text(values))


def _bytes(values: pa.Array) -> pa.Array:
    return _with_length(raw_bytes(values))


def raw_bytes(values: pa.Array) -> pa.Array:
    import pyarrow as pa

    return values.cast(pa.binary())


def _boolean(values: pa.Array) -> pa.Array:
    import pyarrow as pa

    return fixed(values.cast(pa.uint8()).to_numpy())


def _int(values: pa.Array) -> pa.Array:
    import pyarrow as pa

    return varints(zigzag(integers(values, pa.int32())))


def _long(values: pa.Array) -> pa.Array:
    import pyarrow as pa

    return varints(zigzag(integers(values, pa.int64())))


def _float(values: pa.Array) -> pa.Array:
    return fixed(values.to_numpy().astype("float32"))


def _double(values: pa.Array) -> pa.Array:
    return fixed(values.to_numpy().astype("float64"))


def _null(values: pa.Array) -> pa.Array:
    return repeated(b"", len(values))


def _date(values: pa.Array) -> pa.Array:
    import pyarrow as pa

    return varints(zigzag(integers(values, pa.date32())))


def _micros(values: pa.Array) -> pa.Array:
    import pyarrow as pa

    return varints(zigzag(integers(values, pa.timestamp("us"))))


def _millis(values: pa.Array) -> pa.Array:
    """Nothing is cut: microseconds that the schema has not are an error."""
    import numpy as np
    import pyarrow as pa

    micros = integers(values, pa.timestamp("us"))
    cut = np.flatnonzero(micros % _MS_US)
    if len(cut):
        raise ValueError(
            f"{values[int(cut[0])].as_py()} has microseconds, and the schema milliseconds: use date_trunc('millisecond', …)"
        )
    return varints(zigzag(micros // _MS_US))


def _of_day(write: Writer, values: pa.Array) -> pa.Array:
    """Times of day are text in Spark: Arrow reads them with a date in front."""
    import pyarrow as pa

    times = joined(b"1970-01-01 ", text(values)).cast(pa.string())
    return write(times.cast(pa.timestamp("us")))


def _uuid(values: pa.Array) -> pa.Array:
    import pyarrow.compute as pc

    strange = values.filter(pc.invert(pc.match_substring_regex(values, _UUID)))
    if len(strange):
        raise ValueError(f"{strange[0].as_py()!r} is no UUID")
    return _string(values)


def _uuid_bytes(values: pa.Array) -> pa.Array:
    import pyarrow as pa

    return pa.array([UUID(value).bytes for value in values.to_pylist()], pa.binary())


def _enumeration(symbols: tuple[str, ...], values: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    strings = values.cast(pa.string())
    places = pc.index_in(strings, value_set=pa.array(symbols, pa.string()))
    if places.null_count:
        strange = strings.filter(places.is_null())[0].as_py()
        raise ValueError(f"{strange!r} is none of {', '.join(symbols)}")
    return _int(places)


def _fixed(size: int, values: pa.Array) -> pa.Array:
    pieces = raw_bytes(values)
    lengths = lengths_of(pieces)
    if (lengths != size).any():
        raise ValueError(f"{lengths[lengths != size][0]} bytes, and the schema has {size}")
    return pieces


def _decimal(schema: Parsed) -> Writer:
    precision, scale = schema["precision"], schema.get("scale", 0)
    size = schema["size"] if schema["type"] == "fixed" else None

    def write(values: pa.Array) -> pa.Array:
        import pyarrow as pa

        found = values.cast(pa.decimal128(precision, scale))
        return (
            _with_length(decimals.shortest(found))
            if size is None
            else decimals.of_size(found, size)
        )

    return write


_PRIMITIVES: Final[Mapping[str, Writer]] = {
    "null": _null, "boolean": _boolean, "int": _int, "long": _long, "float": _float, "double": _double,
    "bytes": _bytes, "string": _string,
}  # fmt: skip
_LOGICAL: Final[Mapping[str, Writer]] = {
    "date": _date, "timestamp-millis": _millis, "timestamp-micros": _micros,
    "local-timestamp-millis": _millis, "local-timestamp-micros": _micros,
    "uuid": _uuid, "time-millis": partial(_of_day, _millis), "time-micros": partial(_of_day, _micros),
}  # fmt: skip
