"""Slow clients of the HTTP port: a supervisor that does not hear of /livez restarts a node that is well."""

from __future__ import annotations

import contextlib
import http.client
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.net.server.http_server import CONNECTIONS_MAX
from tests.patience import LONG_ENOUGH_S
from tests.support.attacks import AttackedNode


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        number: int = free.getsockname()[1]
        return number


@pytest.fixture
def node(tmp_path: Path, port: int) -> Iterator[AttackedNode]:
    settings = {"millstream.http.listener": f"http://127.0.0.1:{port}"}
    with AttackedNode(tmp_path, settings) as node, node.client() as client:
        client.create_topic("many", 500)
        yield node


@contextlib.contextmanager
def http_clients(port: int, count: int, sent: bytes) -> Iterator[list[socket.socket]]:
    with contextlib.ExitStack() as stack:
        clients = []
        for _ in range(count):
            client = socket.create_connection(("127.0.0.1", port), timeout=LONG_ENOUGH_S)
            stack.enter_context(client)
            client.sendall(sent)
            clients.append(client)
        yield clients


def is_alive(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONG_ENOUGH_S)
    with contextlib.closing(connection):
        connection.request("GET", "/livez")
        return connection.getresponse().read() == b'{"status": "alive"}\n'


def read_to_end(client: socket.socket) -> bytes:
    with client.makefile("rb") as answer:
        return answer.read()


@pytest.mark.parametrize("sent", [b"", b"GET /livez HTTP/1.1\r\n", b"x" * 4000])
def test_a_probe_is_answered_beside_clients_that_never_finish_asking(
    node: AttackedNode, port: int, sent: bytes
) -> None:
    with node.attack(), http_clients(port, 3 * CONNECTIONS_MAX, sent):
        assert all(is_alive(port) for _ in range(20))


def test_a_probe_is_answered_beside_clients_that_never_read(node: AttackedNode, port: int) -> None:
    ask = b"GET /metrics HTTP/1.1\r\n\r\n"
    with node.attack(), http_clients(port, 3 * CONNECTIONS_MAX, ask):
        assert all(is_alive(port) for _ in range(20))


def test_the_client_that_was_silent_for_the_longest_time_makes_room(
    node: AttackedNode, port: int
) -> None:
    with node.attack(), http_clients(port, CONNECTIONS_MAX + 1, b"") as clients:
        assert clients[0].recv(1) == b""
        clients[-1].sendall(b"GET /livez HTTP/1.1\r\n\r\n")
        assert clients[-1].recv(100).startswith(b"HTTP/1.1 200 OK")


def test_many_scrapes_at_once_take_the_loop_no_longer_than_one(
    node: AttackedNode, port: int
) -> None:
    ask = b"GET /metrics HTTP/1.1\r\n\r\n"
    with node.attack(), http_clients(port, CONNECTIONS_MAX, ask) as clients:
        pages = [read_to_end(client) for client in clients]
    assert all(page.startswith(b"HTTP/1.1 200 OK") and page.endswith(b"\n") for page in pages)
