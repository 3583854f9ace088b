from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest

from millstream.clients.serdes.registry import (
    Compatibility,
    IncompatibleSchema,
    InvalidSchema,
    Limits,
    RegisteredSchema,
    RegistryAccessDenied,
    Schema,
    SchemaNotFound,
    SchemaReference,
    SchemaRegistry,
    SchemaRegistryError,
    SchemaRegistryUnavailable,
    SubjectNotFound,
    VersionNotFound,
)
from millstream.errors import ConfigError
from tests.integration.clients.security.certificates import Authority
from tests.integration.clients.serdes.fake_schema_registry import FakeSchemaRegistry
from tests.patience import LONG_ENOUGH_MS, LONG_ENOUGH_S

FIRST = Schema('{"type":"string"}')
SECOND = Schema('{"type":"long"}')
AT_ONCE = Limits(timeout_ms=LONG_ENOUGH_MS, retries=2, retry_backoff_ms=1, retry_backoff_max_ms=1)


@pytest.fixture
def server() -> Iterator[FakeSchemaRegistry]:
    with FakeSchemaRegistry() as running:
        yield running


@pytest.fixture
def registry(server: FakeSchemaRegistry) -> Iterator[SchemaRegistry]:
    made = SchemaRegistry(server.url, limits=AT_ONCE)
    yield made
    made.close()


async def test_a_schema_is_registered_once_and_found_in_every_way(registry: SchemaRegistry) -> None:
    first = await registry.register("flights-value", FIRST)
    second = await registry.register("flights-value", SECOND)
    assert (first.schema_id, second.schema_id) == (1, 2)
    assert await registry.look_up("flights-value", FIRST) == RegisteredSchema(
        1, FIRST, "flights-value", 1
    )
    assert await registry.schema(2) == SECOND
    assert first.guid is not None
    assert await registry.schema(first.guid) == FIRST
    assert (await registry.version("flights-value")).version == 2
    assert (await registry.version("flights-value", 1)).schema == FIRST
    assert await registry.subjects() == ["flights-value"]
    assert await registry.versions("flights-value") == [1, 2]
    assert await registry.delete_subject("flights-value") == [1, 2]
    assert await registry.subjects() == []


async def test_what_cannot_change_is_asked_for_once(
    server: FakeSchemaRegistry, registry: SchemaRegistry
) -> None:
    """However many ask at the same time."""
    await asyncio.gather(*(registry.register("s", FIRST) for _ in range(5)))
    await asyncio.gather(*(registry.schema(1) for _ in range(5)))
    await registry.version("s", 1)
    await registry.version("s", 1)
    await registry.version("s")
    await registry.version("s")
    assert server.contents.requests == [
        "POST /subjects/s/versions",
        "GET /schemas/ids/1",
        "GET /subjects/s/versions/1",
        "GET /subjects/s/versions/latest",
        "GET /subjects/s/versions/latest",
    ]


async def test_names_of_subjects_are_escaped(
    server: FakeSchemaRegistry, registry: SchemaRegistry
) -> None:
    await registry.register("a/b c-value", FIRST, normalize=True)
    assert server.contents.requests == ["POST /subjects/a%2Fb%20c-value/versions?normalize=true"]
    assert await registry.subjects() == ["a/b c-value"]


async def test_references_come_in_the_order_they_need_each_other(registry: SchemaRegistry) -> None:
    await registry.register("inner", FIRST)
    middle = Schema('"m"', "JSON", (SchemaReference("inner.json", "inner", 1),))
    await registry.register("middle", middle)
    outer = Schema('"o"', "JSON", (SchemaReference("middle.json", "middle", 1),))
    await registry.register("outer", outer)
    stored = (await registry.version("outer")).schema
    assert stored == outer
    assert await registry.referenced(stored) == {"inner.json": FIRST, "middle.json": middle}
    assert list(await registry.referenced(stored)) == ["inner.json", "middle.json"]


