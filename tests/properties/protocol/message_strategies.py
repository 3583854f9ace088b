"""Hypothesis strategies for messages, derived from their tables: any value that a version can carry."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from hypothesis import strategies as st

from millstream.protocol.api import Message
from millstream.protocol.catalogue import every_message
from millstream.protocol.json_form import struct_class
from millstream.protocol.schema import INTEGERS, Field, Struct
from millstream.protocol.tagged_fields import TaggedField

MESSAGES = sorted(every_message())
TAGS_KNOWN_MAX = 9999  # KIP-482: no table goes that far


@dataclass(frozen=True, slots=True)
class Taste:
    """What values look like. `is_tame`: small numbers, no zero uuids, no unknown tags, for peers with types of their own."""

    version: int
    is_flexible: bool
    is_tame: bool


@cache
def messages(name: str, version: int, *, is_tame: bool = False) -> st.SearchStrategy[Message]:
    """A message by Kafka's name, in one version."""
    entry = every_message()[name]
    taste = Taste(version, entry.schema.is_flexible(version), is_tame)
    return _structs(entry.kind, entry.schema.root, taste)


@cache
def _structs(kind: type, layout: Struct, taste: Taste) -> st.SearchStrategy[Any]:
    fields = {
        field.attribute: _values(kind, field, taste)
        for field in layout.fields
        if taste.version in field.versions
    }
    if taste.is_flexible and not taste.is_tame:
        fields["unknown_tagged_fields"] = _unknown_tags()
    return st.builds(kind, **fields)


@cache
def _unknown_tags() -> st.SearchStrategy[tuple[TaggedField, ...]]:
    tags = st.dictionaries(st.integers(TAGS_KNOWN_MAX, 1 << 30), st.binary(max_size=3), max_size=2)
    chosen = tags.map(lambda found: tuple(TaggedField(tag, found[tag]) for tag in sorted(found)))
    return st.one_of(st.just(()), st.just(()), chosen)


def _values(kind: type, field: Field, taste: Taste) -> st.SearchStrategy[Any]:
    if field.struct is not None:
        value = _structs(struct_class(kind, field.attribute), field.struct, taste)
    else:
        value = _scalars(field.type, taste)
    if field.is_array:
        value = st.lists(value, max_size=2 if field.struct is not None else 3)
    if field.nullable is not None and taste.version in field.nullable:
        return st.one_of(st.none(), value)
    return value


def _scalars(kind: str, taste: Taste) -> st.SearchStrategy[Any]:
    if kind in INTEGERS:
        limits = INTEGERS[kind]
        return st.integers(0, 99) if taste.is_tame else st.integers(limits[0], limits[-1])
    match kind:
        case "bool":
            return st.booleans()
        case "float64":
            return st.integers(0, 99).map(float) if taste.is_tame else st.floats(allow_nan=False)
        case "uuid":
            tame = st.sampled_from([bytes(range(16)), b"sixteen bytes ok"])
            return tame if taste.is_tame else st.binary(min_size=16, max_size=16)
        case "string":
            return st.text(max_size=4)
        case _:
            return st.binary(max_size=4)
