"""The first records a controller writes: those of a new cluster, and its own registration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from millstream.controller.result import ControllerResult
from millstream.controller.settings import (
    ELIGIBLE_LEADER_REPLICAS,
    METADATA_VERSION,
    ControllerSettings,
)
from millstream.metadata.broker_registration import Endpoint, SupportedVersionRange
from millstream.metadata.delta import MetadataRecord
from millstream.metadata.image import MetadataImage
from millstream.model import BrokerId, Uuid
from millstream.protocol.enums import ConfigResourceType
from millstream.protocol.generated.metadata_records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ConfigRecord,
    ControllerEndpoint,
    ControllerFeature,
    EndTransactionRecord,
    FeatureLevelRecord,
    RegisterControllerRecord,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerStart:
    """The values that a controller sends about itself when it registers."""

    controller_id: BrokerId
    incarnation_id: Uuid
    endpoints: tuple[Endpoint, ...] = ()
    features: Mapping[str, SupportedVersionRange] = field(default_factory=dict)


def plan_activation(
    image: MetadataImage, settings: ControllerSettings, *, transaction_open: bool
) -> ControllerResult[None]:
    """Returns the first records of a new leader: they end its predecessor's transaction, and begin an empty log (bootstrap records)."""
    records: list[MetadataRecord] = []
    if transaction_open:
        records.append(AbortTransactionRecord(reason="the controller that began it is gone"))
    if METADATA_VERSION not in image.features:
        records += _bootstrap_records(settings)
    return ControllerResult(tuple(records), None)


def plan_controller_registration(
    start: ControllerStart, image: MetadataImage
) -> ControllerResult[None]:
    """Returns the registration of this controller; no record when this incarnation is registered already."""
    known = image.controllers.get(start.controller_id)
    if known is not None and known.incarnation_id == start.incarnation_id:
        return ControllerResult((), None)
    record = RegisterControllerRecord(
        controller_id=start.controller_id,
        incarnation_id=start.incarnation_id,
        end_points=[
            ControllerEndpoint(
                name=e.listener, host=e.host, port=e.port, security_protocol=e.security_protocol
            )
            for e in start.endpoints
        ],
        features=[
            ControllerFeature(
                name=name, min_supported_version=r.lowest, max_supported_version=r.highest
            )
            for name, r in start.features.items()
        ],
    )
    return ControllerResult((record,), None)


def _bootstrap_records(settings: ControllerSettings) -> list[MetadataRecord]:
    """One metadata transaction: the feature levels, metadata.version first, and what they need."""
    levels = settings.bootstrap_features
    assert METADATA_VERSION in levels, "a cluster cannot start without a metadata.version"
    names = sorted(levels, key=lambda name: (name != METADATA_VERSION, name))
    features = [FeatureLevelRecord(name=name, feature_level=levels[name]) for name in names]
    configs = []
    if levels.get(ELIGIBLE_LEADER_REPLICAS):
        configs.append(
            ConfigRecord(
                resource_type=ConfigResourceType.BROKER,
                resource_name="",
                name="min.insync.replicas",
                value=str(settings.min_insync_replicas),
            )
        )
    return [
        BeginTransactionRecord(name="Bootstrap records"),
        *features,
        *configs,
        EndTransactionRecord(),
    ]
