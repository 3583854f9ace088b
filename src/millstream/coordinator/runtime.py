"""The runtime of one coordinator shard: the order in which things happen, for any kind of coordinator.

Operations and timers run one at a time, in order of time. What an operation writes is appended, then replayed into the
shard, then committed; only then is it answered. A reply also waits for everything that was written before it,
so no client reads what could still be lost.

It owns the queue, the timers and the parked replies. It does no I/O: the edge asks `advance` what to append, tells
`complete_append` or `fail_append` what came of it and `update_last_committed_offset` how far the log is safe, and
delivers the replies it is handed.

An operation or timer that takes long is not run by `advance`: the edge calls `run_long` where it keeps no other request
waiting. A thread may, and may call `complete_append` for what came of it; nothing is called meanwhile but `submit`,
and what only looks (`end_offset`, `first_awaited_offset`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, Generic, Protocol, TypeVar

from millstream.coordinator.record import CoordinatorRecord
from millstream.coordinator.result import (
    Caller,
    CoordinatorResult,
    Reply,
    StartTimer,
    TimerKey,
    Token,
)
from millstream.coordinator.timers import TimerQueue
from millstream.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    KafkaError,
    KafkaStorageError,
    MessageTooLarge,
    NotCoordinator,
    NotEnoughReplicas,
    NotEnoughReplicasAfterAppend,
    NotLeaderOrFollower,
    RecordListTooLarge,
    RequestTimedOut,
    UnknownServerError,
    UnknownTopicOrPartition,
)
from millstream.model import Offset, ProducerId
from millstream.runtime import Instant

_RETRY_LATER: Final = (
    UnknownTopicOrPartition,
    NotEnoughReplicas,
    NotEnoughReplicasAfterAppend,
    RequestTimedOut,
)
_LOOK_UP_AGAIN: Final = (NotLeaderOrFollower, KafkaStorageError)
_TOO_LARGE: Final = (MessageTooLarge, RecordListTooLarge)


def coordinator_error(error: KafkaError) -> KafkaError:
    """Returns the error to answer with; one that needs no translation comes back as it is."""
    if isinstance(error, _RETRY_LATER):
        return CoordinatorNotAvailable(f"the coordinator could not store this: {error}")
    if isinstance(error, _LOOK_UP_AGAIN):
        return NotCoordinator(f"the coordinator could not store this: {error}")
    if isinstance(error, _TOO_LARGE):
        return UnknownServerError(f"the coordinator cannot store this: {error}")
    return error


QUEUE_OPERATIONS_MAX: Final = 10_000
"""Ours: Kafka has no bound, and clients choose how many wait. Whoever comes beyond it is told to ask again."""


class Shard(Protocol):
    """The state machine of one coordinator partition. Handlers leave hard state alone; `replay` alone changes it."""

    def replay(self, offset: Offset, record: CoordinatorRecord) -> None: ...

    def transaction_size(self, producer_id: ProducerId) -> int:
        """Returns the number of records of the open transaction of `producer_id` that come into
        force, or are forgotten, when it ends.
        """
        ...

    def replay_end_transaction(self, producer_id: ProducerId, *, committed: bool) -> None: ...

    def handle(self, request: object, caller: Caller, now: Instant) -> CoordinatorResult:
        """Handles one request. A KafkaError that it raises is the answer; nothing has changed then."""
        ...

    def handle_loaded(self, now: Instant) -> CoordinatorResult:
        """The whole log has been replayed: start whatever has to run."""
        ...

    def handle_timer(self, key: TimerKey, now: Instant) -> CoordinatorResult: ...

    def takes_long(self, asked: object) -> bool:
        """Whether what is asked for, by a request or by a timer with this key, may be some milliseconds of work.

        Asked just before.
        """
        ...

    def handle_append_failed(self, failed: CoordinatorResult, now: Instant) -> CoordinatorResult:
        """The records of `failed` were not written, and its replies have failed: undo what it did to soft state."""
        ...


ShardT = TypeVar("ShardT", bound=Shard)


@dataclass(frozen=True, slots=True)
class _Operation:
    """One request that waits for its turn."""

    request: object
    caller: Caller
    check: Callable[[], None] | None


@dataclass(frozen=True, slots=True)
class Ready:
    """The work for the edge: deliver `replies` and `notices`; then, if there are any, append
    `records` as one batch and report.
    """

    records: Sequence[CoordinatorRecord] = ()
    replies: Sequence[Reply] = ()
    notices: Sequence[object] = ()
    is_unfinished: bool = False
    """As many operations as were allowed have run: more may be due."""
    is_long_next: bool = False
    """When all that is done, `run_long` is due."""


class ShardState(Enum):
    LOADING = "loading"
    ACTIVE = "active"
    UNLOADED = "unloaded"


@dataclass(frozen=True, slots=True)
class _Parked:
    """A reply that may leave once the log is committed up to `commit_offset`."""

    commit_offset: int
    deadline_ms: int
    reply: Reply


class CoordinatorRuntime(Generic[ShardT]):
    """Drives one shard. At most one append is under way; a broken invariant is an AssertionError and stops the node."""

    def __init__(self, shard: ShardT, commit_timeout_ms: int) -> None:
        """`commit_timeout_ms`: how long a reply may wait for its records to be committed before it fails."""
        self.shard: Final = shard
        self._commit_timeout_ms = commit_timeout_ms
        self._state = ShardState.LOADING
        self._operations: deque[tuple[int, _Operation]] = deque()
        self._timers = TimerQueue()
        self._parked: deque[_Parked] = deque()
        self._replies: list[Reply] = []
        self._parked_notices: deque[tuple[int, object]] = deque()
        """With the offset up to which the log must be committed. They have no deadline: they only come later."""
        self._writing: CoordinatorResult | None = None
        """What is being appended; its replies and notices hang on it."""
        self._end_offset = 0
        self._committed_offset = 0

    @property
    def state(self) -> ShardState:
        return self._state

    @property
    def end_offset(self) -> int:
        """One past the last record the shard has replayed."""
        return self._end_offset

    @property
    def first_awaited_offset(self) -> int:
        """The offset up to which the log must be committed for the first reply or notice that
        waits; its end where none does.

        It may be asked for while a thread runs an operation, which parks more and takes notices that are due: so it
        looks through a copy, and what it says is of before or after that.
        """
        committed = self._committed_offset  # notices below it leave with the next `Ready`
        first = self._parked[0].commit_offset if self._parked else self._end_offset
        notices = (offset for offset, _ in tuple(self._parked_notices) if offset > committed)
        return min(first, next(notices, first))

    # Loading

    def replay_loaded(self, offset: Offset, record: CoordinatorRecord) -> None:
        assert self._state is ShardState.LOADING, "records are loaded before a shard becomes active"
        self.shard.replay(offset, record)
        self._end_offset = offset + 1

    def finish_loading(
        self, end_offset: Offset, now: Instant, committed_offset: Offset | None = None
    ) -> None:
        """The log has been replayed up to `end_offset`; the shard works from here on.

        `committed_offset`: how far the log is known to be safe, all of it if None. What is above it was written under
        an earlier leader: it is true in the shard, as it will be in every replica or in none, and no answer leaves
        before it is safe. Kafka 4.3.1 answers reads from the state at its high watermark, which a new leader learns
        late: an offset that the old leader has told as committed may be missing there. Here a read waits for the rest
        of the log instead, as Kafka's writes and stable reads do.
        """
        assert self._state is ShardState.LOADING, "a shard is loaded once"
        self._state = ShardState.ACTIVE
        self._end_offset = end_offset
        self._committed_offset = end_offset if committed_offset is None else committed_offset
        assert self._committed_offset <= end_offset, "more is committed than was loaded"
        self._carry_out(self.shard.handle_loaded(now), now)

    def unload(self) -> None:
        """The shard is no longer ours: nothing is accepted or answered any more.

        The edge knows every token and fails them.
        """
        self._state = ShardState.UNLOADED
        self._writing = None
        self._replies.clear()
        self._parked.clear()
        self._parked_notices.clear()
        self._operations.clear()
        self._timers.clear()

    # Running

    def check_active(self) -> None:
        """Raises CoordinatorLoadInProgress, NotCoordinator."""
        if self._state is ShardState.LOADING:
            raise CoordinatorLoadInProgress
        if self._state is ShardState.UNLOADED:
            raise NotCoordinator

    def submit(
        self,
        request: object,
        caller: Caller,
        now: Instant,
        check: Callable[[], None] | None = None,
    ) -> None:
        """Queues a request; the answer goes to the token of `caller`.

        `check` is called right before the request is handled: a KafkaError that it raises is the answer. Raises
        CoordinatorLoadInProgress, NotCoordinator, CoordinatorNotAvailable (queue full).
        """
        self.check_active()
        if len(self._operations) >= QUEUE_OPERATIONS_MAX:
            raise CoordinatorNotAvailable(
                "too many requests wait for this coordinator; retry later"
            )
        self._operations.append((now.monotonic_ms, _Operation(request, caller, check)))

    def advance(self, now: Instant, operations_max: int = 2 * QUEUE_OPERATIONS_MAX) -> Ready:
        """Runs what is due until something has to be written or nothing is left, `operations_max` at most."""
        self._fail_overdue(now)
        left = operations_max
        is_long_next = False
        while left and self._may_run:
            due = self._next_due(now)
            if due is None:
                break
            is_long_next = self._takes_long(due)
            if is_long_next:
                break
            self._carry_out(self._run(due, now), now)
            left -= 1
        return self._ready(is_unfinished=not left, is_long_next=is_long_next)

    def is_due(self, now: Instant) -> bool:
        """Whether an operation or a timer may run now."""
        first_due = self._timers.first_due
        return self._may_run and (bool(self._operations) or first_due(now.monotonic_ms) is not None)

    def run_long(self, now: Instant) -> Ready:
        """Runs the operation or timer that is next, which `advance` has left at `now`."""
        assert self._may_run, "something else is under way"
        due = self._next_due(now)
        assert due is not None, "nothing was left to be run"
        self._carry_out(self._run(due, now), now)
        return self._ready()

    def next_deadline_ms(self) -> int | None:
        """Returns the time on the monotonic clock at which `advance` must be called again if nothing else happens."""
        deadlines = [self._parked[0].deadline_ms] if self._parked else []
        timer_ms = self._timers.next_deadline_ms()
        if timer_ms is not None and self._writing is None:
            deadlines.append(timer_ms)
        return min(deadlines, default=None)

    def complete_append(self, first_offset: Offset, now: Instant) -> None:
        """The records of the last `Ready` are in the log from `first_offset` on: from here on they are true."""
        assert self._writing is not None, "nothing was waiting to be appended"
        writing, self._writing = self._writing, None
        for offset, record in enumerate(writing.records, first_offset):
            self.shard.replay(Offset(offset), record)
        self._end_offset = first_offset + len(writing.records)
        self._park(writing.replies, now)
        self._park_notices(writing.notices)

    def complete_transaction(
        self, end_offset: Offset, producer_id: ProducerId, *, committed: bool
    ) -> None:
        """The edge has put the marker of a transaction into the log, which ends at `end_offset` now."""
        assert self._state is ShardState.ACTIVE, "markers are written to a loaded shard"
        assert self._writing is None, "a marker comes between two appends"
        self.shard.replay_end_transaction(producer_id, committed=committed)
        self._end_offset = end_offset

    def fail_append(self, error: KafkaError, now: Instant) -> None:
        """The records of the last `Ready` are not in the log, and never were true."""
        assert self._writing is not None, "nothing was waiting to be appended"
        writing, self._writing = self._writing, None
        failure = coordinator_error(error)
        # At once, as Kafka: it tells nothing of the state, and where replicas are missing nothing else may become safe for long.
        self._replies.extend(Reply(reply.token, failure) for reply in writing.replies)
        self._carry_out(self.shard.handle_append_failed(writing, now), now)

    def update_last_committed_offset(self, offset: Offset) -> None:
        """Notes that everything below `offset` is safe: replies that waited for it may leave with the next `Ready`."""
        assert offset <= self._end_offset, "more is committed than was ever appended"
        self._committed_offset = max(self._committed_offset, offset)
        while self._parked and self._parked[0].commit_offset <= self._committed_offset:
            self._replies.append(self._parked.popleft().reply)

    @property
    def _may_run(self) -> bool:
        return self._state is ShardState.ACTIVE and self._writing is None

    def _next_due(self, now: Instant) -> _Operation | TimerKey | None:
        """The operation or timer whose time came first; it stays where it is.

        A heartbeat that arrived in time counts even when the broker was too busy to look at it
        before the session ended.
        """
        timer_ms = self._timers.next_deadline_ms()
        if self._operations and (timer_ms is None or self._operations[0][0] <= timer_ms):
            return self._operations[0][1]
        return self._timers.first_due(now.monotonic_ms)

    def _takes_long(self, due: _Operation | TimerKey) -> bool:
        if isinstance(due, _Operation):
            return due.caller.is_long or self.shard.takes_long(due.request)
        return self.shard.takes_long(due)

    def _run(self, due: _Operation | TimerKey, now: Instant) -> CoordinatorResult:
        if not isinstance(due, _Operation):
            self._timers.pop_due(now.monotonic_ms)
            return self.shard.handle_timer(due, now)
        self._operations.popleft()
        try:
            if due.check is not None:
                due.check()
            result = self.shard.handle(due.request, due.caller, now)
        except KafkaError as error:
            result = CoordinatorResult()
            result.fail(due.caller.token, error)
        if due.caller.sees_uncommitted and not result.records:
            self._answer_at_once(due.caller.token, result)
        return result

    def _answer_at_once(self, token: Token, result: CoordinatorResult) -> None:
        """Answers this request alone: what else it answers, such as members that have waited for
        it, waits for the log.
        """
        self._replies += [reply for reply in result.replies if reply.token == token]
        result.replies = [reply for reply in result.replies if reply.token != token]

    def _ready(self, *, is_unfinished: bool = False, is_long_next: bool = False) -> Ready:
        return Ready(
            self._writing.records if self._writing else (),
            self._take_replies(),
            self._take_notices(),
            is_unfinished=is_unfinished,
            is_long_next=is_long_next,
        )

    def _carry_out(self, result: CoordinatorResult, now: Instant) -> None:
        for timer in result.timers:
            if isinstance(timer, StartTimer):
                keeps = timer.unless_running
                self._timers.start(timer.key, timer.deadline_ms, unless_running=keeps)
            else:
                self._timers.cancel(timer.key)
        if result.records:
            assert self._writing is None, "one append at a time: a second result wants to write"
            self._writing = result
        else:
            self._park(result.replies, now)
            self._park_notices(result.notices)

    def _park(self, replies: Sequence[Reply], now: Instant) -> None:
        if self._end_offset <= self._committed_offset:
            self._replies.extend(replies)
            return
        deadline_ms = now.monotonic_ms + self._commit_timeout_ms
        self._parked.extend(_Parked(self._end_offset, deadline_ms, reply) for reply in replies)

    def _park_notices(self, notices: Sequence[object]) -> None:
        if notices:
            self._parked_notices.extend((self._end_offset, notice) for notice in notices)

    def _take_notices(self) -> Sequence[object]:
        due = []
        while self._parked_notices and self._parked_notices[0][0] <= self._committed_offset:
            due.append(self._parked_notices.popleft()[1])
        return due

    def _fail_overdue(self, now: Instant) -> None:
        """The records may still be committed later; the client is told to ask again."""
        while self._parked and self._parked[0].deadline_ms <= now.monotonic_ms:
            token = self._parked.popleft().reply.token
            error = coordinator_error(RequestTimedOut("its records were not committed in time"))
            self._replies.append(Reply(token, error))

    def _take_replies(self) -> Sequence[Reply]:
        replies, self._replies = self._replies, []
        return replies
