"""A client without a quota beside one that pushes as hard as it can against its quota of 1 MB/s, ours beside Apache Kafka, in turns.

    python -m benchmarks.throttled_client [--seconds 8]

The bystander writes a record of 100 B at a time with a rest after each, alone and beside the other, which is a process of its own and
keeps five requests of 100 KB under way. Bar: the bystander's 99th percentile beside it is within twice that alone.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from benchmarks import kafka_peer
from benchmarks.broker import Workload, produce_frame
from benchmarks.kafka_peer import KafkaPeer
from benchmarks.wire import Connection, create_topic, pipelined
from millstream.protocol.api import ApiKey
from millstream.protocol.frames import encode_request
from millstream.protocol.generated.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    EntityData,
    OpData,
)
from millstream.protocol.generated.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from millstream.records.builder import build_batch
from millstream.records.record import Record
from millstream.testing.broker import Broker

BYTES_PER_S: Final = 1_000_000
_GREEDY: Final = "greedy"
_SMALL: Final = Workload("one record", 1, 100, in_flight=1)
_TURNS: Final = 3
_REST_S: Final = 0.002
_SETTLE_S: Final = 12.0
"""Quotas look at eleven windows of a second; until they are full the other client is let go on."""


def push(address: str, topic: str) -> None:
    """Writes as fast as the broker answers, and says how much when it is stopped. Never returns by itself."""
    connection = Connection(address)
    value = bytes(1_000)
    batch = build_batch(Record(timestamp=int(time.time() * 1000), value=value) for _ in range(100))
    data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(0, memoryview(batch))])
    request = ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[data])
    pieces = encode_request(ApiKey.PRODUCE, 9, 1, _GREEDY, request)
    frame = b"".join(bytes(piece) for piece in pieces)  # type: ignore[arg-type]  # no splices
    print("pushing", flush=True)
    while True:
        requests, _, took, _ = pipelined(connection, lambda: frame, 5, 5.0)
        print(f"{requests * len(frame) / took / 1e6:.2f}", flush=True)


def measure(connection: Connection, topic: str, seconds: float) -> list[float]:
    frame = produce_frame(topic, _SMALL)
    latencies: list[float] = []
    end = time.perf_counter() + seconds
    while (begun := time.perf_counter()) < end:
        connection.send(frame)
        connection.receive()
        latencies.append((time.perf_counter() - begun) * 1_000)
        time.sleep(_REST_S)
    return latencies


def beside(
    connection: Connection, address: str, topic: str, seconds: float
) -> tuple[list[float], str]:
    """Returns the latencies, and the last rate of the other client."""
    other = create_topic(connection)
    with tempfile.TemporaryFile("w+") as told:
        pusher = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.throttled_client", "--push", address, other],
            stdout=told,
        )
        try:
            time.sleep(_SETTLE_S)
            latencies = measure(connection, topic, seconds)
        finally:
            pusher.terminate()
            pusher.wait()
        told.seek(0)
        return latencies, told.read().split()[-1]


def set_quota(connection: Connection) -> None:
    entry = AlterClientQuotasRequestEntryData(
        entity=[EntityData("client-id", _GREEDY)],
        ops=[OpData(key="producer_byte_rate", value=float(BYTES_PER_S))],
    )
    answer = connection.ask(
        ApiKey.ALTER_CLIENT_QUOTAS, 1, AlterClientQuotasRequest(entries=[entry])
    )
    assert answer.entries[0].error_code == 0, answer  # type: ignore[attr-defined]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--push", nargs=2, metavar=("ADDRESS", "TOPIC"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.push:
        push(*options.push)
    with ExitStack() as running:
        directory = Path(running.enter_context(tempfile.TemporaryDirectory()))
        settings = {"millstream.flush.on.ack": "never"}
        ours = running.enter_context(Broker(in_process=False, data=directory, settings=settings))
        places = {"ours": ours.bootstrap_servers}
        if kafka_peer.is_available():
            places["Kafka"] = running.enter_context(KafkaPeer()).bootstrap_servers
        clients = {name: Connection(address) for name, address in places.items()}
        topics = {name: create_topic(client) for name, client in clients.items()}
        for name, client in clients.items():
            set_quota(client)
            measure(client, topics[name], options.seconds)  # until the JVM has compiled
        found: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in places}
        rates: dict[str, str] = {}
        for _ in range(_TURNS):
            for name, client in clients.items():
                found[name][0].extend(measure(client, topics[name], options.seconds))
                latencies, rates[name] = beside(client, places[name], topics[name], options.seconds)
                found[name][1].extend(latencies)
        for name, (alone, pushed) in found.items():
            ratio = _at(pushed, 0.99) / _at(alone, 0.99)
            print(
                f"  {name:6} alone p50 {_at(alone, 0.5):6.2f} p99 {_at(alone, 0.99):6.2f} ms, "
                f"beside {rates[name]} MB/s p50 {_at(pushed, 0.5):6.2f} p99 {_at(pushed, 0.99):6.2f} ms: p99 {ratio:.2f} x"
            )


def _at(values: list[float], share: float) -> float:
    return sorted(values)[int(len(values) * share)]


if __name__ == "__main__":
    main()
