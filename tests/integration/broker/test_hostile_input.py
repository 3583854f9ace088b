"""Bytes no client would send: an error or a closed connection, and nobody else notices."""

from __future__ import annotations

import random
import resource
import socket
import struct
import time
import uuid
from collections.abc import Iterator

import psutil
import pytest

from millstream.protocol.api import ApiKey
from millstream.protocol.frames import decode_response
from millstream.protocol.generated.api_versions import ApiVersionsRequest
from millstream.protocol.generated.fetch import FetchPartition, FetchRequest, FetchTopic
from millstream.protocol.generated.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from millstream.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic
from millstream.protocol.generated.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from millstream.testing.broker import Broker
from tests.support.clients.raw_client import RawClient, batch_of, is_alive, request_frame

CORRUPT_MESSAGE, UNKNOWN_TOPIC, OFFSET_OUT_OF_RANGE = 2, 3, 1
METADATA = request_frame(
    ApiKey.METADATA,
    9,
    MetadataRequest(
        topics=[MetadataRequestTopic(name="no-such-topic")], allow_auto_topic_creation=False
    ),
)


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(in_process=False, settings={"socket.request.max.bytes": "2000000"}) as running:
        yield running
        assert is_alive(running.bootstrap_servers)


@pytest.fixture
def bystander(broker: Broker) -> Iterator[RawClient]:
    """A connection that was there before and must still be served afterwards."""
    with RawClient(broker.bootstrap_servers) as client:
        client.ask(ApiKey.API_VERSIONS, 3, ApiVersionsRequest("test", "1"))
        yield client
        answer = client.ask(ApiKey.API_VERSIONS, 3, ApiVersionsRequest("test", "1"))
        assert answer.error_code == 0


def with_header(key: int, version: int, body: bytes = b"") -> bytes:
    frame = struct.pack(">hhih", key, version, 7, -1) + body
    return struct.pack(">i", len(frame)) + frame


CLOSED = {
    "negative length": struct.pack(">i", -1),
    "smallest length": struct.pack(">i", -(2**31)),
    "huge length": struct.pack(">i", 2**31 - 1),
    "length beyond the limit": struct.pack(">i", 2_000_001),
    "empty frame": struct.pack(">i", 0),
    "one byte": struct.pack(">i", 1) + b"\0",
    "three bytes": struct.pack(">i", 3) + b"\0\x12\0",
    "HTTP": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "TLS hello": bytes.fromhex("16030100f1010000ed0303") + bytes(230),
    "unknown API": with_header(999, 0),
    "negative API": with_header(-1, 0),
    "API of the controller": with_header(ApiKey.VOTE, 0),
    "version too high": with_header(ApiKey.METADATA, 14),
    "version too low": with_header(ApiKey.PRODUCE, 2),
    "version negative": with_header(ApiKey.METADATA, -1),
    "version largest": with_header(ApiKey.METADATA, 32767),
    "truncated body": with_header(ApiKey.METADATA, 1, b"\0\0\0\x05\0\x03abc"),
    "array count beyond the frame": with_header(ApiKey.METADATA, 1, struct.pack(">i", 2**31 - 1)),
    "negative array count": with_header(ApiKey.LIST_OFFSETS, 1, struct.pack(">ii", -1, -2)),
    "string length beyond the frame": with_header(ApiKey.METADATA, 1, b"\0\0\0\x01\x7f\xffabc"),
    "negative string length": with_header(ApiKey.METADATA, 1, b"\0\0\0\x01\xff\xfeabc"),
    "endless varint": with_header(ApiKey.METADATA, 9, b"\0" + b"\xff" * 20),
    "tag longer than the frame": with_header(
        ApiKey.METADATA, 9, b"\x01\x00" + b"\xff\xff\xff\xff\x0f"
    ),
}


@pytest.mark.parametrize("data", CLOSED.values(), ids=CLOSED.keys())
def test_what_cannot_be_understood_closes_its_connection_only(
    broker: Broker, bystander: RawClient, data: bytes
) -> None:
    with RawClient(broker.bootstrap_servers) as client:
        client.send(data)
        assert client.is_closed_by_broker()


