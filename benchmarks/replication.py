"""Three replicas of each partition on three nodes, `min.insync.replicas=2`, acks=all: ours beside Apache Kafka's.

`python -m benchmarks.cluster --only NAME` runs these rows; both clusters are up at the same time and take turns. Nobody waits for a disk:
with two replicas in sync our default acknowledges what they have, as Kafka does. The first node leads what is measured. Processor time is
that of all nodes of a cluster together. After each turn it is looked at that all replicas are in sync and that the high watermark
is the number of records that were acknowledged.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Final, NamedTuple, Self

import confluent_kafka

from benchmarks.broker import Result, Workload, better, measured, produce_frame
from benchmarks.cluster_nodes import (
    NODES,
    PING_S,
    Nodes,
    active_controller,
    create,
    metadata,
    timed,
    until_brokers,
)
from benchmarks.wire import Connection, cpu_s, rss_mb
from millstream.clients import blocking
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from millstream.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

LEADER: Final = 0
"""The place of the node that leads what is measured; its id is one more, as for all of them."""
FOLLOWER: Final = 2
"""The one that is stopped."""
TURNS: Final = 2
SECONDS: Final = 4.0
WARM_UP_S: Final = 10.0
SETTLE_S: Final = 1.0
WORKLOADS: Final = (
    Workload("produce 1 MB (1000 x 1 KB)", 1000, 1000),
    Workload("produce 1 x 100 B", 1, 100),
    Workload("produce 1 x 100 B, 1 in flight", 1, 100, in_flight=1),
    Workload("produce 1 x 100 B, 10 connections with 1 in flight", 1, 100, connections=10),
)
LIBRDKAFKA_RECORDS: Final = 400_000
LIBRDKAFKA_WARM_UP: Final = 100_000
LIBRDKAFKA_RECORD_BYTES: Final = 1_000
BACKLOG: Final = Workload("backlog", 1000, 1000)
BACKLOG_REQUESTS: Final = 1000
"""1 GB."""
FOREGROUND: Final = Workload("foreground", 100, 100, in_flight=5)
FOREGROUND_S: Final = 5.0
PARTITIONS_PER_TOPIC: Final = 10
TOPICS_PER_REQUEST: Final = 100
_METADATA_BYTES_MAX: Final = 64 << 20
_WAIT_S: Final = 120.0
_SAMPLE_S: Final = 0.02


class End(NamedTuple):
    """The state of a partition after a turn."""

    in_sync: list[int]
    high_watermark: int
    acknowledged: int

    def __str__(self) -> str:
        return f"in sync {self.in_sync}, mark {self.high_watermark} of {self.acknowledged}"


class Turn(NamedTuple):
    result: Result
    end: End


def run_in_turns(clusters: Sequence[Nodes], only: str | None) -> None:
    """Measures all clusters, which are started, in turns A B A B."""
    rows: dict[str, Callable[[Nodes], Turn]] = {
        f"replicated {each.name}": _frames_row(each) for each in WORKLOADS
    }
    rows["replicated librdkafka, 1 MB batches of 1 KB"] = librdkafka
    chosen = {name: row for name, row in rows.items() if only is None or only in name}
    if chosen:
        for nodes in clusters:
            warm_up(nodes)
    for name, row in chosen.items():
        print(f"  {name}", flush=True)
        turns: dict[str, list[Turn]] = {nodes.name: [] for nodes in clusters}
        for _ in range(TURNS):
            for nodes in clusters:
                settle()
                turn = row(nodes)
                turns[nodes.name].append(turn)
                print(f"    {nodes.name:10} {turn.result}  {turn.end}", flush=True)
        _print_ratios(
            [better([each.result for each in of_one]) for of_one in turns.values() if of_one]
        )
    if only in {None, "catch-up"}:
        print("  catch-up", flush=True)
        for _ in range(TURNS):
            for nodes in clusters:
                settle()
                print(f"    {nodes.name:10} {catch_up(nodes)}", flush=True)


def settle() -> None:
    """Has the disk take what earlier turns left in memory: else a turn pays for gigabytes of the one before it."""
    os.sync()
    time.sleep(SETTLE_S)


def warm_up(nodes: Nodes) -> None:
    """Gives a JVM what it compiles by: small requests and large ones, as long as for other rows together."""
    for workload in (WORKLOADS[0], WORKLOADS[1], WORKLOADS[-1]):
        topic = replicated_topic(nodes)
        connections = _connections(nodes, workload)
        requests, *_ = measured(connections, topic, workload)(WARM_UP_S)
        for connection in connections:
            connection.close()
        _end(nodes, topic, requests * workload.records)


def _print_ratios(results: Sequence[Result]) -> None:
    if len(results) < 2:
        return
    ours, peer = results
    rate = ours.requests_per_s / peer.requests_per_s
    late = f", p99 {_p99(ours) / _p99(peer):.2f}" if ours.latencies_ms else ""
    print(
        f"    ratio {rate:.2f}, CPU {ours.cpu_s_per_gb / peer.cpu_s_per_gb:.2f}{late}", flush=True
    )


def _p99(result: Result) -> float:
    latencies = sorted(result.latencies_ms)
    return latencies[len(latencies) * 99 // 100]


# --- produce


def _frames_row(workload: Workload) -> Callable[[Nodes], Turn]:
    return lambda nodes: frames(nodes, workload)


def frames(nodes: Nodes, workload: Workload) -> Turn:
    """Sends prepared frames to the leader."""
    topic = replicated_topic(nodes)
    connections = _connections(nodes, workload)
    measure = measured(connections, topic, workload)
    warm_up, *_ = measure(SECONDS / 2)
    before = _cluster_cpu_s(nodes)
    requests, moved, took, latencies = measure(SECONDS)
    used = _cluster_cpu_s(nodes) - before
    for connection in connections:
        connection.close()
    result = Result(
        requests / took, moved / took, used / requests * 1e6, used / moved * 1e9, latencies
    )
    return Turn(result, _end(nodes, topic, (warm_up + requests) * workload.records))


def _connections(nodes: Nodes, workload: Workload) -> list[Connection]:
    return [
        Connection(nodes.addresses[LEADER], response_bytes_max=1 << 16)
        for _ in range(workload.connections)
    ]


def librdkafka(nodes: Nodes) -> Turn:
    """Has librdkafka make batches of a megabyte of records of a kilobyte."""
    topic = replicated_topic(nodes)
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": ",".join(nodes.addresses),
            "acks": "all",
            "linger.ms": 5,
            "batch.size": 1_000_000,
            "queue.buffering.max.messages": LIBRDKAFKA_RECORDS,
            "queue.buffering.max.kbytes": 2 * LIBRDKAFKA_RECORDS * LIBRDKAFKA_RECORD_BYTES // 1000,
        }
    )
    value = secrets.token_bytes(LIBRDKAFKA_RECORD_BYTES)

    def produce(count: int) -> None:
        for _ in range(count):
            producer.produce(topic, value, partition=0)
        assert producer.flush(_WAIT_S) == 0, "all is acknowledged in time"

    produce(LIBRDKAFKA_WARM_UP)
    before, begin = _cluster_cpu_s(nodes), time.perf_counter()
    produce(LIBRDKAFKA_RECORDS)
    took, used = time.perf_counter() - begin, _cluster_cpu_s(nodes) - before
    moved = LIBRDKAFKA_RECORDS * LIBRDKAFKA_RECORD_BYTES
    batches = moved / 1e6
    result = Result(batches / took, moved / took, used / batches * 1e6, used / moved * 1e9)
    return Turn(result, _end(nodes, topic, LIBRDKAFKA_WARM_UP + LIBRDKAFKA_RECORDS))


# --- a follower that was away


def catch_up(nodes: Nodes) -> str:
    """A follower is stopped, 1 GB written, the follower started again, while a producer writes to another topic of the same replicas."""
    backlog, foreground = replicated_topic(nodes), replicated_topic(nodes)
    frame = produce_frame(foreground, FOREGROUND)
    with Foreground(nodes.addresses[LEADER], frame) as load:
        three_in_sync = load.measured_rate()
        acknowledged = load.end()
    nodes.stop_node(FOLLOWER)
    _write_backlog(nodes, backlog)
    had_bytes = nodes.log_bytes(FOLLOWER, backlog)
    all_bytes = nodes.log_bytes(LEADER, backlog)
    with (
        Foreground(nodes.addresses[LEADER], frame) as load,
        Samples(lambda: (nodes.log_bytes(FOLLOWER, backlog), load.answered)) as samples,
    ):
        two_in_sync = load.measured_rate()
        started_s = time.perf_counter()
        nodes.revive(FOLLOWER)
        until_in_sync(nodes, backlog)
        backlog_s = time.perf_counter()
        until_in_sync(nodes, foreground)
        both_s = time.perf_counter()
        acknowledged += load.end()
    rows = samples.rows
    first = [row for row in rows if row.log_bytes <= had_bytes][-1]
    last = next(row for row in rows if row.log_bytes >= all_bytes)
    took_s = last.time_s - first.time_s
    meanwhile = (last.answered - first.answered) / took_s
    return (
        f"{(all_bytes - had_bytes) / 1e6 / took_s:.0f} MB/s ({took_s:.2f} s), in sync {backlog_s - started_s:.2f} s after its start, "
        f"both topics {both_s - started_s:.2f} s; foreground of {FOREGROUND.records * FOREGROUND.record_bytes // 1000} KB requests: "
        f"{three_in_sync:.0f}/s with three in sync, {two_in_sync:.0f}/s with two, {meanwhile:.0f}/s meanwhile: "
        f"{100 * meanwhile / three_in_sync:.0f} %, {100 * meanwhile / two_in_sync:.0f} %; "
        f"{_end(nodes, foreground, acknowledged * FOREGROUND.records)}"
    )


class Sample(NamedTuple):
    time_s: float
    log_bytes: int
    answered: int


class Samples:
    """Looks at two numbers fifty times a second, on a thread."""

    def __init__(self, look: Callable[[], tuple[int, int]]) -> None:
        self._look = look
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.rows: list[Sample] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ends.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ends.wait(_SAMPLE_S):
            self.rows.append(Sample(time.perf_counter(), *self._look()))
        self.rows.append(
            Sample(time.perf_counter(), *self._look())
        )  # what waited for may have come since the last one


class Foreground:
    """Sends a frame again and again, on a thread, so many in flight."""

    def __init__(self, address: str, frame: bytes) -> None:
        self._connection = Connection(address, 1 << 16)
        self._frame = frame
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.answered = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()
        self._connection.close()

    def measured_rate(self) -> float:
        """Returns the requests answered in a second, after one that does not count."""
        time.sleep(1)
        before, begin = self.answered, time.perf_counter()
        time.sleep(FOREGROUND_S)
        return (self.answered - before) / (time.perf_counter() - begin)

    def end(self) -> int:
        """Returns how many were answered, when all are."""
        self._ends.set()
        self._thread.join()
        return self.answered

    def _run(self) -> None:
        for _ in range(FOREGROUND.in_flight):
            self._connection.send(self._frame)
        under_way = FOREGROUND.in_flight
        while under_way:
            self._connection.receive()
            self.answered += 1
            if self._ends.is_set():
                under_way -= 1
            else:
                self._connection.send(self._frame)


def _write_backlog(nodes: Nodes, topic: str) -> None:
    connection = Connection(nodes.addresses[LEADER], 1 << 16)
    frame = produce_frame(topic, BACKLOG)
    for _ in range(BACKLOG_REQUESTS):
        connection.send(frame)
        connection.receive()
    connection.close()
    assert _high_watermark(nodes, topic) == BACKLOG_REQUESTS * BACKLOG.records, "all is written"


# --- many partitions


def failover(nodes: Nodes, topics: int) -> None:
    """Partitions of three replicas, a record in a tenth of them; a node is killed, and comes back. How long answers of the others take meanwhile."""
    until_brokers(nodes, NODES)
    leader = active_controller(nodes)
    victim = (leader + 1) % NODES
    others = [node for node in range(NODES) if node != victim]
    names = [f"replicated-{secrets.token_hex(4)}-{number}" for number in range(topics)]
    count = topics * PARTITIONS_PER_TOPIC
    asking = Connection(nodes.addresses[leader], _METADATA_BYTES_MAX)

    def create_all() -> None:
        for first in range(0, topics, TOPICS_PER_REQUEST):
            some = names[first : first + TOPICS_PER_REQUEST]
            create(asking, some, PARTITIONS_PER_TOPIC, replicas=NODES)
        _until(asking, names, count, in_sync=NODES)

    def lose() -> None:
        nodes.kill(victim)
        _until(asking, names, count, in_sync=NODES - 1)

    def come_back() -> None:
        nodes.revive(victim)
        _until(asking, names, count, in_sync=NODES)

    timed(nodes, f"create {count} partitions of three replicas", create_all)
    timed(nodes, "a record into one of each topic", lambda: _write_into_each(nodes, names))
    timed(nodes, "a node is killed: all have a leader again, two in sync", lose, others)
    timed(nodes, "a record into one of each topic", lambda: _write_into_each(nodes, names), others)
    timed(nodes, "the node is back: three in sync", come_back, others)
    print(f"    memory: {', '.join(f'{rss_mb(pid):.0f}' for pid in nodes.pids)} MB", flush=True)


def _until(asking: Connection, names: Sequence[str], count: int, *, in_sync: int) -> None:
    """Until all partitions have a leader and so many replicas in sync."""
    while True:
        partitions = [each for topic in metadata(asking, names).topics for each in topic.partitions]
        there = [each.leader_id >= 0 and len(each.isr_nodes) == in_sync for each in partitions]
        if sum(there) == count:
            return
        time.sleep(0.5)


def _write_into_each(nodes: Nodes, names: Sequence[str]) -> None:
    failures: list[object] = []

    def delivered(error: object, _message: object) -> None:
        if error is not None:
            failures.append(error)

    producer = confluent_kafka.Producer(
        {"bootstrap.servers": ",".join(nodes.addresses), "acks": "all", "linger.ms": 100}
    )
    for number, name in enumerate(names):
        partition = number % PARTITIONS_PER_TOPIC  # so that each node leads a third
        producer.produce(name, b"v" * 100, partition=partition, on_delivery=delivered)
        producer.poll(0)
    assert producer.flush(_WAIT_S) == 0, "all is acknowledged in time"
    assert not failures, failures[:3]


# --- what the rows are made of


def replicated_topic(nodes: Nodes) -> str:
    """Returns a new topic of one partition of three replicas, which keeps everything, once its leader is chosen and all are in sync."""
    name = f"replicated-{secrets.token_hex(6)}"
    ids = [(LEADER + number) % NODES + 1 for number in range(NODES)]
    topic = CreatableTopic(
        name=name,
        num_partitions=-1,
        replication_factor=-1,
        assignments=[CreatableReplicaAssignment(0, ids)],
        configs=[
            CreatableTopicConfig("retention.ms", "-1"),
            CreatableTopicConfig("max.message.bytes", "10000000"),
            CreatableTopicConfig("min.insync.replicas", "2"),
        ],
    )
    connection = Connection(nodes.addresses[LEADER])
    answer = connection.ask(ApiKey.CREATE_TOPICS, 5, CreateTopicsRequest(topics=[topic]))
    assert isinstance(answer, CreateTopicsResponse), "the API has one kind of response"
    assert not answer.topics[0].error_code, answer
    connection.close()
    until_in_sync(nodes, name)
    return name


def until_in_sync(nodes: Nodes, topic: str) -> None:
    """Until all replicas of a topic are in sync."""
    deadline = time.monotonic() + _WAIT_S
    while len(_in_sync(nodes, topic)) != NODES:
        assert time.monotonic() < deadline, f"{topic} is not in sync within {_WAIT_S} s"
        time.sleep(PING_S)


def _end(nodes: Nodes, topic: str, acknowledged: int) -> End:
    """Returns how a topic stands after a turn, and deletes it, so that no turn writes beside the clean-up of a disk."""
    end = End(_in_sync(nodes, topic), _high_watermark(nodes, topic), acknowledged)
    with blocking.Admin(bootstrap_servers=nodes.addresses[LEADER]) as admin:
        admin.delete_topics([topic]).raise_errors()
    return end


def _in_sync(nodes: Nodes, topic: str) -> list[int]:
    connection = Connection(nodes.addresses[LEADER])
    (found,) = metadata(connection, [topic]).topics
    connection.close()
    if found.error_code or not found.partitions or found.partitions[0].leader_id != LEADER + 1:
        return []
    return sorted(found.partitions[0].isr_nodes)


def _high_watermark(nodes: Nodes, topic: str) -> int:
    connection = Connection(nodes.addresses[LEADER])
    latest = ListOffsetsTopic(topic, [ListOffsetsPartition(0, timestamp=-1)])
    answer = connection.ask(
        ApiKey.LIST_OFFSETS, 2, ListOffsetsRequest(replica_id=-1, topics=[latest])
    )
    assert isinstance(answer, ListOffsetsResponse), "the API has one kind of response"
    connection.close()
    (partition,) = answer.topics[0].partitions
    assert not partition.error_code, answer
    return partition.offset


def _cluster_cpu_s(nodes: Nodes) -> float:
    return sum(cpu_s(pid) for pid in nodes.pids)
