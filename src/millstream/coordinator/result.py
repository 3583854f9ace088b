"""The result of one operation of a shard: records to write, replies to give, timers to set.

Owns the words every shard and the runtime share. Nothing in here acts; the runtime and its edge do.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Final, NewType, TypeAlias

from millstream.coordinator.record import CoordinatorRecord
from millstream.errors import KafkaError
from millstream.security.principal import ANONYMOUS, KafkaPrincipal

Token = NewType("Token", int)
"""Names one waiting request. Chosen by the edge, meaningless in here, answered exactly once."""

NO_TOKEN: Final = Token(0)
"""Of a caller whom the edge has not given one yet."""

TimerKey = Hashable
"""Names one timer of a shard. Starting a timer under a key that is running moves its deadline."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request, as far as a shard may know it."""

    token: Token
    api_version: int
    client_id: str = ""
    client_host: str = ""
    """As Kafka records it: `/` and the address."""
    is_long: bool = False
    """The request has so many elements that the edge has it handled in a thread."""
    sees_uncommitted: bool = False
    """The answer to this request does not wait until what was written before it is committed."""
    principal: KafkaPrincipal = ANONYMOUS
    """Whom topics are hidden from that an expression matches, if it may not describe them."""


NODE_ITSELF: Final = Caller(NO_TOKEN, 0)
"""The caller of what the node asks of its own shards, and of what happens by itself."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to the request that waits under `token`: a response message, or the error the request failed with."""

    token: Token
    outcome: object


@dataclass(frozen=True, slots=True)
class StartTimer:
    key: TimerKey
    deadline_ms: int
    """On the monotonic clock."""
    unless_running: bool = False
    """A timer that runs keeps its own deadline."""


@dataclass(frozen=True, slots=True)
class CancelTimer:
    key: TimerKey


_NewContext: TypeAlias = Any  # Any: a context of the coordinator whose operation it was
Undo: TypeAlias = Callable[[_NewContext], None]


@dataclass(slots=True)
class CoordinatorResult:
    """Filled by a handler, carried out by the runtime: records first, then replies and notices once they are committed.

    Timers are set at once. Only the operation that made it changes a result.
    """

    records: list[CoordinatorRecord] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    timers: list[StartTimer | CancelTimer] = field(default_factory=list)
    notices: list[object] = field(default_factory=list)
    """What the edge has to do because of the records, though no request waits for it. Dropped with
    records that are not written."""
    undo: list[Undo] = field(default_factory=list)
    """What puts soft state back, last first, if the records are not written."""

    def reply(self, token: Token, response: object) -> None:
        self.replies.append(Reply(token, response))

    def fail(self, token: Token, error: KafkaError) -> None:
        self.replies.append(Reply(token, error))

    def start_timer(self, key: TimerKey, deadline_ms: int, *, unless_running: bool = False) -> None:
        self.timers.append(StartTimer(key, deadline_ms, unless_running))

    def cancel_timer(self, key: TimerKey) -> None:
        self.timers.append(CancelTimer(key))
