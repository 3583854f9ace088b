"""Chooses the version of each API that a connection speaks: the highest that both ends know (KIP-35, KIP-511)."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.errors import UnsupportedVersion
from millstream.protocol.api import VERSIONS, ApiKey
from millstream.protocol.generated.api_versions import ApiVersionsResponse

UNSUPPORTED_VERSION_CODE = UnsupportedVersion.code


class ApiVersionTable:
    """The versions that one broker announced, as pairs (lowest, highest) per key, with its finalized features."""

    def __init__(
        self, ranges: Mapping[int, tuple[int, int]], features: Mapping[str, int] | None = None
    ) -> None:
        self._ranges = dict(ranges)
        self.features = dict(features or {})

    @classmethod
    def from_response(cls, response: ApiVersionsResponse) -> ApiVersionTable:
        return cls(
            {api.api_key: (api.min_version, api.max_version) for api in response.api_keys},
            {feature.name: feature.max_version_level for feature in response.finalized_features},
        )

    def supports(self, key: ApiKey, version: int = 0) -> bool:
        """Tells whether the broker serves `key` in `version` or a later one that we know."""
        chosen = self._highest(key)
        return chosen is not None and chosen >= version

    def choose(self, key: ApiKey, at_most: int = 2**15) -> int:
        """Returns the version to speak. Raises UnsupportedVersion naming both ranges when there is none."""
        version = self._highest(key, at_most)
        if version is None:
            ours = VERSIONS[key]
            theirs = self._ranges.get(key)
            offer = f"serves {theirs[0]}-{theirs[1]}" if theirs else "does not serve it"
            raise UnsupportedVersion(
                f"{key.name}: this client speaks {ours.lowest}-{min(ours.highest, at_most)}, the broker {offer}"
            )
        return version

    def _highest(self, key: ApiKey, at_most: int = 2**15) -> int | None:
        theirs = self._ranges.get(key)
        if theirs is None:
            return None
        ours = VERSIONS[key]
        version = min(ours.highest, theirs[1], at_most)
        return version if version >= max(ours.lowest, theirs[0]) else None


def next_api_versions_attempt(response: ApiVersionsResponse) -> int:
    """Returns the version to ask again with after UNSUPPORTED_VERSION: what the answer names, else 0."""
    for api in response.api_keys:
        if api.api_key == ApiKey.API_VERSIONS:
            return min(api.max_version, VERSIONS[ApiKey.API_VERSIONS].highest)
    return 0
