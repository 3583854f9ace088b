"""The registration of a controller: where it listens, and at which levels of the cluster's features it can work."""

from __future__ import annotations

from typing import Final

from millstream.controller.operation import ControllerApi, ControllerContext, ControllerResult
from millstream.errors import UnsupportedVersion
from millstream.metadata.features import Capability, can
from millstream.model import BrokerId
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)
from millstream.protocol.generated.metadata_records import (
    ControllerEndpoint,
    ControllerFeature,
    RegisterControllerRecord,
)


def plan_controller_registration(
    context: ControllerContext, request: ControllerRegistrationRequest
) -> ControllerResult[ControllerRegistrationResponse]:
    """Returns the registration of a controller; no record when this incarnation is registered
    already, which a retry may ask for.

    Raises UnsupportedVersion.
    """
    if not can(context.image, Capability.CONTROLLER_REGISTRATION):
        raise UnsupportedVersion(
            "The current MetadataVersion is too old to support controller registrations."
        )
    response = ControllerRegistrationResponse(error_message=None)
    known = context.image.controllers.get(BrokerId(request.controller_id))
    if known is not None and known.incarnation_id == request.incarnation_id:
        return ControllerResult((), response)
    record = RegisterControllerRecord(
        controller_id=request.controller_id,
        incarnation_id=request.incarnation_id,
        zk_migration_ready=request.zk_migration_ready,
        end_points=[
            ControllerEndpoint(
                name=each.name,
                host=each.host,
                port=each.port,
                security_protocol=each.security_protocol,
            )
            for each in request.listeners
        ],
        features=[
            ControllerFeature(
                name=each.name,
                min_supported_version=each.min_supported_version,
                max_supported_version=each.max_supported_version,
            )
            for each in request.features
        ],
    )
    return ControllerResult((record,), response)


CONTROLLER_REGISTRATION: Final = ControllerApi(
    ApiKey.CONTROLLER_REGISTRATION, plan_controller_registration
)
