"""The first records that a new leader writes."""

from __future__ import annotations

from millstream.controller.result import ControllerResult
from millstream.controller.settings import (
    ELIGIBLE_LEADER_REPLICAS,
    METADATA_VERSION,
    ControllerSettings,
)
from millstream.metadata.delta import MetadataRecord
from millstream.metadata.image import MetadataImage
from millstream.protocol.enums import ConfigResourceType
from millstream.protocol.generated.metadata_records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
)


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
