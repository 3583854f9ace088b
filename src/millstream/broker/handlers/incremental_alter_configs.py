"""IncrementalAlterConfigs: set, delete, append to and subtract from the configurations of topics and brokers (KIP-339).

Versions 0-1. Each resource is changed as a whole or not at all; a resource or a key given twice is INVALID_REQUEST. Brokers: the
empty name stands for all of them; only keys that may change while a broker runs. With `validate_only` nothing changes.
Not supported: groups, client metrics, broker loggers (INVALID_REQUEST); policies. Stricter than Kafka: unknown broker keys are
refused, not stored.
"""

from __future__ import annotations

from collections.abc import Awaitable

from millstream.broker.api_spec import ApiSpec
from millstream.broker.request_context import RequestContext
from millstream.controller.controller import Controller
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

API = ApiSpec(ApiKey.INCREMENTAL_ALTER_CONFIGS, versions=range(2))


def handle(
    request: IncrementalAlterConfigsRequest, context: RequestContext
) -> Awaitable[IncrementalAlterConfigsResponse]:
    return context.node.controller.submit(Controller.handle_incremental_alter_configs, request)
