"""Kafka's tools print the same against three nodes of ours as against three of Apache Kafka, errors and exit codes too.

Both clusters are asked the same commands in the same order. Numbers of ports, ids, times and offsets are not compared, nor is
the order of an ISR, which is a set, nor the sentences in which an error is explained: ours are our own (`tests/oracle/broker` has
the same rule).
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

import pytest

from tests.oracle.cluster.nodes import CLUSTER_ID, LONG_S, Kind, Node, Nodes
from tests.oracle.cluster.work import led_by_node
from tests.support.kafka_node import CLASSPATH, NEEDS_KAFKA

pytestmark = [*NEEDS_KAFKA, pytest.mark.timeout(900)]
ALL: Final = (1, 2, 3)
LEADER: Final = 1
_TOOLS: Final = "org.apache.kafka.tools"
_MAIN: Final = {
    "quorum": f"{_TOOLS}.MetadataQuorumCommand",
    "cluster": f"{_TOOLS}.ClusterTool",
    "features": f"{_TOOLS}.FeatureCommand",
    "topics": f"{_TOOLS}.TopicCommand",
    "configs": "kafka.admin.ConfigCommand",
    "log-dirs": f"{_TOOLS}.LogDirsCommand",
    "reassign": f"{_TOOLS}.reassign.ReassignPartitionsCommand",
    "election": f"{_TOOLS}.LeaderElectionCommand",
    "versions": f"{_TOOLS}.BrokerApiVersionsCommand",
    "offsets": f"{_TOOLS}.GetOffsetShell",
    "delete-records": f"{_TOOLS}.DeleteRecordsCommand",
}
QUORUM: Final = """
quorum BROKERS describe --status
quorum BROKERS describe --replication
quorum BROKERS describe --replication --human-readable
quorum CONTROLLERS describe --status
quorum CONTROLLERS describe --replication
quorum CONTROLLERS remove-controller --controller-id 9 --controller-directory-id AAAAAAAAAAAAAAAAAAAAAQ
quorum CONTROLLERS remove-controller --controller-id 3 --controller-directory-id AAAAAAAAAAAAAAAAAAAAAQ
quorum BROKERS remove-controller --controller-id 3 --controller-directory-id DIRECTORY3
quorum CONTROLLERS --command-config PROPERTIES3 add-controller
quorum BROKERS --command-config PROPERTIES3 add-controller
quorum CONTROLLERS --command-config PROPERTIES3 add-controller
quorum CONTROLLERS describe --status
"""
CLUSTER: Final = """
cluster cluster-id BROKERS
cluster cluster-id CONTROLLERS
cluster list-endpoints BROKERS
cluster list-endpoints CONTROLLERS
cluster list-endpoints BROKERS --include-fenced-brokers
cluster list-endpoints CONTROLLERS --include-fenced-brokers
cluster unregister BROKERS --id 9
cluster unregister CONTROLLERS --id 9
versions BROKERS
log-dirs BROKERS --describe --broker-list 1,2,3
log-dirs BROKERS --describe --broker-list 9
"""
FEATURES: Final = """
features BROKERS describe
features CONTROLLERS describe
features BROKERS version-mapping
features BROKERS version-mapping --release-version 4.0
features BROKERS version-mapping --release-version 2.0
features BROKERS feature-dependencies --feature transaction.version=2 --feature group.version=1
features BROKERS feature-dependencies --feature metadata.version=30
features BROKERS feature-dependencies --feature no.version=1
features BROKERS upgrade --feature group.version=9
features BROKERS upgrade --feature no.version=1
features BROKERS upgrade --feature group.version=1
features BROKERS downgrade --feature group.version=0 --dry-run
features BROKERS downgrade --feature group.version=0
features BROKERS describe
features CONTROLLERS upgrade --feature group.version=1
features BROKERS downgrade --feature metadata.version=20
features BROKERS downgrade --feature metadata.version=20 --unsafe
features BROKERS downgrade --feature metadata.version=28
features BROKERS upgrade --release-version 4.3
features BROKERS downgrade --feature kraft.version=0
features BROKERS upgrade --feature kraft.version=1
features BROKERS upgrade --metadata 4.3-IV0
features BROKERS downgrade --metadata 4.2-IV1
features BROKERS upgrade --release-version 4.3
features BROKERS upgrade --release-version 1.0
features CONTROLLERS describe
"""
TOPICS: Final = """
topics BROKERS --create --topic three --partitions 3 --replication-factor 1
topics BROKERS --create --topic three
topics BROKERS --create --topic three --if-not-exists
topics BROKERS --create --topic by-hand --replica-assignment 1,2,3,1
topics BROKERS --create --topic nowhere --replica-assignment 9
topics BROKERS --create --topic twice --replica-assignment 1:1
topics BROKERS --create --topic many --replication-factor 4
topics BROKERS --create --topic none --partitions 0
topics BROKERS --create --topic bad/name
topics BROKERS --create --topic configured --replica-assignment 2 --config retention.ms=1000 --config cleanup.policy=compact
topics BROKERS --create --topic wrong --config no.such=1
topics BROKERS --create --topic wrong --config retention.ms=x
topics BROKERS --list
topics BROKERS --describe --topic by-hand
topics BROKERS --describe --topic configured
topics BROKERS --describe --topic absent
topics BROKERS --describe --unavailable-partitions
topics BROKERS --describe --under-replicated-partitions
topics BROKERS --describe --under-min-isr-partitions
topics BROKERS --describe --topics-with-overrides
topics BROKERS --alter --topic by-hand --partitions 6 --replica-assignment 1,2,3,1,2,2
topics BROKERS --alter --topic by-hand --partitions 6
topics BROKERS --alter --topic by-hand --partitions 2
topics BROKERS --alter --topic absent --partitions 2
topics BROKERS --describe --topic by-hand
offsets BROKERS --topic by-hand
topics BROKERS --delete --topic by-hand
topics BROKERS --delete --topic by-hand
topics BROKERS --list
election BROKERS --election-type preferred --topic three --partition 0
election BROKERS --election-type unclean --topic three --partition 1
election BROKERS --election-type preferred --topic absent --partition 0
election BROKERS --election-type preferred --all-topic-partitions
"""
CONFIGS: Final = """
configs BROKERS --describe --entity-type brokers --entity-name 2
configs BROKERS --describe --entity-type brokers --entity-name 9
configs BROKERS --alter --entity-type brokers --entity-name 2 --add-config log.cleaner.threads=2
configs BROKERS --describe --entity-type brokers --entity-name 2
configs BROKERS --alter --entity-type brokers --entity-name 2 --delete-config log.cleaner.threads
configs BROKERS --alter --entity-type brokers --entity-default --add-config log.retention.ms=1000000
configs BROKERS --describe --entity-type brokers --entity-default
configs BROKERS --describe --entity-type brokers
configs BROKERS --alter --entity-type brokers --entity-name 2 --add-config broker.id=7
configs BROKERS --alter --entity-type brokers --entity-name 2 --add-config log.retention.ms=x
configs BROKERS --alter --entity-type brokers --entity-name 2 --delete-config log.retention.ms
configs BROKERS --alter --entity-type brokers --entity-name 9 --add-config log.retention.ms=1
configs BROKERS --alter --entity-type brokers --entity-default --delete-config log.retention.ms
configs CONTROLLERS --describe --entity-type brokers --entity-name 1
configs CONTROLLERS --describe --entity-type brokers --entity-default
configs CONTROLLERS --alter --entity-type brokers --entity-default --add-config log.retention.ms=1000000
configs CONTROLLERS --describe --entity-type brokers --entity-default
configs CONTROLLERS --alter --entity-type brokers --entity-default --delete-config log.retention.ms
configs CONTROLLERS --alter --entity-type brokers --entity-name 1 --add-config log.cleaner.threads=2
configs CONTROLLERS --describe --entity-type brokers --entity-name 1
configs CONTROLLERS --alter --entity-type topics --entity-name three --add-config retention.ms=2000
configs CONTROLLERS --describe --entity-type topics --entity-name three
configs CONTROLLERS --alter --entity-type brokers --entity-name 1 --delete-config log.cleaner.threads
configs BROKERS --describe --entity-type topics --entity-name three
configs BROKERS --describe --entity-type topics --entity-name three --all
configs BROKERS --alter --entity-type topics --entity-name absent --add-config retention.ms=2000
configs BROKERS --describe --entity-type topics --entity-name absent
configs BROKERS --describe --entity-type broker-loggers --entity-name 9
configs BROKERS --alter --entity-type users --entity-name alice --add-config producer_byte_rate=1024
configs BROKERS --describe --entity-type users
configs CONTROLLERS --describe --entity-type users
configs BROKERS --alter --entity-type groups --entity-name g --add-config consumer.session.timeout.ms=50000
configs BROKERS --describe --entity-type groups
configs BROKERS --alter --entity-type client-metrics --entity-name m --add-config interval.ms=1000
configs BROKERS --describe --entity-type client-metrics
"""
REASSIGN: Final = """
reassign BROKERS --list
reassign BROKERS --generate --broker-list 1,2,3 --topics-to-move-json-file TOPICS
reassign BROKERS --verify --reassignment-json-file SAME
reassign BROKERS --execute --reassignment-json-file SAME
reassign BROKERS --verify --reassignment-json-file SAME
reassign BROKERS --execute --reassignment-json-file NOWHERE
reassign BROKERS --execute --reassignment-json-file ABSENT
reassign BROKERS --cancel --reassignment-json-file SAME
reassign CONTROLLERS --list
"""

UNREGISTER: Final = """
cluster list-endpoints BROKERS --include-fenced-brokers
cluster list-endpoints CONTROLLERS --include-fenced-brokers
cluster unregister BROKERS --id 3
cluster unregister BROKERS --id 3
cluster list-endpoints BROKERS --include-fenced-brokers
topics BROKERS --describe --topic on-three --unavailable-partitions
"""
SENTENCES: Final = (
    r"\w+Exception: ",
    r"Error while executing topic command : ",
    r"Invalid update version \d+ for feature \S+\. ",
)
NOT_COMPARED: Final = r"\s*at |\s*\.\.\. \d+ more|\S+Z \S+ (\| \S+ )?ERROR |\s*$"
"""Traces of the tools, what they log of them, and empty lines between."""


class Said(NamedTuple):
    command: str
    code: int
    lines: list[str]


class Pair(NamedTuple):
    ours: Nodes
    kafka: Nodes


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    found = []
    for kind in (Kind.OURS, Kind.KAFKA):
        members = [Node(number, kind) for number in ALL]
        found.append(Nodes(tmp_path_factory.mktemp(kind), members, is_dynamic=True))
    with found[0] as ours, found[1] as kafka:
        for nodes in (ours, kafka):
            asyncio.run(led_by_node(nodes, LEADER))
        yield Pair(ours, kafka)


def words_of(nodes: Nodes) -> dict[str, str]:
    """Words of commands that stand for something of the cluster."""
    return {
        "BROKERS": f"--bootstrap-server {nodes.bootstrap_servers}",
        "CONTROLLERS": f"--bootstrap-controller {nodes.bootstrap_controllers}",
        "DIRECTORY3": nodes.directory_id(3),
        "PROPERTIES3": str(nodes.properties(3)),
        **{path.stem: str(path) for path in nodes.properties(1).parent.glob("*.json")},
    }


def write_plans(pair: Pair, plans: Mapping[str, object]) -> None:
    """Files for the tools, which commands name in capitals."""
    for nodes in pair:
        for name, content in plans.items():
            (nodes.properties(1).parent / f"{name}.json").write_text(json.dumps(content))


def moved(topic: str, partition: int, *replicas: int) -> object:
    """A plan for kafka-reassign-partitions."""
    partitions = [{"topic": topic, "partition": partition, "replicas": replicas}]
    return {"partitions": partitions, "version": 1}


def said_by(nodes: Nodes, command: str) -> Said:
    tool, *arguments = command.split()
    words = words_of(nodes)
    options = " ".join(words.get(word, word) for word in arguments).split()
    done = subprocess.run(
        ["java", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-cp", CLASSPATH, _MAIN[tool], *options],
        capture_output=True, text=True, timeout=LONG_S, check=False,
    )  # fmt: skip
    return Said(command, done.returncode, normalised(nodes, done.stdout + done.stderr))


def normalised(nodes: Nodes, text: str) -> list[str]:
    for number in ALL:
        text = text.replace(nodes.client_address(number), f"<client {number}>")
        text = text.replace(nodes.controller_address(number), f"<controller {number}>")
        port = nodes.client_address(number).rpartition(":")[2]
        text = re.sub(rf"\b{port}\b", f"<port {number}>", text)
        port = nodes.controller_address(number).rpartition(":")[2]
        text = re.sub(rf"\b{port}\b", f"<controller port {number}>", text)
        text = text.replace(nodes.directory_id(number), f"<directory {number}>")
        text = text.replace(str(nodes.data(number)), f"<data {number}>")
    text = text.replace(str(nodes.properties(1).parent), "<nodes>").replace(CLUSTER_ID, "<cluster>")
    text = re.sub(r"TopicId: \S+", "TopicId: <id>", text)
    text = re.sub(r"\b1[789]\d{11}\b", "<time>", text)
    text = re.sub(r"(?m)^(\d\s+<directory \d>\s+)\d+\s+\d+", r"\1<offset> <lag>", text)
    text = re.sub(r"(HighWatermark|MaxFollowerLag|MaxFollowerLagTimeMs|LeaderEpoch):(\s+)-?\d+", r"\1:\2<number>", text)  # fmt: skip
    text = re.sub(r"\d+ ms ago", "<number> ms ago", text)
    text = re.sub(r"Epoch: \d+", "Epoch: <number>", text)
    text = re.sub(r"(?<=Isr: )[\d,]+", lambda found: ",".join(sorted(found[0].split(","))), text)
    text = re.sub(r"\S+Z [^\n|]*\| \S+ ERROR [^\n]*? error [A-Z_]+", "", text)  # it ends no line
    for what in SENTENCES:
        text = re.sub(rf"({what}).*", r"\1<sentence>", text)
    text = re.sub(r"[ \t]+", " ", text)
    return [line.rstrip() for line in text.splitlines() if not re.match(NOT_COMPARED, line)]


PLANS: Final = {
    "TOPICS": {"topics": [{"topic": "moved"}], "version": 1},
    "SAME": moved("moved", 0, 2),
    "NOWHERE": moved("moved", 0, 9),
    "ABSENT": moved("absent", 0, 1),
}


def compare(pair: Pair, commands: str) -> None:
    differences = []
    for command in filter(None, commands.splitlines()):
        with ThreadPoolExecutor(2) as pool:
            ours, kafka = pool.map(said_by, pair, [command, command])
        if ours.code != kafka.code or sorted(ours.lines) != sorted(kafka.lines):
            differences.append(difference(ours, kafka))
    assert not differences, "\n".join(differences)


def difference(ours: Said, kafka: Said) -> str:
    only_ours = [f"  ours  {line}" for line in ours.lines if line not in kafka.lines]
    only_kafka = [f"  Kafka {line}" for line in kafka.lines if line not in ours.lines]
    codes = f" ({ours.code}, Kafka {kafka.code})" if ours.code != kafka.code else ""
    return "\n".join([ours.command + codes, *only_ours[:30], *only_kafka[:30]])


@pytest.mark.parametrize(
    "commands", [QUORUM, CLUSTER, FEATURES], ids=["quorum", "cluster", "features"]
)
def test_of_the_cluster(pair: Pair, commands: str) -> None:
    compare(pair, commands)


@pytest.mark.parametrize("commands", [TOPICS, CONFIGS], ids=["topics", "configs"])
def test_of_topics(pair: Pair, commands: str) -> None:
    compare(pair, commands)


def test_of_a_broker_that_is_gone(pair: Pair) -> None:
    """A broker of Kafka that is alive may be forgotten, too, and is of no use until it is started again; ours refuses that."""
    compare(pair, "topics BROKERS --create --topic on-three --replica-assignment 3,1")
    for nodes in pair:
        nodes.stop(3)
    compare(pair, UNREGISTER)
    for nodes in pair:
        nodes.start(3)
    compare(pair, "cluster list-endpoints BROKERS --include-fenced-brokers")


def test_of_reassignments(pair: Pair) -> None:
    write_plans(pair, PLANS)
    compare(pair, "topics BROKERS --create --topic moved --replica-assignment 2" + REASSIGN)
