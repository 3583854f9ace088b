"""UpdateFeatures: the sentences are Kafka's."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from millstream.controller.brokers.features import plan_update_features
from millstream.controller.controller import Controller
from millstream.controller.result import ControllerResult
from millstream.controller.settings import ControllerSettings
from millstream.errors import InvalidUpdateVersion
from millstream.metadata.broker_registration import SupportedVersionRange
from millstream.metadata.features import KRAFT_VERSION, feature_records
from millstream.metadata.image import MetadataImage
from millstream.model import BrokerId
from millstream.protocol.generated.broker_registration import Feature
from millstream.protocol.generated.update_features import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

UPGRADE, SAFE_DOWNGRADE = 1, 2


@pytest.fixture
def world(make_world: Callable) -> object:
    """metadata.version 30 and group.version 1 are finalized; share.version is supported."""
    supported = {
        "metadata.version": SupportedVersionRange(30, 30), "group.version": SupportedVersionRange(0, 1),
        "share.version": SupportedVersionRange(0, 1), "kraft.version": SupportedVersionRange(0, 1),
    }  # fmt: skip
    made = make_world(
        supported_features=supported,
        read_bootstrap=lambda: feature_records({"metadata.version": 30, "group.version": 1}),
    )
    made.submit(Controller.handle_activation, False)
    made.register(
        1, features=[Feature(name=n, min_supported_version=r.lowest, max_supported_version=r.highest) for n, r in supported.items()]
    )  # fmt: skip
    made.heartbeat(1)
    return made


def update(world: object, *updates: tuple[str, int, int], validate_only: bool = False) -> list[str]:
    request = UpdateFeaturesRequest(
        feature_updates=[
            FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind)
            for name, level, kind in updates
        ],
        validate_only=validate_only,
    )
    response = world.submit(Controller.handle_update_features, request)
    return [result.feature for result in response.results]


def test_levels_go_up_and_down_again(world: object) -> None:
    assert update(world, ("share.version", 1, UPGRADE)) == ["share.version"]
    assert world.image.features["share.version"] == 1
    update(world, ("share.version", 0, SAFE_DOWNGRADE))
    assert "share.version" not in world.image.features


def test_nothing_is_written_for_a_level_that_is_there_already(world: object) -> None:
    before = len(world.log)
    assert update(world, ("group.version", 1, UPGRADE), ("kraft.version", 1, UPGRADE))
    assert world.written(before) == []


def test_nothing_is_written_when_it_is_only_to_be_checked(world: object) -> None:
    before = len(world.log)
    update(world, ("group.version", 0, SAFE_DOWNGRADE), validate_only=True)
    assert world.written(before) == []


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (("nope", 1, UPGRADE), "Local controller 1 does not support this feature."),
        (("group.version", 9, UPGRADE), "Local controller 1 only supports versions 0-1"),
        (("group.version", -1, UPGRADE), "A feature version cannot be less than 0."),
        (("group.version", 1, 0), "The controller does not support the given upgrade type."),
        (
            ("group.version", 0, UPGRADE),
            (
                "Can't downgrade the version of this feature without setting the upgrade type "
                "to either safe or unsafe downgrade."
            ),
        ),
        (("share.version", 1, SAFE_DOWNGRADE), "Can't downgrade to a newer version."),
        (
            ("metadata.version", 29, SAFE_DOWNGRADE),
            "Local controller 1 only supports versions 30-30",
        ),
        (
            ("kraft.version", 0, SAFE_DOWNGRADE),
            "The quorum cannot forget its voters: kraft.version does not go down.",
        ),
    ],
)
def test_one_update_that_cannot_be_made_stops_all(
    world: object, bad: tuple[str, int, int], problem: str
) -> None:
    before = len(world.log)
    with pytest.raises(InvalidUpdateVersion) as raised:
        update(world, ("share.version", 1, UPGRADE), bad)
    name, level, _ = bad
    assert str(raised.value) == (
        "The update failed for all features since the following feature had an error: "
        f"Invalid update version {level} for feature {name}. {problem}"
    )
    assert world.written(before) == []


def test_a_level_that_a_broker_does_not_support_is_refused(world: object) -> None:
    known = [("metadata.version", 30), ("group.version", 1)]
    world.register(2, features=[Feature(name=n, max_supported_version=level) for n, level in known])
    with pytest.raises(InvalidUpdateVersion, match="Broker 2 only supports versions 0-0"):
        update(world, ("share.version", 1, UPGRADE))


UP, DOWN = ("kraft.version", 1, UPGRADE), ("kraft.version", 0, SAFE_DOWNGRADE)


@pytest.mark.parametrize(
    ("kraft_version", "asked", "validate_only", "upgrades"),
    [
        (0, UP, False, True),
        (0, UP, True, False),
        (1, UP, False, False),
        (0, DOWN, False, False),
    ],
)
def test_a_static_quorum_becomes_dynamic_once_and_not_for_a_question(
    kraft_version: int, asked: tuple[str, int, int], validate_only: bool, upgrades: bool
) -> None:
    """The voters are no metadata record, so there is none."""
    result = planned(kraft_version, asked, validate_only=validate_only)
    assert (result.upgrades_kraft_version, result.records) == (upgrades, ())
    assert [each.feature for each in result.response.results] == ["kraft.version"]


def test_no_feature_changes_where_one_cannot_and_all_do_where_the_quorum_does() -> None:
    with pytest.raises(InvalidUpdateVersion, match=r"for feature group\.version"):
        planned(0, UP, ("group.version", 9, UPGRADE))
    result = planned(0, UP, ("group.version", 1, UPGRADE))
    assert [(r.name, r.feature_level) for r in result.records] == [("group.version", 1)]
    assert result.upgrades_kraft_version


def test_of_a_feature_that_is_named_twice_the_last_level_counts() -> None:
    """As in Kafka, whose answer names it twice, too."""
    result = planned(0, ("kraft.version", 9, UPGRADE), ("kraft.version", 0, UPGRADE))
    assert (result.upgrades_kraft_version, len(result.response.results)) == (False, 2)
    assert planned(0, ("kraft.version", 0, UPGRADE), UP).upgrades_kraft_version


def test_a_dynamic_quorum_does_not_become_static_again() -> None:
    with pytest.raises(InvalidUpdateVersion, match="does not go down"):
        planned(1, DOWN)


def planned(
    kraft_version: int, *updates: tuple[str, int, int], validate_only: bool = False
) -> ControllerResult[UpdateFeaturesResponse]:
    levels = SupportedVersionRange(0, 1)
    settings = ControllerSettings(
        cluster_id="c",
        node_id=BrokerId(1),
        supported_features={KRAFT_VERSION: levels, "group.version": levels},
    )
    keys = [FeatureUpdateKey(name, level, upgrade_type=kind) for name, level, kind in updates]
    request = UpdateFeaturesRequest(feature_updates=keys, validate_only=validate_only)
    return plan_update_features(request, MetadataImage(), settings, kraft_version=kraft_version)