def test_api_versions_from_the_future_is_answered_and_not_closed(broker: Broker) -> None:
    with RawClient(broker.bootstrap_servers) as client:
        client.send(with_header(ApiKey.API_VERSIONS, 99, b"\0\x02x\x02y\0"))
        correlation_id, answer = decode_response(
            ApiKey.API_VERSIONS, 0, memoryview(client.read_frame())
        )
        assert correlation_id == 7
        assert answer.error_code == 35  # type: ignore[attr-defined]  # it is an ApiVersionsResponse
        assert client.ask(ApiKey.API_VERSIONS, 4, ApiVersionsRequest("x", "1")).error_code == 0


def test_bytes_after_a_valid_body_are_ignored(broker: Broker) -> None:
    with RawClient(broker.bootstrap_servers) as client:
        body = METADATA[4:] + b"trailing"
        client.send(struct.pack(">i", len(body)) + body)
        _, answer = decode_response(ApiKey.METADATA, 9, memoryview(client.read_frame()))
        assert answer.topics[0].error_code == UNKNOWN_TOPIC  # type: ignore[attr-defined]  # MetadataResponse


def test_random_bytes_never_harm_a_bystander(broker: Broker, bystander: RawClient) -> None:
    source = random.Random(20260625)
    for _ in range(150):
        with RawClient(broker.bootstrap_servers) as client:
            client.send(source.randbytes(source.randrange(1, 400)))
    for key in range(93):
        with RawClient(broker.bootstrap_servers) as client:
            client.send(
                with_header(key, source.randrange(14), source.randbytes(source.randrange(200)))
            )
    assert is_alive(broker.bootstrap_servers)


def test_a_client_that_leaves_at_any_byte_of_a_request_harms_nobody(
    broker: Broker, bystander: RawClient
) -> None:
    for cut in range(len(METADATA)):
        with RawClient(broker.bootstrap_servers) as client:
            client.send(METADATA[:cut])
    assert is_alive(broker.bootstrap_servers)


def test_a_request_that_comes_byte_by_byte_is_answered(broker: Broker) -> None:
    with RawClient(broker.bootstrap_servers) as client:
        client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in METADATA:
            client.send(bytes([byte]))
        assert len(client.read_frame()) > 20


def test_ten_thousand_pipelined_requests_are_answered_in_order(broker: Broker) -> None:
    with RawClient(broker.bootstrap_servers) as client:
        requests = [
            request_frame(ApiKey.API_VERSIONS, 0, ApiVersionsRequest(), correlation_id=n)
            for n in range(10_000)
        ]
        for start in range(0, len(requests), 100):
            client.send(b"".join(requests[start : start + 100]))
            for n in range(start, start + 100):
                assert client.read_frame()[:4] == struct.pack(">i", n)


def test_the_same_correlation_id_twice_is_answered_twice(broker: Broker) -> None:
    with RawClient(broker.bootstrap_servers) as client:
        client.send(METADATA + METADATA)
        assert client.read_frame() == client.read_frame()


def test_a_damaged_batch_is_refused_and_the_log_stays_as_it_was(broker: Broker) -> None:
    name = f"damaged-{uuid.uuid4().hex[:6]}"
    with RawClient(broker.bootstrap_servers) as client:
        client.create_topic(name)
        assert client.produce(name, batch_of(b"good")).base_offset == 0
        for position in (17, 21, 57, 62):  # CRC, attributes, record count, records
            damaged = batch_of(b"bad")
            damaged[position] ^= 0x41
            assert client.produce(name, damaged).error_code == CORRUPT_MESSAGE
        for length in (0, 1, 12, 60, 61):
            assert client.produce(name, batch_of(b"cut")[:length]).error_code in {2, 87}
        assert client.produce(name, batch_of(b"good")).base_offset == 1


def test_many_partitions_of_topics_that_do_not_exist_are_each_refused(broker: Broker) -> None:
    partitions = [PartitionProduceData(n, memoryview(batch_of(b"x"))) for n in range(5_000)]
    request = ProduceRequest(
        acks=1,
        timeout_ms=1000,
        topic_data=[TopicProduceData(name="nowhere", partition_data=partitions)],
    )
    with RawClient(broker.bootstrap_servers) as client:
        answer = client.ask(ApiKey.PRODUCE, 9, request)
    assert {each.error_code for each in answer.responses[0].partition_responses} == {UNKNOWN_TOPIC}


