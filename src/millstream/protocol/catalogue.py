"""Every message by Kafka's name. For tools and tests that go through all of them: loads every generated module."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Final, NamedTuple

from millstream.protocol import generated
from millstream.protocol.api import Message
from millstream.protocol.schema import MessageSchema, parse_schemas

_WITH_DATA: Final = frozenset({"request", "response", "header"})
"""Kinds whose classes Kafka calls `...Data` and we do not."""


class Entry(NamedTuple):
    """A message's class and its table."""

    kind: type[Message]
    schema: MessageSchema


@cache
def every_message() -> dict[str, Entry]:
    """Returns every message by the name of Kafka's class, such as `ListOffsetsRequestData`;
    ours has no `Data` behind it.
    """
    found = {}
    for module in iter_modules(generated.__path__):
        loaded = import_module(f"{generated.__name__}.{module.name}")
        for schema in parse_schemas(getattr(loaded, "SCHEMA", "")):
            name = f"{schema.name}Data" if schema.kind in _WITH_DATA else schema.name
            found[name] = Entry(getattr(loaded, schema.name), schema)
    return found
