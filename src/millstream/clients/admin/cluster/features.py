"""Features: which levels the brokers know, which are in force, and changing them (KIP-584); versions of APIs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from millstream import __version__
from millstream.clients.admin.core.call import Asked, Call
from millstream.clients.admin.core.results import Results, check, done
from millstream.clients.admin.core.routes import Controller, Node, itself
from millstream.clients.admin.driver import AdminCalls
from millstream.errors import KafkaError, UnsupportedVersion
from millstream.protocol.api import ApiKey
from millstream.protocol.enums import UpgradeType
from millstream.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from millstream.protocol.generated.update_features import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

_FIRST_WITH_UPGRADE_TYPE = 1
_FIRST_WITHOUT_RESULTS = 2


class FeatureUpdate(NamedTuple):
    """Level 0 takes a feature out of force."""

    max_version_level: int
    upgrade_type: UpgradeType = UpgradeType.UPGRADE


class FeatureRange(NamedTuple):
    lowest: int
    highest: int


class FeatureMetadata(NamedTuple):
    """`finalized` is in force for the cluster, `supported` is what the broker asked could do; epoch -1: not known."""

    finalized: Mapping[str, FeatureRange]
    finalized_epoch: int
    supported: Mapping[str, FeatureRange]


async def describe_features(
    admin: AdminCalls, *, node_id: int | None = None, timeout_ms: int | None = None
) -> FeatureMetadata:
    """Describes the features as one broker sees them: `node_id`, or whichever answers. Empty before Kafka 2.7."""

    def read(response: ApiVersionsResponse, asked: Asked[None]) -> dict[None, FeatureMetadata]:
        check(response.error_code, "describe_features")
        described = FeatureMetadata(
            {
                each.name: FeatureRange(each.min_version_level, each.max_version_level)
                for each in response.finalized_features
            },
            response.finalized_features_epoch,
            {
                each.name: FeatureRange(each.min_version, each.max_version)
                for each in response.supported_features
            },
        )
        return dict.fromkeys(asked.keys, described)

    call = Call[None, FeatureMetadata, ApiVersionsResponse](
        api=ApiKey.API_VERSIONS,
        response=ApiVersionsResponse,
        route=Node[None](lambda _: node_id),
        build=lambda _: ApiVersionsRequest(
            client_software_name="millstream", client_software_version=__version__
        ),
        read=read,
    )
    return await admin._driver.one(call, None, admin._driver.deadline(timeout_ms))


async def describe_api_versions(
    admin: AdminCalls, node_ids: Iterable[int] | None = None, *, timeout_ms: int | None = None
) -> Results[int, dict[int, range]]:
    """Describes the versions of each API that each broker takes, by the API's number; None: of all brokers."""

    def read(response: ApiVersionsResponse, asked: Asked[int]) -> dict[int, dict[int, range]]:
        check(response.error_code, "describe_api_versions")
        found = {
            each.api_key: range(each.min_version, each.max_version + 1)
            for each in response.api_keys
        }
        return dict.fromkeys(asked.keys, found)

    call = Call[int, dict[int, range], ApiVersionsResponse](
        api=ApiKey.API_VERSIONS,
        response=ApiVersionsResponse,
        route=Node[int](itself),
        build=lambda _: ApiVersionsRequest(
            client_software_name="millstream", client_software_version=__version__
        ),
        read=read,
    )
    deadline_ms = admin._driver.deadline(timeout_ms)
    nodes = await admin._driver.nodes(deadline_ms) if node_ids is None else node_ids
    return await admin._driver.run(call, nodes, deadline_ms)


async def update_features(
    admin: AdminCalls,
    updates: Mapping[str, FeatureUpdate],
    *,
    validate_only: bool = False,
    timeout_ms: int | None = None,
) -> Results[str, None]:
    """Kafka 2.7. All updates are made, or none: when one cannot be, each has its error."""

    def build(asked: Asked[str]) -> UpdateFeaturesRequest:
        return UpdateFeaturesRequest(
            timeout_ms=asked.timeout_ms,
            feature_updates=[_update(name, updates[name], asked.version) for name in asked.keys],
            validate_only=validate_only,
        )

    def read(response: UpdateFeaturesResponse, asked: Asked[str]) -> dict[str, KafkaError | None]:
        check(response.error_code, ", ".join(asked.keys), response.error_message)
        if asked.version >= _FIRST_WITHOUT_RESULTS:
            return dict.fromkeys(asked.keys)
        return {
            each.feature: done(each.error_code, each.feature, each.error_message)
            for each in response.results
        }

    call = Call(
        api=ApiKey.UPDATE_FEATURES,
        response=UpdateFeaturesResponse,
        route=Controller(),
        build=build,
        read=read,
    )
    return await admin._driver.run(call, updates, admin._driver.deadline(timeout_ms))


def _update(name: str, update: FeatureUpdate, version: int) -> FeatureUpdateKey:
    if version >= _FIRST_WITH_UPGRADE_TYPE:
        return FeatureUpdateKey(
            feature=name,
            max_version_level=update.max_version_level,
            upgrade_type=update.upgrade_type,
        )
    if update.upgrade_type is UpgradeType.UNSAFE_DOWNGRADE:
        raise UnsupportedVersion("unsafe downgrades of features exist since Kafka 3.3")
    return FeatureUpdateKey(
        feature=name,
        max_version_level=update.max_version_level,
        allow_downgrade=update.upgrade_type is UpgradeType.SAFE_DOWNGRADE,
    )
