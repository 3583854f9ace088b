"""ApiVersions: which APIs, versions and features this broker serves. The first request of nearly every client.

Versions 0-4. Only what is served is listed. Produce is reported from version 0 although 0-2 are refused: librdkafka
takes a higher minimum for a broker without Produce (KAFKA-18659). Version 3 leaves out features whose lowest level is
0, which its clients cannot read. The two APIs of client telemetry are listed where millstream.client.telemetry.enable
says so, as Kafka lists them where a metrics reporter takes client metrics. kraft.version is finalized by the quorum's
own log, not by a feature record. A version newer than 4 never comes here: dispatch answers it (KIP-511).
"""

from __future__ import annotations

import re

from millstream.broker.cluster.features import SUPPORTED_FEATURES
from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.requests.api_spec import ApiSpec
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import ControllerClient, Metadata
from millstream.errors import InvalidRequest
from millstream.metadata.features import KRAFT_VERSION
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

# No permissions: every client asks before it has proved who it is.
API = ApiSpec(ApiKey.API_VERSIONS, versions=range(5), permissions=())
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
_SOFTWARE_KEPT = 256
"""Characters. They are kept as long as the connection; a client may send 32 KB of each."""
_PRODUCE_LOWEST_REPORTED = 0
_TELEMETRY = {ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, ApiKey.PUSH_TELEMETRY}


def handle(
    request: ApiVersionsRequest,
    context: RequestContext,
    *,
    apis: tuple[ApiSpec, ...],
    config: DynamicConfig,
    controller: ControllerClient,
    metadata: Metadata,
) -> ApiVersionsResponse:
    if context.version >= 3:
        _check_software(request)
        context.connection.software_name = request.client_software_name[:_SOFTWARE_KEPT]
        context.connection.software_version = request.client_software_version[:_SOFTWARE_KEPT]
    image = metadata.image
    hidden = set() if config.current.millstream_client_telemetry_enable else _TELEMETRY
    kraft_version = controller.quorum().kraft_version
    levels = {KRAFT_VERSION: kraft_version, **image.features} if kraft_version else image.features
    lowest_level = 1 if context.version == 3 else 0
    return ApiVersionsResponse(
        api_keys=[
            _reported(spec)
            for spec in sorted(apis, key=lambda spec: spec.key)
            if spec.key not in hidden
        ],
        supported_features=[
            SupportedFeatureKey(name, levels.lowest, levels.highest)
            for name, levels in SUPPORTED_FEATURES.items()
            if levels.lowest >= lowest_level
        ],
        finalized_features_epoch=image.offset,
        finalized_features=[
            FinalizedFeatureKey(name, level, level)
            for name, level in levels.items()
            if name in SUPPORTED_FEATURES
        ],
    )


def _reported(spec: ApiSpec) -> ApiVersion:
    lowest = _PRODUCE_LOWEST_REPORTED if spec.key is ApiKey.PRODUCE else spec.lowest
    return ApiVersion(spec.key, lowest, spec.highest)


def _check_software(request: ApiVersionsRequest) -> None:
    for text in (request.client_software_name, request.client_software_version):
        if not _SOFTWARE.fullmatch(text):
            raise InvalidRequest("client software name and version are letters, digits, - and .")
