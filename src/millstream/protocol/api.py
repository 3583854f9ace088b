"""The APIs of the protocol: which there are, in which versions, under which headers, and the classes of their messages.

Owns the version rules that concern every message. Importing it loads no message: `request_class` and `response_class`
do that for one API at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import ClassVar, Final, NamedTuple, Protocol, Self, cast

from millstream.protocol.generated.api_keys import (
    API_MODULES,
    API_VERSIONS,
    BROKER_APIS,
    CONTROLLER_APIS,
    ApiKey,
)

__all__ = [
    "ApiKey",
    "ApiVersionRange",
    "BROKER_APIS",
    "CONTROLLER_APIS",
    "Message",
    "VERSIONS",
    "request_class",
    "request_header_version",
    "response_class",
    "response_header_version",
]


class ApiVersionRange(NamedTuple):
    """Versions of an API that Kafka 4.3 serves; `first_flexible` is None where none is flexible."""

    lowest: int
    highest: int
    first_flexible: int | None

    def supports(self, version: int) -> bool:
        return self.lowest <= version <= self.highest

    def is_flexible(self, version: int) -> bool:
        return self.first_flexible is not None and version >= self.first_flexible


class Message(Protocol):
    """The methods of every generated message. One class serves all versions of a message."""

    LOWEST_VERSION: ClassVar[int]
    HIGHEST_VERSION: ClassVar[int]
    FIRST_FLEXIBLE_VERSION: ClassVar[int | None]

    @classmethod
    def field_names(cls) -> tuple[str, ...]:
        """Returns the names in the order in which the constructor takes them."""

    def encode(self, out: bytearray, version: int) -> None:
        """Appends the body. Raises EncodeError, and UnsupportedVersion for a version the message does not have."""

    @classmethod
    def decode(cls, view: memoryview, at: int, version: int) -> tuple[Self, int]:
        """Returns the message at `at`, and the position behind it. Raises MalformedMessage and UnsupportedVersion."""


VERSIONS: Final[Mapping[ApiKey, ApiVersionRange]] = MappingProxyType(
    {key: ApiVersionRange(*versions) for key, versions in API_VERSIONS.items()}
)


@cache
def request_class(key: ApiKey) -> type[Message]:
    return _message_class(key, "Request")


@cache
def response_class(key: ApiKey) -> type[Message]:
    return _message_class(key, "Response")


def request_header_version(key: ApiKey, version: int) -> int:
    return 2 if VERSIONS[key].is_flexible(version) else 1


def response_header_version(key: ApiKey, version: int) -> int:
    """Returns the version of the response header, 0 or 1.

    ApiVersions stays at 0: the client knows no broker version yet (KIP-511).
    """
    if key is ApiKey.API_VERSIONS:
        return 0
    return 1 if VERSIONS[key].is_flexible(version) else 0


def _message_class(key: ApiKey, suffix: str) -> type[Message]:
    module, name = API_MODULES[key]
    loaded = import_module(f"millstream.protocol.generated.{module}")
    return cast("type[Message]", getattr(loaded, name + suffix))
