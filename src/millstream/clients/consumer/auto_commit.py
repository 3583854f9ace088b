"""Commits by themselves: in the background every `auto_commit_interval_ms`, and before partitions are given up.

Always what poll() and iteration have returned, never more; called from inside poll(), which
says that this is processed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from millstream.clients.cluster.cluster import Cluster
from millstream.clients.consumer.commits import Commits, Offsets
from millstream.clients.consumer.core.errors import CommitFailed
from millstream.errors import (
    FencedInstanceId,
    KafkaError,
    RebalanceInProgress,
    RetriableError,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from millstream.quoting import counted

_LOGGER = logging.getLogger(__name__)

_TOO_LATE = (CommitFailed, FencedInstanceId, RebalanceInProgress)
"""The member that has the partitions now reads these records again."""


class AutoCommit:
    def __init__(
        self,
        cluster: Cluster,
        commits: Commits,
        returned: Callable[[], Offsets],
        interval_ms: int,
    ) -> None:
        """`returned` gives the positions behind everything that was returned so far."""
        self._cluster = cluster
        self._commits = commits
        self._returned = returned
        self._interval_ms = interval_ms
        self._next_ms: int | None = None
        self._under_way = False

    def poll(self) -> None:
        """Commits in the background when it is time. The first interval starts with the first call."""
        now_ms = self._cluster.now_ms()
        if self._next_ms is None:
            self._next_ms = now_ms + self._interval_ms
        if now_ms < self._next_ms or self._under_way:
            return
        self._next_ms = now_ms + self._interval_ms
        self.commit_soon()

    def commit_soon(self) -> None:
        """Commits in the background."""
        if returned := self._returned():
            self._under_way = True
            self._commits.commit_soon(returned, self._on_complete)

    async def commit_before_giving_up(self) -> None:
        """Commits, and waits for the answer.

        Raises what is wrong with the group or the topic; being too late is only logged. It may be a deleted topic for
        which the group rebalances: as in Java, nobody waits until there is one of that name again.
        """
        deadline_ms = self._cluster.now_ms() + self._cluster.config.request_timeout_ms
        returned = self._returned()
        if not returned:
            return
        try:
            await self._commits.commit(returned, deadline_ms, waits_for_topics=False)
        except (RetriableError, *_TOO_LATE) as error:
            _LOGGER.warning(
                "what was returned last is not committed and will be read again: %s", error
            )

    def _on_complete(self, offsets: Offsets, error: KafkaError | None) -> None:
        self._under_way = False
        if error is None:
            return
        _LOGGER.warning("auto-commit of %s failed: %s", counted(len(offsets), "partition"), error)
        if error.retriable and not isinstance(error, (UnknownTopicOrPartition, UnknownTopicId)):
            backoff_ms = self._cluster.backoff.delay_ms(1, self._cluster.random)
            self._next_ms = self._cluster.now_ms() + backoff_ms
