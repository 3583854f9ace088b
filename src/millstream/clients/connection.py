"""One TCP connection to a broker: frames in, frames out, answers to their askers.

Bytes go straight from the socket into a buffer of the frame's size, so a fetch of megabytes is copied once. Versions,
correlation ids and decoding are `core.connection_state`'s. A request that is not answered in time ends the connection,
because answers come in order and nothing behind it would arrive either.
"""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass
from typing import TypeVar, cast

from millstream.clients.core.addresses import Address
from millstream.clients.core.api_versions import (
    UNSUPPORTED_VERSION_CODE,
    ApiVersionTable,
    next_api_versions_attempt,
)
from millstream.clients.core.connection_state import ConnectionState
from millstream.errors import NetworkException, ProtocolError, RequestTimedOut, error_for
from millstream.protocol.api import VERSIONS, ApiKey, Message
from millstream.protocol.frames import Piece
from millstream.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse

_READ_BYTES = 64 * 1024
_SIZE_BYTES = 4
_CLOSE_SECONDS = 1.0

AnyResponse = TypeVar("AnyResponse", bound=Message)


@dataclass(frozen=True, slots=True)
class ConnectionOptions:
    client_id: str
    setup_timeout_ms: int
    request_timeout_ms: int
    frame_bytes_max: int
    software_version: str


