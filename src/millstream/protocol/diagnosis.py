"""Turns the failure of a generated decoder or encoder into an error that says where and why.

The fast path does not keep track of what it is doing; when it fails, the message is walked again by its table, slowly,
until the broken field is found. Owns nothing else: the walks are in `broken_bytes` and `broken_values`.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import cast

from millstream.errors import EncodeError, MalformedMessage, UnsupportedVersion
from millstream.protocol.schema import MessageSchema, parse_schemas


def schema_of(kind: type) -> MessageSchema:
    """Returns the table of a generated message, which its module carries."""
    return _schemas(kind.__module__)[kind.__name__]


@cache
def _schemas(module: str) -> dict[str, MessageSchema]:
    table = cast("str", import_module(module).SCHEMA)
    return {schema.name: schema for schema in parse_schemas(table)}


def explain_malformed(
    kind: type, view: memoryview, at: int, version: int, cause: Exception
) -> MalformedMessage:
    """Returns the error that says why the message of type `kind` at `at` could not be read; `cause`
    is the error of its decoder.
    """
    from millstream.protocol.broken_bytes import BytesWalk

    walk = BytesWalk(schema_of(kind), view, version)
    reason = walk.find_broken(at)
    return MalformedMessage(
        reason or str(cause),
        message=kind.__name__,
        version=version,
        field=walk.path,
        offset=walk.at,
    )


def explain_refused(message: object, version: int, cause: Exception) -> EncodeError:
    """Returns the error that says why `message` could not be written; `cause` is the error of its encoder."""
    from millstream.protocol.broken_values import find_broken

    kind = type(message)
    found = find_broken(schema_of(kind), message, version)
    if found is None:
        return EncodeError(f"{kind.__name__} v{version}: {cause}")
    path, reason = found
    return EncodeError(f"{kind.__name__} v{version}, field {path}: {reason}")


def version_refused(kind: type, version: int) -> UnsupportedVersion:
    lowest, highest = kind.LOWEST_VERSION, kind.HIGHEST_VERSION  # type: ignore[attr-defined]  # set by codegen
    return UnsupportedVersion(f"{kind.__name__} has versions {lowest} to {highest}, not {version}")
