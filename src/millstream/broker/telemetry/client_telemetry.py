"""The telemetry of clients (KIP-714): decides which metrics each client pushes and how
often, and keeps the newest push.

Subscriptions are the CLIENT_METRICS resources of the metadata. Owns the clients that asked for theirs, at
most `CLIENTS_MAX`, and the newest push of each, within `KEPT_BYTES_MAX` altogether; neither survives the
node. Knows no socket and no message.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, Protocol, Self

from crc32c import crc32c

from millstream.broker.storage.data_directory import random_uuid
from millstream.broker.telemetry.otlp import MalformedTelemetry, MetricPoint, metric_points
from millstream.errors import (
    ConfigError,
    CorruptMessage,
    InvalidRecord,
    InvalidRegularExpression,
    InvalidRequest,
    KafkaError,
    MessageTooLarge,
    TelemetryTooLarge,
    ThrottlingQuotaExceeded,
    UnknownSubscriptionId,
    UnsupportedCompressionType,
)
from millstream.metadata.client_metrics_config import (
    ALL_METRICS,
    DEFAULT_INTERVAL_MS,
    ClientMetricsSubscription,
    client_metrics_subscription,
)
from millstream.metadata.image import MetadataImage
from millstream.model import ZERO_UUID, Uuid, uuid_text
from millstream.net.server.client_connection import ClientConnection
from millstream.protocol.enums import ConfigResourceType
from millstream.records.compression import Codec, decompress
from millstream.runtime import Random

_LOGGER = logging.getLogger(__name__)
CLIENTS_MAX: Final = 16_384
"""Kafka's (`ClientMetricsManager.CACHE_MAX_SIZE`)."""
KEPT_BYTES_MAX: Final = 64 * 1024 * 1024
_ONE_UUID: Final = Uuid(bytes(15) + b"\x01")
_RESERVED: Final = {ZERO_UUID, _ONE_UUID}
_NEVER: Final = -(1 << 62)
_FORGOTTEN_AFTER_INTERVALS: Final = 3
_FORGOTTEN_AFTER_MS: Final = 60_000
_FORGOTTEN_AT_ONCE: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetryClient:
    """A client as its connection and its requests describe it."""

    client_id: str
    software_name: str
    software_version: str
    source_address: str
    source_port: int

    @classmethod
    def of(cls, client_id: str, connection: ClientConnection) -> Self:
        return cls(
            client_id=client_id,
            software_name=connection.software_name,
            software_version=connection.software_version,
            source_address=connection.client_host,
            source_port=connection.client_port,
        )

    def selectors(self, instance_id: Uuid) -> Mapping[str, str]:
        """Returns the properties of the client that subscriptions may match, by name."""
        return {
            "client_instance_id": uuid_text(instance_id),
            "client_id": self.client_id,
            "client_software_name": self.software_name,
            "client_software_version": self.software_version,
            "client_source_address": self.source_address,
            "client_source_port": str(self.source_port),
        }


@dataclass(frozen=True, slots=True)
class Wanted:
    """The subscription of one client: the metrics it is to push, and how often."""

    instance_id: Uuid
    subscription_id: int
    interval_ms: int
    metrics: tuple[str, ...]
    """Prefixes of names; `*` alone for all, nothing for none."""


@dataclass(frozen=True, slots=True)
class Push:
    """Metrics as a client sends them."""

    instance_id: Uuid
    subscription_id: int
    terminating: bool
    compression_type: int
    metrics: bytes


@dataclass(frozen=True, slots=True)
class Received:
    """The newest metrics of one client."""

    client: TelemetryClient
    wall_ms: int
    data: bytes
    """OpenTelemetry's MetricsData, unpacked."""

    def points(self) -> Iterator[MetricPoint]:
        return metric_points(self.data)


@dataclass(slots=True)
class _Instance:
    """A client that asked for its subscription."""

    wanted: Wanted
    version: int
    """Of the subscriptions, when `wanted` was made of them."""
    seen_ms: int
    last_get_ms: int = _NEVER
    last_push_ms: int = _NEVER
    terminating: bool = False
    last_error: type[KafkaError] | None = None


class TextMatcher(Protocol):
    """`PatternMatcher`, as far as it is needed here."""

    async def matching(self, pattern: str, texts: Sequence[str], payer: str) -> frozenset[str]: ...


