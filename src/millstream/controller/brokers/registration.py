"""BrokerRegistration: a new process of a broker takes the place of the one before (KIP-631). UnregisterBroker: a broker
that will not come back is forgotten.

A broker's epoch is the offset at which its registration was planned. What its last process left behind is cleaned up
first: its own record comes last. Whether that process was stopped cleanly decides whether its replicas still hold
what they held (KIP-966).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from millstream.controller.brokers.broker_sessions import BrokerSessions
from millstream.controller.brokers.log_lines import registration_lines, unregistration_lines
from millstream.controller.operation import (
    ControllerApi,
    ControllerContext,
    ControllerResult,
    every_partition,
)
from millstream.controller.partitions.leadership import plan_broker_forgotten, plan_broker_restarted
from millstream.errors import (
    BrokerIdNotRegistered,
    DuplicateBrokerRegistration,
    InconsistentClusterId,
    InvalidRegistration,
    InvalidRequest,
    UnsupportedVersion,
)
from millstream.metadata.broker_registration import BrokerRegistration, SupportedVersionRange
from millstream.metadata.delta import MetadataRecord
from millstream.metadata.directory_ids import is_reserved
from millstream.metadata.features import KRAFT_VERSION, Capability, can
from millstream.metadata.image import MetadataImage
from millstream.model import BrokerId
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from millstream.protocol.generated.metadata_records import (
    BrokerEndpoint,
    BrokerFeature,
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
)
from millstream.protocol.generated.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)


def plan_registration(
    context: ControllerContext, request: BrokerRegistrationRequest
) -> ControllerResult[BrokerRegistrationResponse]:
    """Registers a broker.

    Raises InconsistentClusterId, DuplicateBrokerRegistration, InvalidRegistration, UnsupportedVersion.
    """
    image, settings, sessions = context.image, context.settings, context.sessions
    broker_id, now_ms = BrokerId(request.broker_id), context.now.monotonic_ms
    if request.cluster_id != settings.cluster_id:
        raise InconsistentClusterId(
            f"This is cluster {settings.cluster_id}, the broker belongs to {request.cluster_id}"
        )
    existing = image.brokers.get(broker_id)
    same = existing is not None and existing.incarnation_id == request.incarnation_id
    if existing is not None and not same and _is_alive(existing, sessions, now_ms):
        raise DuplicateBrokerRegistration(
            f"Another broker with id {broker_id} is alive: give this one its own node.id"
        )
    has_directories = can(image, Capability.DIRECTORY_ASSIGNMENT)
    if not request.listeners:
        raise InvalidRegistration("The broker names no listener that clients could reach")
    if has_directories:
        _check_directories(request, image)
    _check_features(request, {KRAFT_VERSION: context.kraft_version, **image.features})
    record = _registration_record(request)
    record.log_dirs = list(request.log_dirs) if has_directories else []
    cleanup: list[MetadataRecord] = []
    if existing is not None and same:
        record.broker_epoch = existing.broker_epoch
        record.fenced = existing.fenced
        record.in_controlled_shutdown = existing.in_controlled_shutdown
    else:
        record.broker_epoch = int(context.next_offset)
        is_clean = existing is not None and existing.broker_epoch == request.previous_broker_epoch
        cleanup += plan_broker_restarted(context.partition_changes(), broker_id, is_clean=is_clean)
    sessions.begin(broker_id, record.broker_epoch, int(context.next_offset) + len(cleanup), now_ms)
    response = BrokerRegistrationResponse(broker_epoch=record.broker_epoch)
    lines = registration_lines(record, existing)
    return ControllerResult((*cleanup, record), response, log_lines=lines)


BROKER_REGISTRATION: Final = ControllerApi(
    ApiKey.BROKER_REGISTRATION, plan_registration, every_partition
)


def _is_alive(existing: BrokerRegistration, sessions: BrokerSessions, now_ms: int) -> bool:
    return not existing.fenced and sessions.is_live(existing, now_ms)


def _registration_record(request: BrokerRegistrationRequest) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=request.broker_id,
        incarnation_id=request.incarnation_id,
        fenced=True,
        rack=request.rack,
        end_points=[
            BrokerEndpoint(
                name=e.name, host=e.host, port=e.port, security_protocol=e.security_protocol
            )
            for e in request.listeners
        ],
        features=[
            BrokerFeature(
                name=f.name,
                min_supported_version=f.min_supported_version,
                max_supported_version=f.max_supported_version,
            )
            for f in request.features
        ],
    )


def _check_directories(request: BrokerRegistrationRequest, image: MetadataImage) -> None:
    if not request.log_dirs:
        raise InvalidRegistration("No directories specified in request")
    if any(is_reserved(each) for each in request.log_dirs):
        raise InvalidRegistration("Reserved directory ID in request")
    if len(set(request.log_dirs)) != len(request.log_dirs):
        raise InvalidRegistration("Two log directories of the broker have the same id")
    for broker in image.brokers.values():
        shared = set(request.log_dirs) & set(broker.log_directories)
        if shared and broker.broker_id != request.broker_id:
            raise InvalidRegistration(
                f"Broker {broker.broker_id} is already registered with directory {next(iter(shared))}"
            )


def _check_features(request: BrokerRegistrationRequest, levels: Mapping[str, int]) -> None:
    """A feature that the cluster does not run is at level 0; one that the broker does not name it
    supports at 0 only.
    """
    supported = {
        f.name: SupportedVersionRange(f.min_supported_version, f.max_supported_version)
        for f in request.features
    }
    for name in {**levels, **supported}:
        level = levels.get(name, 0)
        lowest, highest = supported.get(name, SupportedVersionRange(0, 0))
        if not lowest <= level <= highest:
            raise UnsupportedVersion(
                f"The cluster runs {name} at level {level}, the broker supports {lowest} to {highest}"
            )


def plan_unregister_broker(
    context: ControllerContext, request: UnregisterBrokerRequest
) -> ControllerResult[UnregisterBrokerResponse]:
    """Removes a broker's registration.

    Raises BrokerIdNotRegistered, and InvalidRequest for a broker that is alive, which Kafka would cut off.
    """
    broker = context.image.brokers.get(BrokerId(request.broker_id))
    if broker is None:
        raise BrokerIdNotRegistered(f"Broker ID {request.broker_id} is not currently registered")
    if not broker.fenced:
        raise InvalidRequest(f"Broker {request.broker_id} is alive: stop it before it is forgotten")
    record = UnregisterBrokerRecord(broker_id=broker.broker_id, broker_epoch=broker.broker_epoch)
    partitions = plan_broker_forgotten(context.partition_changes(), broker.broker_id)
    return ControllerResult(
        (*partitions, record),
        UnregisterBrokerResponse(error_message=None),
        log_lines=unregistration_lines(broker.broker_id),
    )


UNREGISTER_BROKER: Final = ControllerApi(
    ApiKey.UNREGISTER_BROKER, plan_unregister_broker, every_partition
)
