"""The first records that a new leader writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from millstream.controller.brokers.features import min_insync_replicas_records
from millstream.controller.operation import ControllerContext, ControllerResult
from millstream.controller.settings import ControllerSettings
from millstream.errors import ConfigError
from millstream.metadata.broker_registration import SupportedVersionRange
from millstream.metadata.delta import MetadataRecord
from millstream.metadata.features import (
    ELIGIBLE_LEADER_REPLICAS,
    METADATA_VERSION,
    METADATA_VERSIONS,
    Capability,
)
from millstream.metadata.image import MetadataImage
from millstream.protocol.generated.metadata_records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
)


def plan_activation(context: ControllerContext, transaction_open: bool) -> ControllerResult[None]:
    """Begins a new leader: the sessions of all brokers, and its first records, which end its predecessor's transaction
    and begin an empty log (bootstrap records).

    `transaction_open` says that the log ends inside a metadata transaction. Raises ConfigError where the cluster was
    formatted for levels that this node does not work at, and what `read_bootstrap` raises.
    """
    image, settings = context.image, context.settings
    context.sessions.start_all(image, context.now.monotonic_ms)
    records: list[MetadataRecord] = []
    if transaction_open:
        records.append(AbortTransactionRecord(reason="the controller that began it is gone"))
    if METADATA_VERSION not in image.features:
        records += _bootstrap_records(image, settings)
    return ControllerResult(tuple(records), None)


def _bootstrap_records(image: MetadataImage, settings: ControllerSettings) -> list[MetadataRecord]:
    """The records that the cluster was formatted with, and what they need: one metadata transaction, or one
    batch where the level has none.
    """
    records = settings.read_bootstrap()
    levels = dict(_levels(records))
    _check_levels(levels, settings.supported_features)
    configs = (
        min_insync_replicas_records(image, settings) if levels.get(ELIGIBLE_LEADER_REPLICAS) else []
    )
    if levels[METADATA_VERSION] < Capability.METADATA_TRANSACTIONS:
        return [*records, *configs]
    return [
        BeginTransactionRecord(name="Bootstrap records"),
        *records,
        *configs,
        EndTransactionRecord(),
    ]


def _levels(records: Sequence[MetadataRecord]) -> Iterator[tuple[str, int]]:
    for record in records:
        if isinstance(record, FeatureLevelRecord):
            yield record.name, record.feature_level


def _check_levels(
    levels: Mapping[str, int], supported: Mapping[str, SupportedVersionRange]
) -> None:
    if METADATA_VERSION not in levels:
        raise ConfigError(
            "the records that this cluster was formatted with name no metadata.version: format an empty directory"
        )
    for name, level in levels.items():
        lowest, highest = supported.get(name, SupportedVersionRange(0, 0))
        if not lowest <= level <= highest:
            raise ConfigError(
                f"this cluster was formatted for {_with_level(name, level)}, and this version of Millstream works at "
                f"{_range(name, lowest, highest)}: format an empty directory at a level that it has (`millstream storage format`)"
            )


def _range(name: str, lowest: int, highest: int) -> str:
    if lowest == highest:
        return f"{_with_level(name, lowest)} only"
    return f"{lowest} to {highest}"


def _with_level(name: str, level: int) -> str:
    known = METADATA_VERSIONS.get(level) if name == METADATA_VERSION else None
    return f"{name}={level}" if known is None else f"{name}={level} ({known})"
