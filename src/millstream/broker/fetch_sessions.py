"""Fetch sessions (KIP-227): what a consumer asks for is remembered, so that each fetch tells only what changed.

Owns sessions, their epochs and which of them are given up when there are too many. Does not read partitions: a handler takes
`FetchContext.partitions`, reads them, and lets the context choose what goes into the response.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol, final

from millstream.errors import (
    FetchSessionIdNotFound,
    FetchSessionTopicIdError,
    InvalidFetchSessionEpoch,
)
from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.generated.fetch import FetchPartition, FetchRequest, PartitionData
from millstream.runtime import Instant, Random

NO_SESSION: Final = 0
INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
_EPOCH_MAX: Final = 2**31 - 1
_IDLE_BEFORE_EVICTION_MS: Final = 120_000
_FIRST_TOPIC_ID_VERSION: Final = 13


class FetchKey(NamedTuple):
    """A partition as its fetcher names it: by topic up to version 12, by topic id from 13 on."""

    topic: str
    topic_id: Uuid
    partition: int


Answer = tuple[FetchKey, PartitionData]


class FetchContext(Protocol):
    """One fetch request, seen through its session."""

    def partitions(self) -> Sequence[tuple[FetchKey, FetchPartition]]:
        """What to read, in the order in which bytes are given out."""
        ...

    def choose(self, answers: Sequence[Answer]) -> tuple[int, list[Answer]]:
        """(session id, what to tell the fetcher). Called once."""
        ...


@dataclass(slots=True)
class _SessionPartition:
    asked: FetchPartition
    told_high_watermark: int = -1
    told_log_start_offset: int = -1

    def is_news(self, data: PartitionData) -> bool:
        return (
            bool(data.records)
            or data.error_code != 0
            or data.high_watermark != self.told_high_watermark
            or data.log_start_offset != self.told_log_start_offset
            or data.diverging_epoch.epoch != -1
        )

    def remember(self, data: PartitionData) -> None:
        """An error is told again and again until it is gone: what was told before it no longer counts."""
        is_error = data.error_code != 0
        self.told_high_watermark = -1 if is_error else data.high_watermark
        self.told_log_start_offset = data.log_start_offset


@dataclass(slots=True)
class FetchSession:
    session_id: int
    uses_topic_ids: bool
    created_ms: int
    last_used_ms: int
    epoch: int = 1
    """The epoch the next request must carry."""
    partitions: dict[FetchKey, _SessionPartition] = field(default_factory=dict)
    """In the order in which bytes are given out: who got some goes to the end."""


@final
class FetchSessions:
    """At most `slots_max` sessions; a fetcher that gets none goes on without."""

    def __init__(self, random: Random, slots_max: int) -> None:
        self._random = random
        self._slots_max = slots_max
        self._sessions: dict[int, FetchSession] = {}
        """Least recently used first."""

    def __len__(self) -> int:
        return len(self._sessions)

    def begin(self, request: FetchRequest, version: int, now: Instant) -> FetchContext:
        """Raises FetchSessionIdNotFound, InvalidFetchSessionEpoch, FetchSessionTopicIdError."""
        uses_topic_ids = version >= _FIRST_TOPIC_ID_VERSION
        if request.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            self._sessions.pop(request.session_id, None)
            asked = _asked(request)
            if request.session_epoch == FINAL_EPOCH:
                return _Sessionless(asked)
            return _NewSession(self, asked, uses_topic_ids, now)
        session = self._find(request, uses_topic_ids)
        _update(session, request)
        if not session.partitions:
            del self._sessions[session.session_id]
            return _Sessionless([])
        session.epoch = 1 if session.epoch == _EPOCH_MAX else session.epoch + 1
        self._touch(session, now)
        return _Incremental(session)

    def _find(self, request: FetchRequest, uses_topic_ids: bool) -> FetchSession:
        session = self._sessions.get(request.session_id)
        if session is None:
            raise FetchSessionIdNotFound(
                f"fetch session {request.session_id} is not known any more"
            )
        if session.epoch != request.session_epoch:
            raise InvalidFetchSessionEpoch(
                f"fetch session {request.session_id} is at epoch {session.epoch}, not {request.session_epoch}"
            )
        if session.uses_topic_ids != uses_topic_ids:
            raise FetchSessionTopicIdError
        return session

    def _touch(self, session: FetchSession, now: Instant) -> None:
        del self._sessions[session.session_id]
        self._sessions[session.session_id] = session
        session.last_used_ms = now.monotonic_ms

    def create(
        self, partitions: dict[FetchKey, _SessionPartition], uses_topic_ids: bool, now: Instant
    ) -> int:
        """The id of a new session, NO_SESSION when there is no place for it."""
        if len(self._sessions) >= self._slots_max and not self._evict(len(partitions), now):
            return NO_SESSION
        session_id = self._unused_id()
        session = FetchSession(session_id, uses_topic_ids, now.monotonic_ms, now.monotonic_ms)
        session.partitions = partitions
        self._sessions[session_id] = session
        return session_id

    def _evict(self, partition_count: int, now: Instant) -> bool:
        """Makes room: the session unused for two minutes, else a smaller one that has lived as long."""
        if not self._sessions:
            return False
        stalest = next(iter(self._sessions.values()))
        victim: FetchSession | None = stalest
        if now.monotonic_ms - stalest.last_used_ms <= _IDLE_BEFORE_EVICTION_MS:
            smaller = (
                session
                for session in self._sessions.values()
                if len(session.partitions) < partition_count
                and now.monotonic_ms - session.created_ms > _IDLE_BEFORE_EVICTION_MS
            )
            victim = min(smaller, key=lambda session: len(session.partitions), default=None)
        if victim is None:
            return False
        del self._sessions[victim.session_id]
        return True

    def _unused_id(self) -> int:
        while True:
            session_id = self._random.randrange(_EPOCH_MAX) + 1
            if session_id not in self._sessions:
                return session_id


@final
class _Sessionless:
    def __init__(self, asked: Sequence[tuple[FetchKey, FetchPartition]]) -> None:
        self._asked = asked

    def partitions(self) -> Sequence[tuple[FetchKey, FetchPartition]]:
        return self._asked

    def choose(self, answers: Sequence[Answer]) -> tuple[int, list[Answer]]:
        return NO_SESSION, list(answers)


@final
class _NewSession:
    """The first fetch of a session answers everything; the session exists only once it has been answered."""

    def __init__(
        self,
        sessions: FetchSessions,
        asked: Sequence[tuple[FetchKey, FetchPartition]],
        uses_topic_ids: bool,
        now: Instant,
    ) -> None:
        self._sessions = sessions
        self._asked = asked
        self._uses_topic_ids = uses_topic_ids
        self._now = now

    def partitions(self) -> Sequence[tuple[FetchKey, FetchPartition]]:
        return self._asked

    def choose(self, answers: Sequence[Answer]) -> tuple[int, list[Answer]]:
        remembered = {key: _SessionPartition(asked) for key, asked in self._asked}
        for key, data in answers:
            remembered[key].remember(data)
        session_id = NO_SESSION
        if remembered:
            session_id = self._sessions.create(remembered, self._uses_topic_ids, self._now)
        return session_id, list(answers)


@final
class _Incremental:
    def __init__(self, session: FetchSession) -> None:
        self._session = session

    def partitions(self) -> Sequence[tuple[FetchKey, FetchPartition]]:
        return [(key, partition.asked) for key, partition in self._session.partitions.items()]

    def choose(self, answers: Sequence[Answer]) -> tuple[int, list[Answer]]:
        partitions = self._session.partitions
        chosen: list[Answer] = []
        for key, data in answers:
            partition = partitions.get(key)
            if partition is None or not partition.is_news(data):
                continue
            partition.remember(data)
            chosen.append((key, data))
            if data.records:
                del partitions[key]
                partitions[key] = partition
        return self._session.session_id, chosen


def _asked(request: FetchRequest) -> list[tuple[FetchKey, FetchPartition]]:
    asked = {
        FetchKey(topic.topic, topic.topic_id, partition.partition): partition
        for topic in request.topics
        for partition in topic.partitions
    }
    return list(asked.items())


def _update(session: FetchSession, request: FetchRequest) -> None:
    for key, asked in _asked(request):
        known = session.partitions.get(key)
        if known is None:
            session.partitions[key] = _SessionPartition(asked)
        else:
            known.asked = asked
    for key in _forgotten(request):
        session.partitions.pop(key, None)


def _forgotten(request: FetchRequest) -> Iterable[FetchKey]:
    for topic in request.forgotten_topics_data:
        for partition in topic.partitions:
            yield FetchKey(topic.topic, topic.topic_id or ZERO_UUID, partition)
