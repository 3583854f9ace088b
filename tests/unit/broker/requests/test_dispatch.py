from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from types import MappingProxyType
from typing import Any

import pytest

from millstream.broker.config.broker_config import broker_config
from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.handlers import api_versions
from millstream.broker.handlers.metadata import failed as failed_metadata
from millstream.broker.metrics.node_metrics import NodeMetrics
from millstream.broker.quotas.node_quotas import NodeClocks, NodeQuotas
from millstream.broker.quotas.throttled_clients import QuotaKind
from millstream.broker.requests.api_spec import ApiSpec, Lists, NoAnswer, error_at_the_top
from millstream.broker.requests.dispatch import Dispatcher
from millstream.broker.requests.registry import Handler
from millstream.errors import InvalidTopic, MalformedMessage, ProtocolError
from millstream.metadata.image import MetadataImage
from millstream.metadata.stored_security import quota_entity
from millstream.net.server.client_connection import ClientConnection
from millstream.protocol.api import ApiKey
from millstream.protocol.frames import decode_response, encode_request
from millstream.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from millstream.protocol.generated.heartbeat import HeartbeatRequest, HeartbeatResponse
from millstream.protocol.generated.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from millstream.protocol.generated.produce import ProduceRequest
from millstream.quota.rate import QuotaWindows
from millstream.runtime import Instant
from millstream.security.principal import ANONYMOUS
from tests.support.handler_services import GivenMetadata, GivenQuorum, handler_services

PEER = ClientConnection(1, "10.0.0.9", 5555, "PLAINTEXT")


class StillClock:
    def now(self) -> Instant:
        return Instant(1_700_000_000_000, 5)


def dispatcher(heartbeat: Any = lambda request, context: HeartbeatResponse()) -> Dispatcher:
    handlers = {
        ApiKey.API_VERSIONS: Handler(
            api_versions.API, api_versions.handle, error_at_the_top(ApiKey.API_VERSIONS)
        ),
        ApiKey.HEARTBEAT: Handler(
            ApiSpec(ApiKey.HEARTBEAT, versions=range(1, 5), permissions=()),
            heartbeat,
            error_at_the_top(ApiKey.HEARTBEAT),
        ),
    }
    image = MetadataImage(features=MappingProxyType({"metadata.version": 30}))
    settings = {"millstream.client.telemetry.enable": "false"}
    services = handler_services(
        clock=StillClock(),
        metrics=NodeMetrics(lambda: 0),
        apis=tuple(handler.api for handler in handlers.values()),
        config=DynamicConfig(broker_config(settings)),
        controller=GivenQuorum(1),
        metadata=GivenMetadata(image),
    )
    return Dispatcher(services, handlers)


def request_frame(key: ApiKey, version: int, message: Any) -> memoryview:
    pieces = encode_request(key, version, 42, "test", message)
    return memoryview(b"".join(bytes(piece) for piece in pieces)[4:])  # type: ignore[arg-type]


def ask(to: Dispatcher, key: ApiKey, version: int, message: Any) -> Any:
    """The decoded answer, which must carry the request's correlation id."""
    result = to.handle(request_frame(key, version, message), PEER)
    assert isinstance(result, list)
    correlation_id, response = decode_response(
        key, version, memoryview(b"".join(map(bytes, result))[4:])
    )
    assert correlation_id == 42
    return response


def test_a_handler_sees_who_asks_and_when() -> None:
    seen = []

    def heartbeat(request: HeartbeatRequest, context: Any) -> HeartbeatResponse:
        seen.append(
            (
                request.group_id,
                context.version,
                context.client_id,
                context.client_host,
                context.listener_name,
                context.connection_id,
                context.connection.principal,
                context.now.wall_ms,
            )
        )
        return HeartbeatResponse()

    ask(dispatcher(heartbeat), ApiKey.HEARTBEAT, 3, HeartbeatRequest(group_id="g"))
    assert seen == [("g", 3, "test", "10.0.0.9", "PLAINTEXT", 1, ANONYMOUS, 1_700_000_000_000)]


def test_an_error_of_the_protocol_is_the_apis_answer() -> None:
    def heartbeat(request: HeartbeatRequest, context: Any) -> HeartbeatResponse:
        raise InvalidTopic

    assert ask(dispatcher(heartbeat), ApiKey.HEARTBEAT, 4, HeartbeatRequest()).error_code == 17


