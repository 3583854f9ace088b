"""UpdateFeatures: the sentences are Kafka's."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

import pytest

from millstream.controller.bootstrap import plan_activation
from millstream.controller.brokers.broker_sessions import BrokerSessions
from millstream.controller.brokers.features import plan_update_features
from millstream.controller.configs.alter_configs import plan_incremental_alter_configs
from millstream.controller.operation import ControllerContext, ControllerResult
from millstream.controller.settings import ControllerSettings
from millstream.errors import InvalidUpdateVersion
from millstream.metadata.broker_registration import SupportedVersionRange
from millstream.metadata.features import FEATURES, KRAFT_VERSION, feature_records
from millstream.metadata.image import MetadataImage
from millstream.model import BrokerId, Offset
from millstream.protocol.generated.broker_registration import Feature
from millstream.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from millstream.protocol.generated.metadata_records import ConfigRecord, FeatureLevelRecord
from millstream.protocol.generated.update_features import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from millstream.runtime import Instant

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3


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
    return begun(made, supported)


def begun(made: object, supported: Mapping[str, SupportedVersionRange]) -> object:
    """One broker is up, which supports what the controller supports."""
    made.submit(plan_activation, False)
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
    response = world.submit(plan_update_features, request)
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


SUPPORTED = {
    "metadata.version": SupportedVersionRange(17, 30),
    **{feature.name: SupportedVersionRange(0, feature.highest) for feature in FEATURES},
}


@pytest.fixture
def at_level(make_world: Callable) -> Callable[..., object]:
    """A cluster of one broker that begins at a metadata.version, and has no other feature unless it is given."""

    def made(metadata_version: int, **features: int) -> object:
        levels = {"metadata.version": metadata_version, **features}
        world = make_world(
            supported_features=SUPPORTED, read_bootstrap=lambda: feature_records(levels)
        )
        return begun(world, SUPPORTED)

    return made


@pytest.mark.parametrize(("before", "after"), [(21, 22), (22, 30), (17, 30)])
def test_metadata_version_goes_up(at_level: Callable, before: int, after: int) -> None:
    world = at_level(before)
    update(world, ("metadata.version", after, UPGRADE))
    assert world.image.features["metadata.version"] == after


def test_metadata_version_goes_down_where_no_metadata_can_be_lost(at_level: Callable) -> None:
    world = at_level(29)
    update(world, ("metadata.version", 25, SAFE_DOWNGRADE))
    assert world.image.features["metadata.version"] == 25


@pytest.mark.parametrize(("before", "after"), [(30, 29), (23, 22), (23, 21)])
@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (SAFE_DOWNGRADE, "Refusing to perform the requested downgrade because it might delete metadata information."),
        (UNSAFE_DOWNGRADE, "Unsafe metadata downgrade is not supported in this version."),
    ],
)  # fmt: skip
def test_metadata_version_does_not_go_down_where_metadata_would_be_lost(
    at_level: Callable, before: int, after: int, kind: int, reason: str
) -> None:
    """The answer is that of Kafka 4.3.1, word for word."""
    with pytest.raises(InvalidUpdateVersion) as raised:
        update(at_level(before), ("metadata.version", after, kind))
    assert str(raised.value) == (
        "The update failed for all features since the following feature had an error: "
        f"Unsupported metadata.version downgrade from {before} to {after}. {reason}"
    )


ELR = "eligible.leader.replicas.version"


def test_a_feature_waits_for_the_metadata_version_that_it_needs(at_level: Callable) -> None:
    world = at_level(21)
    with pytest.raises(InvalidUpdateVersion) as raised:
        update(world, (ELR, 1, UPGRADE))
    assert str(raised.value).endswith(
        f"Invalid update version 1 for feature {ELR}. {ELR} could not be set to 1 because it depends on metadata.version level 23"
    )
    update(world, (ELR, 1, UPGRADE), ("metadata.version", 23, UPGRADE))
    assert (world.image.features[ELR], world.image.features["metadata.version"]) == (1, 23)


def test_eligible_leader_replicas_bring_one_min_insync_replicas_for_all_brokers(
    at_level: Callable,
) -> None:
    """What brokers have of their own goes: two that differ would not agree on who may lead (KIP-966)."""
    world = at_level(30)
    set_config(world, "1", "min.insync.replicas", "3")
    before = len(world.log)
    update(world, (ELR, 1, UPGRADE))
    assert [record for _, record in world.log[before:]] == [
        ConfigRecord(resource_type=4, resource_name="", name="min.insync.replicas", value="1"),
        ConfigRecord(resource_type=4, resource_name="1", name="min.insync.replicas", value=None),
        FeatureLevelRecord(name=ELR, feature_level=1),
    ]


def test_a_min_insync_replicas_that_holds_for_all_brokers_stays(at_level: Callable) -> None:
    world = at_level(30)
    set_config(world, "", "min.insync.replicas", "2")
    before = len(world.log)
    update(world, (ELR, 1, UPGRADE))
    assert world.written(before) == ["FeatureLevelRecord"]


def set_config(world: object, broker: str, name: str, value: str) -> None:
    config = AlterableConfig(name=name, config_operation=0, value=value)
    resource = AlterConfigsResource(resource_type=4, resource_name=broker, configs=[config])
    answer = world.submit(
        plan_incremental_alter_configs,
        IncrementalAlterConfigsRequest(resources=[resource]),
    )
    assert answer.responses[0].error_code == 0


def test_a_level_that_a_broker_does_not_support_is_refused(world: object) -> None:
    known = [("metadata.version", 30), ("kraft.version", 1), ("group.version", 1)]
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
    context = ControllerContext(
        MetadataImage(),
        settings,
        BrokerSessions(1),
        Instant(0, 0),
        random.Random(1),
        Offset(0),
        kraft_version=kraft_version,
    )
    return plan_update_features(context, request)
