"""Commits the offsets of a query in its group, so that every tool of Kafka sees how far it is.

Owns one commit at a time: it is under way while the source plans, the newest offsets replace those that wait,
and one that fails is counted and tried again with the next. Nothing depends on it: what a query reads is in
its checkpoint. It must never end a query.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from millstream.clients import OffsetAndMetadata
from millstream.clients.cluster.core.cluster_metadata import LeaderEpochs
from millstream.errors import MillstreamError
from millstream.model import NO_LEADER_EPOCH, Offset, TopicPartition, uuid_text
from millstream.spark.offsets import NO_EPOCHS, Offsets
from millstream.spark.source.report import CommitReport

if TYPE_CHECKING:
    from millstream.clients import Admin

_LOGGER = logging.getLogger(__name__)
_VERSION: Final = 1
_TOPIC_ID: Final = "topicId"
_Marked = Mapping[TopicPartition, OffsetAndMetadata]
"""Offsets with what stands beside each of them."""
_RARE_MS: Final = 1_000
"""Between triggers that come more often the loop runs often enough for a commit to get on."""
_PATIENCE: Final = 0.1
"""The part of the time between two triggers that planning may wait for a commit."""
_PATIENCE_MAX_S: Final = 5.0
"""However rare triggers are: rows wait meanwhile."""
_SLOW_MS: Final = 10_000
"""Some hundred times what a commit takes; nobody needs to hear of a broker that restarts."""


class OffsetCommits:
    """Those of one query. `reader` is an id of this start of the query, which stands beside each offset."""

    def __init__(
        self, group_id: str, reader: str, interval_ms: int, now_ms: Callable[[], int]
    ) -> None:
        """`interval_ms` 0: whenever offsets have moved."""
        self._group_id = group_id
        self._reader = reader
        self._interval_ms = interval_ms
        self._now_ms = now_ms
        self._next_ms = 0
        self._had_ms = 0
        """The time that the commit under way has had, without that in which the loop stood still for long."""
        self._asked_ms: int | None = None
        self._since_asked_ms = 0
        self._wanted: _Marked = {}
        self._committed: _Marked = {}
        self._under_way: asyncio.Task[None] | None = None
        self._known: set[str] = set()
        """Metadata of this query, and what stood there before it began."""
        self._has_looked = False
        self._succeeded = 0
        self._failed = 0

    def report(self) -> CommitReport:
        committed = {tp: Offset(each.offset) for tp, each in self._committed.items()}
        return CommitReport(self._group_id, committed, self._succeeded, self._failed)

    def is_due(
        self,
        offsets: Offsets,
        topic_ids: Mapping[str, str],
        leader_epochs: LeaderEpochs = NO_EPOCHS,
    ) -> bool:
        """Takes the offsets up to which all is in the checkpoint, and of which topics and leaders they are. Returns
        whether they should be committed now.
        """
        now_ms = self._now_ms()
        self._since_asked_ms = 0 if self._asked_ms is None else now_ms - self._asked_ms
        self._asked_ms = now_ms
        self._wanted = self._marked(offsets, topic_ids, leader_epochs)
        if self._is_under_way and self._since_asked_ms < _RARE_MS:
            self._count_time(self._since_asked_ms)
        return bool(
            self._wanted
            and self._wanted != self._committed
            and not self._is_under_way
            and now_ms >= self._next_ms
        )

    @property
    def _is_under_way(self) -> bool:
        return self._under_way is not None and not self._under_way.done()

    def _count_time(self, time_ms: int) -> None:
        """Tells once of a commit that is slow."""
        before_ms, self._had_ms = self._had_ms, self._had_ms + time_ms
        if before_ms < _SLOW_MS <= self._had_ms:
            _LOGGER.warning(
                "a commit of offsets in group %s takes more than %d s: commits are slower than micro-batches, and the newest offsets "
                "replace those that wait",
                self._group_id,
                _SLOW_MS // 1000,
            )

    @property
    def patience_s(self) -> float:
        """The time for which planning may wait for a commit: a tenth of what has passed since it was last
        asked, where that is long.

        Between triggers that are rare the loop stands still, and a commit that is under way
        would end with the next one.
        """
        if self._since_asked_ms < _RARE_MS:
            return 0.0
        return min(_PATIENCE_MAX_S, self._since_asked_ms / 1000 * _PATIENCE)

    def begin(self, admin: Admin, loop: asyncio.AbstractEventLoop) -> None:
        """Begins to commit. It goes on whenever the loop runs."""
        self._next_ms = self._now_ms() + self._interval_ms
        self._had_ms = 0
        self._under_way = loop.create_task(self._commit(admin, self._wanted))

    async def wait(self, limit_s: float) -> None:
        """Waits for the commit that is under way."""
        if self._under_way is not None and self._is_under_way:
            began_ms = self._now_ms()
            await asyncio.wait({self._under_way}, timeout=limit_s)
            if self._is_under_way:
                self._count_time(self._now_ms() - began_ms)

    async def commit_now(
        self,
        admin: Admin,
        offsets: Offsets,
        topic_ids: Mapping[str, str],
        leader_epochs: LeaderEpochs = NO_EPOCHS,
    ) -> None:
        """Commits and waits for it. Raises what the broker answers: for queries that must not go on without."""
        try:
            await self._alter(admin, self._marked(offsets, topic_ids, leader_epochs))
        except MillstreamError:
            self._failed += 1
            raise

    def _marked(
        self, offsets: Offsets, topic_ids: Mapping[str, str], leader_epochs: LeaderEpochs
    ) -> _Marked:
        wanted = marked(offsets, topic_ids, leader_epochs, reader=self._reader)
        self._known.update(each.metadata for each in wanted.values())
        return wanted

    async def _alter(self, admin: Admin, marked: _Marked) -> None:
        committed = await admin.alter_consumer_group_offsets(self._group_id, marked)
        committed.raise_errors()
        self._committed = marked
        self._succeeded += 1

    async def finish(self, admin: Admin) -> None:
        """Commits what is left, once. For the end of a query."""
        if self._under_way is not None:
            await self._under_way
        if self._wanted and self._wanted != self._committed:
            await self._commit(admin, self._wanted)

    async def _commit(self, admin: Admin, marked: _Marked) -> None:
        try:
            await self._look_for_others(admin, marked)
            await self._alter(admin, marked)
        except MillstreamError as error:
            self._failed += 1
            _LOGGER.warning(
                "offsets were not committed in group %s, for the %d. time: %s",
                self._group_id,
                self._failed,
                error,
            )

    async def _look_for_others(self, admin: Admin, marked: _Marked) -> None:
        """Warns once where another query commits in the group while this one runs."""
        groups = await admin.list_consumer_group_offsets({self._group_id: list(marked)})
        found = _metadata_of(groups.result(self._group_id))
        if not self._has_looked:
            self._has_looked = True
            self._known |= found
        others = found - self._known
        if others:
            self._known |= others
            _LOGGER.warning(
                "another query or consumer commits offsets in group %s: give each query a group of its own, or their lag and the start "
                "of the next query are those of either",
                self._group_id,
            )


def marked(
    offsets: Offsets,
    topic_ids: Mapping[str, str],
    leader_epochs: LeaderEpochs,
    **of_whom: str | int,
) -> dict[TopicPartition, OffsetAndMetadata]:
    """Returns the offsets with what stands beside them in a group."""
    of_topics = {
        topic: commit_metadata(topic_ids.get(topic), **of_whom)
        for topic in {tp.topic for tp in offsets}
    }
    epochs = {
        tp: epoch
        for (id_, tp), epoch in leader_epochs.items()
        if topic_ids.get(tp.topic) == uuid_text(id_)
    }
    return {
        tp: OffsetAndMetadata(at, of_topics[tp.topic], epochs.get(tp, int(NO_LEADER_EPOCH)))
        for tp, at in offsets.items()
    }


def commit_metadata(topic_id: str | None, **of_whom: str | int) -> str:
    """JSON that stands beside each offset and says who has committed it, and of which topic it is, as far as that
    is known.
    """
    of_topic = {} if topic_id is None else {_TOPIC_ID: topic_id}
    return json.dumps({"v": _VERSION, **of_whom, **of_topic}, separators=(",", ":"))


def topic_id_in(metadata: str) -> str | None:
    """Returns the id of the topic that an offset was committed of; None where a query of ours has not said so."""
    try:
        document = json.loads(metadata)
    except ValueError:
        return None
    found = document.get(_TOPIC_ID) if isinstance(document, dict) else None
    return found if isinstance(found, str) else None


def _metadata_of(
    committed: Mapping[TopicPartition, OffsetAndMetadata | MillstreamError],
) -> set[str]:
    return {each.metadata for each in committed.values() if isinstance(each, OffsetAndMetadata)}
