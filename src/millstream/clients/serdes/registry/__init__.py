"""A schema registry's client, and serdes whose values name their schema in it."""

from millstream.clients.serdes.registry.avro import confluent_avro
from millstream.clients.serdes.registry.client import SchemaRegistry
from millstream.clients.serdes.registry.errors import (
    IncompatibleSchema,
    InvalidSchema,
    RegistryAccessDenied,
    RegistryMoved,
    SchemaNotFound,
    SchemaRegistryError,
    SchemaRegistryUnavailable,
    SubjectNotFound,
    VersionNotFound,
)
from millstream.clients.serdes.registry.json_schema import confluent_json
from millstream.clients.serdes.registry.plain import for_topic, prefix_for_topic
from millstream.clients.serdes.registry.protobuf import confluent_protobuf
from millstream.clients.serdes.registry.serde import RegistrySerde, SchemaUse
from millstream.clients.serdes.registry.transport import Limits
from millstream.clients.serdes.registry.values import (
    Compatibility,
    RegisteredSchema,
    Schema,
    SchemaReference,
    SubjectNameStrategy,
    record_name,
    topic_name,
    topic_record_name,
)

__all__ = [
    "Compatibility",
    "IncompatibleSchema",
    "InvalidSchema",
    "Limits",
    "RegisteredSchema",
    "RegistryAccessDenied",
    "RegistryMoved",
    "RegistrySerde",
    "Schema",
    "SchemaNotFound",
    "SchemaReference",
    "SchemaRegistry",
    "SchemaRegistryError",
    "SchemaRegistryUnavailable",
    "SchemaUse",
    "SubjectNameStrategy",
    "SubjectNotFound",
    "VersionNotFound",
    "confluent_avro",
    "confluent_json",
    "confluent_protobuf",
    "for_topic",
    "prefix_for_topic",
    "record_name",
    "topic_name",
    "topic_record_name",
]
