"""The coordinator's remarks about a group: which of them a member outlives."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from millstream.clients.core.named_errors import named_error
from millstream.errors import MillstreamError, TopicAuthorizationFailed
from millstream.protocol.enums import StreamsGroupStatus
from millstream.protocol.generated.streams_group_heartbeat import Status
from millstream.streams.errors import TopologyError

_LOGGER = logging.getLogger(__name__)

_MAY_NOT_CREATE = "Unauthorized to CREATE"
"""Brokers say so within a sentence, and would go on to do so for ever."""

_NOT_READY = frozenset(
    {
        StreamsGroupStatus.MISSING_SOURCE_TOPICS,
        StreamsGroupStatus.MISSING_INTERNAL_TOPICS,
        StreamsGroupStatus.ASSIGNMENT_DELAYED,
    }
)


class ShutdownRequested(MillstreamError):
    """A member of the group has asked that the whole application ends."""


class GroupRemarks:
    """Remembers since when source topics are missing: they may just be being created."""

    def __init__(self) -> None:
        self._missing_since_ms: int | None = None
        self._logged: frozenset[tuple[int, str]] = frozenset()
        self.is_ready = False
        """Whether the assignment is one: the coordinator has all that it needs to share out the tasks."""

    def heed(self, statuses: Iterable[Status], heartbeat_interval_ms: int, now_ms: int) -> None:
        """Takes in the remarks of an answer, and raises those that end the member.

        ShutdownRequested; TopologyError for topics that do not fit, or have been missing for two heartbeats;
        TopicAuthorizationFailed for topics that the coordinator may not create for the user.
        """
        given = {each.status_code: each.status_detail.rstrip(".") for each in statuses}
        news = frozenset(given.items())
        for code, detail in news - self._logged:
            _LOGGER.info("the coordinator of the group says: %s", detail or code)
        self._logged = news
        self.is_ready = _NOT_READY.isdisjoint(given)
        if StreamsGroupStatus.SHUTDOWN_APPLICATION in given:
            raise ShutdownRequested("a member of the group has asked that the application ends")
        if StreamsGroupStatus.INCORRECTLY_PARTITIONED_TOPICS in given:
            raise TopologyError(
                f"{given[StreamsGroupStatus.INCORRECTLY_PARTITIONED_TOPICS]}: repartition one of the streams, or create the topics again"
            )
        missing = given.get(StreamsGroupStatus.MISSING_INTERNAL_TOPICS, "")
        if _MAY_NOT_CREATE in missing:
            raise named_error(TopicAuthorizationFailed.code, missing)
        if StreamsGroupStatus.MISSING_SOURCE_TOPICS not in given:
            self._missing_since_ms = None
            return
        if self._missing_since_ms is None:
            self._missing_since_ms = now_ms
        if now_ms - self._missing_since_ms >= 2 * heartbeat_interval_ms:
            raise TopologyError(
                f"{given[StreamsGroupStatus.MISSING_SOURCE_TOPICS]}: create the source topics before the application is started"
            )
