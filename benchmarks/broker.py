"""Raw produce and fetch frames over one pipelined connection: our broker, and Apache Kafka beside it when one is given.

    python -m benchmarks.broker [--peer HOST:PORT --peer-pid PID] [--seconds 3] [--only NAME]

Nothing is compressed and nothing waits for the disk on either side (millstream.flush.on.ack=never, Kafka's default).
Each workload runs A B A B; the better of the two runs counts, with the processor time of the server process.
"""

from __future__ import annotations

import argparse
import os
import secrets
import socket
import statistics
import struct
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import psutil

from millstream.protocol.api import ApiKey, Message
from millstream.protocol.frames import decode_response, encode_request
from millstream.protocol.generated.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from millstream.protocol.generated.fetch import FetchPartition, FetchRequest, FetchTopic
from millstream.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic
from millstream.protocol.generated.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from millstream.records.builder import build_batch
from millstream.records.record import Record
from millstream.testing.broker import Broker

_LOG_BYTES = 256 << 20
_SIZE = struct.Struct(">i")


@dataclass(frozen=True)
class Workload:
    name: str
    records: int
    record_bytes: int
    in_flight: int = 5
    fetch_bytes: int = 0


WORKLOADS = (
    Workload("produce 1 MB (1000 x 1 KB)", 1000, 1000),
    Workload("produce 110 KB (1000 x 100 B)", 1000, 100),
    Workload("produce 11 KB (100 x 100 B)", 100, 100),
    Workload("produce 1 x 100 B", 1, 100),
    Workload("produce 1 x 100 B, 1 in flight", 1, 100, in_flight=1),
    Workload("fetch 1 MB", 1000, 1000, in_flight=1, fetch_bytes=1 << 20),
    Workload("fetch 8 MB", 1000, 1000, in_flight=1, fetch_bytes=8 << 20),
)


@dataclass
class Result:
    requests_per_s: float
    bytes_per_s: float
    cpu_us_per_request: float
    cpu_s_per_gb: float
    latencies_ms: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        quantiles = (
            statistics.quantiles(self.latencies_ms, n=100) if len(self.latencies_ms) > 100 else []
        )
        p50, p99 = (quantiles[49], quantiles[98]) if quantiles else (0.0, 0.0)
        return (
            f"{self.requests_per_s:9.0f} req/s {self.bytes_per_s / 1e6:8.1f} MB/s {self.cpu_us_per_request:8.1f} us CPU/req "
            f"{self.cpu_s_per_gb:6.2f} CPU s/GB  p50 {p50:6.3f} p99 {p99:6.3f} ms"
        )


class Connection:
    """One blocking connection that sends prepared frames and reads whole responses."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=30)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = memoryview(bytearray(16 << 20))

    def send(self, frame: bytes) -> None:
        self._socket.sendall(frame)

    def receive(self) -> memoryview:
        self._read_exactly(0, 4)
        (size,) = _SIZE.unpack_from(self._buffer)
        self._read_exactly(0, size)
        return self._buffer[:size]

    def ask(self, key: ApiKey, version: int, message: Message) -> Message:
        self.send(frame_of(key, version, message))
        return decode_response(key, version, memoryview(bytes(self.receive())))[1]

    def close(self) -> None:
        self._socket.close()

    def _read_exactly(self, start: int, count: int) -> None:
        while count:
            read = self._socket.recv_into(self._buffer[start:], count)
            if read == 0:
                raise ConnectionError("the broker closed the connection")
            start += read
            count -= read


def frame_of(key: ApiKey, version: int, message: Message) -> bytes:
    return b"".join(bytes(piece) for piece in encode_request(key, version, 1, "benchmark", message))  # type: ignore[arg-type]


def create_topic(connection: Connection) -> str:
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


def produce_frame(topic: str, workload: Workload) -> bytes:
    now = int(time.time() * 1000)
    value = os.urandom(workload.record_bytes)
    batch = build_batch(Record(timestamp=now, value=value) for _ in range(workload.records))
    data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(0, memoryview(batch))])
    return frame_of(
        ApiKey.PRODUCE, 9, ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[data])
    )


def fetch_frames(topic: str, workload: Workload) -> Iterator[bytes]:
    """Fetches that walk through the log again and again, one response's worth at a time."""
    per_fetch = (
        max(1, workload.fetch_bytes // (workload.records * workload.record_bytes))
        * workload.records
    )
    end = _LOG_BYTES // (workload.records * workload.record_bytes) * workload.records
    while True:
        for offset in range(0, end - per_fetch, per_fetch):
            asked = FetchPartition(
                partition=0, fetch_offset=offset, partition_max_bytes=workload.fetch_bytes
            )
            request = FetchRequest(
                max_wait_ms=500, min_bytes=1, max_bytes=workload.fetch_bytes,
                topics=[FetchTopic(topic=topic, partitions=[asked])],
            )  # fmt: skip
            yield frame_of(ApiKey.FETCH, 11, request)


def fill(connection: Connection, topic: str, workload: Workload) -> None:
    frame = produce_frame(topic, workload)
    for _ in range(_LOG_BYTES // (workload.records * workload.record_bytes)):
        connection.send(frame)
        connection.receive()


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


def cpu_s(pid: int | None) -> float:
    if pid is None:
        return 0.0
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


def run(address: str, pid: int | None, workload: Workload, seconds: float) -> Result:
    connection = Connection(address)
    topic = create_topic(connection)
    if workload.fetch_bytes:
        fill(connection, topic, workload)
        frames = fetch_frames(topic, workload)
        next_frame: Callable[[], bytes] = lambda: next(frames)  # noqa: E731
    else:
        frame = produce_frame(topic, workload)
        next_frame = lambda: frame  # noqa: E731
    pipelined(connection, next_frame, workload.in_flight, seconds / 4)
    before = cpu_s(pid)
    requests, moved, took, latencies = pipelined(
        connection, next_frame, workload.in_flight, seconds
    )
    used = cpu_s(pid) - before
    connection.close()
    return Result(
        requests / took, moved / took, used / requests * 1e6, used / moved * 1e9, latencies
    )


def better(results: list[Result]) -> Result:
    return max(results, key=lambda result: result.requests_per_s)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--peer", default=os.environ.get("MILLSTREAM_KAFKA_BOOTSTRAP"))
    parser.add_argument("--peer-pid", type=int, default=os.environ.get("MILLSTREAM_KAFKA_PID"))
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    start = time.perf_counter()
    with Broker(in_process=False) as broker:
        print(
            f"start to ready {(time.perf_counter() - start) * 1000:.0f} ms, idle {rss_mb(broker.pid):.0f} MB"
        )
        for workload in WORKLOADS:
            if options.only not in workload.name:
                continue
            ours, peers = [], []
            for _ in range(2):
                ours.append(run(broker.bootstrap_servers, broker.pid, workload, options.seconds))
                if options.peer:
                    peers.append(run(options.peer, options.peer_pid, workload, options.seconds))
            print(f"{workload.name}\n  ours   {better(ours)}")
            if peers:
                ratio = better(ours).requests_per_s / better(peers).requests_per_s
                print(f"  Kafka  {better(peers)}\n  ratio  {ratio:.2f}")
        print(f"after load {rss_mb(broker.pid):.0f} MB")


def rss_mb(pid: int | None) -> float:
    return psutil.Process(pid).memory_info().rss / 1e6


if __name__ == "__main__":
    main()
