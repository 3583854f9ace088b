"""The feature levels this broker can work at. Only what is served is supported, so that clients do not count on more."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from millstream.metadata.broker_registration import FeatureRange

SUPPORTED_FEATURES: Final[Mapping[str, FeatureRange]] = MappingProxyType(
    {
        "kraft.version": FeatureRange(0, 1),
        "metadata.version": FeatureRange(
            30, 30
        ),  # 4.3-IV0: the controller writes the records of this level only
    }
)
