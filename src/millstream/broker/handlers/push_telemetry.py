"""PushTelemetry: metrics of a client, as its subscription asks for them (KIP-714).

Version 0. The newest push of each client is kept in memory, unpacked, where the node's metrics find it; nothing is
written to a disk. INVALID_REQUEST without an instance id and after a push that said the client terminates;
THROTTLING_QUOTA_EXCEEDED before the interval is over, unless the client terminates; UNKNOWN_SUBSCRIPTION_ID when
subscriptions have changed; UNSUPPORTED_COMPRESSION_TYPE; TELEMETRY_TOO_LARGE above telemetry.max.bytes; INVALID_RECORD
for bytes that are no OpenTelemetry metrics, which Kafka leaves to the plug-in that takes them, or too many unpacked.
ApiVersions lists this API only where millstream.client.telemetry.enable says so.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from millstream.broker.patterns.pattern_matcher import PatternMatcher
from millstream.broker.requests.api_spec import ApiSpec
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.storage.disk_pool import DiskPool
from millstream.broker.telemetry.client_telemetry import ClientTelemetry, Push, TelemetryClient
from millstream.errors import KafkaError
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.push_telemetry import (
    PushTelemetryRequest,
    PushTelemetryResponse,
)

# No permissions: any client may tell how it fares.
API = ApiSpec(ApiKey.PUSH_TELEMETRY, versions=range(1), permissions=())
_UNPACKED_AT_ONCE_BYTES: Final = 1_024
"""A compressed kilobyte may hold a megabyte, and that is looked at byte by byte."""


async def handle(
    request: PushTelemetryRequest,
    context: RequestContext,
    *,
    client_telemetry: ClientTelemetry,
    disk_pool: DiskPool,
    patterns: PatternMatcher,
) -> PushTelemetryResponse:
    push = Push(
        request.client_instance_id,
        request.subscription_id,
        request.terminating,
        request.compression_type,
        bytes(request.metrics),
    )
    now, client = context.now, TelemetryClient.of(context.client_id, context.connection)
    telemetry, unpack = client_telemetry, None
    if _UNPACKED_AT_ONCE_BYTES < len(push.metrics) <= telemetry.bytes_max:
        unpack = await disk_pool.convert(partial(_outcome, telemetry, push))
    await telemetry.match(push.instance_id, client, patterns, now.monotonic_ms)
    telemetry.push(push, client, now.monotonic_ms, now.wall_ms, unpack)
    return PushTelemetryResponse()


def _outcome(telemetry: ClientTelemetry, push: Push) -> Callable[[Push], bytes]:
    """Gives, or raises, what unpacking came to: it is told after what else is wrong with the push."""
    try:
        data = telemetry.unpacked(push)
    except KafkaError as error:
        refusal = error

        def refuse(_push: Push) -> bytes:
            raise refusal

        return refuse
    return lambda _push: data
