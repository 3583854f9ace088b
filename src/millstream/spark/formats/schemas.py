"""Schemas, classes and functions that the options of a format name, and the client of their registry."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from millstream.clients.serdes.registry import Limits, RegisteredSchema, SchemaRegistry
from millstream.errors import ConfigError
from millstream.runtime.extras import library
from millstream.spark.format_options import function_named
from millstream.spark.formats.column_formats import ColumnFormat, Registry

if TYPE_CHECKING:
    from google.protobuf.message import Message

_LIMITS = Limits(retries=1)
"""Asked while a query is planned, with a person waiting: who gets no answer twice tells it."""


def client_of(registry: Registry) -> SchemaRegistry:
    auth = None
    if registry.login is not None:
        user, _, password = registry.login.partition(":")
        auth = (user, password)
    return SchemaRegistry(registry.url, auth=auth, limits=_LIMITS)


def newest_schema(
    column: ColumnFormat, registry: Registry, topics: tuple[str, ...]
) -> RegisteredSchema:
    """Returns the newest of the column's subject.

    Raises ConfigError where topics leave it open, and SchemaRegistryError.
    """
    subject = column.subject
    if subject is None:
        if len(topics) != 1:
            raise ConfigError(
                f"{column.name}.format=avro for several topics needs {column.name}.schema, or {column.name}.subject, the subject of the "
                "registry that has it"
            )
        subject = f"{topics[0]}-{column.name}"

    async def ask() -> RegisteredSchema:
        async with client_of(registry) as client:
            found = await client.version(subject)
            if found.schema.references:
                raise ConfigError(
                    f"the schema of {subject} refers to others: give the whole schema in {column.name}.schema"
                )
            return found

    return asyncio.run(ask())


def message_class(column: ColumnFormat) -> type[Message]:
    """Raises ConfigError where the schema names no class of a message."""
    library("google.protobuf.message", "protobuf")
    from google.protobuf.message import Message

    option = f"{column.name}.schema"
    found = function_named(option, column.schema or "")
    if not (isinstance(found, type) and issubclass(found, Message)):
        raise ConfigError(f"{option}: {column.schema!r} is no class of a Protobuf message")
    return found


def function_of(column: ColumnFormat) -> Callable[..., Any]:  # Any: a function of the user
    return function_named(f"{column.name}.format", column.function or "")