class ClientTelemetry:
    """The telemetry of all clients. Times are monotonic milliseconds, except `Received.wall_ms`."""

    def __init__(self, random: Random, bytes_max: int) -> None:
        """`bytes_max`: the largest push, packed or not (`telemetry.max.bytes`)."""
        self.bytes_max = bytes_max
        self._random = random
        self._read: dict[str, tuple[Mapping[str, str], ClientMetricsSubscription | None]] = {}
        """By resource: its configuration, and what came of it unless it cannot be understood."""
        self._subscriptions: list[ClientMetricsSubscription] = []
        self._version = 0
        self._instances: OrderedDict[Uuid, _Instance] = OrderedDict()
        self._received: OrderedDict[Uuid, Received] = OrderedDict()
        self._received_bytes = 0

    @property
    def received(self) -> Mapping[Uuid, Received]:
        """The newest metrics by client instance id, the client that was silent longest first."""
        return self._received

    def follow(self, image: MetadataImage) -> None:
        """Takes over changed subscriptions: every client is given its subscription anew.

        Unchanged ones are not parsed again.
        """
        before, self._read = self._read, {}
        for resource, config in image.configs.items():
            if resource.type is ConfigResourceType.CLIENT_METRICS:
                known = before.get(resource.name)
                self._read[resource.name] = (
                    known
                    if known is not None and known[0] == config
                    else (config, _subscription(resource.name, config))
                )
        self._subscriptions = [each for _, each in self._read.values() if each is not None]
        self._version += 1

    def identified(self, instance_id: Uuid) -> Uuid:
        """Returns the client's instance id, or a new one if it has none."""
        return random_uuid(self._random) if instance_id in _RESERVED else instance_id

    async def match(
        self, instance_id: Uuid, client: TelemetryClient, patterns: TextMatcher, now_ms: int
    ) -> None:
        """Finds the subscriptions that match the client, unless they are known.

        To be awaited right before `subscribe` or `push`.

        Subscriptions may change meanwhile: the new ones are matched too.
        """
        found: dict[ClientMetricsSubscription, bool] = {}
        selectors = client.selectors(instance_id)
        while not self._is_known(instance_id):
            subscriptions = self._subscriptions
            for each in subscriptions:
                if each not in found:
                    found[each] = await _means(each, selectors, patterns)
            if subscriptions is self._subscriptions and not self._is_known(instance_id):
                self._begin(instance_id, [each for each in subscriptions if found[each]], now_ms)

    def subscribe(self, instance_id: Uuid, now_ms: int) -> Wanted:
        """Returns the subscription of a client; one without an id is given one.

        Raises ThrottlingQuotaExceeded before the interval is over.
        """
        instance_id = self.identified(instance_id)
        instance = self._instance(instance_id, now_ms)
        early = (
            now_ms - max(instance.last_get_ms, instance.last_push_ms) < instance.wanted.interval_ms
        )
        if early and instance.last_error not in {UnknownSubscriptionId, UnsupportedCompressionType}:
            raise ThrottlingQuotaExceeded(_too_early(instance_id))
        if not early:
            instance.last_get_ms = now_ms
        instance.last_error = None
        return instance.wanted

    def push(
        self,
        push: Push,
        client: TelemetryClient,
        now_ms: int,
        wall_ms: int,
        unpack: Callable[[Push], bytes] | None = None,
    ) -> None:
        """Keeps pushed metrics. Raises the errors of KIP-714, after which the client asks for its subscription again.

        `unpack` gives what `unpacked` gave or raised before, where that takes long.
        """
        if push.instance_id in _RESERVED:
            raise InvalidRequest(
                "a push of metrics needs the client instance id that was given out"
            )
        instance = self._instance(push.instance_id, now_ms)
        try:
            self._check(push, instance, now_ms)
            data = (unpack or self.unpacked)(push)
        except KafkaError as error:
            instance.last_error = type(error)
            raise
        finally:
            instance.terminating = push.terminating
        instance.last_error = None
        if data:
            self._keep(push.instance_id, Received(client, wall_ms, data))

    def _check(self, push: Push, instance: _Instance, now_ms: int) -> None:
        name = uuid_text(push.instance_id)
        if instance.terminating:
            raise InvalidRequest(f"client {name} has said already that it terminates")
        asked_since = instance.last_get_ms > instance.last_push_ms
        if asked_since or now_ms - instance.last_push_ms >= instance.wanted.interval_ms:
            instance.last_push_ms = now_ms
        elif not push.terminating:
            raise ThrottlingQuotaExceeded(_too_early(push.instance_id))
        if push.subscription_id != instance.wanted.subscription_id:
            raise UnknownSubscriptionId(f"client {name} has to ask for its subscription again")
        if push.compression_type not in set(Codec):
            raise UnsupportedCompressionType(f"there is no compression {push.compression_type}")
        if len(push.metrics) > self.bytes_max:
            raise TelemetryTooLarge(
                f"{len(push.metrics)} bytes: at most {self.bytes_max} are taken"
            )

    def unpacked(self, push: Push) -> bytes:
        """Unpacks pushed metrics. Raises InvalidRecord for other data, or too much of it.

        Changes nothing, so a thread may run it.
        """
        if not push.metrics:
            return b""
        try:
            data = decompress(Codec(push.compression_type), push.metrics, self.bytes_max)
            for _ in metric_points(data):
                pass  # reading them all is the check
        except (CorruptMessage, MessageTooLarge, MalformedTelemetry) as error:
            raise InvalidRecord(f"these are no metrics: {error}") from error
        return data

    def _is_known(self, instance_id: Uuid) -> bool:
        """Under the subscriptions that there are now."""
        known = self._instances.get(instance_id)
        return known is not None and known.version == self._version

    def _begin(
        self, instance_id: Uuid, meaning: Sequence[ClientMetricsSubscription], now_ms: int
    ) -> None:
        wanted = _wanted(instance_id, meaning)
        self._instances[instance_id] = _Instance(wanted, self._version, now_ms)

    def _instance(self, instance_id: Uuid, now_ms: int) -> _Instance:
        if not self._is_known(instance_id):
            patterns = any(each.patterns for each in self._subscriptions)
            assert not patterns, "a client is matched before it is spoken to"
            self._begin(instance_id, self._subscriptions, now_ms)
        known = self._instances[instance_id]
        known.seen_ms = now_ms
        self._instances.move_to_end(instance_id)
        self._forget(now_ms)
        return known

    def _forget(self, now_ms: int) -> None:
        """Clients long silent, and the longest silent where there are too many."""
        for instance_id, oldest in list(islice(self._instances.items(), _FORGOTTEN_AT_ONCE)):
            limit_ms = max(
                _FORGOTTEN_AFTER_MS, oldest.wanted.interval_ms * _FORGOTTEN_AFTER_INTERVALS
            )
            if now_ms - oldest.seen_ms > limit_ms or len(self._instances) > CLIENTS_MAX:
                del self._instances[instance_id]

    def _keep(self, instance_id: Uuid, received: Received) -> None:
        before = self._received.pop(instance_id, None)
        self._received_bytes += len(received.data) - (len(before.data) if before else 0)
        self._received[instance_id] = received
        while self._received_bytes > KEPT_BYTES_MAX or len(self._received) > CLIENTS_MAX:
            _, oldest = self._received.popitem(last=False)
            self._received_bytes -= len(oldest.data)


