"""What many do at the same time adds up in one round of the loop, although each of them gives way: nobody else waits for all of them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from millstream.protocol.api import ApiKey
from millstream.protocol.generated.find_coordinator import FindCoordinatorRequest
from millstream.protocol.generated.share_fetch import (
    FetchPartition,
    FetchTopic,
    ShareFetchRequest,
)
from millstream.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.patience import wait_until
from tests.support.attacks import AttackedNode
from tests.support.clients.raw_client import (
    RawClient,
    batch_of,
    request_frame,
)
from tests.support.clients.raw_share_member import topic_id_of

SHARED_PARTITIONS: Final = 2_000
PARTITIONS: Final = 9_000
CLIENTS: Final = 30
KEYS: Final = 2_500
"""Of a request of a little less than 16 KB: longer ones are decoded in one thread, one after another."""
BACKGROUND: Final = {
    "log.initial.task.delay.ms": "0",
    "log.retention.ms": "-1",
    "log.retention.check.interval.ms": "200",
    "log.flush.scheduler.interval.ms": "200",
    "log.flush.offset.checkpoint.interval.ms": "200",
    "log.flush.start.offset.checkpoint.interval.ms": "200",
    "replica.high.watermark.checkpoint.interval.ms": "200",
    "producer.id.expiration.check.interval.ms": "200",
    "log.cleaner.backoff.ms": "200",
}


class Member:
    """Of the share group `g`, which reads the topic `shared`."""

    def __init__(self, client: RawClient) -> None:
        self._client = client
        self._epoch = 0
        self._session_epoch = 0
        self._topic_id = topic_id_of(client, "shared")

    def beat(self) -> int:
        """Returns how many partitions are assigned, if that is said."""
        find = FindCoordinatorRequest(key_type=0, coordinator_keys=["g"])
        self._client.ask(ApiKey.FIND_COORDINATOR, 4, find)
        request = ShareGroupHeartbeatRequest(
            group_id="g", member_id="m", member_epoch=self._epoch, subscribed_topic_names=["shared"]
        )
        answer = self._client.ask(ApiKey.SHARE_GROUP_HEARTBEAT, 1, request)
        self._epoch = answer.member_epoch
        assigned = answer.assignment.topic_partitions if answer.assignment else []
        return sum(len(each.partitions) for each in assigned)

    def join(self) -> None:
        wait_until(lambda: self.beat() == SHARED_PARTITIONS)

    def fetch(self, max_wait_ms: int) -> list[int]:
        """All partitions the first time. Returns those of which records were acquired."""
        topics = []
        if not self._session_epoch:
            numbers = range(SHARED_PARTITIONS)
            topics = [FetchTopic(self._topic_id, [FetchPartition(each) for each in numbers])]
        request = ShareFetchRequest(
            group_id="g", member_id="m", share_session_epoch=self._session_epoch, topics=topics,
            max_wait_ms=max_wait_ms, min_bytes=1, max_bytes=1 << 20, max_records=500, batch_size=500,
        )  # fmt: skip
        answer = self._client.ask(ApiKey.SHARE_FETCH, 2, request)
        assert answer.error_code == 0, answer
        self._session_epoch += 1
        return [
            partition.partition_index
            for topic in answer.responses
            for partition in topic.partitions
            if partition.acquired_records
        ]


@pytest.fixture
def node(tmp_path: Path) -> Iterator[AttackedNode]:
    with AttackedNode(tmp_path) as node:
        yield node


def test_the_first_member_of_a_share_group_on_thousands_of_partitions_delays_nobody(
    node: AttackedNode,
) -> None:
    with node.client() as client:
        client.create_topic("shared", SHARED_PARTITIONS)
        member = Member(client)
        with node.attack():
            member.join()
        with node.attack():
            assert member.fetch(max_wait_ms=0) == []
        for _ in range(5):
            with node.attack():
                assert member.fetch(max_wait_ms=50) == []
        with node.client() as writer, node.attack():
            for number in (3, 1_999):
                assert writer.produce("shared", batch_of(b"x"), number).error_code == 0
                assert member.fetch(max_wait_ms=60_000) == [number]


def test_many_clients_with_a_long_request_each_delay_nobody(node: AttackedNode) -> None:
    find = FindCoordinatorRequest(
        key_type=0, coordinator_keys=[f"x{number}" for number in range(KEYS)]
    )
    frame = request_frame(ApiKey.FIND_COORDINATOR, 4, find)
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(node.client()) for _ in range(CLIENTS)]
        with node.attack():
            for _ in range(3):
                for client in clients:
                    client.send(frame)
                for client in clients:
                    client.read_frame()


def test_walks_in_the_background_over_thousands_of_partitions_delay_nobody(tmp_path: Path) -> None:
    with AttackedNode(tmp_path, BACKGROUND) as node, node.client() as client:
        client.create_topic("many", PARTITIONS)
        wait_until(lambda: _is_written(client, PARTITIONS - 1))
        checkpoint = tmp_path / "data" / "replication-offset-checkpoint"
        wait_until(lambda: checkpoint.read_text().count("many") >= PARTITIONS)
        with node.attack():
            for number in range(5):
                assert client.produce("many", batch_of(b"x"), number).error_code == 0
                wait_until(partial(_is_told, checkpoint, f"many {number} 1\n"))


def _is_told(checkpoint: Path, line: str) -> bool:
    return line in checkpoint.read_text()


def _is_written(client: RawClient, number: int) -> bool:
    return bool(client.produce("many", batch_of(b"x"), number).error_code == 0)
