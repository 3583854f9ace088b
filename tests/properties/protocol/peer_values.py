"""What kio and kafka-python read, as plain values in the order of the table, so that they can be compared with ours."""

from __future__ import annotations

import dataclasses
import datetime as dt
import pkgutil
import uuid
import warnings
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

from kio.index import load_entity_schema
from kio.schema.index import schema_name_map
from kio.static.constants import EntityType

from millstream.protocol.schema import Struct, snake_case

with warnings.catch_warnings():
    # kafka-python reads its tables through a function that Python has deprecated
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka.protocol
    from kafka.protocol.api_message import ApiMessage
    from kafka.protocol.data_container import DataContainer

Plain = Any  # None, number, text, bytes, or a list of these
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_LEFT_OUT = ("kafka.protocol.old", "kafka.protocol.generate_stubs")


def our_values(item: object, layout: Struct, version: int) -> list[Plain]:
    """The fields of a message in one version, without their names."""
    return [
        _ours(getattr(item, field.attribute), field.struct, version)
        for field in layout.fields
        if version in field.versions
    ]


def _ours(value: Plain, layout: Struct | None, version: int) -> Plain:
    if isinstance(value, list):
        return [_ours(element, layout, version) for element in value]
    if layout is not None and value is not None:
        return our_values(value, layout, version)
    return bytes(value) if isinstance(value, memoryview) else value


def kio_class(name: str, version: int) -> type | None:
    """kio's class of a request or response by Kafka's name, if it has one."""
    for suffix, kind in (
        ("RequestData", EntityType.request),
        ("ResponseData", EntityType.response),
    ):
        if name.endswith(suffix):
            entity = snake_case(name.removesuffix(suffix))
            if version in schema_name_map.get(entity, {}):
                return load_entity_schema(entity, version, kind)
    return None


def kio_values(value: Plain) -> Plain:
    match value:
        case dt.timedelta():
            return round(value.total_seconds() * 1000)
        case dt.datetime():
            return round((value - _EPOCH).total_seconds() * 1000)
        case uuid.UUID():
            return value.bytes
        case tuple():
            return [kio_values(element) for element in value]
        case _ if dataclasses.is_dataclass(value):
            return [kio_values(getattr(value, field.name)) for field in dataclasses.fields(value)]
        case _:
            return value


@cache
def kafka_python_classes() -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for module in pkgutil.walk_packages(kafka.protocol.__path__, "kafka.protocol."):
            if not module.name.startswith(_LEFT_OUT):
                import_module(module.name)
    return {f"{kind.__name__}Data": kind for kind in _subclasses(ApiMessage)}


def _subclasses(kind: type) -> Iterator[type]:
    for found in kind.__subclasses__():
        yield found
        yield from _subclasses(found)


def kafka_python_values(value: Plain, version: int) -> Plain:
    match value:
        case DataContainer():
            fields = [field for field in value._struct._fields if field.for_version_q(version)]
            return [kafka_python_values(getattr(value, field.name), version) for field in fields]
        case list() | tuple():
            return [kafka_python_values(element, version) for element in value]
        case uuid.UUID():
            return value.bytes
        case memoryview():
            return bytes(value)
        case set():
            return sum(1 << bit for bit in value)  # sets of operations
        case _:
            return value