async def test_compatibility_is_checked_and_its_level_set(registry: SchemaRegistry) -> None:
    await registry.register("s", FIRST)
    assert await registry.check_compatibility("s", SECOND) == Compatibility(is_compatible=True)
    assert await registry.check_compatibility("s", Schema('"incompatible"')) == Compatibility(
        is_compatible=False, messages=("a field has no default",)
    )
    await registry.set_compatibility_level("full", "s")
    assert await registry.compatibility_level("s") == "FULL"
    assert await registry.compatibility_level() == "BACKWARD"


async def test_errors_are_typed_and_say_what_to_do(registry: SchemaRegistry) -> None:
    await registry.register("s", FIRST)
    with pytest.raises(SubjectNotFound, match="check the subject name strategy"):
        await registry.version("other")
    with pytest.raises(VersionNotFound, match="one of the subject's versions"):
        await registry.version("s", 9)
    with pytest.raises(SchemaNotFound, match="Schema 99 not found") as raised:
        await registry.schema(99)
    assert (raised.value.status, raised.value.code) == (404, 40403)
    with pytest.raises(IncompatibleSchema, match="change the schema"):
        await registry.register("s", Schema('"incompatible"'))
    with pytest.raises(InvalidSchema, match="correct the schema"):
        await registry.register("s", Schema("{"))


async def test_a_registry_in_trouble_is_asked_again(
    server: FakeSchemaRegistry, registry: SchemaRegistry
) -> None:
    server.contents.faults.extend([503, 500])
    assert (await registry.register("s", FIRST)).schema_id == 1
    assert len(server.contents.requests) == 3


