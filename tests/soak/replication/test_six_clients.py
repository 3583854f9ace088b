"""Six clients write and read for minutes while nodes are killed, stopped, paused and cut off: none is restarted, every history is clean.

Each client has its topic, which the next one reads. MILLSTREAM_SOAK_CLUSTER_SECONDS says how long, MILLSTREAM_SOAK_CLUSTER_SEED which faults.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from contextlib import ExitStack
from typing import Final, NamedTuple

import pytest

from millstream.clients.blocking import Consumer
from millstream.model import TopicPartition
from millstream.testing import Cluster, History
from millstream.testing.history_check import illegal
from tests.soak.cluster.world import LIMIT_S, read_partition, say, three, wait_until_in_sync
from tests.soak.replication.client_processes import MAKES, PARTITIONS, ClientProcess, NotAvailable
from tests.soak.replication.world import all_in_sync, create_replicated, wait_until

SECONDS: Final = float(os.environ.get("MILLSTREAM_SOAK_CLUSTER_SECONDS", "60"))
SEED: Final = int(os.environ.get("MILLSTREAM_SOAK_CLUSTER_SEED", "1"))
FAULT_S_MAX: Final = 15.0
REST_S_MAX: Final = 6.0

pytestmark = [
    pytest.mark.nodes,
    pytest.mark.soak,
    pytest.mark.compat,
    pytest.mark.timeout(SECONDS * 2 + LIMIT_S * 10),
]


class Outcome(NamedTuple):
    """What became of one client."""

    anomalies: list[str]
    errors: list[str]
    exit_code: int
    said: Counter[str]


Outcomes = tuple[dict[str, Outcome], dict[str, str]]
"""By client; and of those that cannot be run the reason."""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    directory = tmp_path_factory.mktemp("clients")
    commands: dict[str, list[str]] = {}
    missing: dict[str, str] = {}
    for name, command in MAKES.items():
        try:
            commands[name] = command(directory)
        except NotAvailable as reason:
            missing[name] = str(reason)
    with three() as cluster, ExitStack() as running:
        names = list(commands)
        for name in names:
            create_replicated(cluster, f"of-{name}", PARTITIONS)
        clients = [
            running.enter_context(
                ClientProcess(
                    name, commands[name], cluster.bootstrap_servers,
                    (f"of-{name}", f"of-{names[number - 1]}"), directory,
                )
            )
            for number, name in enumerate(names)
        ]  # fmt: skip
        for client in clients:
            client.goes_on()
        say(f"seed {SEED}: {dict(_faults(cluster))}")
        return _ended(cluster, clients), missing


def _faults(cluster: Cluster) -> Counter[str]:
    """Lets things go wrong, one after the other, until the time is over; everything is well again at the end."""
    chance, done = random.Random(SEED), Counter[str]()
    ends_at = time.monotonic() + SECONDS
    while time.monotonic() < ends_at:
        what = chance.choice(("kill", "stop", "pause", "partition"))
        node, lasts_s = chance.choice(cluster.node_ids), chance.uniform(1, FAULT_S_MAX)
        getattr(cluster, what)(node)
        time.sleep(lasts_s)
        match what:
            case "pause":
                cluster.resume(node)
            case "partition":
                cluster.heal()
            case _:
                cluster.restart(node)
        done[what] += 1
        time.sleep(chance.uniform(1, REST_S_MAX))
    wait_until_in_sync(cluster)
    return done


def _ended(cluster: Cluster, clients: list[ClientProcess]) -> dict[str, Outcome]:
    """Has all of them come to the ends of their topics and leave; judges each by its own topic and by what it has read."""
    for client in clients:
        wait_until(cluster, client.writes, all_in_sync)
        client.goes_on()
    for client in clients:
        client.begin_stop()
    for client in clients:
        client.wait_until_done()
    codes = {}
    for client in clients:
        client.has_read(_ends(cluster, client.reads))
        codes[client.name] = client.leave()
    readers = {client.reads: client for client in clients}
    return {
        client.name: Outcome(
            _judged(cluster, client, readers[client.writes]),
            client.errors(),
            codes[client.name],
            client.count(),
        )
        for client in clients
    }


def _judged(cluster: Cluster, writer: ClientProcess, reader: ClientProcess) -> list[str]:
    """Returns what is wrong with the topic that one has written and the other one has read."""
    history = History()
    for client in dict.fromkeys((writer, reader)):
        client.tell(history)
    for partition in _partitions(writer.writes):
        history.poll(f"reader of {partition}", read_partition(cluster, partition))
    history.sends = [each for each in history.sends if each.partition.topic == writer.writes]
    history.polls = [each for each in history.polls if each.reads[0].partition.topic == writer.writes]  # fmt: skip
    history.is_complete = True
    return illegal(history)


def _partitions(topic: str) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for number in range(PARTITIONS)]


def _ends(cluster: Cluster, topic: str) -> dict[int, int]:
    with Consumer(bootstrap_servers=cluster.bootstrap_servers) as consumer:
        ends = consumer.end_offsets(_partitions(topic))
    return {partition.partition: end for partition, end in ends.items()}


@pytest.mark.parametrize("name", MAKES)
def test_a_client_goes_on_through_faults_and_its_history_is_clean(
    outcomes: Outcomes, name: str
) -> None:
    found, missing = outcomes
    if name in missing:
        pytest.skip(missing[name])
    outcome = found[name]
    say(f"{name}: {dict(outcome.said)}; errors: {Counter(outcome.errors)}")
    assert outcome.anomalies == []
    assert outcome.errors == []
    assert outcome.exit_code == 0
