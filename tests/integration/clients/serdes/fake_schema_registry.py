"""A schema registry for tests: Confluent's REST API, as far as its documentation goes, on a port of its own."""

from __future__ import annotations

import json
import threading
import uuid
from collections import deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import unquote, urlsplit

MEDIA_TYPE = "application/vnd.schemaregistry.v1+json"
NAMESPACE = uuid.UUID(int=7)


class Refused(Exception):
    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def essence(body: dict[str, Any]) -> dict[str, Any]:
    """A schema as the registry keeps it and gives it back: what is the default is left out."""
    kept = {name: body[name] for name in ("schema", "schemaType", "references") if body.get(name)}
    return {
        name: member for name, member in kept.items() if (name, member) != ("schemaType", "AVRO")
    }


@dataclass
class Contents:
    """`faults` are statuses answered before anything else; `requests` what was asked."""

    schemas: list[dict[str, Any]] = field(default_factory=list)
    subjects: dict[str, list[int]] = field(default_factory=dict)
    deleted: set[tuple[str, int]] = field(default_factory=set)
    """Versions that are deleted; those that are so permanently are `forgotten`, too."""
    forgotten: set[tuple[str, int]] = field(default_factory=set)
    levels: dict[str, str] = field(default_factory=dict)
    faults: deque[int] = field(default_factory=deque)
    requests: list[str] = field(default_factory=list)
    logins: list[str | None] = field(default_factory=list)
    tells_guids: bool = True
    login_needed: str | None = None
    is_apicurio: bool = False
    """As Apicurio 2.6.13 at /apis/ccompat/v7, where that differs."""

    def answer(self, method: str, path: str, body: Any, query: str = "") -> Any:
        permanent = "permanent=true" in query
        match [method, *map(unquote, path.strip("/").split("/"))]:
            case ["GET", "subjects"]:
                away = self.forgotten if "deleted=true" in query else self.deleted
                return [name for name in self.subjects if self.numbers(name, away)]
            case ["POST", "subjects", subject, "versions"]:
                return self.register(subject, essence(body))
            case ["POST", "subjects", subject]:
                return self.look_up(subject, essence(body))
            case ["DELETE", "subjects", subject]:
                return self.delete(subject, self.numbers(subject, self.forgotten), permanent)
            case ["DELETE", "subjects", subject, "versions", version]:
                return self.delete(subject, [int(version)], permanent)[0]
            case ["GET", "subjects", subject, "versions"]:
                self.of(subject)
                return self.numbers(subject, self.deleted)
            case ["GET", "subjects", subject, "versions", version]:
                return self.version(subject, version)
            case ["GET", "schemas", "ids", schema_id]:
                if not 0 < int(schema_id) <= len(self.schemas):
                    raise Refused(404, 40403, f"Schema {schema_id} not found")
                return self.schemas[int(schema_id) - 1]
            case ["GET", "schemas", "guids", guid]:
                for schema in self.schemas:
                    if self.guid(schema) == guid:
                        return schema
                raise Refused(404, 40403, f"Schema {guid} not found")
            case ["POST", "compatibility", "subjects", subject, "versions", _]:
                if self.is_apicurio and not self.numbers(subject, self.deleted):
                    raise Refused(404, 40402, f"No version 'latest' found for '{subject}'")
                self.of(subject)
                fits = "incompatible" not in body["schema"]
                return {
                    "is_compatible": fits,
                    "messages": [] if fits else ["a field has no default"],
                }
            case ["GET", "config", *subject]:
                every = self.levels.get("", "BACKWARD")
                return {"compatibilityLevel": self.levels.get("".join(subject), every)}
            case ["DELETE", "config", subject]:
                return {"compatibilityLevel": self.levels.pop(subject)}
            case ["PUT", "config", *subject]:
                self.levels["".join(subject)] = body["compatibility"]
                return body
        raise Refused(404, 404, "HTTP 404 Not Found")

    def of(self, subject: str) -> list[int]:
        if not self.numbers(subject, self.deleted):
            raise Refused(404, 40401, f"Subject '{subject}' not found.")
        return self.subjects[subject]

    def numbers(self, subject: str, away: set[tuple[str, int]]) -> list[int]:
        """The versions of a subject without those that are away."""
        count = len(self.subjects.get(subject, ()))
        return [each for each in range(1, count + 1) if (subject, each) not in away]

    def delete(self, subject: str, versions: list[int], permanent: bool) -> list[int]:
        wanted = {(subject, each) for each in versions}
        if permanent and not wanted <= self.deleted:
            raise Refused(404, 40405, f"Subject '{subject}' was not deleted first before being permanently deleted")  # fmt: skip
        if not permanent:
            self.of(subject)
        self.deleted |= wanted
        self.forgotten |= wanted if permanent else set()
        return versions

    def register(self, subject: str, body: dict[str, Any]) -> dict[str, Any]:
        if body.get("schemaType", "AVRO") != "PROTOBUF":
            try:
                json.loads(body["schema"])
            except ValueError as error:
                raise Refused(422, 42201, f"Invalid schema: {error}") from error
        if "incompatible" in body["schema"] and self.numbers(subject, self.deleted):
            raise Refused(
                409, 409, "Schema being registered is incompatible with an earlier schema"
            )
        if body not in self.schemas:
            self.schemas.append(body)
        schema_id = self.schemas.index(body) + 1
        versions = self.subjects.setdefault(subject, [])
        there = [versions[each - 1] for each in self.numbers(subject, self.deleted)]
        if schema_id not in there:
            versions.append(schema_id)
        return {"id": schema_id} | ({"guid": self.guid(body)} if self.tells_guids else {})

    def look_up(self, subject: str, body: dict[str, Any]) -> dict[str, Any]:
        versions = self.of(subject)
        for number in self.numbers(subject, self.deleted):
            schema_id = versions[number - 1]
            if self.schemas[schema_id - 1] == body:
                return {"subject": subject, "id": schema_id, "version": number} | body
        raise Refused(404, 40403, "Schema not found")

    def version(self, subject: str, version: str) -> dict[str, Any]:
        versions = self.of(subject)
        there = self.numbers(subject, self.deleted)
        number = there[-1] if version == "latest" else int(version)
        if number not in there:
            raise Refused(404, 40402, f"Version {version} not found.")
        schema_id = versions[number - 1]
        return {"subject": subject, "id": schema_id, "version": number} | self.schemas[
            schema_id - 1
        ]

    @staticmethod
    def guid(schema: dict[str, Any]) -> str:
        return str(uuid.uuid5(NAMESPACE, json.dumps(schema)))


