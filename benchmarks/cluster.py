"""Several nodes: start, rest, changes of metadata, the death of the controller, many partitions, records for another node.

    python -m benchmarks.cluster [--only NAME] [--topics 1000]

Three nodes, each broker and controller, as `millstream cluster` starts them; three of Apache Kafka beside them when
MILLSTREAM_KAFKA_CLASSPATH names its jars. Partitions have one replica, but in the rows of `replication`: `replicated` or more of the title
of such a row, `catch-up`, `failover`. The nodes and this process share the processors.
"""

from __future__ import annotations

import argparse
import contextlib
import secrets
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Final

from benchmarks import kafka_peer, replication
from benchmarks.clients import Load, ours_arrow_produce
from benchmarks.cluster_nodes import (
    NODES,
    KafkaNodes,
    Nodes,
    OurNodes,
    active_controller,
    create,
    metadata,
    timed,
    topic_error,
    until_brokers,
    until_led,
)
from benchmarks.wire import Connection, cpu_s, rss_mb
from millstream.clients import NewTopic, blocking
from millstream.testing.broker import Broker

IDLE_S: Final = 20.0
CHANGES: Final = 100
DEATHS: Final = 5
PARTITIONS_PER_TOPIC: Final = 10
TOPICS_PER_REQUEST: Final = 100
SESSION_S: Final = 9.0
"""`broker.session.timeout.ms`: so long after a kill a broker is fenced."""
RECORDS: Final = 2_000_000
_METADATA_BYTES_MAX: Final = 64 << 20


def lives(nodes: Nodes, _topics: int) -> None:
    """Start from empty directories, stop, start again."""
    for what in ("start, empty directories", "start, again"):
        begin = time.perf_counter()
        nodes.start()
        until_brokers(nodes, NODES)
        print(f"    {what}: {time.perf_counter() - begin:.2f} s", flush=True)
        begin = time.perf_counter()
        nodes.stop()
        print(f"    stop: {time.perf_counter() - begin:.2f} s", flush=True)
    nodes.start()
    until_brokers(nodes, NODES)


def rest(nodes: Nodes, _topics: int) -> None:
    """Nodes that have nothing to do."""
    time.sleep(2)
    before = [cpu_s(pid) for pid in nodes.pids]
    time.sleep(IDLE_S)
    used = [cpu_s(pid) - was for pid, was in zip(nodes.pids, before, strict=True)]
    print(
        f"    at rest: {100 * sum(used) / IDLE_S:.1f} % of a processor together, "
        f"{', '.join(f'{rss_mb(pid):.0f}' for pid in nodes.pids)} MB",
        flush=True,
    )


def changes(nodes: Nodes, _topics: int) -> None:
    """From the request for a topic to the moment in which every node knows it."""
    asking = [Connection(address) for address in nodes.addresses]
    times = []
    for number in range(CHANGES):
        name = f"change-{secrets.token_hex(4)}"
        begin = time.perf_counter()
        create(asking[number % NODES], [name], 1)
        for connection in asking:
            while topic_error(connection, name):
                time.sleep(0.0005)
        times.append((time.perf_counter() - begin) * 1000)
    print(
        f"    a topic is known to all nodes: p50 {statistics.median(times):.1f} ms, p99 {sorted(times)[-2]:.1f} ms",
        flush=True,
    )


def deaths(nodes: Nodes, _topics: int) -> None:
    """From SIGKILL of the active controller to a topic that another one has made."""
    times = []
    for _ in range(DEATHS):
        until_brokers(nodes, NODES)
        leader = active_controller(nodes)
        asking = Connection(nodes.addresses[(leader + 1) % NODES])
        nodes.kill(leader)
        begin = time.perf_counter()
        create(asking, [f"after-{secrets.token_hex(4)}"], 1)
        times.append(time.perf_counter() - begin)
        nodes.revive(leader)
    print(
        f"    the controller is killed: another one has made a topic after "
        f"{', '.join(f'{each:.1f}' for each in sorted(times))} s",
        flush=True,
    )


def many_partitions(nodes: Nodes, topics: int) -> None:
    """Partitions on all brokers: created, one broker killed and fenced, back again. How long answers take meanwhile."""
    until_brokers(nodes, NODES)
    leader = active_controller(nodes)
    victim = (leader + 1) % NODES
    names = [f"many-{secrets.token_hex(4)}-{number}" for number in range(topics)]
    asking = Connection(nodes.addresses[leader], _METADATA_BYTES_MAX)
    count = topics * PARTITIONS_PER_TOPIC

    def create_all() -> None:
        for first in range(0, topics, TOPICS_PER_REQUEST):
            create(asking, names[first : first + TOPICS_PER_REQUEST], PARTITIONS_PER_TOPIC)
        until_led(asking, names, count)

    timed(nodes, f"create {count} partitions", create_all)
    others = [node for node in range(NODES) if node != victim]

    def lose() -> None:
        nodes.kill(victim)
        until_brokers(nodes, NODES - 1, others)

    timed(nodes, "a broker of a third of them is killed and fenced", lose, others)

    def come_back() -> None:
        nodes.revive(victim)
        until_led(asking, names, count)

    timed(nodes, "it is back and leads them", come_back, others)
    print(f"    memory: {', '.join(f'{rss_mb(pid):.0f}' for pid in nodes.pids)} MB", flush=True)


