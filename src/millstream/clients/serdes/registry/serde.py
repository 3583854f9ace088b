"""A serializer and deserializer of values that say which schema wrote them, for any format of schemas.

Owns what is known of topics and ids; what is not is looked up by the client, between two attempts (LookupNeeded).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Generic, Protocol, TypedDict, TypeVar

from millstream.clients.core.serialization import LookupNeeded, SerializationError
from millstream.clients.serdes.registry.values import (
    RegisteredSchema,
    Schema,
    SubjectNameStrategy,
    topic_name,
)
from millstream.clients.serdes.registry.wire_format import (
    KEY_HEADER,
    VALUE_HEADER,
    guid_prefix,
    id_prefix,
    schema_of,
)
from millstream.errors import ConfigError

if TYPE_CHECKING:
    from millstream.clients.core.values import Headers
    from millstream.clients.serdes.registry.client import SchemaRegistry

T = TypeVar("T")


class Format(Protocol[T]):
    """Avro, JSON Schema or Protobuf. `referenced` has the schemas that `schema` refers to, by name."""

    @property
    def name(self) -> str: ...

    @property
    def indexes(self) -> tuple[int, ...] | None:
        """The indexes of the message in its Protobuf file; None for other formats."""

    def record_name(self) -> str | None:
        """Returns the full name in the schema, for subject name strategies."""

    async def schema(self, registry: SchemaRegistry, use: SchemaUse) -> Schema | None:
        """Returns the schema to register or to look up; None if the serde was given no schema."""

    def writer(self, schema: Schema, referenced: Mapping[str, Schema]) -> Callable[[T], bytes]: ...

    def reader(self, schema: Schema, referenced: Mapping[str, Schema]) -> Callable[[bytes], T]: ...


class SchemaUseOptions(TypedDict, total=False):
    """Keyword arguments of the `confluent_*` serdes; see SchemaUse."""

    is_key: bool
    subject_name: SubjectNameStrategy
    auto_register: bool
    use_latest_version: bool
    use_schema_id: int | None
    normalize: bool
    id_in_header: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaUse:
    """The rule by which a serializer comes to the id of its schema. A deserializer needs none of this but `is_key`."""

    is_key: bool = False
    subject_name: SubjectNameStrategy = topic_name
    auto_register: bool = True
    """Register the schema where the subject lacks it; False: it must be there."""
    use_latest_version: bool = False
    """Write with the subject's latest schema, asked for once a topic; nothing is registered."""
    use_schema_id: int | None = None
    """Write with this schema; nothing is registered."""
    normalize: bool = False
    id_in_header: bool = False
    """The schema's GUID goes into a header, not in front of the value. Needs a registry that tells GUIDs."""


class RegistrySerde(Generic[T]):
    """Give it as key_serializer, value_serializer, key_deserializer or value_deserializer.

    Made by `confluent_avro`, `confluent_json` and `confluent_protobuf`. Set `is_key` on the one for keys.
    """

    def __init__(self, registry: SchemaRegistry, form: Format[T], use: SchemaUse) -> None:
        self.name = form.name
        self._registry = registry
        self._format = form
        self._use = use
        self._header = KEY_HEADER if use.is_key else VALUE_HEADER
        self._writers: dict[str, tuple[bytes, Callable[[T], bytes]]] = {}
        self._readers: dict[int | str, Callable[[bytes], T]] = {}

    def __repr__(self) -> str:
        part = "keys" if self._use.is_key else "values"
        return f"<{type(self).__name__} {self.name} of {part}, {self._registry!r}>"

    def __getstate__(self) -> dict[str, object]:
        """Pickled without what it has learnt: readers and writers are made anew from the schemas."""
        return self.__dict__ | {"_writers": {}, "_readers": {}}

    @property
    def id_in_header(self) -> bool:
        """Whether headers say which schema wrote a value."""
        return self._use.id_in_header

    def serialize(self, topic: str, data: T, headers: Headers) -> bytes:
        """Writes a value with the id of its schema.

        Raises LookupNeeded for a topic's first value, SerializationError for a value the schema does not take.
        """
        found = self._writers.get(topic)
        if found is None:
            raise LookupNeeded(f"the schema of {topic}", partial(self._learn_to_write, topic))
        prefix, write = found
        try:
            written = write(data)
        except Exception as error:
            raise SerializationError(
                f"the {self.name} serde cannot write a value of type {type(data).__name__}: {error}"
            ) from error
        if self._use.id_in_header:
            # One is there where the client asks a second time, or where headers of another record are passed on.
            headers[:] = [header for header in headers if header[0] != self._header]
            headers.append((self._header, prefix))
            return written
        return prefix + written

    def deserialize(self, topic: str, data: bytes, headers: Headers) -> T:  # noqa: ARG002 - the signature is the Deserializer's
        """Reads a value with the schema that it names.

        Raises LookupNeeded for a schema's first value, SerializationError for bytes that are not of the schema.
        """
        named = dict(headers).get(self._header) or None  # the last one, as Confluent's
        try:
            schema, at = schema_of(data if named is None else named)
            read = self._readers.get(schema)
            if read is not None:
                if named is None:
                    return read(data[at:])
                return read(named[at:] + data)
        except Exception as error:
            raise SerializationError(
                f"the {self.name} serde cannot read these {len(data)} bytes: {error}"
            ) from error
        raise LookupNeeded(f"schema {schema}", partial(self._learn_to_read, schema))

    async def prefix(self, topic: str) -> bytes:
        """Returns what names the schema of a topic, for those who write its values themselves.

        Raises SchemaRegistryError.
        """
        return self._prefix(await self._registered(topic))

    async def _learn_to_write(self, topic: str) -> None:
        registered = await self._registered(topic)
        prefix = self._prefix(registered)
        referenced = await self._registry.referenced(registered.schema)
        self._writers[topic] = (prefix, self._format.writer(registered.schema, referenced))

    def _prefix(self, registered: RegisteredSchema) -> bytes:
        if not self._use.id_in_header:
            return id_prefix(registered.schema_id, self._format.indexes)
        if registered.guid is not None:
            return guid_prefix(registered.guid, self._format.indexes)
        raise ConfigError(
            "id_in_header needs the schema's GUID, which this registry does not return; leave it out"
        )

    async def _registered(self, topic: str) -> RegisteredSchema:
        use, registry = self._use, self._registry
        if use.use_schema_id is not None:
            schema = await registry.schema(use.use_schema_id)
            return RegisteredSchema(use.use_schema_id, schema)
        subject = use.subject_name(topic, use.is_key, self._format.record_name())
        if use.use_latest_version:
            return await registry.version(subject)
        given = await self._format.schema(registry, use)
        if given is None:
            raise ConfigError(
                f"the {self.name} serde has no schema to write with; give it one, or set"
                " use_latest_version or use_schema_id"
            )
        if use.auto_register:
            return await registry.register(subject, given, normalize=use.normalize)
        return await registry.look_up(subject, given, normalize=use.normalize)

    async def _learn_to_read(self, schema_id: int | str) -> None:
        schema = await self._registry.schema(schema_id)
        referenced = await self._registry.referenced(schema)
        self._readers[schema_id] = self._format.reader(schema, referenced)
