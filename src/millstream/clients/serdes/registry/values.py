"""Contents of a schema registry as plain values: schemas with their references and versions, and under which subject
a topic's schemas are kept (Confluent's three strategies).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from millstream.errors import ConfigError

SchemaType = Literal["AVRO", "JSON", "PROTOBUF"]
Version = int | Literal["latest"]


class SchemaReference(NamedTuple):
    """`name`, as the schema's text uses it, is version `version` of `subject`."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema's text: JSON for Avro and JSON Schema; for Protobuf .proto text, or a file descriptor in base64."""

    text: str
    schema_type: SchemaType = "AVRO"
    references: tuple[SchemaReference, ...] = ()


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema as a subject has it. Registries that do not tell leave `version` 0 and `guid` None."""

    schema_id: int
    schema: Schema
    subject: str | None = None
    version: int = 0
    guid: str | None = None


class Compatibility(NamedTuple):
    """The answer whether a subject would take a schema, and if not, why."""

    is_compatible: bool
    messages: tuple[str, ...] = ()


SubjectNameStrategy = Callable[[str, bool, str | None], str]
"""Takes the topic, whether it is its keys' schema, and the full name of the record (None for a schema without one)."""


def topic_name(topic: str, is_key: bool, record: str | None) -> str:  # noqa: ARG001 - the signature is the strategies'
    """Returns the subject, such as `flights-key` and `flights-value`: one schema that evolves for each."""
    return f"{topic}-{'key' if is_key else 'value'}"


def record_name(topic: str, is_key: bool, record: str | None) -> str:  # noqa: ARG001 - the signature is the strategies'
    """Returns the record's own name: several types in a topic, each the same in all topics."""
    return _named(record)


def topic_record_name(topic: str, is_key: bool, record: str | None) -> str:  # noqa: ARG001 - the signature is the strategies'
    """Topic and record: several types in a topic, each evolving there by itself."""
    return f"{topic}-{_named(record)}"


def _named(record: str | None) -> str:
    if record is None:
        raise ConfigError(
            "this subject name strategy needs a schema with a name (Avro: name, JSON: title);"
            " give the serde its schema, or use topic_name"
        )
    return record
