"""Every API that the broker does not serve, and why. A test holds this list and the registry to be exact complements."""

from __future__ import annotations

from millstream.protocol.api import ApiKey

_CONTROLLER = (
    "spoken by brokers that replicate, which those of this version do not; the connection is closed"
)

SKIPPED: dict[ApiKey, str] = {
    ApiKey.ALTER_PARTITION: _CONTROLLER,
}
