"""Reads what a schema registry answers: JSON in which nothing can be relied on, for anything may listen at an address.

A member that is missing, or of another kind, raises ValueError that says what was wanted.
"""

from __future__ import annotations

from typing import TypeAlias, cast

from millstream.clients.serdes.registry.values import (
    Compatibility,
    RegisteredSchema,
    Schema,
    SchemaReference,
    SchemaType,
)
from millstream.quoting import shortened

Answer: TypeAlias = object
_NUMBER_MAX = 2**63 - 1
"""Ids of Confluent's are ints of Java, those of Apicurio longs."""


def names(answer: Answer) -> list[str]:
    """Returns the subjects of a list."""
    return [_text(each) for each in _list(answer)]


def numbers(answer: Answer) -> list[int]:
    """Returns the versions of a list."""
    return [number(each) for each in _list(answer)]


def number(answer: Answer) -> int:
    """Returns a number from 0 on."""
    if not isinstance(answer, int) or isinstance(answer, bool) or not 0 <= answer <= _NUMBER_MAX:
        raise _unreadable(answer, "a number was")
    return answer


def schema(answer: Answer) -> Schema:
    """Returns a schema with what it refers to."""
    found = _members(answer)
    references = tuple(map(_reference, _list(found.get("references") or [])))
    kind = _text(found.get("schemaType") or "AVRO")
    return Schema(_text(found.get("schema")), cast("SchemaType", kind), references)


def registered(answer: Answer, of: Schema, subject: str) -> RegisteredSchema:
    """Returns the schema `of` with its id, and its place in a subject as far as the registry tells."""
    found = _members(answer)
    guid = found.get("guid")
    return RegisteredSchema(
        number(found.get("id")),
        of,
        _text(found.get("subject") or subject),
        number(found.get("version") or 0),
        None if guid is None else _text(guid),
    )


def version(answer: Answer, subject: str) -> RegisteredSchema:
    """Returns a version of a subject with its schema."""
    return registered(answer, schema(answer), subject)


def compatibility(answer: Answer) -> Compatibility:
    """Returns whether a subject would take a schema, and why not."""
    found = _members(answer)
    fits = found.get("is_compatible")
    if not isinstance(fits, bool):
        raise _unreadable(fits, "is_compatible, true or false, was")
    return Compatibility(fits, tuple(names(found.get("messages") or [])))


def level(answer: Answer) -> str:
    """Returns a compatibility level."""
    return _text(_members(answer).get("compatibilityLevel"))


def _reference(answer: Answer) -> SchemaReference:
    found = _members(answer)
    return SchemaReference(
        _text(found.get("name")), _text(found.get("subject")), number(found.get("version"))
    )


def _members(answer: Answer) -> dict[str, object]:
    if not isinstance(answer, dict):
        raise _unreadable(answer, "an object was")
    return answer


def _list(answer: Answer) -> list[object]:
    if not isinstance(answer, list):
        raise _unreadable(answer, "a list was")
    return answer


def _text(answer: Answer) -> str:
    if not isinstance(answer, str):
        raise _unreadable(answer, "a text was")
    return answer


def _unreadable(answer: Answer, wanted: str) -> ValueError:
    there = "nothing" if answer is None else shortened(repr(answer))
    return ValueError(f"{wanted} to stand where there is {there}")
