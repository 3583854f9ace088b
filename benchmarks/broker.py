"""Raw produce and fetch frames over one pipelined connection: our broker, and Apache Kafka beside it.

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
from benchmarks.wire import Connection, cpu_s, create_topic, frame_of, pipelined, rss_mb
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
