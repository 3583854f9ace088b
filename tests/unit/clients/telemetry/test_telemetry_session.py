"""What a client pushes to whom and when (KIP-714), and the bytes of it."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pytest

from millstream.broker.telemetry.otlp import MetricPoint, metric_points
from millstream.clients.telemetry.core.metrics import Measured, Metric, metrics_of
from millstream.clients.telemetry.core.otlp import DataPoint, metrics_data
from millstream.clients.telemetry.core.session import TelemetrySession
from millstream.errors import (
    ClusterAuthorizationFailed,
    InvalidRecord,
    InvalidRequest,
    KafkaError,
    NetworkException,
    TelemetryTooLarge,
    ThrottlingQuotaExceeded,
    UnknownSubscriptionId,
    UnsupportedCompressionType,
    UnsupportedVersion,
)
from millstream.model import ZERO_UUID, Uuid
from millstream.net.client.core.addresses import Address
from millstream.net.client.core.traffic import Traffic
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsResponse,
)
from millstream.protocol.generated.push_telemetry import (
    PushTelemetryRequest,
    PushTelemetryResponse,
)
from millstream.records.compression import Codec, decompress
from millstream.runtime import Instant

ID = Uuid(b"0123456789abcdef")
WALL_MS = 1_700_000_000_000
COUNT = "org.apache.kafka.consumer.connection.creation.total"
RATE = "org.apache.kafka.consumer.connection.creation.rate"


class Halfway:
    """Chance that is always 0.25."""

    def random(self) -> float:
        return 0.25

    def randrange(self, stop: int) -> int:
        return stop // 4

    def randbytes(self, count: int) -> bytes:
        return bytes(count)


def at(ms: int) -> Instant:
    return Instant(WALL_MS + ms, ms)


def session(**resource: str) -> TelemetrySession:
    return TelemetrySession(resource, Halfway(), at(0))


def subscribe(
    telemetry: TelemetrySession,
    *metrics: str,
    interval_ms: int = 1_000,
    codecs: Sequence[int] = (),
    delta: bool = False,
    error: type[KafkaError] | None = None,
    at_ms: int = 0,
) -> None:
    telemetry.handle_subscription(
        GetTelemetrySubscriptionsResponse(
            error_code=error.code if error else 0,
            client_instance_id=ID,
            subscription_id=42,
            accepted_compression_types=list(codecs),
            push_interval_ms=interval_ms,
            delta_temporality=delta,
            requested_metrics=list(metrics),
        ),
        at_ms,
    )


def answer_push(
    telemetry: TelemetrySession, error: type[KafkaError] | None = None, at_ms: int = 0
) -> None:
    telemetry.handle_push(PushTelemetryResponse(error_code=error.code if error else 0), at_ms)


def pushed(request: PushTelemetryRequest) -> list[MetricPoint]:
    return list(metric_points(decompress(Codec(request.compression_type), request.metrics)))


# ---- subscribing


def test_a_client_asks_at_once_and_is_given_its_id() -> None:
    telemetry = session()
    assert telemetry.due_ms(0) == 0
    assert telemetry.plan_subscription().client_instance_id == ZERO_UUID
    subscribe(telemetry, "*")
    assert telemetry.client_instance_id == ID
    assert telemetry.plan_subscription().client_instance_id == ID


def test_the_first_push_is_somewhere_between_half_and_one_and_a_half_intervals_away() -> None:
    telemetry = session()
    subscribe(telemetry, "*", interval_ms=1_000, at_ms=100)
    assert telemetry.due_ms(100) == 750


def test_who_is_asked_for_nothing_asks_again_after_the_interval() -> None:
    telemetry = session()
    subscribe(telemetry, interval_ms=1_000)
    assert telemetry.subscription is None
    assert telemetry.due_ms(0) == 1_000


def test_an_interval_that_is_none_becomes_five_minutes() -> None:
    telemetry = session()
    subscribe(telemetry, interval_ms=0)
    assert telemetry.due_ms(0) == 300_000


# ---- pushing


def test_a_push_names_the_subscription_and_what_is_wanted_of_it() -> None:
    telemetry = session(group_id="g")
    subscribe(telemetry, "org.apache.kafka.consumer.connection.creation.t", "other")
    metrics = [Metric(RATE, 0.5), Metric(COUNT, 3, is_sum=True), Metric("mine", 1)]
    request = telemetry.plan_push(metrics, at(900))
    assert (request.client_instance_id, request.subscription_id) == (ID, 42)
    assert (request.terminating, request.compression_type) == (False, 0)
    assert pushed(request) == [MetricPoint(COUNT, {}, 3.0, WALL_MS + 900)]


def test_pushes_come_once_an_interval() -> None:
    telemetry = session()
    subscribe(telemetry, "*", interval_ms=1_000)
    answer_push(telemetry, at_ms=750)
    assert telemetry.due_ms(750) == 1_000


@pytest.mark.parametrize("codec", list(Codec))
def test_the_first_accepted_compression_that_we_know_is_used(codec: Codec) -> None:
    telemetry = session()
    subscribe(telemetry, "*", codecs=[99, codec, Codec.GZIP])
    request = telemetry.plan_push([Metric(RATE, 0.5)], at(0))
    assert request.compression_type == codec
    assert [point.value for point in pushed(request)] == [0.5]


def test_sums_add_up_from_the_start_unless_deltas_are_wanted() -> None:
    telemetry = session()
    subscribe(telemetry, "*")
    total = [pushed(telemetry.plan_push([Metric(COUNT, n, is_sum=True)], at(0))) for n in (3, 5)]
    assert [point.value for points in total for point in points] == [3.0, 5.0]
    subscribe(telemetry, "*", delta=True)
    deltas = [pushed(telemetry.plan_push([Metric(COUNT, n, is_sum=True)], at(0))) for n in (5, 9)]
    assert [point.value for points in deltas for point in points] == [5.0, 4.0]


def test_the_last_push_says_so() -> None:
    telemetry = session()
    subscribe(telemetry, "*")
    assert telemetry.plan_push([], at(0), terminating=True).terminating


# ---- errors


@pytest.mark.parametrize("error", [UnknownSubscriptionId, UnsupportedCompressionType])
def test_what_was_agreed_on_may_change_and_is_asked_for_at_once(error: type[KafkaError]) -> None:
    telemetry = session()
    subscribe(telemetry, "*")
    answer_push(telemetry, error, at_ms=500)
    assert telemetry.subscription is None
    assert telemetry.due_ms(500) == 0
    assert telemetry.plan_subscription().client_instance_id == ID


@pytest.mark.parametrize("error", [TelemetryTooLarge, ThrottlingQuotaExceeded])
def test_what_is_too_much_waits_for_an_interval(error: type[KafkaError]) -> None:
    telemetry = session()
    subscribe(telemetry, "*", interval_ms=2_000)
    answer_push(telemetry, error, at_ms=500)
    assert telemetry.subscription is None
    assert telemetry.due_ms(500) == 2_000


def test_who_comes_too_early_with_the_first_question_waits_for_five_minutes() -> None:
    telemetry = session()
    subscribe(telemetry, error=ThrottlingQuotaExceeded)
    assert telemetry.due_ms(0) == 300_000


@pytest.mark.parametrize("error", [InvalidRequest, InvalidRecord, UnsupportedVersion])
def test_an_error_that_no_retry_cures_ends_it(error: type[KafkaError]) -> None:
    telemetry = session()
    subscribe(telemetry, "*")
    answer_push(telemetry, error)
    assert telemetry.due_ms(0) is None
    assert isinstance(telemetry.ended_by, error)


def test_a_broker_that_does_not_answer_is_left_alone_for_five_minutes() -> None:
    telemetry = session()
    telemetry.handle_failure(NetworkException(), 100)
    assert telemetry.due_ms(100) == 300_000
    telemetry.handle_failure(ClusterAuthorizationFailed(), 100)
    assert telemetry.due_ms(100) is None


# ---- what is measured


def test_averages_and_maxima_are_of_the_time_since_they_were_taken() -> None:
    traffic = Traffic()
    here, there, unknown = Address("h", 1), Address("h", 2), Address("h", 3)
    for address, key, elapsed_ms in (
        (here, ApiKey.FETCH, 10.0),
        (here, ApiKey.OFFSET_COMMIT, 30.0),
        (there, ApiKey.FETCH, 50.0),
        (unknown, ApiKey.METADATA, 1_000.0),
    ):
        traffic.record_answer(address, key, elapsed_ms)
    traffic.connections_made = 3
    measured = Measured(traffic.take(), 2, 4_000, {here: 1, there: 2})
    values = {
        (metric.name.removeprefix("org.apache.kafka."), *metric.attributes.values()): metric.value
        for metric in metrics_of("consumer", measured)
    }
    assert values == {
        ("consumer.connection.creation.rate",): 0.5,
        ("consumer.connection.creation.total",): 3,
        ("consumer.node.request.latency.avg", "node-1"): 20.0,
        ("consumer.node.request.latency.max", "node-1"): 30.0,
        ("consumer.node.request.latency.avg", "node-2"): 50.0,
        ("consumer.node.request.latency.max", "node-2"): 50.0,
        ("consumer.coordinator.commit.latency.avg",): 30.0,
        ("consumer.coordinator.commit.latency.max",): 30.0,
        ("consumer.fetch.manager.fetch.latency.avg",): 30.0,
        ("consumer.fetch.manager.fetch.latency.max",): 50.0,
    }
    assert traffic.take().answers == {}


def test_a_producer_tells_how_long_batches_wait() -> None:
    traffic = Traffic()
    traffic.record_queue.add(5)
    traffic.record_queue.add(7)
    names = {
        metric.name: metric.value
        for metric in metrics_of("producer", Measured(traffic.take(), 0, 1_000, {}))
    }
    assert names["org.apache.kafka.producer.record.queue.time.avg"] == 6
    assert names["org.apache.kafka.producer.record.queue.time.max"] == 7


# ---- the bytes


def test_points_are_read_as_they_were_written() -> None:
    points = [
        DataPoint("a", 2.5, 1_000, {"node_id": "node-1", "x": "ü" * 100}),
        DataPoint("b", 7.0, 2_000, start_ms=1_000),
        DataPoint("c", -1.0, 2_000),
    ]
    assert list(metric_points(metrics_data({"group_id": "g"}, points))) == [
        MetricPoint("a", {"node_id": "node-1", "x": "ü" * 100}, 2.5, 1_000),
        MetricPoint("b", {}, 7.0, 2_000),
        MetricPoint("c", {}, -1.0, 2_000),
    ]


def test_a_gauge_is_written_as_opentelemetry_says() -> None:
    """ResourceMetrics 1 {Resource 1 {}, ScopeMetrics 2 {Metric 2 {name 1, Gauge 5 {NumberDataPoint 1}}}}"""
    point = b"\x19" + (1_000_000).to_bytes(8, "little") + b"\x21" + struct.pack("<d", 5.5)
    metric = b"\x0a\x01m" + b"\x2a\x14" + b"\x0a\x12" + point
    scope = b"\x12\x19" + metric
    assert metrics_data({}, [DataPoint("m", 5.5, 1)]) == (
        b"\x0a\x1f" + b"\x0a\x00" + b"\x12\x1b" + scope
    )
