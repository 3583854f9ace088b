"""Links between nodes under test: whose they are, and what is held while they are cut."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from struct import Struct
from typing import Self

import pytest

from millstream.testing.faults.links import NodeLinks
from tests.patience import LONG_ENOUGH_S
from tests.support.kafka_node import free_port

HEAD = Struct(">ihhih")
NODE = 2
"""The node behind the entrance; it sends back what comes."""
NOTHING_COMES_S = 0.2


class Caller:
    def __init__(self, port: int, client_id: bytes) -> None:
        self._head = HEAD.pack(HEAD.size - 4 + len(client_id), 18, 0, 1, len(client_id)) + client_id
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=LONG_ENOUGH_S)
        self._socket.sendall(self._head)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def hears_its_head(self) -> bool:
        return self.hears(self._head)

    def says(self, data: bytes) -> None:
        self._socket.sendall(data)

    def hears(self, data: bytes) -> bool:
        """Whether that comes; not when the connection ends."""
        found = b""
        while len(found) < len(data) and (more := self._socket.recv(len(data) - len(found))):
            found += more
        return found == data

    def hears_nothing(self) -> bool:
        self._socket.settimeout(NOTHING_COMES_S)
        try:
            self._socket.recv(1)
        except TimeoutError:
            return True
        else:
            return False
        finally:
            self._socket.settimeout(LONG_ENOUGH_S)


def echo(listening: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it is closed at the end of the test
        while True:
            connection, _ = listening.accept()
            threading.Thread(target=send_back, args=(connection,), daemon=True).start()


def send_back(connection: socket.socket) -> None:
    with connection, contextlib.suppress(OSError):
        while data := connection.recv(1024):
            connection.sendall(data)


@pytest.fixture
def links() -> Iterator[tuple[NodeLinks, int]]:
    with socket.create_server(("127.0.0.1", 0)) as listening, NodeLinks() as made:
        node = threading.Thread(target=echo, args=(listening,), daemon=True)
        node.start()
        port = free_port()
        made.open(port, NODE, listening.getsockname()[1])
        yield made, port
        listening.shutdown(socket.SHUT_RDWR)
        node.join(LONG_ENOUGH_S)


def test_a_cut_link_holds_what_is_sent_and_a_mended_one_delivers_it(
    links: tuple[NodeLinks, int],
) -> None:
    made, port = links
    with Caller(port, b"node-1") as caller:
        assert caller.hears_its_head()
        made.cut([(1, NODE)])
        caller.says(b"late")
        assert caller.hears_nothing()
        made.heal()
        assert caller.hears(b"late")


def test_answers_are_held_by_the_other_direction(links: tuple[NodeLinks, int]) -> None:
    made, port = links
    with Caller(port, b"node-1") as caller:
        assert caller.hears_its_head()
        made.cut([(NODE, 1)])
        caller.says(b"late")
        assert caller.hears_nothing()
        made.mend([(NODE, 1)])
        assert caller.hears(b"late")


def test_a_new_connection_over_a_cut_link_waits(links: tuple[NodeLinks, int]) -> None:
    made, port = links
    made.cut([(1, NODE)])
    with Caller(port, b"node-1") as caller:
        assert caller.hears_nothing()
        made.heal()
        assert caller.hears_its_head()


@pytest.mark.parametrize("client_id", [b"node-3", b"producer-1", b"node-1x", b""])
def test_other_links_and_clients_are_not_cut(
    links: tuple[NodeLinks, int], client_id: bytes
) -> None:
    made, port = links
    made.cut([(1, NODE), (NODE, 1)])
    with Caller(port, client_id) as caller:
        assert caller.hears_its_head()
        caller.says(b"now")
        assert caller.hears(b"now")


def test_a_connection_to_a_node_that_is_not_there_is_ended(links: tuple[NodeLinks, int]) -> None:
    made, _ = links
    port = free_port()
    made.open(port, NODE, free_port())
    with Caller(port, b"node-1") as caller:
        assert not caller.hears_its_head()