class FakeSchemaRegistry:
    """Use as a context manager. `tls` is a server's context, for https."""

    def __init__(self, tls: Any = None) -> None:
        self.contents = contents = Contents()

        class Handler(BaseHTTPRequestHandler):
            def serve(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                body = json.loads(self.rfile.read(length)) if length else None
                contents.requests.append(f"{self.command} {self.path}")
                contents.logins.append(self.headers.get("Authorization"))
                status, answer = self.judged(body)
                text = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", MEDIA_TYPE)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def judged(self, body: Any) -> tuple[int, Any]:
                if contents.faults:
                    status = contents.faults.popleft()
                    return status, {"error_code": status * 100 + 1, "message": "out of order"}
                if contents.login_needed not in {None, self.headers.get("Authorization")}:
                    return 401, {"error_code": 401, "message": "Unauthorized"}
                try:
                    asked = urlsplit(self.path)
                    return 200, contents.answer(self.command, asked.path, body, asked.query)
                except Refused as refused:
                    return refused.status, {"error_code": refused.code, "message": str(refused)}

            do_GET = do_POST = do_PUT = do_DELETE = serve  # noqa: N815 - named by http.server

            def log_message(self, *arguments: Any) -> None:
                """The tests' output stays theirs."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        scheme = "http"
        if tls is not None:
            scheme = "https"
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.url = f"{scheme}://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
