"""The agreement between a client and the cluster on the metrics it pushes (KIP-714), and when the next request is due.

    subscription needed ──GetTelemetrySubscriptions──► push needed ──PushTelemetry──► push needed ── … ──► terminating push
            ▲    ▲ └── no metrics wanted: asked again ──┘    │
            │    └── unknown subscription, wrong compression ┘                    an error that no retry cures ends it all

Requests come from here, answers go in here; nothing is sent, measured or timed by this module.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from millstream.clients.telemetry.core.metrics import Metric
from millstream.clients.telemetry.core.otlp import DataPoint, metrics_data
from millstream.errors import (
    KafkaError,
    TelemetryTooLarge,
    ThrottlingQuotaExceeded,
    UnknownSubscriptionId,
    UnsupportedCompressionType,
    error_for,
)
from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.generated.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)
from millstream.protocol.generated.push_telemetry import (
    PushTelemetryRequest,
    PushTelemetryResponse,
)
from millstream.records.compression import Codec, compress
from millstream.runtime import Instant, Random

DEFAULT_INTERVAL_MS: Final = 300_000
"""Kafka's, of brokers and of Java's clients: five minutes."""
_ALL_METRICS: Final = ["*"]
_AGREE_ANEW: Final = (UnknownSubscriptionId, UnsupportedCompressionType)
_WAIT: Final = (TelemetryTooLarge, ThrottlingQuotaExceeded)
_KNOWN_CODECS: Final = frozenset(Codec)


@dataclass(frozen=True, slots=True)
class TelemetrySubscription:
    """The metrics that the cluster wants of this client."""

    subscription_id: int
    interval_ms: int
    codec: Codec
    is_delta: bool
    metrics: tuple[str, ...]
    """Prefixes of names; empty for all."""

    def wants(self, metric: Metric) -> bool:
        return not self.metrics or metric.name.startswith(self.metrics)


class TelemetrySession:
    def __init__(self, resource: Mapping[str, str], random: Random, now: Instant) -> None:
        """`resource`: what every push says of the client, like its group."""
        self._resource = resource
        self._random = random
        self._began = now
        self._due_ms = now.monotonic_ms
        self._reported: dict[tuple[str, ...], float] = {}
        """Sums as the last push had them, for deltas."""
        self._reported_ms = now.wall_ms
        self._interval_ms = DEFAULT_INTERVAL_MS
        self.subscription: TelemetrySubscription | None = None
        """What is to be pushed; None while that is to be asked for, or nothing is wanted."""
        self.client_instance_id: Uuid | None = None
        self.ended_by: KafkaError | None = None
        """Nothing is asked or pushed any more."""

    def due_ms(self, now_ms: int) -> int | None:
        """Returns the milliseconds until the next request; None for never."""
        return None if self.ended_by is not None else max(0, self._due_ms - now_ms)

    # ---- what is to be pushed

    def plan_subscription(self) -> GetTelemetrySubscriptionsRequest:
        return GetTelemetrySubscriptionsRequest(self.client_instance_id or ZERO_UUID)

    def handle_subscription(self, response: GetTelemetrySubscriptionsResponse, now_ms: int) -> None:
        self.subscription = None
        if response.error_code:
            self._handle_error(error_for(response.error_code), now_ms)
            return
        self.client_instance_id = response.client_instance_id
        self._interval_ms = (
            response.push_interval_ms if response.push_interval_ms > 0 else DEFAULT_INTERVAL_MS
        )
        self._due_ms = now_ms + self._interval_ms
        if not response.requested_metrics:
            return
        accepted = [each for each in response.accepted_compression_types if each in _KNOWN_CODECS]
        wanted = response.requested_metrics
        self.subscription = TelemetrySubscription(
            response.subscription_id,
            self._interval_ms,
            Codec(accepted[0]) if accepted else Codec.NONE,
            response.delta_temporality,
            () if wanted == _ALL_METRICS else tuple(wanted),
        )
        # Clients that were started together do not push together.
        self._due_ms = now_ms + int(self._interval_ms * (0.5 + self._random.random()))

    # ---- pushing

    def plan_push(
        self, metrics: Iterable[Metric], now: Instant, *, terminating: bool = False
    ) -> PushTelemetryRequest:
        subscription = self.subscription
        assert subscription is not None, "what nobody asked for is not pushed"
        assert self.client_instance_id is not None, "it comes with the subscription"
        points = [
            self._point(metric, subscription, now)
            for metric in metrics
            if subscription.wants(metric)
        ]
        self._reported_ms = now.wall_ms
        return PushTelemetryRequest(
            self.client_instance_id,
            subscription.subscription_id,
            terminating,
            int(subscription.codec),
            bytes(compress(subscription.codec, metrics_data(self._resource, points))),
        )

    def handle_push(self, response: PushTelemetryResponse, now_ms: int) -> None:
        if response.error_code:
            self._handle_error(error_for(response.error_code), now_ms)
        else:
            self._due_ms = now_ms + self._interval_ms

    def handle_failure(self, error: KafkaError, now_ms: int) -> None:
        """Notes that no answer came, or that the request could not be sent."""
        self.subscription = None
        self._due_ms = now_ms + DEFAULT_INTERVAL_MS
        if not error.retriable:
            self.ended_by = error

    def _handle_error(self, error: KafkaError, now_ms: int) -> None:
        self.subscription = None
        if isinstance(error, _AGREE_ANEW):
            self._due_ms = now_ms
        elif isinstance(error, _WAIT):
            self._due_ms = now_ms + self._interval_ms
        else:
            self.ended_by = error

    def _point(
        self, metric: Metric, subscription: TelemetrySubscription, now: Instant
    ) -> DataPoint:
        if not metric.is_sum:
            return DataPoint(metric.name, metric.value, now.wall_ms, metric.attributes)
        value, start_ms = metric.value, self._began.wall_ms
        if subscription.is_delta:
            key = (metric.name, *sorted(metric.attributes.values()))
            before = self._reported.get(key, 0.0)
            self._reported[key] = value
            value, start_ms = value - before, self._reported_ms
        return DataPoint(
            metric.name,
            float(value),
            now.wall_ms,
            metric.attributes,
            start_ms,
            subscription.is_delta,
        )