def _subscription(name: str, config: Mapping[str, str]) -> ClientMetricsSubscription | None:
    try:
        return client_metrics_subscription(config)
    except (ConfigError, KafkaError) as error:  # Kafka's engine knows more patterns
        _LOGGER.warning("client metrics %s are not asked for: %s", name, error)
        return None


async def _means(
    subscription: ClientMetricsSubscription, client: Mapping[str, str], patterns: TextMatcher
) -> bool:
    """Whether all of its patterns match."""
    payer = client["client_source_address"]
    try:
        for selector, pattern in subscription.patterns.items():
            text = client.get(selector, "")
            if text not in await patterns.matching(pattern, (text,), payer):
                return False
    except InvalidRegularExpression as error:
        _LOGGER.warning("a client metrics subscription is taken to mean nobody: %s", error)
        return False
    return True


def _wanted(instance_id: Uuid, matching: Sequence[ClientMetricsSubscription]) -> Wanted:
    interval_ms = min((each.interval_ms for each in matching), default=DEFAULT_INTERVAL_MS)
    metrics = tuple(sorted({name for each in matching for name in each.metrics}))
    if ALL_METRICS in metrics:
        metrics = (ALL_METRICS,)
    number = crc32c(f"{','.join(metrics)} {interval_ms}".encode() + instance_id)
    return Wanted(instance_id, number - (number >> 31 << 32), interval_ms, metrics)


def _too_early(instance_id: Uuid) -> str:
    return f"client {uuid_text(instance_id)} comes before its interval is over"
