"""UpdateFeatures: levels of the cluster's features go up, and down where the client says that it
means it (KIP-584, KIP-778).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from millstream.controller.operation import ControllerApi, ControllerContext, ControllerResult
from millstream.controller.settings import ControllerSettings
from millstream.errors import InvalidUpdateVersion
from millstream.metadata.broker_registration import SupportedVersionRange
from millstream.metadata.delta import MetadataRecord
from millstream.metadata.features import (
    ELIGIBLE_LEADER_REPLICAS,
    KRAFT_VERSION,
    METADATA_VERSION,
    Capability,
    can,
    loses_metadata,
    missing_dependency,
)
from millstream.metadata.image import MetadataImage
from millstream.protocol.api import ApiKey
from millstream.protocol.enums import ConfigResourceType, UpgradeType
from millstream.protocol.generated.metadata_records import ConfigRecord, FeatureLevelRecord
from millstream.protocol.generated.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

_MIN_INSYNC_REPLICAS: Final = "min.insync.replicas"


def plan_update_features(
    context: ControllerContext, request: UpdateFeaturesRequest
) -> ControllerResult[UpdateFeaturesResponse]:
    """Makes all updates or none. Raises InvalidUpdateVersion for the first that cannot be made.

    The kraft version is kept by the quorum: it is no metadata record. Results by feature are for clients up to
    version 1; version 2 does not carry them.
    """
    image, settings = context.image, context.settings
    present = {KRAFT_VERSION: context.kraft_version, **image.features}
    updates = {update.feature: update for update in request.feature_updates}  # the last one counts
    levels = {**present, **{u.feature: u.max_version_level for u in updates.values()}}
    changed = []
    for update in updates.values():
        problem = _problem(update, present, levels, image, settings)
        if problem is not None:
            raise InvalidUpdateVersion(
                f"The update failed for all features since the following feature had an error: {problem}"
            )
        if update.max_version_level != present.get(update.feature, 0):
            changed.append(update.feature)
    response = UpdateFeaturesResponse(
        error_message=None,
        results=[
            UpdatableFeatureResult(feature=update.feature, error_message="NONE")
            for update in request.feature_updates
        ],
    )
    if request.validate_only:
        return ControllerResult((), response)
    records: list[MetadataRecord] = []
    for name in changed:
        if name == ELIGIBLE_LEADER_REPLICAS and levels[name]:
            records += min_insync_replicas_records(image, settings)
        if name != KRAFT_VERSION:
            records.append(FeatureLevelRecord(name=name, feature_level=levels[name]))
    return ControllerResult(tuple(records), response, KRAFT_VERSION in changed)


UPDATE_FEATURES: Final = ControllerApi(ApiKey.UPDATE_FEATURES, plan_update_features)


def min_insync_replicas_records(
    image: MetadataImage, settings: ControllerSettings
) -> list[MetadataRecord]:
    """Eligible leader replicas need one min.insync.replicas for all brokers: it is set, and what brokers have
    of their own goes (KIP-966).
    """
    records = []
    if _MIN_INSYNC_REPLICAS not in image.broker_default_config():
        records.append(_min_insync_replicas("", str(settings.min_insync_replicas)))
    for resource, config in image.configs.items():
        is_of_one_broker = resource.type is ConfigResourceType.BROKER and resource.name
        if is_of_one_broker and _MIN_INSYNC_REPLICAS in config:
            records.append(_min_insync_replicas(resource.name, None))
    return [*records]


def _min_insync_replicas(broker: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(
        resource_type=ConfigResourceType.BROKER,
        resource_name=broker,
        name=_MIN_INSYNC_REPLICAS,
        value=value,
    )


def _problem(
    update: FeatureUpdateKey,
    present: Mapping[str, int],
    levels: Mapping[str, int],
    image: MetadataImage,
    settings: ControllerSettings,
) -> str | None:
    """Returns the reason why the update cannot be made; `levels` are those that all would have."""
    name, level = update.feature, update.max_version_level
    problem = _wrong_level(update, present.get(name, 0), image, settings)
    problem = problem or missing_dependency(name, level, levels)
    if problem is not None:
        return f"Invalid update version {level} for feature {name}. {problem}"
    if name == METADATA_VERSION and loses_metadata(present.get(name, 0), level):
        is_safe = update.upgrade_type == UpgradeType.SAFE_DOWNGRADE
        return f"Unsupported {name} downgrade from {present[name]} to {level}. " + (
            "Refusing to perform the requested downgrade because it might delete metadata information."
            if is_safe
            else "Unsafe metadata downgrade is not supported in this version."
        )
    return None


def _wrong_level(
    update: FeatureUpdateKey, present: int, image: MetadataImage, settings: ControllerSettings
) -> str | None:
    """Returns the reason why the feature cannot have the level."""
    level = update.max_version_level
    try:
        upgrade_type = UpgradeType(update.upgrade_type)
    except ValueError:
        return "The controller does not support the given upgrade type."
    if level < 0:
        return "A feature version cannot be less than 0."
    unsupported = _unsupported(update.feature, level, image, settings)
    if unsupported is not None:
        return unsupported
    if level < present and upgrade_type is UpgradeType.UPGRADE:
        return (
            "Can't downgrade the version of this feature without setting the upgrade type "
            "to either safe or unsafe downgrade."
        )
    if level > present and upgrade_type is not UpgradeType.UPGRADE:
        return "Can't downgrade to a newer version."
    if update.feature == KRAFT_VERSION and level < present:
        return "The quorum cannot forget its voters: kraft.version does not go down."
    return None


def _unsupported(
    feature: str, level: int, image: MetadataImage, settings: ControllerSettings
) -> str | None:
    """Returns a sentence that names the node that could not work at this level; None when all can."""
    node = f"Local controller {settings.node_id}"
    supported = settings.supported_features.get(feature)
    if supported is None:
        return f"{node} does not support this feature."
    if not supported.lowest <= level <= supported.highest:
        return f"{node} only supports versions {supported.lowest}-{supported.highest}"
    others = [(f"Broker {each.broker_id}", each.features) for each in image.brokers.values()]
    if can(image, Capability.CONTROLLER_REGISTRATION):
        others += [
            (f"Controller {each.controller_id}", each.features)
            for each in image.controllers.values()
            if each.controller_id != settings.node_id
        ]
    for other, features in others:
        lowest, highest = features.get(feature, SupportedVersionRange(0, 0))
        if not lowest <= level <= highest:
            return f"{other} only supports versions {lowest}-{highest}"
    return None
