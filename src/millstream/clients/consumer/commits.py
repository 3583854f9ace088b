"""Commits of one consumer: one after the other, in the order they were asked for, told to the
application inside poll().

Who commits, and what the offsets are, is the consumer's; the request is `committed_offsets`'s.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass

from millstream.clients.cluster.cluster import Cluster
from millstream.clients.consumer.committed_offsets import TopicIds, commit_offsets, commit_once
from millstream.clients.consumer.core.errors import CommitFailed
from millstream.clients.core.values import ConsumerGroupMetadata, OffsetAndMetadata
from millstream.errors import (
    IllegalGeneration,
    KafkaError,
    RequestTimedOut,
    StaleMemberEpoch,
    UnknownMemberId,
)
from millstream.model import TopicPartition
from millstream.net.client.tasks import TaskScope

_LOGGER = logging.getLogger(__name__)

Offsets = Mapping[TopicPartition, OffsetAndMetadata]
CommitCallback = Callable[[Offsets, KafkaError | None], Awaitable[None] | None]
"""Told what was committed, and None or why it was not. May be a coroutine function."""

_GROUP_WENT_ON = (UnknownMemberId, IllegalGeneration, StaleMemberEpoch)


@dataclass(frozen=True, slots=True)
class _Finished:
    offsets: Offsets
    error: KafkaError | None
    callback: CommitCallback | None


class Commits:
    def __init__(
        self,
        cluster: Cluster,
        scope: TaskScope,
        group: Callable[[], ConsumerGroupMetadata],
        succeeded: Callable[[Offsets], None],
        topic_ids: Callable[[Iterable[TopicPartition]], TopicIds] = lambda _: {},
    ) -> None:
        """`group` tells who commits, as of now; it raises CommitFailed when there is none. `topic_ids` tells which
        topics have been read of partitions, as of now, unless the offsets say that themselves, as those of Streams do.
        """
        self._cluster = cluster
        self._scope = scope
        self._group = group
        self._topic_ids = topic_ids
        self._succeeded = succeeded
        self._turn = asyncio.Lock()
        self._pending: set[asyncio.Task[None]] = set()
        self._finished: deque[_Finished] = deque()

    async def commit(
        self, offsets: Offsets, deadline_ms: int, *, waits_for_topics: bool = True
    ) -> None:
        """Commits after the commits asked for before; retried while that may help (see `commit_offsets`).

        Raises CommitFailed and other KafkaErrors.
        """
        # Now, while the offsets are those of these topics: when it is our turn, others may have their names.
        topic_ids = self._topic_ids(offsets)
        remaining_ms = max(0, deadline_ms - self._cluster.now_ms())
        try:
            async with asyncio.timeout(remaining_ms / 1000):
                await self.settle()
                # A commit that is asked for from here on takes its turn behind this one: the lock is given in order.
                async with self._turn:
                    await self._commit(
                        offsets, topic_ids, deadline_ms, waits_for_topics=waits_for_topics
                    )
        except TimeoutError as error:
            raise RequestTimedOut("the commit was not answered in time") from error
        self._succeeded(offsets)

    def commit_soon(self, offsets: Offsets, callback: CommitCallback | None) -> None:
        """Commits in the background, without a retry. `run_callbacks` tells how it ended."""
        try:
            group = self._group()
        except CommitFailed as error:
            self._finished.append(_Finished(offsets, error, callback))
        else:
            topic_ids = self._topic_ids(offsets)
            task = self._scope.start(
                self._commit_once(group, offsets, topic_ids, callback), "commit"
            )
            self._pending.add(task)
            task.add_done_callback(self._pending.discard)

    @property
    def has_finished(self) -> bool:
        """Whether there are callbacks to run."""
        return bool(self._finished)

    async def run_callbacks(self) -> None:
        """Runs the callbacks of the commits that have ended, in order."""
        while self._finished:
            finished = self._finished.popleft()
            if finished.error is None:
                self._succeeded(finished.offsets)
            if finished.callback is not None:
                outcome = finished.callback(finished.offsets, finished.error)
                if inspect.isawaitable(outcome):
                    await outcome
            elif finished.error is not None:
                _LOGGER.warning("commit_async() failed: %s", finished.error)

    async def settle(self) -> None:
        """Waits for what was asked for before."""
        if self._pending:
            await asyncio.wait(self._pending)

    async def _commit(
        self, offsets: Offsets, topic_ids: TopicIds, deadline_ms: int, *, waits_for_topics: bool
    ) -> None:
        while True:
            group = self._group()
            results = await commit_offsets(
                self._cluster,
                group,
                offsets,
                deadline_ms,
                topic_ids=topic_ids,
                waits_for_topics=waits_for_topics,
            )
            error = _first_error(results)
            if error is None:
                return
            if not isinstance(error, StaleMemberEpoch):
                raise _explained(error)
            if self._group() == group:  # the heartbeat that tells us the new epoch is on its way
                delay_ms = self._cluster.backoff.delay_ms(1, self._cluster.random)
                await asyncio.sleep(delay_ms / 1000)

    async def _commit_once(
        self,
        group: ConsumerGroupMetadata,
        offsets: Offsets,
        topic_ids: TopicIds,
        callback: CommitCallback | None,
    ) -> None:
        error: KafkaError | None
        try:
            async with self._turn:
                error = _first_error(await commit_once(self._cluster, group, offsets, topic_ids))
        except KafkaError as failure:
            error = failure
        self._finished.append(
            _Finished(offsets, None if error is None else _explained(error), callback)
        )


def _first_error(results: Mapping[TopicPartition, KafkaError | None]) -> KafkaError | None:
    return next((error for error in results.values() if error is not None), None)


def _explained(error: KafkaError) -> KafkaError:
    """Returns the error for the caller of a commit, with the coordinator's own as its cause where
    that is another one.
    """
    if not isinstance(error, _GROUP_WENT_ON):
        return error
    explained = CommitFailed(
        f"the group went on without this member ({error.name}); its partitions may have other owners, who read on from"
        " the last commit. Call poll() to join again; if processing takes long, raise max_poll_interval_ms or lower"
        " max_poll_records"
    )
    explained.__cause__ = error
    return explained
