"""UpdateFeatures: levels of the cluster's features go up, and down where the client says that it
means it (KIP-584, KIP-778).

Versions 0-2. All updates are made or none: the first that cannot be made is the error of the whole request,
INVALID_UPDATE_VERSION with a sentence. 0 can say that a downgrade is meant, 1+ which kind of one, and may only check.
0-1 answer with a result for each feature. kraft.version 1 makes a static quorum dynamic, for good: its voter is written
to its log before the other features change.
"""

from __future__ import annotations

from typing import Final

from millstream.broker.requests.api_spec import ApiSpec, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import ControllerClient
from millstream.controller.brokers.features import UPDATE_FEATURES
from millstream.protocol.api import ApiKey
from millstream.protocol.enums import UpgradeType
from millstream.protocol.generated.update_features import (
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from millstream.security.acl import Operation

API = ApiSpec(
    ApiKey.UPDATE_FEATURES,
    versions=range(3),
    permissions=(cluster_permission(Operation.ALTER),),
    is_forwarded=True,
    kept_whole="all features or none",
)

_KNOWS_UPGRADE_TYPES: Final = 1


async def handle(
    request: UpdateFeaturesRequest, context: RequestContext, *, controller: ControllerClient
) -> UpdateFeaturesResponse:
    if context.version < _KNOWS_UPGRADE_TYPES:
        for update in request.feature_updates:
            if update.allow_downgrade:
                update.upgrade_type = UpgradeType.SAFE_DOWNGRADE
    return await controller.ask(UPDATE_FEATURES, request, context)
