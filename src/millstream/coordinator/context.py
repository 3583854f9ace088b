"""The context of one operation: what every kind of coordinator gives its handlers.

An operation is a function of a context and a request that fills the context's result. Hard state changes when the
records of the result are replayed. Soft state (what is not in the log: timers, who waits, caches) an operation may
change at once; whatever rests on the records it undoes if they cannot be written, with `on_append_failure`. Nothing
runs between an operation and the fate of its records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias, TypeVar

from millstream.coordinator.result import Caller, CoordinatorResult, Reply, StartTimer, TimerKey
from millstream.errors import KafkaError
from millstream.runtime import Instant


@dataclass(slots=True)
class OperationContext:
    """Each coordinator adds what its own operations work with."""

    caller: Caller
    now: Instant
    result: CoordinatorResult = field(default_factory=CoordinatorResult, init=False)

    def reply(self, response: object) -> CoordinatorResult:
        """Returns the result, with `response` as the answer to this operation's request."""
        result = self.result
        result.replies.append(Reply(self.caller.token, response))
        return result

    def fail(self, error: KafkaError) -> CoordinatorResult:
        """Returns the result, with `error` as the answer. For refusals that change something; others are raised."""
        self.result.fail(self.caller.token, error)
        return self.result

    def on_append_failure(self, undo: Callable[[Self], None]) -> None:
        """Calls `undo` with a new context if the records of this operation are not written; else never."""
        self.result.undo.append(undo)

    def undo(self, failed: CoordinatorResult) -> CoordinatorResult:
        for undo in reversed(failed.undo):
            undo(self)
        return self.result

    def start_timer(self, key: TimerKey, delay_ms: int, *, unless_running: bool = False) -> None:
        deadline_ms = self.now.monotonic_ms + delay_ms
        self.result.timers.append(StartTimer(key, deadline_ms, unless_running))

    def cancel_timer(self, key: TimerKey) -> None:
        self.result.cancel_timer(key)


ContextT = TypeVar("ContextT", bound=OperationContext)
_Request: TypeAlias = Any  # Any: the type that the operation stands under in its table
Operation: TypeAlias = Callable[[ContextT, _Request], CoordinatorResult]
Operations: TypeAlias = Mapping[type, Operation[ContextT]]
"""By type of request. A KafkaError that an operation raises is the answer; nothing has changed then."""
