"""Errors of a schema registry: its HTTP status, its own code, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from millstream.clients.core.serialization import LookupUnavailable
from millstream.errors import MillstreamError


class SchemaRegistryError(MillstreamError):
    """An answer that is an error. `status` is HTTP's; `code` the registry's own, or the status where it has none."""

    advice: str = "the registry's log may say more"

    def __init__(self, what: str, *, status: int, code: int) -> None:
        told = f" (status {status}, code {code})" if status else ""
        super().__init__(f"{what}{told}: {self.advice}")
        self.status = status
        self.code = code


class SubjectNotFound(SchemaRegistryError):
    advice = "check the subject name strategy, or let a serializer register the schema"


class VersionNotFound(SchemaRegistryError):
    advice = "ask for one of the subject's versions"


class SchemaNotFound(SchemaRegistryError):
    advice = "check that this is the registry the records were written with, or register the schema"


class IncompatibleSchema(SchemaRegistryError):
    advice = "change the schema so that readers of the older versions understand it, or the subject's compatibility level"


class InvalidSchema(SchemaRegistryError):
    advice = "correct the schema; its references must be registered before it"


class RegistryAccessDenied(SchemaRegistryError):
    advice = "check `auth` and what its owner may do with this subject"


class RegistryMoved(SchemaRegistryError):
    """A redirection. Nobody follows it: a login is for the address that was named."""

    advice = "name that address, if it is the registry's"


class SchemaRegistryUnavailable(SchemaRegistryError, LookupUnavailable):
    """No usable answer within the time and the attempts allowed. `status` and `code` are 0 where none came at all."""

    advice = "check the addresses, and that the registry runs"


_BY_CODE: Final[Mapping[int, type[SchemaRegistryError]]] = MappingProxyType(
    {
        401: RegistryAccessDenied,
        403: RegistryAccessDenied,
        409: IncompatibleSchema,
        422: InvalidSchema,
        40401: SubjectNotFound,
        40402: VersionNotFound,
        40403: SchemaNotFound,
        42201: InvalidSchema,
    }
)


def error_for_answer(what: str, status: int, code: int) -> SchemaRegistryError:
    """Returns the error of a registry's own code, else of the HTTP status."""
    kind = _BY_CODE.get(code) or _BY_CODE.get(status, SchemaRegistryError)
    return kind(what, status=status, code=code)
