"""Frames of real clients and a real broker are read as Kafka reads them, and written back byte for byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from millstream.protocol.api import ApiKey
from millstream.protocol.frames import (
    Piece,
    decode_request,
    decode_response,
    decode_response_header,
    encode_request,
    encode_response,
)
from millstream.protocol.json_form import to_json

CAPTURED = sorted(Path(__file__).parent.glob("*.hex"))
APIS = {
    "api_versions",
    "create_topics",
    "fetch",
    "find_coordinator",
    "heartbeat",
    "init_producer_id",
    "join_group",
    "leave_group",
    "list_offsets",
    "metadata",
    "offset_commit",
    "offset_fetch",
    "produce",
    "sync_group",
}


def load(path: Path) -> tuple[bytes, bytes, dict[str, Any]]:
    """(request, response, what they say)."""
    request, response = (bytes.fromhex(line) for line in path.read_text().split())
    return request, response, json.loads(path.with_suffix(".json").read_text())


def joined(pieces: list[Piece]) -> bytes:
    return b"".join(
        piece if isinstance(piece, bytearray | memoryview) else piece.read() for piece in pieces
    )


def test_every_api_that_clients_need_was_captured() -> None:
    assert {path.stem.split("-")[1] for path in CAPTURED} == APIS


@pytest.mark.parametrize("path", CAPTURED, ids=lambda path: path.stem)
def test_a_captured_request_is_read_and_written_back(path: Path) -> None:
    frame, _, expected = load(path)
    header, request = decode_request(memoryview(frame))
    assert (ApiKey(header.request_api_key).name, header.request_api_version) == (
        expected["api"],
        expected["version"],
    )
    assert to_json(request, expected["version"]) == expected["request"]
    pieces = encode_request(
        ApiKey(header.request_api_key),
        header.request_api_version,
        expected["request_header"]["correlationId"],
        expected["request_header"]["clientId"],
        request,
    )
    assert joined(pieces) == len(frame).to_bytes(4, "big") + frame


@pytest.mark.parametrize("path", CAPTURED, ids=lambda path: path.stem)
def test_a_captured_response_is_read_and_written_back(path: Path) -> None:
    _, frame, expected = load(path)
    key, version = ApiKey[expected["api"]], expected["version"]
    correlation_id, response = decode_response(key, version, memoryview(frame))
    header, _ = decode_response_header(key, version, memoryview(frame))
    assert header.correlation_id == correlation_id == expected["response_header"]["correlationId"]
    assert to_json(response, version) == expected["response"]
    pieces = encode_response(key, version, correlation_id, response)
    assert joined(pieces) == len(frame).to_bytes(4, "big") + frame
