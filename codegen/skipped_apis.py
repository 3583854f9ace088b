"""Every API that the broker does not serve, and why. A test holds this list and the registry to be exact complements."""

from __future__ import annotations

from millstream.protocol.api import ApiKey

_CONTROLLER = "spoken on a controller's own listener, which a quorum of one does not have; a client's connection is closed"

SKIPPED: dict[ApiKey, str] = {
    ApiKey.VOTE: _CONTROLLER,
    ApiKey.BEGIN_QUORUM_EPOCH: _CONTROLLER,
    ApiKey.END_QUORUM_EPOCH: _CONTROLLER,
    ApiKey.ALTER_PARTITION: _CONTROLLER,
    ApiKey.ENVELOPE: _CONTROLLER,
    ApiKey.FETCH_SNAPSHOT: _CONTROLLER,
    ApiKey.BROKER_REGISTRATION: _CONTROLLER,
    ApiKey.BROKER_HEARTBEAT: _CONTROLLER,
    ApiKey.ALLOCATE_PRODUCER_IDS: _CONTROLLER,
    ApiKey.CONTROLLER_REGISTRATION: _CONTROLLER,
    ApiKey.ASSIGN_REPLICAS_TO_DIRS: _CONTROLLER,
    ApiKey.UPDATE_RAFT_VOTER: _CONTROLLER,
}
