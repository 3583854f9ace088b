"""Prepared frames over blocking connections: what the broker benchmarks speak to us and to a peer alike."""

from __future__ import annotations

import secrets
import selectors
import socket
import struct
import time
from collections import deque
from collections.abc import Callable

import psutil

from millstream.protocol.api import ApiKey, Message
from millstream.protocol.frames import decode_response, encode_request
from millstream.protocol.generated.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from millstream.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic

_SIZE = struct.Struct(">i")
_RESPONSE_BYTES_MAX = 16 << 20


class Connection:
    """One blocking connection that sends prepared frames and reads whole responses."""

    def __init__(self, address: str, response_bytes_max: int = _RESPONSE_BYTES_MAX) -> None:
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = memoryview(bytearray(response_bytes_max))

    def send(self, frame: bytes) -> None:
        self.socket.sendall(frame)

    def receive(self) -> memoryview:
        self._read_exactly(0, 4)
        (size,) = _SIZE.unpack_from(self._buffer)
        self._read_exactly(0, size)
        return self._buffer[:size]

    def ask(self, key: ApiKey, version: int, message: Message) -> Message:
        self.send(frame_of(key, version, message))
        return decode_response(key, version, memoryview(bytes(self.receive())))[1]

    def close(self) -> None:
        self.socket.close()

    def _read_exactly(self, start: int, count: int) -> None:
        while count:
            read = self.socket.recv_into(self._buffer[start:], count)
            if read == 0:
                raise ConnectionError("the broker closed the connection")
            start += read
            count -= read


def frame_of(key: ApiKey, version: int, message: Message) -> bytes:
    return b"".join(bytes(piece) for piece in encode_request(key, version, 1, "benchmark", message))  # type: ignore[arg-type]


def create_topic(connection: Connection) -> str:
    """A topic of one partition that keeps everything; returns when it has a leader."""
    name = f"benchmark-{secrets.token_hex(6)}"
    configs = [
        CreatableTopicConfig("retention.ms", "-1"),
        CreatableTopicConfig("max.message.bytes", "10000000"),
    ]
    topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1, configs=configs)
    connection.ask(ApiKey.CREATE_TOPICS, 5, CreateTopicsRequest(topics=[topic]))
    for _ in range(100):
        answer = connection.ask(
            ApiKey.METADATA, 9, MetadataRequest(topics=[MetadataRequestTopic(name=name)])
        )
        if not answer.topics[0].error_code and answer.topics[0].partitions[0].leader_id >= 0:  # type: ignore[attr-defined]
            return name
        time.sleep(0.05)
    raise TimeoutError(f"{name} got no leader")


def pipelined(
    connection: Connection, next_frame: Callable[[], bytes], in_flight: int, seconds: float
) -> tuple[int, int, float, list[float]]:
    """Returns (requests, bytes moved, seconds, latencies in ms)."""
    sent_at: deque[tuple[float, int]] = deque()
    latencies: list[float] = []
    moved = 0
    start = time.perf_counter()
    while True:
        now = time.perf_counter()
        if now - start < seconds:
            while len(sent_at) < in_flight:
                frame = next_frame()
                sent_at.append((time.perf_counter(), len(frame)))
                connection.send(frame)
        elif not sent_at:
            return len(latencies), moved, now - start, latencies
        response = connection.receive()
        began, size = sent_at.popleft()
        latencies.append((time.perf_counter() - began) * 1000)
        moved += max(size, len(response))


def side_by_side(
    connections: list[Connection], frame: bytes, seconds: float
) -> tuple[int, int, float, list[float]]:
    """Sends a frame on each connection again whenever it is answered there; returns what `pipelined` does."""
    latencies: list[float] = []
    moved = 0
    with selectors.DefaultSelector() as selector:
        sent_at = {}
        for connection in connections:
            selector.register(connection.socket, selectors.EVENT_READ, connection)
            sent_at[connection] = time.perf_counter()
            connection.send(frame)
        start = now = time.perf_counter()
        while sent_at:
            for key, _ in selector.select():
                connection = key.data
                moved += max(len(frame), len(connection.receive()))
                now = time.perf_counter()
                latencies.append((now - sent_at.pop(connection)) * 1000)
                if now - start < seconds:
                    sent_at[connection] = now
                    connection.send(frame)
    return len(latencies), moved, now - start, latencies


def cpu_s(pid: int | None) -> float:
    if pid is None:
        return 0.0
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


def rss_mb(pid: int | None) -> float:
    return psutil.Process(pid).memory_info().rss / 1e6
