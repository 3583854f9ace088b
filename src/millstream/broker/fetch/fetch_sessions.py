"""Fetch sessions (KIP-227): what a fetcher asks for is remembered, so that each fetch tells only what changed.

Owns sessions, their epochs and which of them are given up when there are too many. Does not read partitions: a handler
takes `FetchContext.partitions`, reads them, and lets the context choose what goes into the response. Reading and
choosing may take turns with other requests, also of the same session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, Protocol, final

from millstream.broker.fetch.fetch_session import FetchKey, FetchSession, FindQuiet
from millstream.broker.requests.purgatory import Purgatory
from millstream.errors import (
    FetchSessionIdNotFound,
    FetchSessionTopicIdError,
    InvalidFetchSessionEpoch,
)
from millstream.model import ZERO_UUID
from millstream.protocol.generated.fetch import (
    FetchPartition,
    FetchRequest,
    PartitionData,
    ReplicaState,
)
from millstream.runtime import Instant, Random

NO_SESSION: Final = 0
INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
_EPOCH_MAX: Final = 2**31 - 1
_IDLE_BEFORE_EVICTION_MS: Final = 120_000
"""Kafka's (`MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS`)."""
_FIRST_TOPIC_ID_VERSION: Final = 13
PARTITIONS_MAX: Final = 500_000
"""Of the sessions of consumers together, some 500 MB. Kafka bounds the number of sessions alone, and a client may name
as many partitions as a request holds, whether they are there or not."""


class FetchContext(Protocol):
    """One fetch request, seen through its session."""

    @property
    def is_empty(self) -> bool:
        """Whether no partition is asked for, so that waiting is of no use."""
        ...

    def partitions(self) -> Sequence[tuple[FetchKey, FetchPartition]]:
        """Returns the partitions to read, in the order in which bytes are given out; the quiet ones
        of a session are left out.
        """
        ...

    def set_progress_listener(
        self, tell: Callable[[FetchKey, FetchPartition], None] | None
    ) -> None:
        """Calls `tell` for a quiet partition that made progress, until it is None again."""
        ...

    @property
    def known_id(self) -> int:
        """The id of the session that its fetcher knows already."""
        ...

    def is_news(self, key: FetchKey, data: PartitionData) -> bool:
        """Whether an answer would include the partition. Notes nothing."""
        ...

    def begin_answer(self) -> int:
        """Returns the session's id. Called once, before `choose`."""
        ...

    def choose(self, key: FetchKey, data: PartitionData) -> bool:
        """Whether the answer includes the partition. The session notes that the fetcher then knows `data`."""
        ...


