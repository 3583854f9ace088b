"""Groups whose members join, leave and are killed at random, over a broker that is killed too (both protocols).

A few seconds each in `make test`; `make soak` runs for as long as MILLSTREAM_SOAK_SECONDS says.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from millstream.protocol.api import ApiKey
from millstream.protocol.generated.consumer_group_describe import ConsumerGroupDescribeRequest
from millstream.protocol.generated.consumer_protocol import ConsumerProtocolAssignment
from millstream.protocol.generated.describe_groups import DescribeGroupsRequest
from millstream.protocol.generated.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from millstream.testing.broker import Broker
from tests.support.clients.raw_client import RawClient

SOAK_SECONDS = float(os.environ.get("MILLSTREAM_SOAK_SECONDS", "4"))
PARTITIONS = 6
MEMBERS_MAX = 8
LIMIT_S = 60
MEMBER = Path(__file__).with_name("member.py")

pytestmark = [pytest.mark.compat, pytest.mark.soak, pytest.mark.timeout(SOAK_SECONDS * 3 + 120)]

FAST = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "300",
    "group.consumer.heartbeat.interval.ms": "300",
    "group.consumer.min.session.timeout.ms": "3000",
    "group.consumer.session.timeout.ms": "3000",
    "group.consumer.assignment.interval.ms": "300",
}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(in_process=False, settings=FAST) as running:
        yield running


@dataclass
class Churn:
    """A topic that grows, a group that reads it, and what both have come to."""

    broker: Broker
    protocol: str
    directory: Path
    topic: str
    group: str
    random: random.Random = field(default_factory=lambda: random.Random(4))
    members: list[subprocess.Popen[bytes]] = field(default_factory=list)
    started: int = 0
    sent: Counter[int] = field(default_factory=Counter)
    committed: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        servers = {"bootstrap.servers": self.broker.bootstrap_servers}
        self.producer = Producer({**servers, "enable.idempotence": True})
        with RawClient(self.broker.bootstrap_servers) as client:
            client.create_topic(self.topic, PARTITIONS)

    def send(self, count: int) -> None:
        for _ in range(count):
            partition = self.random.randrange(PARTITIONS)
            self.producer.produce(self.topic, b"x", partition=partition)
            self.sent[partition] += 1
        assert self.producer.flush(LIMIT_S) == 0

    def start_member(self) -> None:
        self.started += 1
        arguments = (self.group, self.protocol, self.topic, str(self.directory / str(self.started)))
        command = [sys.executable, str(MEMBER), self.broker.bootstrap_servers, *arguments]
        self.members.append(subprocess.Popen(command, stderr=subprocess.DEVNULL))

    def end_member(self, *, by_force: bool) -> None:
        member = self.members.pop(self.random.randrange(len(self.members)))
        if by_force:
            member.kill()
        else:
            member.terminate()
        member.wait(LIMIT_S)

    def look_at_commits(self) -> None:
        """No committed offset goes back."""
        asked = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(self.group, topics=None)])
        answer = self.ask(ApiKey.OFFSET_FETCH, 9, asked)
        for topic in answer.groups[0].topics if answer is not None else ():
            for each in topic.partitions:
                before = self.committed.get(each.partition_index, 0)
                assert each.committed_offset >= before, f"{each.partition_index}: {before} before"
                self.committed[each.partition_index] = each.committed_offset

    def look_at_owners(self) -> None:
        """Each partition has one owner at most."""
        owned = Counter(self.owned())
        assert all(count == 1 for count in owned.values()), owned

    def owned(self) -> Iterator[int]:
        if self.protocol == "consumer":
            asked = ConsumerGroupDescribeRequest([self.group])
            answer = self.ask(ApiKey.CONSUMER_GROUP_DESCRIBE, 1, asked)
            for member in answer.groups[0].members if answer is not None else ():
                for topic in member.assignment.topic_partitions:
                    yield from topic.partitions
            return
        answer = self.ask(ApiKey.DESCRIBE_GROUPS, 5, DescribeGroupsRequest([self.group]))
        if answer is None or answer.groups[0].group_state != "Stable":
            return
        for member in answer.groups[0].members:
            if member.member_assignment:
                view = memoryview(bytes(member.member_assignment))
                assignment, _ = ConsumerProtocolAssignment.decode(view, 2, 0)
                for topic in assignment.assigned_partitions:
                    yield from topic.partitions

    def ask(self, key: ApiKey, version: int, request: Any) -> Any:  # Any: whichever API
        """None while the broker is down. A request that is not answered fails the test."""
        try:
            with RawClient(self.broker.bootstrap_servers) as client:
                return client.ask(key, version, request)
        except ConnectionError:
            return None

    def read(self) -> dict[int, set[int]]:
        """Offsets by partition, of all members that ever were."""
        offsets: dict[int, set[int]] = {partition: set() for partition in range(PARTITIONS)}
        for file in self.directory.iterdir():
            for line in file.read_text().splitlines():
                partition, _, offset = line.partition(" ")
                if offset:
                    offsets[int(partition)].add(int(offset))
        return offsets

    def end(self) -> None:
        while self.members:
            self.end_member(by_force=True)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_churn_loses_no_record_and_no_commit(broker: Broker, tmp_path: Path, protocol: str) -> None:
    churn = Churn(broker, protocol, tmp_path, f"topic-{protocol}", f"group-{protocol}")
    try:
        for _ in range(3):
            churn.start_member()
        _disturb(churn)
        churn.start_member()
        assert _committed_in_the_end(churn) == dict(churn.sent)
        assert churn.read() == {p: set(range(churn.sent[p])) for p in range(PARTITIONS)}
    finally:
        churn.end()


def _disturb(churn: Churn) -> None:
    ends_at = time.monotonic() + SOAK_SECONDS
    kills_broker_at = time.monotonic() + SOAK_SECONDS / 2
    while time.monotonic() < ends_at:
        churn.send(100)
        choice = churn.random.random()
        if choice < 0.4 and len(churn.members) < MEMBERS_MAX:
            churn.start_member()
        elif choice < 0.7 and len(churn.members) > 1:
            churn.end_member(by_force=choice < 0.55)
        if time.monotonic() > kills_broker_at:
            kills_broker_at = time.monotonic() + max(SOAK_SECONDS / 2, 30)
            churn.broker.kill()
            churn.broker.start()
        churn.look_at_commits()
        churn.look_at_owners()
        time.sleep(0.3)


def _committed_in_the_end(churn: Churn) -> dict[int, int]:
    """By partition, when everything that was sent is committed, or after a minute."""
    deadline = time.monotonic() + LIMIT_S
    while churn.committed != dict(churn.sent) and time.monotonic() < deadline:
        churn.look_at_commits()
        time.sleep(0.2)
    return churn.committed
