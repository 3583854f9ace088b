"""Kafka's tools for partitions with three replicas print the same against three nodes of ours as against three of Apache Kafka.

With all nodes there, with one away, and with it back; as in `test_tools`, both clusters are asked the same in the same order.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from typing import Final

import pytest

from millstream.clients import Producer
from tests.oracle.cluster.nodes import LONG_S, Kind, Node, Nodes
from tests.oracle.cluster.replicas import all_in_sync, described
from tests.oracle.cluster.test_tools import ALL, LEADER, Pair, compare, moved, write_plans
from tests.oracle.cluster.work import TOOLS, led_by_node
from tests.support.kafka_node import CLASSPATH, NEEDS_KAFKA

pytestmark = [*NEEDS_KAFKA, pytest.mark.timeout(900)]
AWAY: Final = 3
RECORDS: Final = 20
SETTINGS: Final = {
    "broker.session.timeout.ms": "9000",
    "broker.heartbeat.interval.ms": "2000",
    "auto.leader.rebalance.enable": "false",
}
CREATE: Final = """
topics BROKERS --create --topic spread --replica-assignment 1:2:3,2:3:1,3:1:2 --config min.insync.replicas=2 --config retention.ms=-1
topics BROKERS --create --topic strict --replica-assignment 1:2:3,3:2:1 --config min.insync.replicas=3
topics BROKERS --create --topic pair --replica-assignment 1:2,2:1
topics BROKERS --create --topic alone --replica-assignment 3
topics BROKERS --create --topic uneven --replica-assignment 1:2,1
topics BROKERS --create --topic four --partitions 2 --replication-factor 4
"""
STATE: Final = """
topics BROKERS --describe --topic spread
topics BROKERS --describe --topic strict
topics BROKERS --describe --topic alone
topics BROKERS --describe --under-replicated-partitions
topics BROKERS --describe --under-min-isr-partitions
topics BROKERS --describe --at-min-isr-partitions
topics BROKERS --describe --unavailable-partitions
"""
OFFSETS: Final = """
offsets BROKERS --topic spread
offsets BROKERS --topic spread --time earliest
offsets BROKERS --topic spread --time -1
offsets BROKERS --topic spread --time max-timestamp
offsets BROKERS --topic spread --time earliest-local
offsets BROKERS --topic spread --time latest-tiered
offsets BROKERS --topic spread --time 1700000000010
offsets BROKERS --topic-partitions spread:0,pair:1
"""
DIRECTORIES: Final = """
log-dirs BROKERS --describe --broker-list 1,2,3 --topic-list spread
log-dirs BROKERS --describe --broker-list 1,2 --topic-list spread,strict
"""
DELETE: Final = """
delete-records BROKERS --offset-json-file DELETE
delete-records BROKERS --offset-json-file BEYOND
delete-records BROKERS --offset-json-file ABSENT
delete-records BROKERS --offset-json-file END
offsets BROKERS --topic spread --time earliest
offsets BROKERS --topic spread --time latest
"""
ELECT: Final = """
election BROKERS --election-type preferred --topic spread --partition 2
election BROKERS --election-type preferred --topic spread --partition 2
election BROKERS --election-type unclean --topic spread --partition 1
election BROKERS --election-type preferred --path-to-json-file BOTH
election BROKERS --election-type preferred --all-topic-partitions
topics BROKERS --describe --topic spread
topics BROKERS --describe --topic strict
"""
MOVE: Final = """
reassign BROKERS --execute --reassignment-json-file SMALLER
WAIT spread
reassign BROKERS --verify --reassignment-json-file SMALLER
reassign BROKERS --execute --reassignment-json-file LARGER --throttle 10000000
WAIT spread
reassign BROKERS --verify --reassignment-json-file LARGER
reassign BROKERS --verify --reassignment-json-file LARGER
reassign BROKERS --cancel --reassignment-json-file LARGER
reassign BROKERS --list
reassign BROKERS --execute --reassignment-json-file TWICE
configs BROKERS --describe --entity-type topics --entity-name spread
configs BROKERS --describe --entity-type brokers --entity-name 2
topics BROKERS --describe --topic spread
"""
STUCK: Final = """
reassign BROKERS --execute --reassignment-json-file STUCK
reassign BROKERS --list
reassign BROKERS --verify --reassignment-json-file STUCK
reassign BROKERS --execute --reassignment-json-file STUCK
topics BROKERS --describe --topic pair
reassign BROKERS --execute --reassignment-json-file STUCK --additional --throttle 20000000
configs BROKERS --describe --entity-type topics --entity-name pair
reassign BROKERS --cancel --reassignment-json-file STUCK
reassign BROKERS --list
reassign BROKERS --verify --reassignment-json-file STUCK
reassign BROKERS --cancel --reassignment-json-file STUCK
topics BROKERS --describe --topic pair
election BROKERS --election-type preferred --topic spread --partition 2
election BROKERS --election-type unclean --topic alone --partition 0
election BROKERS --election-type preferred --topic alone --partition 0
"""


def deletion(topic: str, offset: int) -> object:
    partitions = [{"topic": topic, "partition": n, "offset": offset} for n in (0, 2)]
    return {"partitions": partitions, "version": 1}


PLANS: Final = {
    "SMALLER": moved("spread", 0, 2, 1),
    "LARGER": moved("spread", 0, 1, 2, 3),
    "TWICE": moved("spread", 0, 1, 1),
    "STUCK": moved("pair", 0, 1, 3),
    "DELETE": deletion("spread", 5),
    "BEYOND": deletion("spread", 500),
    "ABSENT": deletion("absent", 5),
    "END": deletion("spread", -1),
    "BOTH": {"partitions": [{"topic": "spread", "partition": n} for n in (0, 2)]},
}


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    found = []
    for kind in (Kind.OURS, Kind.KAFKA):
        members = [Node(number, kind) for number in ALL]
        found.append(Nodes(tmp_path_factory.mktemp(kind), members, settings=SETTINGS))
    with found[0] as ours, found[1] as kafka:
        made = Pair(ours, kafka)
        for nodes in made:
            asyncio.run(led_by_node(nodes, LEADER))
        write_plans(made, PLANS)
        yield made
        assert ours.complaints() == []


def test_the_tools_say_of_ours_what_they_say_of_kafkas(pair: Pair) -> None:
    """First while all are there: what that leaves, the rest is compared with."""
    compare_while_all_are_there(pair)
    compare_while_one_is_away(pair)


def compare_while_all_are_there(pair: Pair) -> None:
    compare(pair, CREATE)
    for nodes in pair:
        asyncio.run(written(nodes))
    compare(pair, STATE + OFFSETS + DIRECTORIES)
    verified = [re.sub(r"^.*?: ", "", verified_by(nodes)) for nodes in pair]
    assert verified[0] == verified[1]
    assert "max lag is 0 for partition spread-0 at offset 20 among 3 partitions" in verified[0]
    compare_in_turns(pair, MOVE)
    compare(pair, DELETE)


def compare_while_one_is_away(pair: Pair) -> None:
    for nodes in pair:
        nodes.kill(AWAY)
        for topic in ("spread", "strict", "alone"):
            asyncio.run(without(nodes, topic, AWAY))
    compare(pair, STATE + STUCK)
    for nodes in pair:
        nodes.start(AWAY)
        asyncio.run(in_sync(nodes))
    compare(pair, STATE + ELECT)


def compare_in_turns(pair: Pair, commands: str) -> None:
    """`WAIT topic` waits until its reassignments are over and its replicas in sync."""
    for command in filter(None, commands.splitlines()):
        if command.startswith("WAIT "):
            for nodes in pair:
                asyncio.run(all_in_sync(nodes, command.split()[1]))
        else:
            compare(pair, command)


async def written(nodes: Nodes) -> None:
    """The same records to each partition, batch by batch, with times of their own."""
    await in_sync(nodes)
    async with Producer(bootstrap_servers=nodes.bootstrap_servers) as producer:
        for number in range(RECORDS):
            for partition in range(3):
                delivery = await producer.send(
                    "spread", b"%04d" % number, partition=partition, timestamp_ms=1_700_000_000_000 + number
                )  # fmt: skip
                await delivery


async def in_sync(nodes: Nodes) -> None:
    for topic in ("spread", "strict", "pair", "alone"):
        await all_in_sync(nodes, topic)


async def without(nodes: Nodes, topic: str, number: int) -> None:
    await described(
        nodes,
        topic,
        lambda found: all(p.leader != number and set(p.isr) - {number} == set(p.replicas) - {number} for p in found),
    )  # fmt: skip


def verified_by(nodes: Nodes) -> str:
    """The first report of kafka-replica-verification about a topic, which never ends by itself."""
    command: Sequence[str] = [
        "java", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-cp", CLASSPATH, f"{TOOLS}.ReplicaVerificationTool",
        "--broker-list", nodes.bootstrap_servers, "--topics-include", "spread", "--report-interval-ms", "2000", "--time", "-2",
    ]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    said, deadline = "", time.monotonic() + LONG_S
    try:
        for line in process.stdout:
            said += line
            if "max lag is" in line:
                return line.strip()
            assert time.monotonic() < deadline, said
    finally:
        process.kill()
        process.communicate()
    raise AssertionError(said)
