"""Asks one controller which one leads, over a connection of its own: what a cluster under test knows, node by node."""

from __future__ import annotations

import socket
from struct import Struct
from typing import TYPE_CHECKING, Final, cast

from millstream.protocol.api import ApiKey
from millstream.protocol.frames import decode_response, encode_request
from millstream.protocol.generated.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)

if TYPE_CHECKING:
    import ssl

_HOST: Final = "127.0.0.1"
_TIMEOUT_S: Final = 1.0
_VERSION: Final = 1
_CONTROLLERS: Final = 2
_SIZE: Final = Struct(">i")


def leader_known_to(port: int, tls: ssl.SSLContext | None = None) -> int | None:
    """Returns the id of the leader that the controller at `port` knows; None where it knows none, or does not answer.

    `tls`: for a controller that speaks it.
    """
    request = DescribeClusterRequest(endpoint_type=_CONTROLLERS)
    frame = b"".join(
        bytes(cast("memoryview", piece))
        for piece in encode_request(ApiKey.DESCRIBE_CLUSTER, _VERSION, 0, "cluster", request)
    )
    try:
        with _connected(port, tls) as connection:
            connection.sendall(frame)
            with connection.makefile("rb") as answers:
                (size,) = _SIZE.unpack(answers.read(_SIZE.size).ljust(_SIZE.size, b"\0"))
                answer = answers.read(size)
    except OSError:
        return None
    if not answer:
        return None
    _, response = decode_response(ApiKey.DESCRIBE_CLUSTER, _VERSION, memoryview(answer))
    leader = cast("DescribeClusterResponse", response).controller_id
    return leader if leader >= 0 else None


def _connected(port: int, tls: ssl.SSLContext | None) -> socket.socket:
    """Raises OSError."""
    connection = socket.create_connection((_HOST, port), timeout=_TIMEOUT_S)
    if tls is None:
        return connection
    with connection:  # it is detached once it is wrapped
        return tls.wrap_socket(connection, server_hostname=_HOST)
