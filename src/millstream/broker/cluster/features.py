"""The feature levels this broker can work at: what it registers with and what ApiVersions announces."""

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
        "eligible.leader.replicas.version": FeatureRange(0, 1),
        "group.version": FeatureRange(0, 1),
        "share.version": FeatureRange(0, 1),
        "streams.version": FeatureRange(0, 1),
        "transaction.version": FeatureRange(0, 2),
    }
)
"""Kafka 4.3's, but for older levels of metadata.version."""
