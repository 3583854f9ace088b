"""Finds out which field of a message is broken, after its decoder or encoder has given up."""

from __future__ import annotations

from millstream.errors import EncodeError, MalformedMessage, UnsupportedVersion


def explain_malformed(
    kind: type, schema: str, view: memoryview, at: int, version: int, cause: Exception
) -> MalformedMessage:
    return MalformedMessage(str(cause), message=kind.__name__, version=version)


def explain_refused(message: object, version: int, cause: Exception) -> EncodeError:
    return EncodeError(f"{type(message).__name__} v{version}: {cause}")


def unsupported(message: object, version: int) -> UnsupportedVersion:
    return UnsupportedVersion(f"no version {version}")
