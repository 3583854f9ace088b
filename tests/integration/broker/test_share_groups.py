"""Share groups on a running node, asked in raw requests (KIP-932)."""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer

from millstream.protocol.api import ApiKey
from millstream.protocol.generated.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from millstream.protocol.generated.delete_groups import DeleteGroupsRequest
from millstream.protocol.generated.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from millstream.protocol.generated.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from millstream.protocol.generated.list_groups import ListGroupsRequest
from millstream.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from millstream.testing.broker import Broker
from tests.patience import LONG_ENOUGH_MS, LONG_ENOUGH_S, wait_until
from tests.support.clients.raw_client import RawClient, batch_of
from tests.support.clients.raw_share_member import RawShareMember, configure_group

SETTINGS = {
    "group.share.assignment.interval.ms": "0",
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.max.share.sessions": "3",
}
ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4
NON_EMPTY_GROUP, INVALID_RECORD_STATE = 68, 121
SESSION_NOT_FOUND, INVALID_SESSION_EPOCH, SESSION_LIMIT_REACHED = 122, 123, 133
A_MOMENT_MS = 200
"""How long a fetch waits that is to bring nothing."""
TOO_LONG_MS = 2 * LONG_ENOUGH_MS
"""Longer than a client waits for an answer: only a fetch that ends before its own time is answered."""


@pytest.fixture(scope="module")
def shared() -> Iterator[Broker]:
    with Broker(settings=SETTINGS) as running:
        yield running


