"""A client of Confluent's Schema Registry and those that speak its REST API (Apicurio, Karapace, Redpanda).

What cannot change is asked for once: schemas by id, versions of a subject, ids of registered schemas.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Hashable
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import quote

from millstream.clients.serdes.registry import answers
from millstream.clients.serdes.registry.errors import IncompatibleSchema, SchemaRegistryError
from millstream.clients.serdes.registry.transport import Auth, Limits, Transport
from millstream.clients.serdes.registry.values import (
    Compatibility,
    RegisteredSchema,
    Schema,
    SchemaReference,
    Version,
)
from millstream.quoting import shortened

T = TypeVar("T")


class SchemaRegistry:
    """Use as `async with SchemaRegistry("http://localhost:8081") as registry`, or call `close()` in the end.

    `url` may name several addresses of one registry, with commas between. Shared by as many serdes as you like.
    Every method raises SchemaRegistryError.
    """

    def __init__(
        self,
        url: str | list[str],
        *,
        auth: Auth | None = None,
        ssl_context: ssl.SSLContext | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._transport = Transport(url, auth, ssl_context, limits or Limits())
        self._known: dict[Hashable, Any] = {}  # Any: each key has its own type of value

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._transport}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the client: no call begins any more; one that has begun ends in its thread by its time limit."""
        self._transport.close()

    async def register(
        self, subject: str, schema: Schema, *, normalize: bool = False
    ) -> RegisteredSchema:
        """Returns a new version of the subject, or the one that has this schema already. Raises IncompatibleSchema."""
        path = f"/subjects/{quote(subject, safe='')}/versions{_normalized(normalize)}"
        return await self._once(
            ("register", subject, schema, normalize),
            lambda: self._call(
                "POST", path, partial(answers.registered, of=schema, subject=subject), _body(schema)
            ),
        )

    async def look_up(
        self, subject: str, schema: Schema, *, normalize: bool = False
    ) -> RegisteredSchema:
        """Returns the version of the subject that has this schema. Raises SubjectNotFound, SchemaNotFound."""
        path = f"/subjects/{quote(subject, safe='')}{_normalized(normalize)}"
        return await self._once(
            ("look_up", subject, schema, normalize),
            lambda: self._call(
                "POST", path, partial(answers.registered, of=schema, subject=subject), _body(schema)
            ),
        )

    async def schema(self, schema_id: int | str) -> Schema:
        """Returns the schema of an id, or of a GUID. Raises SchemaNotFound."""
        by = "guids" if isinstance(schema_id, str) else "ids"
        return await self._once(
            ("schema", schema_id),
            lambda: self._call("GET", f"/schemas/{by}/{schema_id}", answers.schema),
        )

    async def version(self, subject: str, version: Version = "latest") -> RegisteredSchema:
        """Returns a version of a subject. Raises SubjectNotFound, VersionNotFound."""
        path = f"/subjects/{quote(subject, safe='')}/versions/{version}"

        def ask() -> RegisteredSchema:
            return self._call("GET", path, partial(answers.version, subject=subject))

        if version == "latest":
            return await self._transport.run(ask)
        return await self._once(("version", subject, version), ask)

    async def referenced(self, schema: Schema) -> dict[str, Schema]:
        """Returns the schemas it refers to, and those that they refer to, by name; each stands behind what it needs."""
        found: dict[str, Schema] = {}
        await self._add_referenced(schema, found, ())
        return found

    async def _add_referenced(
        self, schema: Schema, found: dict[str, Schema], within: tuple[SchemaReference, ...]
    ) -> None:
        """Adds what a schema refers to. `within`: the references that have led to it."""
        for reference in schema.references:
            if reference in within:
                raise SchemaRegistryError(
                    f"version {reference.version} of {reference.subject!r} refers to itself",
                    status=200, code=200,
                )  # fmt: skip
            if reference.name not in found:
                target = (await self.version(reference.subject, reference.version)).schema
                await self._add_referenced(target, found, (*within, reference))
                found.setdefault(reference.name, target)

    async def subjects(self, *, with_deleted: bool = False) -> list[str]:
        """Returns the names of all subjects; of deleted ones too, if wanted, until they are deleted permanently."""
        path = "/subjects?deleted=true" if with_deleted else "/subjects"
        return await self._ask("GET", path, answers.names)

    async def versions(self, subject: str) -> list[int]:
        """Returns the versions of the subject that are not deleted.

        Raises SchemaRegistryError where there is no such subject.
        """
        path = f"/subjects/{quote(subject, safe='')}/versions"
        return await self._ask("GET", path, answers.numbers)

    async def check_compatibility(
        self, subject: str, schema: Schema, version: Version = "latest"
    ) -> Compatibility:
        """Says whether the subject would take the schema beside that version. A subject that is new takes anything."""
        path = f"/compatibility/subjects/{quote(subject, safe='')}/versions/{version}?verbose=true"
        try:
            return await self._ask("POST", path, answers.compatibility, _body(schema))
        except IncompatibleSchema as error:
            return Compatibility(is_compatible=False, messages=(str(error),))

    async def compatibility_level(self, subject: str | None = None) -> str:
        """BACKWARD, FORWARD, FULL, their _TRANSITIVE kin, or NONE: of a subject, or of all that have none."""
        path = _config_path(subject)
        if subject is not None:
            path += "?defaultToGlobal=true"
        return await self._ask("GET", path, answers.level)

    async def set_compatibility_level(self, level: str, subject: str | None = None) -> None:
        """Sets what new schemas of the subject, or of all subjects without a level of their
        own, must be compatible with.

        `level` is BACKWARD, FORWARD, FULL, each also with _TRANSITIVE, or NONE.
        """
        await self._ask(
            "PUT", _config_path(subject), lambda _: None, {"compatibility": level.upper()}
        )

    async def remove_compatibility_level(self, subject: str) -> None:
        """Takes the level of a subject away, so that the one of all subjects counts."""
        await self._ask("DELETE", _config_path(subject), lambda _: None)

    async def delete_version(self, subject: str, version: int, *, permanent: bool = False) -> None:
        """Deletes one version. It must be deleted once before it can be deleted permanently."""
        path = f"/subjects/{quote(subject, safe='')}/versions/{version}{_permanently(permanent)}"
        await self._ask("DELETE", path, answers.number)
        self._known.clear()

    async def delete_subject(self, subject: str, *, permanent: bool = False) -> list[int]:
        """Returns the versions deleted. A subject must be deleted once before it can be deleted permanently."""
        path = f"/subjects/{quote(subject, safe='')}{_permanently(permanent)}"
        deleted = await self._ask("DELETE", path, answers.numbers)
        self._known.clear()
        return deleted

    async def _ask(
        self, method: str, path: str, read: Callable[[object], T], body: object = None
    ) -> T:
        return await self._transport.run(lambda: self._call(method, path, read, body))

    def _call(self, method: str, path: str, read: Callable[[object], T], body: object = None) -> T:
        """Asks, in the transport's thread, and reads the answer."""
        answer = self._transport.call(method, path, body)
        try:
            return read(answer)
        except ValueError as error:
            raise SchemaRegistryError(
                f"{method} {shortened(path)} has an answer that cannot be read, {error}; is this a schema registry?",
                status=200, code=200,
            ) from error  # fmt: skip

    async def _once(self, key: Hashable, ask: Callable[[], T]) -> T:
        """Returns what is known, else the answer of `ask`, for all who wait for it."""

        def learn() -> T:
            if key not in self._known:
                self._known[key] = ask()
            known: T = self._known[key]
            return known

        if key in self._known:
            known: T = self._known[key]
            return known
        return await self._transport.run(learn)


def _config_path(subject: str | None) -> str:
    return "/config" if subject is None else f"/config/{quote(subject, safe='')}"


def _normalized(normalize: bool) -> str:
    return "?normalize=true" if normalize else ""


def _permanently(permanent: bool) -> str:
    return "?permanent=true" if permanent else ""


def _body(schema: Schema) -> dict[str, object]:
    body: dict[str, object] = {"schema": schema.text}
    if schema.schema_type != "AVRO":
        body["schemaType"] = schema.schema_type
    if schema.references:
        body["references"] = [reference._asdict() for reference in schema.references]
    return body
