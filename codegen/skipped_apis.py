"""Every API that the broker does not serve, and why. A test holds this list and the registry to be exact complements."""

from __future__ import annotations

from millstream.protocol.api import ApiKey

SKIPPED: dict[ApiKey, str] = {}
