"""Contents of a schema registry: schemas with their references, under subjects, with versions. Plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

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