@final
class FetchSessions:
    """The sessions of a node, at most `slots_max` with so many partitions; a fetcher that gets none goes on without."""

    def __init__(
        self,
        random: Random,
        purgatory: Purgatory,
        slots_max: int,
        partitions_max: int = PARTITIONS_MAX,
    ) -> None:
        self._partitions_max = partitions_max
        self._random = random
        self._purgatory = purgatory
        self._slots_max = slots_max
        self._sessions: dict[int, FetchSession] = {}
        """Least recently used first."""

    def __len__(self) -> int:
        return len(self._sessions)

    def begin(
        self,
        request: FetchRequest,
        version: int,
        now: Instant,
        find_quiet: FindQuiet,
        *,
        rules_version: int = 0,
    ) -> FetchContext:
        """Begins a request in its session, under the access rules of `rules_version`.

        Raises FetchSessionIdNotFound, InvalidFetchSessionEpoch, FetchSessionTopicIdError.
        """
        uses_topic_ids = version >= _FIRST_TOPIC_ID_VERSION
        if request.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            self._drop(request.session_id)
            asked = _asked(request)
            if request.session_epoch == FINAL_EPOCH:
                return _Sessionless(asked)
            new = partial(
                self.create,
                len(asked),
                now,
                uses_topic_ids=uses_topic_ids,
                replica=fetching_replica(request),
            )
            return _NewSession(asked, new, find_quiet)
        session = self._find(request, uses_topic_ids)
        before = len(session.partitions)
        _update(session, request)
        if len(session.partitions) > before and self._has_too_many(
            session.replica, 0, now, session
        ):
            self._drop(session.session_id)
            raise FetchSessionIdNotFound(
                f"the fetch sessions of this broker have {self._partitions_max} partitions already"
            )
        if not session.partitions:
            self._drop(session.session_id)
            return _Sessionless({})
        session.epoch = 1 if session.epoch == _EPOCH_MAX else session.epoch + 1
        session.maybe_read_all(now, fetching_replica(request), rules_version)
        self._touch(session, now)
        session.pulse.fetched_ms = now.monotonic_ms
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
        self,
        partition_count: int,
        now: Instant,
        *,
        uses_topic_ids: bool,
        replica: ReplicaState | None = None,
    ) -> FetchSession | None:
        """Creates a session; None when there is no slot for it, or for its partitions."""
        if self._has_too_many(replica, partition_count, now):
            return None
        is_full = len(self._sessions) >= self._slots_max
        if is_full and not self._evict(partition_count, now, by_replica=replica is not None):
            return None
        session = FetchSession(
            self._unused_id(), self._purgatory, now, uses_topic_ids=uses_topic_ids, replica=replica
        )
        self._sessions[session.session_id] = session
        return session

    def _has_too_many(
        self,
        replica: ReplicaState | None,
        more: int,
        now: Instant,
        growing: FetchSession | None = None,
    ) -> bool:
        """Whether a consumer's session with `more` partitions is too many, also once the sessions of consumers are
        dropped that nobody uses.

        `growing` is used right now. Followers always have a session: a cluster says what they fetch.
        """
        if replica is not None:
            return False
        of_consumers = [each for each in self._sessions.values() if each.replica is None]
        total = more + sum([len(each.partitions) for each in of_consumers])
        for session in of_consumers:  # the least recently used first
            if total <= self._partitions_max:
                break
            if session is growing:
                continue
            if now.monotonic_ms - session.last_used_ms <= _IDLE_BEFORE_EVICTION_MS:
                break
            total -= len(session.partitions)
            self._drop(session.session_id)
        return total > self._partitions_max

    def _evict(self, partition_count: int, now: Instant, *, by_replica: bool) -> bool:
        """Makes room: the session unused for two minutes, else a lesser one.

        Followers come before consumers, whose sessions need not have lived long to go for one; among equals those of
        fewer partitions go that have lived two minutes.
        """
        if not self._sessions:
            return False
        victim: FetchSession | None = next(iter(self._sessions.values()))
        if victim and now.monotonic_ms - victim.last_used_ms <= _IDLE_BEFORE_EVICTION_MS:
            new = (by_replica, partition_count)
            lesser = (
                session
                for session in self._sessions.values()
                if _rank(session) < new
                and (
                    now.monotonic_ms - session.created_ms > _IDLE_BEFORE_EVICTION_MS
                    or (by_replica and session.replica is None)
                )
            )
            victim = min(lesser, key=_rank, default=None)
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

    def set_progress_listener(
        self, tell: Callable[[FetchKey, FetchPartition], None] | None
    ) -> None:
        """Does nothing: all partitions are read, so none is quiet."""

    @property
    def known_id(self) -> int:
        return NO_SESSION

    def is_news(self, _key: FetchKey, _data: PartitionData) -> bool:
        return True

    def begin_answer(self) -> int:
        return NO_SESSION

    def choose(self, _key: FetchKey, _data: PartitionData) -> bool:
        return True


@final
class _NewSession:
    """The first fetch of a session answers everything; the session exists only once it is answered."""

    def __init__(
        self,
        asked: Mapping[FetchKey, FetchPartition],
        create: Callable[[], FetchSession | None],
        find_quiet: FindQuiet,
    ) -> None:
        self._asked = asked
        self._create = create
        self._find_quiet = find_quiet
        self._session: FetchSession | None = None

    @property
    def is_empty(self) -> bool:
        return not self._asked

    def partitions(self) -> Sequence[tuple[FetchKey, FetchPartition]]:
        return list(self._asked.items())

    def set_progress_listener(
        self, tell: Callable[[FetchKey, FetchPartition], None] | None
    ) -> None:
        """Does nothing: all partitions are read, so none is quiet."""

    @property
    def known_id(self) -> int:
        return NO_SESSION

    def is_news(self, _key: FetchKey, _data: PartitionData) -> bool:
        return True

    def begin_answer(self) -> int:
        if self._asked:
            self._session = self._create()
        return NO_SESSION if self._session is None else self._session.session_id

    def choose(self, key: FetchKey, data: PartitionData) -> bool:
        if self._session is not None:
            self._session.ask(key, self._asked[key])
            self._session.note_answer(key, data, self._find_quiet)
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

    def set_progress_listener(
        self, tell: Callable[[FetchKey, FetchPartition], None] | None
    ) -> None:
        self._session.tell = tell

    @property
    def known_id(self) -> int:
        return self._session.session_id

    def is_news(self, key: FetchKey, data: PartitionData) -> bool:
        partition = self._session.partitions.get(key)
        return partition is not None and partition.is_news(data)

    def begin_answer(self) -> int:
        return self._session.session_id

    def choose(self, key: FetchKey, data: PartitionData) -> bool:
        partition = self._session.partitions.get(key)
        if partition is None:
            return False  # forgotten by a later request of the same session
        is_news = partition.is_news(data)
        self._session.note_answer(key, data, self._find_quiet)
        return is_news


def fetching_replica(request: FetchRequest) -> ReplicaState | None:
    """Returns the follower that fetches, with its broker epoch from version 15 on; None for a consumer."""
    if request.replica_state.replica_id >= 0:
        return request.replica_state
    if request.replica_id >= 0:
        return ReplicaState(replica_id=request.replica_id)
    return None


def _rank(session: FetchSession) -> tuple[bool, int]:
    return session.replica is not None, len(session.partitions)


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