class World:
    """One topic with one partition, one group that reads it from the start, and its members."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.topic = f"topic-{uuid.uuid4().hex[:8]}"
        self.group_id = f"group-{uuid.uuid4().hex[:8]}"
        self.client = RawClient(broker.bootstrap_servers)
        self.client.create_topic(self.topic)
        self.members: list[RawShareMember] = []
        self.configure(auto_offset_reset="earliest")

    def configure(self, **settings: object) -> None:
        configure_group(self.client, self.group_id, **settings)

    def produce(self, *sizes: int) -> None:
        for size in sizes:
            assert self.client.produce(self.topic, batch_of(*[b"x"] * size)).error_code == 0

    def member(self, name: str) -> RawShareMember:
        """One that may read: somebody of the group has been assigned the partition."""
        member = RawShareMember(
            self.broker.bootstrap_servers, self.group_id, name.ljust(22, "A"), self.topic
        )
        self.members.append(member)
        return member

    def joined(self, name: str) -> RawShareMember:
        return self.member(name).join()

    def offsets(self) -> tuple[int, int]:
        """(start offset, lag)"""
        topics = [DescribeShareGroupOffsetsRequestTopic(self.topic, [0])]
        request = DescribeShareGroupOffsetsRequest(
            [DescribeShareGroupOffsetsRequestGroup(self.group_id, topics)]
        )
        answer = self.client.ask(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, 1, request)
        partition = answer.groups[0].topics[0].partitions[0]
        assert partition.error_code == 0, answer
        return partition.start_offset, partition.lag

    def lag(self) -> int:
        """The start offset alone says little: it is stored with the change after the one that moved it."""
        return self.offsets()[1]

    def close(self) -> None:
        for member in self.members:
            member.client.socket.close()
        self.client.socket.close()


@pytest.fixture
def world(shared: Broker) -> Iterator[World]:
    world = World(shared)
    yield world
    world.close()


@contextlib.contextmanager
def soon(act: Callable[..., object], *arguments: object) -> Iterator[None]:
    """While the block runs."""
    timer = threading.Timer(0.2, act, arguments)
    timer.start()
    yield
    timer.join()


def log_start(client: RawClient, topic: str) -> int:
    partitions = [ListOffsetsPartition(0, timestamp=-2)]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(topic, partitions)])
    answer = client.ask(ApiKey.LIST_OFFSETS, 7, request)
    return int(answer.topics[0].partitions[0].offset)


def test_where_nothing_is_nobody_has_begun(world: World) -> None:
    """Neither an unknown topic nor an unknown partition is an error, as in Kafka."""
    asked = [
        DescribeShareGroupOffsetsRequestTopic("no such topic", [0]),
        DescribeShareGroupOffsetsRequestTopic(world.topic, [0, 7, -1]),
    ]
    request = DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup("g", asked)])
    (group,) = world.client.ask(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, 1, request).groups
    assert [
        (p.partition_index, p.start_offset, p.lag, p.error_code)
        for topic in group.topics
        for p in topic.partitions
    ] == [(0, -1, -1, 0), (0, -1, -1, 0), (7, -1, -1, 0), (-1, -1, -1, 0)]


# --- acquire, acknowledge


def test_what_is_accepted_is_finished(world: World) -> None:
    world.produce(3, 2)
    ann = world.joined("ann")
    assert ann.acquire() == [(0, 4, 1)]
    assert ann.acknowledge((0, 4, [ACCEPT])).error_code == 0
    assert world.lag() == 0
    assert world.member("bob").acquire(max_wait_ms=A_MOMENT_MS) == []


def test_records_and_ranges_come_together(world: World) -> None:
    world.produce(3)
    answer = world.joined("ann").fetch()
    (partition,) = answer.responses[0].partitions
    assert bytes(partition.records) != b""
    assert answer.acquisition_lock_timeout_ms == 30_000


def test_a_fetch_acknowledges_what_the_last_one_brought(world: World) -> None:
    world.produce(4)
    ann = world.joined("ann")
    ann.acquire()
    answer = ann.fetch((0, 1, [ACCEPT]), (2, 3, [RELEASE, REJECT]))
    (partition,) = answer.responses[0].partitions
    assert partition.acknowledge_error_code == 0
    again = [(a.first_offset, a.last_offset, a.delivery_count) for a in partition.acquired_records]
    assert again == [(2, 2, 2)], "what was released comes back"


def test_what_is_not_acquired_cannot_be_acknowledged(world: World) -> None:
    world.produce(2)
    ann = world.joined("ann")
    ann.acquire()
    ann.acknowledge((0, 1, [RELEASE]))
    assert ann.acknowledge((0, 1, [ACCEPT])).error_code == INVALID_RECORD_STATE
    assert world.lag() == 2


def test_a_record_that_is_released_too_often_is_given_up(world: World) -> None:
    world.configure(delivery_count_limit=2)
    world.produce(1)
    ann = world.joined("ann")
    for count in (1, 2):
        assert ann.acquire() == [(0, 0, count)]
        ann.acknowledge((0, 0, [RELEASE]))
    assert ann.acquire(max_wait_ms=A_MOMENT_MS) == []
    assert world.lag() == 0


def test_a_strict_limit_is_kept(world: World) -> None:
    world.produce(5, 5)
    ann = world.joined("ann")
    assert ann.acquire(share_acquire_mode=1, max_records=7) == [(0, 6, 1)]


def test_a_lock_runs_out(world: World) -> None:
    world.configure(record_lock_duration_ms=1_000)
    world.produce(2)
    ann = world.joined("ann")
    began = time.monotonic()
    ann.acquire()
    assert world.member("bob").acquire(max_wait_ms=TOO_LONG_MS) == [(0, 1, 2)]
    assert time.monotonic() - began > 0.9
    assert ann.acknowledge((0, 1, [ACCEPT])).error_code == INVALID_RECORD_STATE


# --- waiting


def test_a_fetch_waits_for_records(world: World) -> None:
    ann = world.joined("ann")
    assert ann.acquire(max_wait_ms=A_MOMENT_MS) == []
    with soon(world.produce, 1):
        assert ann.acquire(max_wait_ms=TOO_LONG_MS) == [(0, 0, 1)]


def test_a_fetch_waits_for_records_that_somebody_gives_back(world: World) -> None:
    world.produce(1)
    ann, bob = world.joined("ann"), world.member("bob")
    ann.acquire()
    with soon(ann.acknowledge, (0, 0, [RELEASE])):
        assert bob.acquire(max_wait_ms=TOO_LONG_MS) == [(0, 0, 2)]


# --- sessions


def test_records_of_a_closed_session_go_to_others(world: World) -> None:
    world.produce(2)
    ann = world.joined("ann")
    ann.acquire()
    ann.close_session()
    assert world.member("bob").acquire() == [(0, 1, 2)]
    assert ann.fetch(epoch=1).error_code == SESSION_NOT_FOUND


def test_records_of_a_lost_connection_go_to_others(world: World) -> None:
    world.produce(2)
    ann, bob = world.joined("ann"), world.member("bob")
    ann.acquire()
    assert bob.acquire(max_wait_ms=A_MOMENT_MS) == []
    ann.client.socket.close()
    assert bob.acquire(max_wait_ms=TOO_LONG_MS) == [(0, 1, 2)]


def test_session_epochs_are_checked(world: World) -> None:
    ann = world.joined("ann")
    assert ann.fetch(epoch=3).error_code == SESSION_NOT_FOUND
    ann.acquire(max_wait_ms=A_MOMENT_MS)
    assert ann.fetch(epoch=5).error_code == INVALID_SESSION_EPOCH
    assert ann.fetch(epoch=1, max_wait_ms=A_MOMENT_MS).error_code == 0


def test_there_are_only_so_many_sessions(world: World) -> None:
    world.joined("m0").acquire(max_wait_ms=A_MOMENT_MS)
    for number in (1, 2):
        world.member(f"m{number}").acquire(max_wait_ms=A_MOMENT_MS)
    late = world.member("m3")
    assert late.fetch(max_wait_ms=A_MOMENT_MS).error_code == SESSION_LIMIT_REACHED
    world.members[0].close_session()
    assert late.fetch(epoch=0, max_wait_ms=A_MOMENT_MS).error_code == 0


# --- where a group begins, and the log underneath


def test_a_group_begins_at_the_end_by_default(world: World) -> None:
    world.configure(auto_offset_reset="latest")
    world.produce(3)
    ann = world.joined("ann")
    assert ann.acquire(max_wait_ms=A_MOMENT_MS) == []
    world.produce(1)
    assert ann.acquire() == [(3, 3, 1)]


def test_a_group_begins_with_records_of_some_age(world: World) -> None:
    world.produce(2)  # of the year 2023
    sender = Producer({"bootstrap.servers": world.broker.bootstrap_servers})
    sender.produce(world.topic, b"new")
    assert sender.flush(LONG_ENOUGH_S) == 0
    world.configure(auto_offset_reset="by_duration:PT1H")
    assert world.joined("ann").acquire() == [(2, 2, 1)]


def test_records_below_the_start_of_the_log_are_finished(world: World) -> None:
    world.produce(5, 5)
    ann = world.joined("ann")
    assert ann.acquire(max_records=1) == [(0, 4, 1)]
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(world.topic, [DeleteRecordsPartition(0, 7)])],
        timeout_ms=LONG_ENOUGH_MS,
    )
    answer = world.client.ask(ApiKey.DELETE_RECORDS, 2, request)
    assert answer.topics[0].partitions[0].error_code == 0
    assert ann.acquire() == [(7, 9, 1)]


def test_records_of_aborted_transactions_are_hidden_from_who_asks_for_it(world: World) -> None:
    world.configure(isolation_level="read_committed")
    sender = Producer(
        {"bootstrap.servers": world.broker.bootstrap_servers, "transactional.id": world.topic}
    )
    sender.init_transactions(LONG_ENOUGH_S)
    for value, ends in ((b"no", sender.abort_transaction), (b"yes", sender.commit_transaction)):
        sender.begin_transaction()
        sender.produce(world.topic, value)
        assert sender.flush(LONG_ENOUGH_S) == 0
        ends(LONG_ENOUGH_S)
    ann = world.joined("ann")
    # 0 is aborted; 1 and 3 are the marks of the ends, which consumers acknowledge as gaps
    acquired = ann.acquire()
    offsets = {at for first, last, _ in acquired for at in range(first, last + 1)}
    assert 0 not in offsets
    assert 2 in offsets


def test_a_fetch_reads_on_behind_a_large_aborted_transaction(world: World) -> None:
    world.configure(isolation_level="read_committed")
    sender = Producer(
        {"bootstrap.servers": world.broker.bootstrap_servers, "transactional.id": world.topic}
    )
    sender.init_transactions(LONG_ENOUGH_S)
    sender.begin_transaction()
    for _ in range(20):
        sender.produce(world.topic, b"x" * 100_000)
        assert sender.flush(LONG_ENOUGH_S) == 0
    sender.abort_transaction(LONG_ENOUGH_S)
    world.produce(1)
    ann = world.joined("ann")
    last = ann.acquire(max_bytes=300_000, max_wait_ms=TOO_LONG_MS)[-1]
    assert last == (20, 21, 1), "the mark of the end, and the record behind it"


# --- administration


def test_a_group_is_listed_and_deleted_with_its_state(world: World) -> None:
    world.produce(2)
    ann = world.joined("ann")
    ann.acquire()
    listed = world.client.ask(ApiKey.LIST_GROUPS, 5, ListGroupsRequest(types_filter=["share"]))
    mine = [group for group in listed.groups if group.group_id == world.group_id]
    assert [(group.group_type, group.group_state) for group in mine] == [("share", "Stable")]
    delete = DeleteGroupsRequest([world.group_id])
    refused = world.client.ask(ApiKey.DELETE_GROUPS, 2, delete)
    assert refused.results[0].error_code == NON_EMPTY_GROUP
    ann.acknowledge((0, 1, [ACCEPT]))
    ann.heartbeat(-1)
    assert world.client.ask(ApiKey.DELETE_GROUPS, 2, delete).results[0].error_code == 0
    assert world.joined("bob").acquire() == [(0, 1, 1)], "it begins anew"


def test_offsets_are_set_for_a_group_without_members(world: World) -> None:
    world.produce(5)
    ann = world.joined("ann")
    ann.acquire()
    ann.close_session()
    ann.heartbeat(-1)
    topics = [
        AlterShareGroupOffsetsRequestTopic(
            world.topic, [AlterShareGroupOffsetsRequestPartition(0, 3)]
        )
    ]
    request = AlterShareGroupOffsetsRequest(group_id=world.group_id, topics=topics)
    answer = world.client.ask(ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, request)
    assert answer.responses[0].partitions[0].error_code == 0
    assert world.offsets() == (3, 2)
    assert world.joined("bob").acquire() == [(3, 4, 1)]


# --- a node that goes down


def test_what_was_stored_is_known_after_a_crash() -> None:
    with Broker(in_process=False, settings=SETTINGS) as broker:
        world = World(broker)
        world.produce(6)
        ann = world.joined("ann")
        ann.acquire()
        ann.acknowledge((0, 1, [ACCEPT]), (3, 3, [RELEASE]))
        broker.kill()  # with ann still connected: what she has acquired is not released
        broker.start()
        world.close()
        world.client = RawClient(broker.bootstrap_servers)
        assert world.joined("bob").acquire() == [(2, 2, 1), (3, 3, 2), (4, 5, 1)]
        world.close()


def test_the_log_of_share_state_is_cut_behind_what_is_needed() -> None:
    settings = {
        **SETTINGS,
        "share.coordinator.state.topic.num.partitions": "1",
        "share.coordinator.snapshot.update.records.per.snapshot": "1",
        "share.coordinator.state.topic.prune.interval.ms": "100",
    }
    with Broker(settings=settings) as broker:
        world = World(broker)
        world.produce(*[1] * 8)
        ann = world.joined("ann")
        ann.acquire()
        for offset in range(8):
            ann.acknowledge((offset, offset, [ACCEPT]))
        wait_until(lambda: log_start(world.client, "__share_group_state") > 3)
        broker.restart()
        world.close()
        world.client = RawClient(broker.bootstrap_servers)
        assert world.joined("bob").acquire(max_wait_ms=A_MOMENT_MS) == []
        assert world.lag() == 0
        world.close()