@pytest.mark.parametrize("offset", [-1, 5, 2**63 - 1])
def test_a_fetch_beyond_the_log_is_out_of_range(broker: Broker, offset: int) -> None:
    name = f"fetch-{uuid.uuid4().hex[:6]}"
    with RawClient(broker.bootstrap_servers) as client:
        client.create_topic(name)
        client.produce(name, batch_of(b"only"))
        asked = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=2**31 - 1)
        request = FetchRequest(
            max_wait_ms=2**31 - 1,
            min_bytes=2**31 - 1,
            topics=[FetchTopic(topic=name, partitions=[asked])],
        )
        answer = client.ask(ApiKey.FETCH, 11, request)
    assert answer.responses[0].partitions[0].error_code == OFFSET_OUT_OF_RANGE


def test_a_forged_fetch_session_is_refused(broker: Broker) -> None:
    with RawClient(broker.bootstrap_servers) as client:
        answer = client.ask(ApiKey.FETCH, 11, FetchRequest(session_id=12345, session_epoch=3))
    assert answer.error_code == 70


@pytest.mark.parametrize("metadata", [b"", b"\0", b"\xff" * 10, bytes(1_500_000)])
def test_whatever_a_member_says_of_itself_is_only_stored(broker: Broker, metadata: bytes) -> None:
    protocols = [JoinGroupRequestProtocol("range", metadata)]
    request = JoinGroupRequest(
        group_id=f"group-{uuid.uuid4().hex[:6]}", session_timeout_ms=6000, rebalance_timeout_ms=1000,
        protocol_type="consumer", protocols=protocols,
    )  # fmt: skip
    with RawClient(broker.bootstrap_servers) as client:
        answer = client.ask(ApiKey.JOIN_GROUP, 4, request)
        for _ in range(100):
            if answer.error_code not in {15, 16}:  # the coordinator's topic is being created
                break
            client.ask(
                ApiKey.METADATA,
                9,
                MetadataRequest(topics=[MetadataRequestTopic(name="__consumer_offsets")]),
            )
            time.sleep(0.05)
            answer = client.ask(ApiKey.JOIN_GROUP, 4, request)
    assert answer.error_code in {79, 15, 16}  # MEMBER_ID_REQUIRED, or no coordinator


def test_claims_of_large_frames_do_not_take_memory(broker: Broker) -> None:
    assert broker.pid is not None
    before = psutil.Process(broker.pid).memory_info().rss
    clients = [RawClient(broker.bootstrap_servers) for _ in range(100)]
    for client in clients:
        client.send(struct.pack(">i", 1_999_999) + b"\0\0\0\x09")
    assert is_alive(broker.bootstrap_servers)
    assert psutil.Process(broker.pid).memory_info().rss - before < 50_000_000
    for client in clients:
        client.socket.close()


def test_connections_dropped_in_the_middle_of_a_response_harm_nobody(
    broker: Broker, bystander: RawClient
) -> None:
    for _ in range(50):
        client = RawClient(broker.bootstrap_servers)
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.send(METADATA * 50)
        client.socket.close()  # with linger 0 this is a reset
    assert is_alive(broker.bootstrap_servers)


def test_running_out_of_descriptors_is_survived(broker: Broker) -> None:
    """The accept loop pauses instead of spinning or dying, and goes on when descriptors are free again."""
    assert broker.pid is not None
    hard = resource.prlimit(broker.pid, resource.RLIMIT_NOFILE)[1]
    used = psutil.Process(broker.pid).num_fds()
    resource.prlimit(broker.pid, resource.RLIMIT_NOFILE, (used + 10, hard))
    clients = [RawClient(broker.bootstrap_servers) for _ in range(30)]
    clients[0].send(METADATA)
    assert len(clients[0].read_frame()) > 20
    for client in clients:
        client.socket.close()
    resource.prlimit(broker.pid, resource.RLIMIT_NOFILE, (hard, hard))
    assert is_alive(broker.bootstrap_servers)
