"""A blocking connection that speaks raw frames: what no client library would send can be sent."""

from __future__ import annotations

import socket
import struct
from types import TracebackType
from typing import Any, Self, TypeAlias

from millstream.protocol.api import ApiKey
from millstream.protocol.frames import decode_response, encode_request
from millstream.protocol.generated.api_versions import ApiVersionsRequest
from millstream.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest
from millstream.protocol.generated.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from millstream.records.builder import build_batch
from millstream.records.record import Record

TIMEOUT_S = 60
"""Of one answer; what a broker that is busy with other things needs."""
Content: TypeAlias = (
    Any  # Any: the message classes of whatever API a test asks; it knows them, types cannot
)


class RawClient:
    def __init__(self, bootstrap: str) -> None:
        """Of several addresses the first."""
        host, _, port = bootstrap.split(",", maxsplit=1)[0].rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=TIMEOUT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def read_frame(self) -> bytes:
        """One response without its size prefix. Raises ConnectionError when the broker closes instead."""
        (size,) = struct.unpack(">i", self._read(4))
        return self._read(size)

    def is_closed_by_broker(self) -> bool:
        """Nothing more comes but the end of the stream."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionError:
            return True

    def ask(self, key: ApiKey, version: int, message: Content) -> Content:
        self.send(request_frame(key, version, message))
        return decode_response(key, version, memoryview(self.read_frame()))[1]

    def create_topic(self, name: str, partitions: int = 1) -> None:
        request = CreateTopicsRequest(
            topics=[CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)]
        )
        answer = self.ask(ApiKey.CREATE_TOPICS, 7, request)
        assert answer.topics[0].error_code == 0, answer

    def produce(
        self, topic: str, records: bytes | bytearray, partition: int = 0, acks: int = -1
    ) -> Content:
        """The answer for the one partition."""
        data = TopicProduceData(
            name=topic, partition_data=[PartitionProduceData(partition, memoryview(records))]
        )
        request = ProduceRequest(acks=acks, timeout_ms=10_000, topic_data=[data])
        return self.ask(ApiKey.PRODUCE, 9, request).responses[0].partition_responses[0]

    def _read(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                raise ConnectionError("closed by the broker")
            data += part
        return data


def request_frame(key: ApiKey, version: int, message: Content, correlation_id: int = 7) -> bytes:
    pieces = encode_request(key, version, correlation_id, "raw", message)
    return b"".join(bytes(piece) for piece in pieces)  # type: ignore[arg-type]  # no splices in tests


def batch_of(*values: bytes) -> bytearray:
    return build_batch(Record(timestamp=1_700_000_000_000, value=value) for value in values)


def is_alive(bootstrap: str) -> bool:
    """A new connection is served."""
    with RawClient(bootstrap) as client:
        return bool(
            client.ask(ApiKey.API_VERSIONS, 3, ApiVersionsRequest("test", "1")).error_code == 0
        )
