"""Requests and responses as they stand on a connection: size, header, body.

Owns which header version goes with what, and the size prefix. Must not know sockets, nor what the messages mean.
Frames are given out as pieces to be written in order, so that large records are never copied.
"""

from __future__ import annotations

from functools import cache
from struct import Struct
from typing import Final

from millstream.errors import MalformedMessage, UnsupportedVersion
from millstream.protocol.api import (
    VERSIONS,
    ApiKey,
    ApiVersionRange,
    Message,
    request_class,
    request_header_version,
    response_class,
    response_header_version,
)
from millstream.protocol.buffers import FrameBuffer, Splice
from millstream.protocol.generated.headers import RequestHeader, ResponseHeader

Piece = bytearray | memoryview | Splice

_VERSIONS: Final[dict[int, ApiVersionRange]] = {
    int(key): versions for key, versions in VERSIONS.items()
}
_SIZE: Final = Struct(">i")
_SIZE_AND_CORRELATION_ID: Final = Struct(">ii")
_KEY_AND_VERSION: Final = Struct(">hh")


class UnsupportedRequest(UnsupportedVersion):
    """A request of an API version that does not exist. `header` is what could be read, to be able to answer."""

    def __init__(self, header: RequestHeader) -> None:
        super().__init__(f"no version {header.request_api_version} of API {header.request_api_key}")
        self.header = header


def encode_request(
    key: ApiKey, version: int, correlation_id: int, client_id: str | None, message: Message
) -> list[Piece]:
    """Returns the frame of a request, size prefix included. Raises EncodeError and UnsupportedVersion."""
    out = FrameBuffer(bytes(_SIZE.size))
    header = RequestHeader(key, version, correlation_id, client_id)
    header.encode(out, request_header_version(key, version))
    message.encode(out, version)
    return _finish(out)


def encode_response(
    key: ApiKey, version: int, correlation_id: int, message: Message
) -> list[Piece]:
    """Returns the frame of a response, size prefix included. Raises EncodeError and UnsupportedVersion."""
    out = FrameBuffer(_SIZE_AND_CORRELATION_ID.pack(0, correlation_id))
    if response_header_version(key, version) == 1:
        out.append(
            0
        )  # no tagged fields; written here because a header object costs as much as a small body
    message.encode(out, version)
    return _finish(out)


def decode_request_header(frame: memoryview) -> tuple[RequestHeader, int]:
    """Returns the header of a request without its size prefix, and where the body starts.

    A version newer than any we know is read as flexible, as Kafka does: ApiVersions must be answered even then.
    Raises MalformedMessage, and UnsupportedVersion for an unknown API.
    """
    if len(frame) < _KEY_AND_VERSION.size:
        raise MalformedMessage(
            f"a request of {len(frame)} bytes has no room for its API key and version",
            message="RequestHeader",
            field="request_api_key",
            offset=0,
        )
    number, version = _KEY_AND_VERSION.unpack_from(frame)
    versions = _VERSIONS.get(number)
    if versions is None:
        raise UnsupportedVersion(f"no API has key {number}")
    return RequestHeader.decode(frame, 0, 2 if versions.is_flexible(version) else 1)


def decode_request(frame: memoryview) -> tuple[RequestHeader, Message]:
    """Returns a request without its size prefix. Bytes behind the body are ignored, as Kafka does.

    Raises MalformedMessage; UnsupportedVersion for an unknown API; UnsupportedRequest for an unknown version.
    """
    header, at = decode_request_header(frame)
    version = header.request_api_version
    if not _VERSIONS[header.request_api_key].supports(version):
        raise UnsupportedRequest(header)
    message, _ = _request_class(header.request_api_key).decode(frame, at, version)
    return header, message


def decode_response_header(
    key: ApiKey, version: int, frame: memoryview
) -> tuple[ResponseHeader, int]:
    """Returns the header of a response without its size prefix, and where the body starts. Raises MalformedMessage."""
    return ResponseHeader.decode(frame, 0, response_header_version(key, version))


def decode_response(key: ApiKey, version: int, frame: memoryview) -> tuple[int, Message]:
    """Returns the correlation id and the message of a response without its size prefix. Raises MalformedMessage."""
    header, at = decode_response_header(key, version, frame)
    message, _ = response_class(key).decode(frame, at, version)
    return header.correlation_id, message


@cache
def _request_class(number: int) -> type[Message]:
    """By the plain number: making the enum member for each request is a tenth of the cost of a small one."""
    return request_class(ApiKey(number))


def _finish(out: FrameBuffer) -> list[Piece]:
    _SIZE.pack_into(out, 0, out.frame_bytes() - _SIZE.size)
    return list(out.pieces()) if out.splices else [out]
