"""The requests that one connection has sent and that are not answered.

Brokers answer in order, so the oldest request is next.

Knows frames, correlation ids and versions; not sockets, not time.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from millstream.errors import EncodeError, MalformedMessage, UnsupportedVersion
from millstream.net.client.core.api_versions import UNSUPPORTED_VERSION_CODE, ApiVersionTable
from millstream.protocol.api import VERSIONS, ApiKey, Message
from millstream.protocol.frames import Piece, decode_response, encode_request

_CORRELATION_ID_MASK = 0x7FFFFFFF
"""Ids are int32 and never negative, as Java's: it begins again at 0."""


@dataclass(slots=True)
class InFlightRequest:
    key: ApiKey
    version: int
    correlation_id: int


class ConnectionState:
    """Numbers requests, remembers them in order and decodes what comes back."""

    def __init__(self, client_id: str) -> None:
        self._client_id = client_id
        self._next_correlation_id = 0
        self._in_flight: deque[InFlightRequest] = deque()
        self.versions = ApiVersionTable(
            {ApiKey.API_VERSIONS: (0, VERSIONS[ApiKey.API_VERSIONS].highest)}
        )

    @property
    def in_flight_count(self) -> int:
        return len(self._in_flight)

    def send(
        self, key: ApiKey, request: Message, version: int, *, expects_response: bool = True
    ) -> tuple[int, list[Piece]]:
        """Returns the correlation id and the buffers to write.

        Raises UnsupportedVersion when the version agreed on has no room for what the request says; EncodeError when
        none has.
        """
        correlation_id = self._next_correlation_id
        self._next_correlation_id = (correlation_id + 1) & _CORRELATION_ID_MASK
        try:
            buffers = encode_request(key, version, correlation_id, self._client_id, request)
        except EncodeError as error:
            if not _can_be_said(request, VERSIONS[key].highest):
                raise  # no broker could be told this
            raise UnsupportedVersion(
                f"the broker is too old for this: {key.name} is spoken up to version {version} with it ({error})"
            ) from error
        if expects_response:
            self._in_flight.append(InFlightRequest(key, version, correlation_id))
        return correlation_id, buffers

    def receive(self, frame: memoryview) -> tuple[int, Message]:
        """Returns the correlation id and message of one response frame (without its size prefix).

        Raises MalformedMessage for an answer to nothing, or out of order: the connection is then worthless.
        """
        if not self._in_flight:
            raise MalformedMessage("the broker answered although nothing was asked")
        if len(frame) < 6:
            raise MalformedMessage(f"a response of {len(frame)} bytes")
        oldest = self._in_flight.popleft()
        correlation_id = int.from_bytes(frame[:4], "big", signed=True)
        if correlation_id != oldest.correlation_id:
            raise MalformedMessage(
                f"the broker answered request {correlation_id}; {oldest.correlation_id} was next"
            )
        version = oldest.version
        if oldest.key is ApiKey.API_VERSIONS:
            error_code = int.from_bytes(frame[4:6], "big", signed=True)
            version = 0 if error_code == UNSUPPORTED_VERSION_CODE else version
        _, message = decode_response(oldest.key, version, frame)
        return correlation_id, message


def _can_be_said(request: Message, version: int) -> bool:
    try:
        request.encode(bytearray(), version)
    except EncodeError:
        return False
    return True
