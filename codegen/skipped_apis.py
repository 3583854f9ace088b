"""Every API that the broker does not serve, and why. A test holds this list and the registry to be exact complements."""

from __future__ import annotations

from millstream.protocol.api import ApiKey

_CONTROLLER = "spoken among the controllers of a quorum and by brokers that replicate, which a quorum of one does not have; the connection is closed"

SKIPPED: dict[ApiKey, str] = {
    ApiKey.ALTER_PARTITION: _CONTROLLER,
}