def records(nodes: Nodes, _topics: int) -> None:
    """Records that a client of one node writes to the leader on another, beside a node alone."""
    value = b"v" * 100
    rates: dict[str, list[float]] = {"another node": [], "a node alone": []}
    with Broker(in_process=False) as alone:
        for _ in range(3):
            with blocking.Admin(bootstrap_servers=nodes.addresses[0]) as admin:
                name = led_elsewhere(nodes, admin)
            for where, bootstrap, topic in (
                ("another node", nodes.addresses[0], name),
                ("a node alone", alone.bootstrap_servers, new_topic(alone.bootstrap_servers)),
            ):
                begin = time.perf_counter()
                ours_arrow_produce(Load(bootstrap, topic, RECORDS, value))
                rates[where].append(RECORDS / (time.perf_counter() - begin))
    elsewhere, here = max(rates["another node"]), max(rates["a node alone"])
    print(
        f"    our producer, Arrow: {elsewhere:,.0f} records/s to another node, {here:,.0f} to a node of ours alone, "
        f"ratio {elsewhere / here:.2f}",
        flush=True,
    )


BENCHMARKS: Final[dict[str, Callable[[Nodes, int], None]]] = {
    "lives": lives,
    "rest": rest,
    "changes": changes,
    "deaths": deaths,
    "many": many_partitions,
    "records": records,
}


# What the rows are made of.


def led_elsewhere(nodes: Nodes, admin: blocking.Admin) -> str:
    """Returns a new topic whose leader is not the first node."""
    while True:
        name = f"elsewhere-{secrets.token_hex(4)}"
        admin.create_topics([NewTopic(name, 1)]).raise_errors()
        connection = Connection(nodes.addresses[0])
        until_led(connection, [name], 1)
        (topic,) = metadata(connection, [name]).topics
        connection.close()
        if topic.partitions[0].leader_id != 1:
            return name


def new_topic(bootstrap: str) -> str:
    name = f"here-{secrets.token_hex(4)}"
    with blocking.Admin(bootstrap_servers=bootstrap) as admin:
        admin.create_topics([NewTopic(name, 1)]).raise_errors()
    return name


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", help=f"one of {', '.join(BENCHMARKS)}, or of `replication`")
    parser.add_argument("--topics", type=int, default=1000)
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as peers:
        kafka: list[KafkaNodes] = []
        if kafka_peer.is_available():
            kafka.append(peers.enter_context(contextlib.closing(KafkaNodes())))
        else:
            print(f"  no peer: {kafka_peer.CLASSPATH_VARIABLE} names no jars")
        if chosen.only is None or chosen.only in BENCHMARKS:
            ours = OurNodes(f"{directory}/nodes", {"millstream.flush.on.ack": "never"})
            one_replica([ours, *kafka], chosen.only, chosen.topics)
        if chosen.only is None or chosen.only not in BENCHMARKS:
            # As it is by default: with two replicas in sync nobody waits for a disk.
            three_replicas(OurNodes(f"{directory}/replicas", {}), kafka, chosen.only, chosen.topics)


def one_replica(clusters: Sequence[Nodes], only: str | None, topics: int) -> None:
    for nodes in clusters:
        print(f"  {nodes.name}", flush=True)
        if only not in {None, "lives"}:
            nodes.start()
            until_brokers(nodes, NODES)
        try:
            for name, benchmark in BENCHMARKS.items():
                if only in {None, name}:
                    benchmark(nodes, topics)
        finally:
            nodes.stop()


def three_replicas(ours: Nodes, kafka: Sequence[Nodes], only: str | None, topics: int) -> None:
    with contextlib.ExitStack() as running:
        ours.start()
        running.callback(ours.stop)
        until_brokers(ours, NODES)
        if only != "failover":
            with contextlib.ExitStack() as peers:
                for nodes in kafka:
                    nodes.start()
                    peers.callback(nodes.stop)
                    until_brokers(nodes, NODES)
                replication.run_in_turns((ours, *kafka), only)
        if only in {None, "failover"}:
            print(f"  failover: {ours.name}", flush=True)
            replication.failover(ours, topics)


if __name__ == "__main__":
    main()