class Connection(asyncio.BufferedProtocol):
    """Use `connect`. All methods belong to the event loop that connected it."""

    def __init__(self, options: ConnectionOptions, address: Address) -> None:
        self._options = options
        self._address = address
        self._state = ConnectionState(options.client_id)
        self._waiters: dict[int, asyncio.Future[Message]] = {}
        self._transport: asyncio.Transport | None = None
        self._closed_by: Exception | None = None
        self._closed = asyncio.get_running_loop().create_future()
        self._buffer = memoryview(bytearray(_READ_BYTES))
        self._filled = 0
        self._frame: memoryview | None = None
        self._frame_filled = 0

    @property
    def versions(self) -> ApiVersionTable:
        return self._state.versions

    @property
    def is_closed(self) -> bool:
        return self._closed_by is not None

    @property
    def in_flight_count(self) -> int:
        return self._state.in_flight_count

    async def request(
        self,
        key: ApiKey,
        request: Message,
        response_type: type[AnyResponse],  # noqa: ARG002 - tells the type checker what comes back
        *,
        timeout_ms: int | None = None,
        version_max: int = 2**15,
    ) -> AnyResponse:
        """Send and wait. Raises NetworkException, RequestTimedOut, UnsupportedVersion.

        A cancelled caller leaves the connection usable: the answer is dropped when it comes.
        """
        waiter = self._send(key, request, self.versions.choose(key, version_max))
        timeout = (timeout_ms or self._options.request_timeout_ms) / 1000
        done, _ = await asyncio.wait((waiter,), timeout=timeout)
        if not done:
            error = RequestTimedOut(f"{self._address} did not answer {key.name} within {timeout} s")
            self._close(error)
            raise error
        return cast("AnyResponse", waiter.result())

    def send_without_response(self, key: ApiKey, request: Message, *, version_max: int) -> None:
        """For Produce with acks=0, which no broker answers."""
        self._check_open()
        version = self.versions.choose(key, version_max)
        _, buffers = self._state.send(key, request, version, expects_response=False)
        self._write(buffers)

    async def close(self) -> None:
        """What was written still goes out, if the broker takes it within a second."""
        self._fail_waiters(NetworkException(f"the connection to {self._address} was closed"))
        if self._transport is None:
            return
        self._transport.close()
        done, _ = await asyncio.wait((self._closed,), timeout=_CLOSE_SECONDS)
        if not done:
            self._transport.abort()

    async def negotiate_versions(self) -> None:
        """ApiVersions, going down when the broker does not know our version (KIP-511)."""
        version = VERSIONS[ApiKey.API_VERSIONS].highest
        request = ApiVersionsRequest(
            client_software_name="millstream",
            client_software_version=self._options.software_version,
        )
        while True:
            waiter = self._send(ApiKey.API_VERSIONS, request, version)
            response = cast("ApiVersionsResponse", await waiter)
            if response.error_code == UNSUPPORTED_VERSION_CODE and version > 0:
                version = min(version - 1, next_api_versions_attempt(response))
            elif response.error_code:
                raise error_for(response.error_code)
            else:
                break
        self._state.versions = ApiVersionTable.from_response(response)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        sock = self._transport.get_extra_info("socket")
        if sock is not None and sock.family in (socket.AF_INET, socket.AF_INET6):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def connection_lost(self, exc: Exception | None) -> None:
        reason = f": {exc}" if exc else ""
        self._close(NetworkException(f"{self._address} closed the connection{reason}"))
        if not self._closed.done():
            self._closed.set_result(None)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - asyncio's signature
        if self._frame is not None:
            return self._frame[self._frame_filled :]
        return self._buffer[self._filled :]

    def buffer_updated(self, nbytes: int) -> None:
        try:
            if self._frame is None:
                self._filled += nbytes
                self._take_frames()
                return
            self._frame_filled += nbytes
            if self._frame_filled == len(self._frame):
                frame, self._frame = self._frame, None
                self._deliver(frame)
        except ProtocolError as error:
            self._close(
                NetworkException(f"{self._address} sent what is not Kafka's protocol: {error}")
            )

    def _take_frames(self) -> None:
        """Whole frames in the read buffer are copied out; one that is not whole gets a buffer of its own size."""
        at = 0
        while self._filled - at >= _SIZE_BYTES:
            size = int.from_bytes(self._buffer[at : at + _SIZE_BYTES], "big", signed=True)
            if not 0 <= size <= self._options.frame_bytes_max:
                self._close(
                    NetworkException(
                        f"{self._address} announced a response of {size} bytes; receive_message_bytes_max is"
                        f" {self._options.frame_bytes_max}. Is this a Kafka listener without TLS?"
                    )
                )
                return
            at += _SIZE_BYTES
            available = min(self._filled - at, size)
            frame = memoryview(bytearray(size))
            frame[:available] = self._buffer[at : at + available]
            at += available
            if available < size:
                self._frame = frame
                self._frame_filled = available
                break
            self._deliver(frame)
        rest = self._filled - at
        if rest:
            self._buffer[:rest] = bytes(self._buffer[at : self._filled])
        self._filled = rest

    def _deliver(self, frame: memoryview) -> None:
        correlation_id, response = self._state.receive(frame)
        waiter = self._waiters.pop(correlation_id)
        if not waiter.done():
            waiter.set_result(response)

    def _send(self, key: ApiKey, request: Message, version: int) -> asyncio.Future[Message]:
        self._check_open()
        correlation_id, buffers = self._state.send(key, request, version)
        waiter: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._waiters[correlation_id] = waiter
        self._write(buffers)
        return waiter

    def _write(self, buffers: list[Piece]) -> None:
        assert self._transport is not None, "requests are sent on connected connections"
        self._transport.writelines(cast("list[bytearray | memoryview]", buffers))

    def _check_open(self) -> None:
        if self._closed_by is not None:
            raise NetworkException(str(self._closed_by))

    def _close(self, reason: Exception) -> None:
        """Idempotent; the first reason counts."""
        self._fail_waiters(reason)
        if self._transport is not None:
            self._transport.abort()

    def _fail_waiters(self, reason: Exception) -> None:
        if self._closed_by is not None:
            return
        self._closed_by = reason
        waiters, self._waiters = self._waiters, {}
        for waiter in waiters.values():
            if not waiter.done():
                waiter.set_exception(reason)
                waiter.exception()  # a waiter whose asker was cancelled must not complain at collection


async def connect(address: Address, options: ConnectionOptions) -> Connection:
    """Connected, and versions agreed. Raises NetworkException or RequestTimedOut, naming the address."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(options.setup_timeout_ms / 1000):
            _, connection = await loop.create_connection(
                lambda: Connection(options, address), address.host, address.port
            )
            try:
                await connection.negotiate_versions()
            except BaseException:
                await connection.close()
                raise
    except TimeoutError as error:
        raise RequestTimedOut(
            f"no answer from {address} within {options.setup_timeout_ms} ms"
        ) from error
    except ConnectionRefusedError as error:
        raise NetworkException(
            f"cannot connect to {address}: refused; nothing listens there"
        ) from error
    except OSError as error:
        raise NetworkException(f"cannot connect to {address}: {error}") from error
    return connection
