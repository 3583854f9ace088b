"""The statuses a heartbeat tells its member, and the problem that keeps a topology from running."""

from __future__ import annotations

from enum import IntEnum


class StatusCode(IntEnum):
    """Codes of the `status` of a StreamsGroupHeartbeat response."""

    STALE_TOPOLOGY = 0
    MISSING_SOURCE_TOPICS = 1
    INCORRECTLY_PARTITIONED_TOPICS = 2
    MISSING_INTERNAL_TOPICS = 3
    SHUTDOWN_APPLICATION = 4
    ASSIGNMENT_DELAYED = 5


class TopologyProblem(Exception):
    """The topics in the cluster are not what the topology needs. Not an error of the request: the member is told and waits."""

    def __init__(self, code: StatusCode, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
