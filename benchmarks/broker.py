"""Raw produce and fetch frames over pipelined connections: our broker, and Apache Kafka beside it.

    python -m benchmarks.broker [--flush never|auto] [--seconds 3] [--only NAME]

Kafka is started when MILLSTREAM_KAFKA_CLASSPATH names its jars. Nothing is compressed. With `never` nothing waits for the disk
on either side; with `auto`, our default, every acks=all produce of ours waits for an fsync and Kafka's still does not.
Each workload runs A B A B; the better of the two runs counts, with the processor time of the server process.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from benchmarks import kafka_peer
from benchmarks.kafka_peer import KafkaPeer
from benchmarks.wire import (
    Connection,
    cpu_s,
    create_topic,
    frame_of,
    pipelined,
    rss_mb,
    side_by_side,
)
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.fetch import FetchPartition, FetchRequest, FetchTopic
from millstream.protocol.generated.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from millstream.records.builder import build_batch
from millstream.records.record import Record
from millstream.testing.broker import Broker

FLUSH_ON_ACK: Final = "millstream.flush.on.ack"
_LOG_BYTES = 256 << 20

Measured = Callable[[float], tuple[int, int, float, list[float]]]


@dataclass(frozen=True)
class Workload:
    name: str
    records: int
    record_bytes: int
    in_flight: int = 5
    fetch_bytes: int = 0
    connections: int = 1
    is_tail: bool = False
    """Each record is fetched as it comes: the latency is that from the Produce to the answer of a Fetch that waits."""


WORKLOADS = (
    Workload("produce 1 MB (1000 x 1 KB)", 1000, 1000),
    Workload("produce 110 KB (1000 x 100 B)", 1000, 100),
    Workload("produce 11 KB (100 x 100 B)", 100, 100),
    Workload("produce 1 x 100 B", 1, 100),
    Workload("produce 1 x 100 B, 1 in flight", 1, 100, in_flight=1),
    Workload("produce 1 x 100 B, 10 connections with 1 in flight", 1, 100, connections=10),
    Workload("produce 1 x 100 B, 100 connections with 1 in flight", 1, 100, connections=100),
    Workload("fetch 1 x 100 B in a tail", 1, 100, fetch_bytes=1 << 20, is_tail=True),
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


def produce_frame(topic: str, workload: Workload) -> bytes:
    now = int(time.time() * 1000)
    value = os.urandom(workload.record_bytes)
    batch = build_batch(Record(timestamp=now, value=value) for _ in range(workload.records))
    data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(0, memoryview(batch))])
    return frame_of(
        ApiKey.PRODUCE, 9, ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[data])
    )


def fetch_frame(topic: str, offset: int, bytes_max: int) -> bytes:
    asked = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=bytes_max)
    request = FetchRequest(
        max_wait_ms=500, min_bytes=1, max_bytes=bytes_max,
        topics=[FetchTopic(topic=topic, partitions=[asked])],
    )  # fmt: skip
    return frame_of(ApiKey.FETCH, 11, request)


def fetch_frames(topic: str, workload: Workload) -> Iterator[bytes]:
    """Fetches that walk through the log again and again, one response's worth at a time."""
    per_fetch = (
        max(1, workload.fetch_bytes // (workload.records * workload.record_bytes))
        * workload.records
    )
    end = _LOG_BYTES // (workload.records * workload.record_bytes) * workload.records
    while True:
        for offset in range(0, end - per_fetch, per_fetch):
            yield fetch_frame(topic, offset, workload.fetch_bytes)


def fill(connection: Connection, topic: str, workload: Workload) -> None:
    frame = produce_frame(topic, workload)
    for _ in range(_LOG_BYTES // (workload.records * workload.record_bytes)):
        connection.send(frame)
        connection.receive()


def tail(connections: list[Connection], topic: str, workload: Workload) -> Measured:
    """Returns what measures a record at a time: a Fetch waits at the end of the partition, then one record is produced."""
    producing, fetching = connections
    produce = produce_frame(topic, workload)
    ends = iter(range(1 << 40))  # the partition is empty, and each Produce adds one record

    def measure(seconds: float) -> tuple[int, int, float, list[float]]:
        latencies: list[float] = []
        start = now = time.perf_counter()
        moved = 0
        while now - start < seconds:
            fetching.send(fetch_frame(topic, next(ends), workload.fetch_bytes))
            began = time.perf_counter()
            producing.send(produce)
            moved += len(fetching.receive())
            now = time.perf_counter()
            latencies.append((now - began) * 1000)
            producing.receive()
        return len(latencies), moved, now - start, latencies

    return measure


def measured(connections: list[Connection], topic: str, workload: Workload) -> Measured:
    """Returns what runs the workload for some seconds: (requests, bytes moved, seconds, latencies in ms)."""
    if workload.is_tail:
        return tail(connections, topic, workload)
    if workload.fetch_bytes:
        fill(connections[0], topic, workload)
        frames = fetch_frames(topic, workload)
        return lambda seconds: pipelined(
            connections[0], lambda: next(frames), workload.in_flight, seconds
        )
    frame = produce_frame(topic, workload)
    if workload.connections > 1:
        return lambda seconds: side_by_side(connections, frame, seconds)
    return lambda seconds: pipelined(connections[0], lambda: frame, workload.in_flight, seconds)


def run(address: str, pid: int | None, workload: Workload, seconds: float) -> Result:
    count = 2 if workload.is_tail else workload.connections
    connections = [
        Connection(address, response_bytes_max=1 << 16 if count > 1 else 16 << 20)
        for _ in range(count)
    ]
    measure = measured(connections, create_topic(connections[0]), workload)
    measure(seconds / 2)  # 15,000 of the small requests and more: until then the JVM compiles
    before = cpu_s(pid)
    requests, moved, took, latencies = measure(seconds)
    used = cpu_s(pid) - before
    for connection in connections:
        connection.close()
    return Result(
        requests / took, moved / took, used / requests * 1e6, used / moved * 1e9, latencies
    )


def better(results: list[Result]) -> Result:
    return max(results, key=lambda result: result.requests_per_s)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--only", default="")
    parser.add_argument("--flush", choices=("never", "auto"), action="append")
    options = parser.parse_args()
    with contextlib.ExitStack() as running:
        peer = running.enter_context(KafkaPeer()) if kafka_peer.is_available() else None
        for flush in options.flush or ("never", "auto"):
            print(f"\nmillstream.flush.on.ack={flush}")
            compare(flush, peer, options.only, options.seconds)


def compare(flush: str, peer: KafkaPeer | None, only: str, seconds: float) -> None:
    with Broker(in_process=False, settings={FLUSH_ON_ACK: flush}) as broker:
        print(f"idle {rss_mb(broker.pid):.0f} MB")
        for workload in WORKLOADS:
            if only not in workload.name:
                continue
            ours, peers = [], []
            for _ in range(2):
                ours.append(run(broker.bootstrap_servers, broker.pid, workload, seconds))
                if peer is not None:
                    peers.append(run(peer.bootstrap_servers, peer.pid, workload, seconds))
            print(f"{workload.name}\n  ours   {better(ours)}", flush=True)
            if peers:
                ratio = better(ours).requests_per_s / better(peers).requests_per_s
                print(f"  Kafka  {better(peers)}\n  ratio  {ratio:.2f}", flush=True)
        print(f"after load {rss_mb(broker.pid):.0f} MB")


if __name__ == "__main__":
    main()