def test_anything_unexpected_is_logged_and_told_as_unknown(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def heartbeat(request: HeartbeatRequest, context: Any) -> HeartbeatResponse:
        raise ZeroDivisionError("oops")

    assert ask(dispatcher(heartbeat), ApiKey.HEARTBEAT, 4, HeartbeatRequest()).error_code == -1
    assert "ZeroDivisionError: oops" in caplog.text
    assert len(caplog.records) == 1


def test_an_answer_that_cannot_be_encoded_is_an_unexpected_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.CRITICAL):
        answer = ask(
            dispatcher(lambda request, context: HeartbeatResponse(error_code=1 << 40)),
            ApiKey.HEARTBEAT, 4, HeartbeatRequest(),
        )  # fmt: skip
    assert answer.error_code == -1


async def test_what_must_wait_is_answered_when_it_is_done_or_has_failed() -> None:
    async def heartbeat(request: HeartbeatRequest, context: Any) -> HeartbeatResponse:
        if request.group_id == "bad":
            raise InvalidTopic
        return HeartbeatResponse(error_code=27)

    codes = []
    for group in ("good", "bad"):
        frame = request_frame(ApiKey.HEARTBEAT, 4, HeartbeatRequest(group_id=group))
        result = dispatcher(heartbeat).handle(frame, PEER)
        assert isinstance(result, Awaitable)
        answer = await result
        assert answer is not None
        body = memoryview(b"".join(map(bytes, answer))[4:])  # type: ignore[arg-type]
        codes.append(decode_response(ApiKey.HEARTBEAT, 4, body)[1].error_code)  # type: ignore[attr-defined]
    assert codes == [27, 17]


def test_no_answer_stays_no_answer() -> None:
    frame = request_frame(ApiKey.HEARTBEAT, 4, HeartbeatRequest())
    assert dispatcher(lambda request, context: None).handle(frame, PEER) is None


def test_a_failure_that_nobody_wants_to_hear_of_closes_the_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def heartbeat(request: HeartbeatRequest, context: Any) -> HeartbeatResponse:
        raise NoAnswer("acks=0")

    with pytest.raises(NoAnswer):
        dispatcher(heartbeat).handle(request_frame(ApiKey.HEARTBEAT, 4, HeartbeatRequest()), PEER)
    assert not caplog.records


