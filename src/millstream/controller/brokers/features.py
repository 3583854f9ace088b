"""UpdateFeatures: levels of the cluster's features go up, and down where the client says that it means it (KIP-584, KIP-778)."""

from __future__ import annotations

from millstream.controller.result import ControllerResult
from millstream.controller.settings import ControllerSettings
from millstream.errors import InvalidUpdateVersion
from millstream.metadata.broker_registration import SupportedVersionRange
from millstream.metadata.features import KRAFT_VERSION
from millstream.metadata.image import MetadataImage
from millstream.protocol.enums import UpgradeType
from millstream.protocol.generated.metadata_records import FeatureLevelRecord
from millstream.protocol.generated.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)


def plan_update_features(
    request: UpdateFeaturesRequest,
    image: MetadataImage,
    settings: ControllerSettings,
    *,
    kraft_version: int,
) -> ControllerResult[UpdateFeaturesResponse]:
    """Makes all updates or none. Raises InvalidUpdateVersion for the first that cannot be made.

    `kraft_version` is that of the quorum, which keeps it: it is no metadata record. Results by feature are for clients up to version 1; version 2 does not carry them.
    """
    levels = {KRAFT_VERSION: kraft_version, **image.features}
    changed: dict[str, FeatureLevelRecord] = {}
    updates = {update.feature: update for update in request.feature_updates}  # the last one counts
    for update in updates.values():
        problem = _problem(update, levels.get(update.feature, 0), image, settings)
        if problem is not None:
            raise InvalidUpdateVersion(
                "The update failed for all features since the following feature had an error: "
                f"Invalid update version {update.max_version_level} for feature {update.feature}. {problem}"
            )
        if update.max_version_level != levels.get(update.feature, 0):
            changed[update.feature] = FeatureLevelRecord(
                name=update.feature, feature_level=update.max_version_level
            )
    response = UpdateFeaturesResponse(
        error_message=None,
        results=[
            UpdatableFeatureResult(feature=update.feature, error_message="NONE")
            for update in request.feature_updates
        ],
    )
    if request.validate_only:
        return ControllerResult((), response)
    upgrades = changed.pop(KRAFT_VERSION, None) is not None
    return ControllerResult(tuple(changed.values()), response, upgrades)


def _problem(
    update: FeatureUpdateKey, present: int, image: MetadataImage, settings: ControllerSettings
) -> str | None:
    """Returns the reason why the update cannot be made."""
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
    for broker in image.brokers.values():
        lowest, highest = broker.features.get(feature, SupportedVersionRange(0, 0))
        if not lowest <= level <= highest:
            return f"Broker {broker.broker_id} only supports versions {lowest}-{highest}"
    return None
