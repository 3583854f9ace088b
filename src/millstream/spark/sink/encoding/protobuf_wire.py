"""Protobuf's wire format of whole columns, by the descriptor of a message. Pure.

Fields are in the order of their numbers, and one without presence that has its default is left out, as protoc's classes
write them. A null is a field that is not set, so only fields with presence take it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.sql import types as spark

from millstream.errors import ConfigError
from millstream.spark.sink.encoding.pieces import (
    Items,
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
    from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
    from numpy.typing import NDArray

_VARINT, _FIXED_64, _LENGTH, _FIXED_32 = 0, 1, 2, 5
_TIMESTAMP: Final = "google.protobuf.Timestamp"
_SECOND_US: Final = 1_000_000


def message_writer(option: str, descriptor: Descriptor, kind: spark.DataType) -> Writer:
    """Returns the writer of a column whose type fits the message. Raises ConfigError for what it needs and lacks."""
    if descriptor.full_name == _TIMESTAMP:
        return _timestamp
    assert isinstance(kind, spark.StructType), "the type fits the message"
    types = {field.name: field.dataType for field in kind.fields}
    members = []
    for field in sorted(descriptor.fields, key=lambda field: field.number):
        if field.name in types:
            write = _field(option, field, types[field.name])
            members.append((field.name, at(field.name, write)))
        elif field.is_required:
            raise ConfigError(
                f"{option} has {field.full_name}, which is required and which the column has not: add it"
            )
    choices = [
        (choice.name, names)
        for choice in descriptor.oneofs
        if len(names := [each.name for each in choice.fields if each.name in types]) > 1
    ]
    return partial(_message, members, choices)


def _message(
    members: list[tuple[str, Writer]], choices: list[tuple[str, list[str]]], values: pa.Array
) -> pa.Array:
    for choice, names in choices:
        _require_one(choice, [member(values, name) for name in names])
    pieces = [write(member(values, name)) for name, write in members]
    return joined(repeated(b"", len(values)), *pieces)


def _require_one(choice: str, values: list[pa.Array]) -> None:
    given = sum(each.is_valid().to_numpy(zero_copy_only=False).astype("int64") for each in values)
    if len(values[0]) and given.max() > 1:
        raise ValueError(f"several members of oneof {choice}: all but one must be null")


def _field(option: str, field: FieldDescriptor, kind: spark.DataType) -> Writer:
    """Returns the writer of a field with its tag, which gives nothing where the field is not written."""
    entry = field.message_type
    if entry is not None and entry.GetOptions().map_entry:
        assert isinstance(kind, spark.MapType), "the type fits the message"
        key, value = (entry.fields_by_name[name] for name in ("key", "value"))
        entries = _Entry(
            _tagged(key, _payload(option, key, kind.keyType)),
            _tagged(value, _payload(option, value, kind.valueType)),
        )
        return partial(_map, entries, _tag(field.number, _LENGTH))
    if field.is_repeated:
        assert isinstance(kind, spark.ArrayType), "the type fits the message"
        payload = _payload(option, field, kind.elementType)
        if field.is_packed:
            return partial(_packed, payload, _tag(field.number, _LENGTH))
        return partial(_repeated, _tagged(field, payload))
    write = _tagged(field, _payload(option, field, kind))
    if field.is_required:
        return _without_nulls(write, "the field is required")
    if field.has_presence:
        return lambda values: with_nulls(values, write, b"")
    return _without_nulls(_without_default(field, _payload(option, field, kind)), _NO_PRESENCE)


_NO_PRESENCE: Final = (
    "the field cannot tell that from its default: declare it optional, or use coalesce"
)


class _Entry(NamedTuple):
    key: Writer
    value: Writer


def _without_nulls(write: Writer, why: str) -> Writer:
    def written(values: pa.Array) -> pa.Array:
        if values.null_count:
            raise ValueError(f"null, and {why}")
        return write(values)

    return written


def _tagged(field: FieldDescriptor, payload: Writer) -> Writer:
    head = _tag(field.number, _wire_type(field))
    return lambda values: joined(head, payload(values))


def _without_default(field: FieldDescriptor, payload: Writer) -> Writer:
    """Every default is zeros on the wire, and nothing else is: a number, an empty length."""
    default = b"\x00" * {_FIXED_32: 4, _FIXED_64: 8}.get(_wire_type(field), 1)
    head = _tag(field.number, _wire_type(field))

    def write(values: pa.Array) -> pa.Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        pieces = payload(values)
        is_default = pc.equal(pieces, pa.scalar(default))
        return pc.if_else(is_default, pa.scalar(b""), joined(head, pieces))

    return write


def _list_items(values: pa.Array) -> Items:
    if values.null_count:
        raise ValueError("null, and a repeated field has no null: use an empty array or map")
    found = items_of(values)
    if any(column.null_count for column in found.columns):
        raise ValueError("null among the elements, of which a repeated field has none")
    return found


def _packed(payload: Writer, head: bytes, values: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    found = _list_items(values)
    pieces = joined_items(payload(found.columns[0]), found.offsets)
    is_empty = pa.array(found.lengths == 0)
    return pc.if_else(is_empty, pa.scalar(b""), joined(head, _with_length(pieces)))


def _repeated(write: Writer, values: pa.Array) -> pa.Array:
    found = _list_items(values)
    return joined_items(write(found.columns[0]), found.offsets)


def _map(entry: _Entry, head: bytes, values: pa.Array) -> pa.Array:
    found = _list_items(values)
    keys, members = found.columns
    entries = joined(entry.key(keys), entry.value(members))
    return joined_items(joined(head, _with_length(entries)), found.offsets)


def _payload(option: str, field: FieldDescriptor, kind: spark.DataType) -> Writer:
    if field.type == field.TYPE_GROUP:
        raise ConfigError(f"{option}: {field.full_name} is a group, which is not written")
    if field.message_type is not None:
        inner = message_writer(option, field.message_type, kind)
        return lambda values: _with_length(inner(values))
    if field.enum_type is not None:
        return partial(_enumeration, field.enum_type)
    return _scalar(field)


def _scalar(field: FieldDescriptor) -> Writer:
    writers: dict[int, Writer] = {
        field.TYPE_INT32: partial(_signed, "int32"), field.TYPE_INT64: partial(_signed, "int64"),
        field.TYPE_UINT32: partial(_signed, "uint32"), field.TYPE_UINT64: lambda values: varints(_uint64(values)),
        field.TYPE_SINT32: partial(_zigzag, "int32"), field.TYPE_SINT64: partial(_zigzag, "int64"),
        field.TYPE_FIXED32: partial(_fixed, "uint32"), field.TYPE_SFIXED32: partial(_fixed, "int32"),
        field.TYPE_FIXED64: lambda values: fixed(_uint64(values)), field.TYPE_SFIXED64: partial(_fixed, "int64"),
        field.TYPE_FLOAT: partial(_floating, "float32"), field.TYPE_DOUBLE: partial(_floating, "float64"),
        field.TYPE_BOOL: _boolean, field.TYPE_STRING: _string, field.TYPE_BYTES: _bytes,
    }  # fmt: skip
    return writers[field.type]


def _wire_type(field: FieldDescriptor) -> int:
    if field.type in {field.TYPE_STRING, field.TYPE_BYTES, field.TYPE_MESSAGE}:
        return _LENGTH
    if field.type in {field.TYPE_DOUBLE, field.TYPE_FIXED64, field.TYPE_SFIXED64}:
        return _FIXED_64
    if field.type in {field.TYPE_FLOAT, field.TYPE_FIXED32, field.TYPE_SFIXED32}:
        return _FIXED_32
    return _VARINT


def _tag(number: int, wire_type: int) -> bytes:
    import numpy as np

    piece: bytes = varints(np.array([number << 3 | wire_type], np.uint64))[0].as_py()
    return piece


def _with_length(pieces: pa.Array) -> pa.Array:
    return joined(varints(lengths_of(pieces).view("uint64")), pieces)


def _numbers(kind: str, values: pa.Array) -> NDArray[np.int64]:
    import pyarrow as pa

    return integers(values, pa.type_for_alias(kind))


def _signed(kind: str, values: pa.Array) -> pa.Array:
    return varints(_numbers(kind, values).view("uint64"))


def _zigzag(kind: str, values: pa.Array) -> pa.Array:
    return varints(zigzag(_numbers(kind, values)))


def _fixed(kind: str, values: pa.Array) -> pa.Array:
    return fixed(_numbers(kind, values).astype(kind))


def _floating(kind: str, values: pa.Array) -> pa.Array:
    return fixed(values.to_numpy().astype(kind))


def _uint64(values: pa.Array) -> NDArray[np.uint64]:
    import pyarrow as pa

    numbers: NDArray[np.uint64] = values.cast(pa.uint64()).to_numpy()
    return numbers


def _boolean(values: pa.Array) -> pa.Array:
    import pyarrow as pa

    return fixed(values.cast(pa.uint8()).to_numpy())


def _string(values: pa.Array) -> pa.Array:
    return _with_length(text(values))


def _bytes(values: pa.Array) -> pa.Array:
    import pyarrow as pa

    return _with_length(values.cast(pa.binary()))


def _enumeration(kind: EnumDescriptor, values: pa.Array) -> pa.Array:
    """Names; where an enumeration is open also numbers that have none, which the source reads as text."""
    import numpy as np
    import pyarrow as pa

    strings = values.cast(pa.string()).dictionary_encode()
    numbers = [_number_of(kind, name) for name in strings.dictionary.to_pylist()]
    found = np.array(numbers, np.int64)[strings.indices.to_numpy()]
    return varints(found.view("uint64"))


def _number_of(kind: EnumDescriptor, name: str) -> int:
    known = kind.values_by_name.get(name)
    if known is not None:
        return int(known.number)
    is_number = name.removeprefix("-").isdecimal() and -(2**31) <= int(name) < 2**31
    if is_number and not kind.is_closed:
        return int(name)
    raise ValueError(f"{name!r} is none of {', '.join(kind.values_by_name)}")


def _timestamp(values: pa.Array) -> pa.Array:
    """Fields 1 and 2 are seconds and, always forward from them, nanoseconds; what is 0 is left out."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    seconds, micros = np.divmod(integers(values, pa.timestamp("us")), _SECOND_US)
    pieces = []
    for number, part in ((1, seconds), (2, micros * 1_000)):
        piece = joined(_tag(number, _VARINT), varints(part.view("uint64")))
        pieces.append(pc.if_else(pa.array(part == 0), pa.scalar(b""), piece))
    return joined(*pieces)
