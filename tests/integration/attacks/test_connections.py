"""Clients that send more than they wait for, and take less than they ask for: they slow down themselves."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.protocol.api import ApiKey
from millstream.protocol.generated.api_versions import ApiVersionsRequest
from millstream.protocol.generated.fetch import FetchPartition, FetchRequest, FetchTopic
from millstream.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from millstream.protocol.generated.metadata import MetadataRequest
from millstream.protocol.generated.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from tests.patience import LONG_ENOUGH_S, wait_until
from tests.support.attacks import COMPARES_SPEED, AttackedNode
from tests.support.clients.raw_client import RawClient, batch_of, is_alive, request_frame

MIB = 1024 * 1024
PARTITIONS = 500
PIPELINED = 100_000 if COMPARES_SPEED else 20_000
"""Of `make attacks`, and of every test run."""
API_VERSIONS = request_frame(ApiKey.API_VERSIONS, 3, ApiVersionsRequest("attack", "1"))
ALL_METADATA = request_frame(ApiKey.METADATA, 12, MetadataRequest(topics=None))
FETCH_FOR_EVER = request_frame(
    ApiKey.FETCH,
    12,
    FetchRequest(
        max_wait_ms=2**31 - 1,
        min_bytes=1,
        session_epoch=-1,
        topics=[
            FetchTopic(
                topic="quiet",
                partitions=[
                    FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
                ],
            )
        ],
    ),
)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[AttackedNode]:
    with AttackedNode(tmp_path) as node, node.client() as client:
        client.create_topic("quiet")
        client.create_topic("many", PARTITIONS)
        yield node


@contextlib.contextmanager
def connections(node: AttackedNode, count: int) -> Iterator[list[socket.socket]]:
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(node.client()).socket for _ in range(count)]


def send_what_is_taken(connected: socket.socket, data: bytes) -> int:
    """As much as a socket takes that nobody reads on the other side."""
    connected.settimeout(0.2)
    sent = 0
    with contextlib.suppress(TimeoutError):
        while sent < len(data):
            sent += connected.send(data[sent:])
    return sent


def read_frames(connected: socket.socket, frames: int) -> int:
    """Returns how many came."""
    connected.settimeout(LONG_ENOUGH_S)
    with connected.makefile("rb") as stream:
        for number in range(frames):
            (size,) = struct.unpack(">i", stream.read(4))
            if len(stream.read(size)) < size:
                return number
    return frames


def send_and_read_all(connected: socket.socket, frame: bytes, frames: int) -> int:
    """Returns how many answers came."""
    sending = threading.Thread(target=connected.sendall, args=(frame * frames,))
    sending.start()
    answered = read_frames(connected, frames)
    sending.join(LONG_ENOUGH_S)
    return answered


def is_open(connected: socket.socket) -> bool:
    """Neither closed nor answered."""
    connected.setblocking(False)
    try:
        connected.recv(1)
    except BlockingIOError:
        return True
    except ConnectionError:
        return False
    return False


def test_what_is_pipelined_behind_a_waiting_fetch_keeps_nobody_waiting(node: AttackedNode) -> None:
    with node.attack(), connections(node, 5) as attackers:
        for attacker in attackers:
            attacker.sendall(FETCH_FOR_EVER + API_VERSIONS * 600)
        assert is_alive(node.bootstrap)
        assert all(map(is_open, attackers)), "they wait for their own fetch"


def test_a_client_that_left_while_its_fetch_waits_is_let_go(node: AttackedNode) -> None:
    before = node.resident_bytes()
    with node.attack():
        for _ in range(5):
            with connections(node, 100) as attackers:
                for attacker in attackers:
                    attacker.sendall(FETCH_FOR_EVER + API_VERSIONS * 600)
    assert node.resident_bytes() <= before + 50 * MIB


def test_frames_that_are_only_announced_keep_nobody_waiting(node: AttackedNode) -> None:
    with node.attack(), connections(node, 30) as attackers:
        for attacker in attackers:
            attacker.sendall(struct.pack(">i", 100 * MIB) + b"some")
        assert is_alive(node.bootstrap)
        assert all(map(is_open, attackers)), "others are answered before these are dropped"


def test_very_many_pipelined_requests_leave_others_their_turn(node: AttackedNode) -> None:
    with node.attack(), connections(node, 1) as (attacker,):
        assert send_and_read_all(attacker, API_VERSIONS, PIPELINED) == PIPELINED


def test_dear_requests_on_several_connections_leave_others_their_turn(node: AttackedNode) -> None:
    with node.attack(), connections(node, 4) as attackers:
        for attacker in attackers:
            attacker.sendall(ALL_METADATA * (64 * 1024 // len(ALL_METADATA)))
        assert [read_frames(attacker, 100) for attacker in attackers] == [100] * 4


def test_clients_that_never_read_take_little_memory(node: AttackedNode) -> None:
    before = node.resident_bytes()
    with node.attack(), connections(node, 20) as attackers:
        for attacker in attackers:
            send_what_is_taken(attacker, ALL_METADATA * 20_000)
        assert is_alive(node.bootstrap)
        assert node.resident_bytes() <= before + 50 * MIB


def test_halves_of_large_requests_take_no_more_than_their_bytes(node: AttackedNode) -> None:
    """Above `queued.max.request.bytes` those who hold most of it are not read; the bystander is.

    The first that is not read ends the attack: halves of requests are dropped after 30 s, which a stalled machine may need for all.
    """
    half = struct.pack(">i", 90 * MIB) + bytes(30 * MIB)
    with node.attack(), connections(node, 20) as attackers:
        assert any(send_what_is_taken(attacker, half) < len(half) for attacker in attackers)


def test_produces_without_acknowledgement_are_in_the_log_although_their_client_left(
    node: AttackedNode,
) -> None:
    """Sent at once and not waited for: what is in the socket when its client is gone is still appended."""
    with node.attack():
        with node.client() as client:
            for number in range(2_000):
                client.send(produce_without_acks(b"%d" % number))
        with node.client() as reader:
            assert last_offset(reader) == 2_000


def produce_without_acks(value: bytes) -> bytes:
    data = PartitionProduceData(0, memoryview(batch_of(value)))
    topics = [TopicProduceData(name="quiet", partition_data=[data])]
    return request_frame(
        ApiKey.PRODUCE, 9, ProduceRequest(acks=0, timeout_ms=1_000, topic_data=topics)
    )


def last_offset(client: RawClient) -> int:
    """Once it is reached or nothing comes any more."""
    latest = ListOffsetsPartition(partition_index=0, timestamp=-1)
    request = ListOffsetsRequest(
        replica_id=-1, topics=[ListOffsetsTopic(name="quiet", partitions=[latest])]
    )

    def end() -> int:
        offset: int = client.ask(ApiKey.LIST_OFFSETS, 5, request).topics[0].partitions[0].offset
        return offset

    wait_until(lambda: end() >= 2_000)
    return end()
