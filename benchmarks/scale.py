"""Many partitions, many connections, many group members: our broker, and Apache Kafka beside it.

    python -m benchmarks.scale [--only NAME] [--topics 2000]

Kafka is started when MILLSTREAM_KAFKA_CLASSPATH names its jars. Every figure is of the server: the time until it answers, and
its processor time.
"""

from __future__ import annotations

import argparse
import contextlib
import secrets
import time
from collections.abc import Callable, Iterator
from typing import Final, Protocol

from benchmarks import kafka_peer
from benchmarks.group_load import GroupLoad
from benchmarks.kafka_peer import KafkaPeer
from benchmarks.wire import Connection, cpu_s, create_topic, frame_of, rss_mb
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest
from millstream.protocol.generated.metadata import MetadataRequest
from millstream.testing.broker import Broker

PARTITIONS_PER_TOPIC: Final = 10
TOPICS_PER_REQUEST: Final = 100
IDLE_CONNECTIONS: Final = 1_000
GROUPS: Final = 100
MEMBERS_PER_GROUP: Final = 5
HEARTBEAT_S: Final = 15.0
_SETTINGS: Final = {"group.initial.rebalance.delay.ms": "3000", "max.connections.per.ip": "2000"}
_METADATA_VERSION: Final = 12
_METADATA_BYTES_MAX: Final = 64 << 20


class Server(Protocol):
    @property
    def bootstrap_servers(self) -> str: ...

    @property
    def pid(self) -> int | None: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def kill(self) -> None: ...


@contextlib.contextmanager
def timed(name: str, server: Server) -> Iterator[None]:
    cpu_before, start = cpu_s(server.pid), time.perf_counter()
    yield
    took = time.perf_counter() - start
    print(f"    {name}: {took:.2f} s, {cpu_s(server.pid) - cpu_before:.2f} CPU s", flush=True)


def many_partitions(server: Server, topics: int) -> None:
    """Create, describe, stop, start, kill, start."""
    connection = Connection(server.bootstrap_servers, _METADATA_BYTES_MAX)
    with timed(f"create {topics} topics of {PARTITIONS_PER_TOPIC} partitions", server):
        create_topics(connection, topics)
    measure_metadata(connection, server)
    connection.close()
    print(f"    memory: {rss_mb(server.pid):.0f} MB")
    begin = time.perf_counter()
    server.stop()
    print(f"    clean stop: {time.perf_counter() - begin:.2f} s")
    print(f"    start after it, all leaders known: {started_in_s(server, topics):.2f} s")
    server.kill()
    print(
        f"    start after a kill, all leaders known: {started_in_s(server, topics):.2f} s",
        flush=True,
    )


def create_topics(connection: Connection, topics: int) -> None:
    prefix = secrets.token_hex(4)
    for first in range(0, topics, TOPICS_PER_REQUEST):
        names = [f"{prefix}-{n}" for n in range(first, min(topics, first + TOPICS_PER_REQUEST))]
        wanted = [
            CreatableTopic(name=name, num_partitions=PARTITIONS_PER_TOPIC, replication_factor=1)
            for name in names
        ]
        request = CreateTopicsRequest(topics=wanted, timeout_ms=60_000)
        answer = connection.ask(ApiKey.CREATE_TOPICS, 7, request)
        assert not any(topic.error_code for topic in answer.topics), answer  # type: ignore[attr-defined]


def measure_metadata(connection: Connection, server: Server, rounds: int = 10) -> None:
    frame = frame_of(ApiKey.METADATA, _METADATA_VERSION, MetadataRequest(topics=None))
    connection.send(frame)
    size = len(connection.receive())
    cpu_before, start = cpu_s(server.pid), time.perf_counter()
    for _ in range(rounds):
        connection.send(frame)
        connection.receive()
    took = (time.perf_counter() - start) / rounds * 1000
    cpu = (cpu_s(server.pid) - cpu_before) / rounds * 1000
    print(
        f"    full Metadata, {size / 1e6:.1f} MB: {took:.0f} ms, {cpu:.0f} ms CPU each", flush=True
    )


def started_in_s(server: Server, topics: int) -> float:
    """From the start of the process until Metadata names a leader for every partition."""
    begin = time.perf_counter()
    server.start()
    connection = Connection(server.bootstrap_servers, _METADATA_BYTES_MAX)
    while True:
        answer = connection.ask(ApiKey.METADATA, _METADATA_VERSION, MetadataRequest(topics=None))
        led = sum(p.leader_id >= 0 for t in answer.topics for p in t.partitions)  # type: ignore[attr-defined]
        if led >= topics * PARTITIONS_PER_TOPIC:
            connection.close()
            return time.perf_counter() - begin
        time.sleep(0.05)


def idle_connections(server: Server, topics: int) -> None:
    del topics
    before = rss_mb(server.pid)
    with timed(f"{IDLE_CONNECTIONS} connections, opened", server):
        connections = [Connection(server.bootstrap_servers, 16) for _ in range(IDLE_CONNECTIONS)]
        create_topic(Connection(server.bootstrap_servers))
    with timed("the same, idle", server):
        time.sleep(10)
    print(f"    memory: {rss_mb(server.pid) - before:+.1f} MB")
    for connection in connections:
        connection.close()


def heartbeats(server: Server, topics: int) -> None:
    del topics
    load = GroupLoad(server.bootstrap_servers, GROUPS, MEMBERS_PER_GROUP)
    with timed(f"{GROUPS * MEMBERS_PER_GROUP} members join {GROUPS} groups", server):
        load.join()
    cpu_before = cpu_s(server.pid)
    answered = load.heartbeat(HEARTBEAT_S)
    share = (cpu_s(server.pid) - cpu_before) / HEARTBEAT_S
    print(
        f"    {answered / HEARTBEAT_S:.0f} heartbeats/s: {share * 100:.1f} % of a core", flush=True
    )
    load.close()


SCENARIOS: Final[dict[str, Callable[[Server, int], None]]] = {
    "heartbeats": heartbeats,
    "connections": idle_connections,
    "partitions": many_partitions,
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--topics", type=int, default=2_000)
    options = parser.parse_args()
    for name, scenario in SCENARIOS.items():
        if options.only not in name:
            continue
        print(f"{name}\n  ours", flush=True)
        with Broker(in_process=False, settings=_SETTINGS, start_timeout_s=120) as broker:
            scenario(broker, options.topics)
        if kafka_peer.is_available():
            print("  Kafka", flush=True)
            with KafkaPeer(_SETTINGS) as peer:
                scenario(peer, options.topics)


if __name__ == "__main__":
    main()