async def test_after_the_last_attempt_every_address_is_named_with_what_it_said(
    server: FakeSchemaRegistry,
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{unused.getsockname()[1]}"
        server.contents.faults.extend([503] * 3)
        async with SchemaRegistry(f"{nobody},{server.url}", limits=AT_ONCE) as registry:
            with pytest.raises(SchemaRegistryUnavailable) as raised:
                await registry.subjects()
    assert f"{nobody}: Connection refused" in str(raised.value)
    assert f"{server.url}: out of order" in str(raised.value)


async def test_the_second_address_answers_when_the_first_does_not(
    server: FakeSchemaRegistry,
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{unused.getsockname()[1]}"
        async with SchemaRegistry([nobody, server.url], limits=AT_ONCE) as registry:
            assert await registry.subjects() == []
    assert len(server.contents.requests) == 1


async def test_an_answer_that_does_not_come_ends_with_the_time_limit() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        async with SchemaRegistry(url, limits=Limits(timeout_ms=50, retries=0)) as registry:
            with pytest.raises(SchemaRegistryUnavailable, match="timed out"):
                await registry.subjects()


class Answering:
    """Answers the one request that comes with these bytes, and then with drops, one by one and never the last."""

    def __init__(self, answer: bytes, drops: bytes = b"", pause_s: float = 0) -> None:
        self._answer = answer
        self._drops = drops
        self._pause_s = pause_s
        self._is_over = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._is_over.set()
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        connection, _ = self._listener.accept()
        with connection, contextlib.suppress(OSError):
            connection.recv(65536)
            connection.sendall(self._answer)
            for byte in itertools.cycle(self._drops):
                connection.sendall(bytes([byte]))
                if self._is_over.wait(self._pause_s):
                    return


@pytest.mark.parametrize("begun", [b"", b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\n\r\n"])
async def test_an_answer_that_comes_in_drops_ends_with_the_time_limit(begun: bytes) -> None:
    """Each byte in its own time: the one thread of the registry, and all who wait for it, would never be free."""
    with Answering(begun, b"1", pause_s=0.02) as dripping:
        limits = Limits(timeout_ms=200, retries=0)
        async with SchemaRegistry(dripping.url, limits=limits) as registry:
            with pytest.raises(SchemaRegistryUnavailable, match="timed out"):
                async with asyncio.timeout(LONG_ENOUGH_S):
                    await registry.subjects()


@pytest.mark.parametrize(
    "body",
    [
        "[]",
        "1",
        "null",
        '"x"',
        '{"schema":5}',
        '{"schema":null}',
        '{"schema":"{}","references":[1]}',
        "{",
    ],
)
async def test_garbage_is_an_error_of_the_registry(body: str) -> None:
    answer = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
    with Answering(answer) as garbling:
        async with SchemaRegistry(garbling.url, limits=AT_ONCE) as registry:
            with pytest.raises(SchemaRegistryError):
                await registry.schema(1)


async def test_a_schema_that_refers_to_itself_is_refused(registry: SchemaRegistry) -> None:
    await registry.register("ring", Schema('"r"', "JSON", (SchemaReference("r", "ring", 1),)))
    with pytest.raises(SchemaRegistryError, match="'ring' refers to itself"):
        await registry.referenced((await registry.version("ring")).schema)


async def test_what_many_refer_to_is_asked_for_once(
    server: FakeSchemaRegistry, registry: SchemaRegistry
) -> None:
    """Each level refers twice to the one below: by way of all there would be no end."""
    await registry.register("level-0", FIRST)
    for level in range(1, 40):
        below = [SchemaReference(f"{level - 1}-{n}", f"level-{level - 1}", 1) for n in range(2)]
        await registry.register(f"level-{level}", Schema(f'"{level}"', "JSON", tuple(below)))
    top = (await registry.version("level-39")).schema
    assert len(await registry.referenced(top)) == 78
    assert len(server.contents.requests) < 100


@pytest.mark.parametrize(
    ("auth", "login"),
    [
        (("ann", "pa:ss"), "Basic YW5uOnBhOnNz"),
        ("token", "Bearer token"),
        (lambda: "fresh", "Bearer fresh"),
    ],
)
async def test_whoever_asks_says_who_it_is(server: FakeSchemaRegistry, auth, login: str) -> None:
    server.contents.login_needed = login
    async with SchemaRegistry(server.url, auth=auth, limits=AT_ONCE) as registry:
        assert await registry.subjects() == []
    async with SchemaRegistry(server.url, auth="wrong", limits=AT_ONCE) as registry:
        with pytest.raises(RegistryAccessDenied, match="check `auth`"):
            await registry.subjects()


async def test_a_login_may_stand_in_the_address_and_is_never_shown(
    server: FakeSchemaRegistry,
) -> None:
    server.contents.faults.extend([503] * 3)
    url = server.url.replace("http://", "http://ann:secret@")
    async with SchemaRegistry(url, limits=AT_ONCE) as registry:
        with pytest.raises(SchemaRegistryUnavailable) as raised:
            await registry.subjects()
    assert server.contents.logins[0] == "Basic YW5uOnNlY3JldA=="
    assert "secret" not in str(raised.value)


async def test_https_needs_an_authority_that_is_trusted(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    certificate = authority.issue("registry")
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(certificate)
    with FakeSchemaRegistry(server_context) as server:
        trusting = ssl.create_default_context(cafile=authority.path)
        async with SchemaRegistry(server.url, ssl_context=trusting, limits=AT_ONCE) as registry:
            assert await registry.subjects() == []
        async with SchemaRegistry(server.url, limits=AT_ONCE) as registry:
            with pytest.raises(SchemaRegistryUnavailable, match="CERTIFICATE_VERIFY_FAILED"):
                await registry.subjects()


async def test_a_call_that_is_cancelled_leaves_the_registry_as_it_was(
    server: FakeSchemaRegistry, registry: SchemaRegistry
) -> None:
    asked = asyncio.ensure_future(registry.register("s", FIRST))
    await asyncio.sleep(0)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert (await registry.register("s", FIRST)).schema_id == 1


async def test_a_closed_registry_says_so(registry: SchemaRegistry) -> None:
    registry.close()
    with pytest.raises(SchemaRegistryError, match="was closed"):
        await registry.subjects()


@pytest.mark.parametrize("url", ["", "localhost:8081", "ftp://localhost"])
def test_an_address_that_is_none_is_refused_at_once(url: str) -> None:
    with pytest.raises(ConfigError, match="http://"):
        SchemaRegistry(url)
