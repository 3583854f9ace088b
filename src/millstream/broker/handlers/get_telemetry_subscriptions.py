"""GetTelemetrySubscriptions: which metrics a client should push, and how often (KIP-714).

Version 0. A client without an instance id is given one, and keeps it for its life. What is asked for is the union of
the CLIENT_METRICS resources that match the client, at the shortest of their intervals; none match: nothing, every five
minutes. THROTTLING_QUOTA_EXCEEDED before that interval is over, unless the last push was refused for its subscription
or compression. ApiVersions lists this API only where millstream.client.telemetry.enable says so.
"""

from __future__ import annotations

from millstream.broker.patterns.pattern_matcher import PatternMatcher
from millstream.broker.requests.api_spec import ApiSpec
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.telemetry.client_telemetry import ClientTelemetry, TelemetryClient
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)
from millstream.records.compression import Codec

# No permissions: any client may tell how it fares.
API = ApiSpec(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, versions=range(1), permissions=())
_ACCEPTED = (Codec.ZSTD, Codec.LZ4, Codec.GZIP, Codec.SNAPPY)
"""Best first."""


async def handle(
    request: GetTelemetrySubscriptionsRequest,
    context: RequestContext,
    *,
    client_telemetry: ClientTelemetry,
    patterns: PatternMatcher,
) -> GetTelemetrySubscriptionsResponse:
    telemetry, client = client_telemetry, TelemetryClient.of(context.client_id, context.connection)
    instance_id = telemetry.identified(request.client_instance_id)
    await client_telemetry.match(instance_id, client, patterns, context.now.monotonic_ms)
    wanted = telemetry.subscribe(instance_id, context.now.monotonic_ms)
    return GetTelemetrySubscriptionsResponse(
        client_instance_id=wanted.instance_id,
        subscription_id=wanted.subscription_id,
        accepted_compression_types=list(_ACCEPTED),
        push_interval_ms=wanted.interval_ms,
        telemetry_max_bytes=telemetry.bytes_max,
        delta_temporality=True,
        requested_metrics=list(wanted.metrics),
    )