async def test_who_wants_no_answer_hears_of_a_late_failure_by_the_end_of_the_connection_too(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def heartbeat(request: HeartbeatRequest, context: Any) -> HeartbeatResponse:
        raise NoAnswer("acks=0")

    frame = request_frame(ApiKey.HEARTBEAT, 4, HeartbeatRequest())
    with pytest.raises(NoAnswer):
        await dispatcher(heartbeat).handle(frame, PEER)
    assert not caplog.records


@pytest.mark.parametrize(
    ("key", "version"), [(999, 0), (-1, 0), (12, 0), (12, 5), (12, -1), (0, 9), (12, 32767)]
)
def test_an_api_or_version_that_is_not_served_closes_the_connection(key: int, version: int) -> None:
    frame = bytearray(request_frame(ApiKey.HEARTBEAT, 3, HeartbeatRequest()))
    frame[:4] = key.to_bytes(2, "big", signed=True) + version.to_bytes(2, "big", signed=True)
    with pytest.raises(ProtocolError):
        dispatcher().handle(memoryview(frame), PEER)


@pytest.mark.parametrize(
    "frame", [b"", b"\x00", b"\x00\x12\x00\x00", b"\x00\x0c\x00\x03\x00\x00\x00\x01\xff\xff\x7f"]
)
def test_a_frame_that_cannot_be_understood_closes_the_connection(frame: bytes) -> None:
    with pytest.raises(MalformedMessage):
        dispatcher().handle(memoryview(bytearray(frame)), PEER)


@pytest.mark.parametrize("version", [5, 100, 32767])
def test_a_too_new_api_versions_is_answered_in_version_zero_with_what_would_be_understood(
    version: int,
) -> None:
    """KIP-511; the list has one entry, ApiVersions itself."""
    frame = bytearray(request_frame(ApiKey.API_VERSIONS, 4, ApiVersionsRequest("x", "1")))
    frame[2:4] = version.to_bytes(2, "big")
    result = dispatcher().handle(memoryview(frame), PEER)
    assert isinstance(result, list)
    body = b"".join(map(bytes, result))[4:]
    assert body == bytes.fromhex("0000002a002300000001001200000004")


def test_only_produces_may_overlap() -> None:
    produce = request_frame(ApiKey.PRODUCE, 9, ProduceRequest())
    heartbeat = request_frame(ApiKey.HEARTBEAT, 4, HeartbeatRequest())
    assert [dispatcher().may_overlap(frame) for frame in (produce, heartbeat, memoryview(b""))] == [
        True,
        False,
        False,
    ]


def answer_to_api_versions(
    version: int, name: str = "apache-kafka-java", software_version: str = "4.3.1"
) -> ApiVersionsResponse:
    request = ApiVersionsRequest(name, software_version) if version >= 3 else ApiVersionsRequest()
    answer = ask(dispatcher(), ApiKey.API_VERSIONS, version, request)
    assert isinstance(answer, ApiVersionsResponse)
    return answer


@pytest.mark.parametrize("version", range(5))
def test_api_versions_lists_what_is_served_and_nothing_else(version: int) -> None:
    answer = answer_to_api_versions(version)
    assert {(each.api_key, each.min_version, each.max_version) for each in answer.api_keys} == {
        (18, 0, 4),
        (12, 1, 4),
    }


def test_version_3_leaves_out_features_whose_lowest_level_is_zero() -> None:
    names = {
        v: [each.name for each in answer_to_api_versions(v).supported_features] for v in (3, 4)
    }
    assert names[3] == ["metadata.version"]
    assert sorted(names[4]) == [
        "eligible.leader.replicas.version", "group.version", "kraft.version", "metadata.version",
        "share.version", "streams.version", "transaction.version",
    ]  # fmt: skip


def test_finalized_features_are_those_of_the_image() -> None:
    answer = answer_to_api_versions(4)
    assert [(each.name, each.max_version_level) for each in answer.finalized_features] == [
        ("kraft.version", 1),
        ("metadata.version", 30),
    ]


@pytest.mark.parametrize(
    ("name", "software_version"), [("", "1"), ("a b", "1"), ("-x", "1"), ("x", "1.0."), ("x", "é")]
)
def test_software_names_with_strange_characters_are_invalid_requests(
    name: str, software_version: str
) -> None:
    assert answer_to_api_versions(3, name, software_version).error_code == 42


def test_of_long_software_names_only_the_beginning_is_kept() -> None:
    """They stay as long as the connection, of which there may be ten thousand."""
    peer = ClientConnection(1, "10.0.0.9", 5555, "PLAINTEXT")
    request = ApiVersionsRequest("x" * 900, "1" * 900)
    dispatcher().handle(request_frame(ApiKey.API_VERSIONS, 3, request), peer)
    assert (peer.software_name, peer.software_version) == ("x" * 256, "1" * 256)


class Paused:
    """A connection, and how long it was paused."""

    def __init__(self) -> None:
        self.waits_ms: list[int] = []
        self.connection = ClientConnection(
            1, "10.0.0.9", 5555, "PLAINTEXT", pause=self.waits_ms.append
        )


def limited(*handler: Any, percentage: float) -> Dispatcher:
    """A dispatcher to which each request seems to take a second."""
    made = dispatcher(*handler)
    seconds = iter(range(100))
    made._now_ns = lambda: next(seconds) * 1_000_000_000
    made._quotas.use({quota_entity([("user", None)]): {"request_percentage": percentage}})
    return made


def test_a_client_above_its_quota_is_told_and_its_connection_waits() -> None:
    client = Paused()
    frame = request_frame(ApiKey.HEARTBEAT, 4, HeartbeatRequest("g", 1, "m"))
    result = limited(percentage=1).handle(frame, client.connection)
    assert isinstance(result, list)
    _, response = decode_response(ApiKey.HEARTBEAT, 4, memoryview(b"".join(map(bytes, result))[4:]))
    assert (response.throttle_time_ms, client.waits_ms) == (1_000, [1_000])


def test_a_client_within_its_quota_does_not_wait() -> None:
    client = Paused()
    frame = request_frame(ApiKey.HEARTBEAT, 4, HeartbeatRequest("g", 1, "m"))
    limited(percentage=99).handle(frame, client.connection)
    assert client.waits_ms == []


async def test_a_wait_that_the_controller_found_counts_where_it_is_the_longer() -> None:
    async def later(_request: HeartbeatRequest, _context: Any) -> HeartbeatResponse:
        return HeartbeatResponse(throttle_time_ms=5_000)

    client = Paused()
    frame = request_frame(ApiKey.HEARTBEAT, 4, HeartbeatRequest("g", 1, "m"))
    waiting = limited(later, percentage=1).handle(frame, client.connection)
    assert isinstance(waiting, Awaitable)
    await waiting
    assert client.waits_ms == [5_000]


def measured(made: Dispatcher, now_ns: list[int], percentage: float) -> NodeQuotas:
    """Quotas of a dispatcher whose requests are measured by a clock that the test moves."""
    made._now_ns = lambda: now_ns[0]
    made._quotas = quotas = NodeQuotas(
        QuotaWindows(), QuotaWindows(), StillClock(), NodeClocks(made._now_ns, lambda: 0)
    )
    quotas.use({quota_entity([("user", None)]): {"request_percentage": percentage}})
    return quotas


async def test_of_a_request_in_parts_each_part_is_charged_and_no_turn_of_others() -> None:
    now_ns = [0]

    async def metadata(request: MetadataRequest, _context: Any) -> MetadataResponse:
        now_ns[0] += 1_000_000_000
        asyncio.get_running_loop().call_soon(wait)
        return MetadataResponse(topics=[])

    def wait() -> None:
        now_ns[0] += 50_000_000_000  # others, before the next part

    key = ApiKey.METADATA
    lists = (Lists(("topics",), ("topics",)),)
    spec = ApiSpec(key, versions=range(14), permissions=(), lists=lists)
    handler = Handler(spec, metadata, failed_metadata)
    services = handler_services(
        clock=StillClock(), metrics=NodeMetrics(lambda: 0), controller=GivenQuorum(1)
    )
    made, client = Dispatcher(services, {key: handler}), Paused()
    quotas = measured(made, now_ns, percentage=100)
    asked = MetadataRequest(topics=[MetadataRequestTopic(name=f"{n:060}") for n in range(200)])
    result = made.handle(request_frame(key, 9, asked), client.connection)
    assert isinstance(result, Awaitable)
    await result
    ((_, rate),) = quotas.rates(QuotaKind.REQUEST)
    assert rate.per_second(5) == 40, "four parts of a second each, of ten seconds"


async def test_what_a_request_does_after_its_wait_is_charged_and_the_wait_is_not() -> None:
    """A request in parts works mostly after its first wait."""
    now_ns, released = [0], asyncio.Event()

    async def later(_request: HeartbeatRequest, _context: Any) -> HeartbeatResponse:
        now_ns[0] += 1_000_000_000
        await released.wait()
        now_ns[0] += 2_000_000_000
        return HeartbeatResponse()

    made, client = dispatcher(later), Paused()
    quotas = measured(made, now_ns, percentage=29)
    frame = request_frame(ApiKey.HEARTBEAT, 4, HeartbeatRequest("g", 1, "m"))
    task = asyncio.ensure_future(made.handle(frame, client.connection))
    await asyncio.sleep(0)
    now_ns[0] += 100_000_000_000
    released.set()
    await task
    ((_, rate),) = quotas.rates(QuotaKind.REQUEST)
    assert rate.per_second(5) == 30, "three seconds of ten"
    assert client.waits_ms == [345]


def test_a_request_that_is_refused_is_charged_too() -> None:
    def refuse(_request: HeartbeatRequest, _context: Any) -> HeartbeatResponse:
        raise InvalidTopic

    client = Paused()
    frame = request_frame(ApiKey.HEARTBEAT, 4, HeartbeatRequest("g", 1, "m"))
    result = limited(refuse, percentage=1).handle(frame, client.connection)
    assert isinstance(result, list)
    _, response = decode_response(ApiKey.HEARTBEAT, 4, memoryview(b"".join(map(bytes, result))[4:]))
    assert (response.error_code, response.throttle_time_ms) == (InvalidTopic.code, 1_000)
    assert client.waits_ms == [1_000]
