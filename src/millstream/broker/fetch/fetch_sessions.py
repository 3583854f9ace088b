"""Fetch sessions (KIP-227): what a consumer asks for is remembered, so that each fetch tells only what changed.

Owns sessions, their epochs and which of them are given up when there are too many. Does not read partitions: a handler takes
`FetchContext.partitions`, reads them, and lets the context choose what goes into the response. Reading and choosing may take
turns with other requests, also of the same session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Protocol, final

from millstream.broker.fetch.fetch_session import FetchKey, FetchSession, FindQuiet
from millstream.broker.requests.purgatory import Purgatory
from millstream.errors import (
    FetchSessionIdNotFound,
    FetchSessionTopicIdError,
    InvalidFetchSessionEpoch,
)
from millstream.model import ZERO_UUID
from millstream.protocol.generated.fetch import FetchPartition, FetchRequest, PartitionData
from millstream.runtime import Instant, Random

NO_SESSION: Final = 0
INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
_EPOCH_MAX: Final = 2**31 - 1
_IDLE_BEFORE_EVICTION_MS: Final = 120_000
_FIRST_TOPIC_ID_VERSION: Final = 13


class FetchContext(Protocol):
    """One fetch request, seen through its session."""

    @property
    def is_empty(self) -> bool:
        """Whether no partition is asked for, so that waiting is of no use."""
        ...

    def partitions(self) -> Sequence[tuple[FetchKey, FetchPartition]]:
        """Returns the partitions to read, in the order in which bytes are given out; the quiet ones of a session are left out."""
        ...

    def when_stirred(self, tell: Callable[[FetchKey, FetchPartition], None] | None) -> None:
        """Calls `tell` for a quiet partition that made progress, until it is None again."""
        ...

    def begin_answer(self) -> int:
        """Returns the session's id. Called once, before `choose`."""
        ...

    def choose(self, key: FetchKey, data: PartitionData) -> bool:
        """Whether the answer includes the partition. The session notes that the fetcher then knows `data`."""
        ...


@final
class FetchSessions:
    """The sessions of a node, at most `slots_max`; a fetcher that gets none goes on without."""

    def __init__(self, random: Random, purgatory: Purgatory, slots_max: int) -> None:
        self._random = random
        self._purgatory = purgatory
        self._slots_max = slots_max
        self._sessions: dict[int, FetchSession] = {}
        """Least recently used first."""

    def __len__(self) -> int:
        return len(self._sessions)

    def begin(
        self, request: FetchRequest, version: int, now: Instant, find_quiet: FindQuiet
    ) -> FetchContext:
        """Begins a request in its session. Raises FetchSessionIdNotFound, InvalidFetchSessionEpoch, FetchSessionTopicIdError."""
        uses_topic_ids = version >= _FIRST_TOPIC_ID_VERSION
        if request.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            self._drop(request.session_id)
            asked = _asked(request)
            if request.session_epoch == FINAL_EPOCH:
                return _Sessionless(asked)
            return _NewSession(self, asked, uses_topic_ids, now, find_quiet)
        session = self._find(request, uses_topic_ids)
        _update(session, request)
        if not session.partitions:
            self._drop(session.session_id)
            return _Sessionless({})
        session.epoch = 1 if session.epoch == _EPOCH_MAX else session.epoch + 1
        session.maybe_read_all(now)
        self._touch(session, now)
        return _Incremental(session, find_quiet)

    def _drop(self, session_id: int) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            session.close()

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
        self, partition_count: int, uses_topic_ids: bool, now: Instant
    ) -> FetchSession | None:
        """Creates a session; None when there is no slot for it."""
        if len(self._sessions) >= self._slots_max and not self._evict(partition_count, now):
            return None
        session = FetchSession(self._unused_id(), uses_topic_ids, self._purgatory, now)
        self._sessions[session.session_id] = session
        return session

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
        self._drop(victim.session_id)
        return True

    def _unused_id(self) -> int:
        while True:
            session_id = self._random.randrange(_EPOCH_MAX) + 1
            if session_id not in self._sessions:
                return session_id


@final
class _Sessionless:
    def __init__(self, asked: Mapping[FetchKey, FetchPartition]) -> None:
        self._asked = asked

    @property
    def is_empty(self) -> bool:
        return not self._asked

    def partitions(self) -> Sequence[tuple[FetchKey, FetchPartition]]:
        return list(self._asked.items())

    def when_stirred(self, tell: Callable[[FetchKey, FetchPartition], None] | None) -> None:
        """Does nothing: all partitions are read, so none is quiet."""

    def begin_answer(self) -> int:
        return NO_SESSION

    def choose(self, _key: FetchKey, _data: PartitionData) -> bool:
        return True


@final
class _NewSession:
    """The first fetch of a session answers everything; the session exists only once it is answered."""

    def __init__(
        self,
        sessions: FetchSessions,
        asked: Mapping[FetchKey, FetchPartition],
        uses_topic_ids: bool,
        now: Instant,
        find_quiet: FindQuiet,
    ) -> None:
        self._sessions = sessions
        self._asked = asked
        self._uses_topic_ids = uses_topic_ids
        self._now = now
        self._find_quiet = find_quiet
        self._session: FetchSession | None = None

    @property
    def is_empty(self) -> bool:
        return not self._asked

    def partitions(self) -> Sequence[tuple[FetchKey, FetchPartition]]:
        return list(self._asked.items())

    def when_stirred(self, tell: Callable[[FetchKey, FetchPartition], None] | None) -> None:
        """Does nothing: all partitions are read, so none is quiet."""

    def begin_answer(self) -> int:
        if self._asked:
            count = len(self._asked)
            self._session = self._sessions.create(count, self._uses_topic_ids, self._now)
        return NO_SESSION if self._session is None else self._session.session_id

    def choose(self, key: FetchKey, data: PartitionData) -> bool:
        if self._session is not None:
            self._session.ask(key, self._asked[key])
            self._session.told(key, data, self._find_quiet)
        return True


@final
class _Incremental:
    def __init__(self, session: FetchSession, find_quiet: FindQuiet) -> None:
        self._session = session
        self._find_quiet = find_quiet

    @property
    def is_empty(self) -> bool:
        return False

    def partitions(self) -> Sequence[tuple[FetchKey, FetchPartition]]:
        session = self._session
        return [(key, session.partitions[key].asked) for key in session.stirring]

    def when_stirred(self, tell: Callable[[FetchKey, FetchPartition], None] | None) -> None:
        self._session.tell = tell

    def begin_answer(self) -> int:
        return self._session.session_id

    def choose(self, key: FetchKey, data: PartitionData) -> bool:
        partition = self._session.partitions.get(key)
        if partition is None:
            return False  # forgotten by a later request of the same session
        is_news = partition.is_news(data)
        self._session.told(key, data, self._find_quiet)
        return is_news


def _asked(request: FetchRequest) -> dict[FetchKey, FetchPartition]:
    return {
        FetchKey(topic.topic, topic.topic_id, partition.partition): partition
        for topic in request.topics
        for partition in topic.partitions
    }


def _update(session: FetchSession, request: FetchRequest) -> None:
    for key, asked in _asked(request).items():
        session.ask(key, asked)
    for key in _forgotten(request):
        session.forget(key)


def _forgotten(request: FetchRequest) -> Iterable[FetchKey]:
    for topic in request.forgotten_topics_data:
        for partition in topic.partitions:
            yield FetchKey(topic.topic, topic.topic_id or ZERO_UUID, partition)
