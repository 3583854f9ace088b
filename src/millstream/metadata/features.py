"""The features of a cluster as Kafka 4.3.1 knows them: names, levels of releases, dependencies, and the
records that finalize them.

A feature of a cluster is a name with a level (KIP-584). `metadata.version` is the one that releases are named after;
each other feature has a default level for each metadata.version. At which levels a node works is its own business:
`broker.cluster.features` says it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Final, NamedTuple

from millstream.metadata.image import MetadataImage
from millstream.protocol.generated.metadata_records import FeatureLevelRecord

METADATA_VERSION: Final = "metadata.version"
KRAFT_VERSION: Final = "kraft.version"
ELIGIBLE_LEADER_REPLICAS: Final = "eligible.leader.replicas.version"

METADATA_VERSIONS: Final[Mapping[int, str]] = MappingProxyType(
    dict(
        enumerate(
            (
                "3.3-IV3", "3.4-IV0", "3.5-IV0", "3.5-IV1", "3.5-IV2", "3.6-IV0", "3.6-IV1", "3.6-IV2", "3.7-IV0", "3.7-IV1", "3.7-IV2",
                "3.7-IV3", "3.7-IV4", "3.8-IV0", "3.9-IV0", "4.0-IV0", "4.0-IV1", "4.0-IV2", "4.0-IV3", "4.1-IV0", "4.1-IV1", "4.2-IV0",
                "4.2-IV1", "4.3-IV0", "4.4-IV0",
            ),
            start=7,
        )
    )
)  # fmt: skip
"""Levels of metadata.version and their names. The last is not stable yet."""
METADATA_VERSION_4_3: Final = 30
"""The newest stable one."""
_WITH_NEW_METADATA: Final = frozenset({8, 11, 13, 14, 15, 17, 23, 30})
"""Those that have records or fields which the one before does not have."""


class Capability(IntEnum):
    """Abilities of a cluster by its level of metadata.version, as
    `MetadataVersion.is...Supported` of Kafka 4.3.1 says it.

    The value of each is the first level that has it. The level says it for all nodes at once: what one of them could
    not read is written by none.
    """

    MIGRATION_FIELD = 8
    """Registrations of brokers say whether ZooKeeper has them still. None of ours does."""
    SCRAM = 11
    """Credentials are in the metadata."""
    ISR_SHRINKS_WITHIN_EPOCH = 12
    """A replica leaves the ISR, and the leader epoch stays (KAFKA-15021)."""
    METADATA_TRANSACTIONS = 13
    DELEGATION_TOKENS = 14
    CONTROLLER_REGISTRATION = 15
    """Controllers register, so that tools find them (KIP-919)."""
    DIRECTORY_ASSIGNMENT = 17
    """The metadata says in which data directory a replica is (KIP-858)."""
    ELIGIBLE_LEADER_REPLICAS = 23
    """Partitions have eligible replicas beside those in sync (KIP-966)."""
    CORDONED_DIRECTORIES = 30
    """Brokers say which of their data directories take no new replicas (KIP-1066)."""


def metadata_version_of_image(image: MetadataImage) -> int:
    """Returns the level of the cluster; that of new clusters while it has none."""
    return image.features.get(METADATA_VERSION, METADATA_VERSION_4_3)


def can(image: MetadataImage, capability: Capability) -> bool:
    """Whether the level of the cluster has the capability."""
    return metadata_version_of_image(image) >= capability


class Feature(NamedTuple):
    """A feature other than metadata.version. Its levels are 0 and one more for each entry of `since`."""

    name: str
    since: tuple[int, ...]
    """For each level above 0, the metadata.version from which on it is the default."""
    needs: Mapping[int, int] = MappingProxyType({})
    """By level, the lowest metadata.version at which it may be set, where that is not any."""

    @property
    def highest(self) -> int:
        return len(self.since)

    def default_level(self, metadata_version: int) -> int:
        return sum(metadata_version >= since for since in self.since)


FEATURES: Final = (
    Feature(KRAFT_VERSION, (21,)),
    Feature("transaction.version", (24, 24)),
    Feature("group.version", (22,)),
    Feature(ELIGIBLE_LEADER_REPLICAS, (26,), MappingProxyType({1: 23})),
    Feature("share.version", (28,)),
    Feature("streams.version", (29,)),
)
"""In the order of Kafka's tools."""


def default_levels(metadata_version: int) -> dict[str, int]:
    """Returns the level of every feature, metadata.version included, in a cluster that begins at `metadata_version`."""
    others = {feature.name: feature.default_level(metadata_version) for feature in FEATURES}
    return {METADATA_VERSION: metadata_version, **others}


def loses_metadata(present: int, lower: int) -> bool:
    """Whether metadata of a cluster at the level `present` may be none at the lower one."""
    return any(lower < level <= present for level in _WITH_NEW_METADATA)


def missing_dependency(name: str, level: int, levels: Mapping[str, int]) -> str | None:
    """Returns why a feature cannot have a level where the others have `levels`, in Kafka's words."""
    needed = next((each.needs.get(level, 0) for each in FEATURES if each.name == name), 0)
    if levels.get(METADATA_VERSION, 0) >= needed:
        return None
    return f"{name} could not be set to {level} because it depends on {METADATA_VERSION} level {needed}"


def metadata_version_of(release: str, *, unstable: bool) -> int | None:
    """Returns the level of a metadata.version (4.3-IV0), or the highest of a release (4.3); None where there is none.

    `unstable`: levels that are not stable count, too, under their own name.
    """
    levels = {name: level for level, name in METADATA_VERSIONS.items()}
    stable = {name: level for name, level in levels.items() if level <= METADATA_VERSION_4_3}
    releases = {name.partition("-")[0]: level for name, level in stable.items()}
    return {**releases, **(levels if unstable else stable)}.get(release)


def feature_records(levels: Mapping[str, int]) -> tuple[FeatureLevelRecord, ...]:
    """Returns the records that finalize `levels`, metadata.version first, then by name, without those of level 0.

    kraft.version has none: it is a control record of the quorum.
    """
    assert METADATA_VERSION in levels, "a cluster cannot start without a metadata.version"
    names = sorted(levels, key=lambda name: (name != METADATA_VERSION, name))
    return tuple(
        FeatureLevelRecord(name=name, feature_level=levels[name])
        for name in names
        if levels[name] > 0 and name != KRAFT_VERSION
    )
