"""The feature levels this broker can work at: what it registers with and what ApiVersions announces."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from millstream.metadata.broker_registration import SupportedVersionRange
from millstream.metadata.features import KRAFT_VERSION, METADATA_VERSION, METADATA_VERSION_4_3
from millstream.metadata.record_versions import LOWEST_METADATA_VERSION

SUPPORTED_FEATURES: Final[Mapping[str, SupportedVersionRange]] = MappingProxyType(
    {
        KRAFT_VERSION: SupportedVersionRange(0, 1),
        METADATA_VERSION: SupportedVersionRange(LOWEST_METADATA_VERSION, METADATA_VERSION_4_3),
        "eligible.leader.replicas.version": SupportedVersionRange(0, 1),
        "group.version": SupportedVersionRange(0, 1),
        "share.version": SupportedVersionRange(0, 1),
        "streams.version": SupportedVersionRange(0, 1),
        "transaction.version": SupportedVersionRange(0, 2),
    }
)
"""Kafka 4.3's."""
