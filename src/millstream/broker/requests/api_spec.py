"""What a handler module declares of its API: key and versions served. ApiVersions and the compatibility page read it."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.protocol.api import ApiKey


@dataclass(frozen=True, slots=True)
class ApiSpec:
    """One API as this broker serves it. `versions` is a half-open range: `range(1, 12)` is 1-11."""

    key: ApiKey
    versions: range

    @property
    def lowest(self) -> int:
        return self.versions.start

    @property
    def highest(self) -> int:
        return self.versions.stop - 1
