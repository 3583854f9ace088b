"""The feature levels this broker can work at. Only what is served is supported, so that clients do not count on more."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from millstream.metadata.broker_registration import FeatureRange

KRAFT_VERSION: Final = "kraft.version"
SUPPORTED_FEATURES: Final[Mapping[str, FeatureRange]] = MappingProxyType(
    {
        KRAFT_VERSION: FeatureRange(0, 1),
        "metadata.version": FeatureRange(30, 30),  # 4.3-IV0: the controller writes its records only
    }
)
"""What ApiVersions announces."""

TOLERATED_FEATURES: Final[Mapping[str, FeatureRange]] = MappingProxyType(
    {
        **SUPPORTED_FEATURES,
        "eligible.leader.replicas.version": FeatureRange(0, 1),
        "group.version": FeatureRange(0, 1),
        "share.version": FeatureRange(0, 1),
        "streams.version": FeatureRange(0, 1),
        "transaction.version": FeatureRange(0, 2),
    }
)
"""What a metadata log may have finalized without keeping this node out: a data directory of Kafka 4.3 has all of these at
their highest. What they stand for is not served, so clients are not told of them."""
