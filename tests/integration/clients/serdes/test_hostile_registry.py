"""Anything may listen at the address of a schema registry: each call ends within its time, with a typed error."""

from __future__ import annotations

import itertools
import json
import socket
import time

import pytest

from millstream.clients.serdes.registry import (
    Limits,
    Schema,
    SchemaRegistry,
    SchemaRegistryError,
    SchemaRegistryUnavailable,
)
from millstream.errors import ConfigError
from tests.integration.clients.serdes.fake_schema_registry import FakeSchemaRegistry
from tests.integration.clients.serdes.raw_server import Behaviour, RawServer, http
from tests.patience import LONG_ENOUGH_MS

SHORT = Limits(timeout_ms=200, retries=0)
ONCE = Limits(timeout_ms=LONG_ENOUGH_MS, retries=0)


def dripping(connection: socket.socket) -> None:
    """Each read has something within the time limit, and none is the last."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n")
    while True:
        connection.sendall(b" ")
        time.sleep(0.02)


def dripping_before_the_answer(connection: socket.socket) -> None:
    while True:
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        time.sleep(0.02)


@pytest.mark.parametrize("behaviour", [dripping, dripping_before_the_answer])
async def test_an_answer_that_never_ends_ends_with_the_time_limit(behaviour: Behaviour) -> None:
    with RawServer(behaviour) as server:
        async with SchemaRegistry(server.url, limits=SHORT) as registry:
            with pytest.raises(SchemaRegistryUnavailable, match="timed out"):
                await registry.subjects()


def flooding(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    for _ in itertools.repeat(None):
        connection.sendall(b" " * 65_536)


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("behaviour", "says"),
    [
        (b"", "closed the connection without a word"),
        (b"\0\0\0\4abcd", "is not HTTP; is it https?"),
        (b"HTTP/2 200\r\n\r\n", "is not HTTP"),
        (CHUNKED + b"zz\r\n[]\r\n", "ends in the middle"),
        (CHUNKED + b"-5\r\n[]\r\n", "must be non-negative"),
        (flooding, "longer than 16777216 bytes"),
    ],
)
async def test_what_is_no_answer_is_said_to_be_none(
    behaviour: bytes | Behaviour, says: str
) -> None:
    with RawServer(behaviour) as server:
        async with SchemaRegistry(server.url, limits=ONCE) as registry:
            with pytest.raises(SchemaRegistryUnavailable, match=says) as raised:
                await registry.subjects()
    assert "status" not in str(raised.value)


async def test_http_and_https_are_told_from_one_another() -> None:
    with RawServer(http("[]")) as server:
        async with SchemaRegistry(server.url.replace("http:", "https:"), limits=ONCE) as registry:
            with pytest.raises(SchemaRegistryUnavailable, match=r"is not TLS; is it http\?"):
                await registry.subjects()
    with RawServer(
        lambda each: each.sendall(b"\x15\x03\x01\0\2\2\x16")
    ) as server:  # an alert of TLS
        async with SchemaRegistry(server.url, limits=ONCE) as registry:
            with pytest.raises(SchemaRegistryUnavailable, match=r"is it https\?"):
                await registry.subjects()


ANSWERS = [
    "null", "3", '"abc"', "[null]", "[[1]]", "[1.5]", "[true]", "[-1]", "[1e300]", "[99999999999999999999]", "{}",
    '{"id":"1"}', '{"id":1,"schema":3}', '{"id":1,"schema":"x","schemaType":{}}', '{"id":1,"schema":"x","references":3}',
    '{"id":1,"schema":"x","references":[{"name":"a"}]}', '{"id":1,"schema":"x","version":-7}', '{"id":1,"subject":2}',
    '{"is_compatible":"no"}', '{"is_compatible":false,"messages":[1]}', '{"compatibilityLevel":[]}', "not json", "[" * 5_000,
]  # fmt: skip


@pytest.mark.parametrize("body", ANSWERS)
async def test_an_answer_of_another_kind_is_an_error_of_the_registry(body: str) -> None:
    """Whatever is asked; before, some were AttributeErrors, and some a name or a number that nobody had given."""
    schema = Schema('"string"')
    with RawServer(http(body)) as server:
        async with SchemaRegistry(server.url, limits=ONCE) as registry:
            asked = {
                "subjects": registry.subjects(),
                "versions": registry.versions("s"),
                "version": registry.version("s"),
                "schema": registry.schema(7),
                "register": registry.register("s", schema),
                "check": registry.check_compatibility("s", schema),
                "level": registry.compatibility_level(),
                "delete": registry.delete_subject("s"),
                "delete one": registry.delete_version("s", 1),
            }
            answered = set()
            for what, answer in asked.items():
                try:
                    await answer
                except SchemaRegistryError:
                    continue
                answered.add(what)
    assert answered == READABLE.get(body, set())


READABLE = {
    "3": {"delete one"},
    '{"id":1,"schema":3}': {"register"},
    '{"id":1,"schema":"x","schemaType":{}}': {
        "register",
        "schema",
        "version",
    },  # nothing is no type
    '{"id":1,"schema":"x","references":3}': {"register"},
    '{"id":1,"schema":"x","references":[{"name":"a"}]}': {"register"},
    '{"id":1,"schema":"x","version":-7}': {"schema"},
}
"""What needs no more than stands there."""


async def test_a_redirection_is_told_and_takes_no_login_elsewhere() -> None:
    with FakeSchemaRegistry() as elsewhere:
        moved = http("", "301 Moved", f"Location: {elsewhere.url}/x\r\n")
        with RawServer(moved) as server:
            async with SchemaRegistry(server.url, auth="token", limits=ONCE) as registry:
                with pytest.raises(
                    SchemaRegistryError, match=f"{elsewhere.url}/x .*name that address"
                ):
                    await registry.subjects()
    assert elsewhere.contents.requests == []


async def test_a_page_in_place_of_a_reason_is_cut() -> None:
    with RawServer(http(json.dumps({"message": "x" * 100_000}), "404 N")) as server:
        async with SchemaRegistry(server.url, limits=ONCE) as registry:
            with pytest.raises(SchemaRegistryError, match="100,000 characters") as raised:
                await registry.subjects()
    assert len(str(raised.value)) < 3_000


@pytest.mark.parametrize("url", ["http://[::1", "http://host:99999", "http://host:abc", "http://host/a b", "http://:8081"])  # fmt: skip
def test_an_address_that_cannot_be_one_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="write http://host:8081"):
        SchemaRegistry(url)


def test_a_refused_address_does_not_show_its_login() -> None:
    with pytest.raises(ConfigError) as raised:
        SchemaRegistry("htp://me:secret@host:8081")
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("token", ["a\nb", "ä", ""])
async def test_a_token_that_no_header_can_have_is_refused(token: str) -> None:
    async with SchemaRegistry("http://127.0.0.1:1", auth=token, limits=ONCE) as registry:
        with pytest.raises(ConfigError, match="in ASCII, on one line"):
            await registry.subjects()
