"""The messages that a spout gives out, and the functions of the application that it calls on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol, final

from millstream.clients.core.values import ConsumerRecord
from millstream.clients.spout.core.attempts import RecordAttempt
from millstream.clients.spout.core.retries import MessageId
from millstream.model import TopicPartition

Record = ConsumerRecord[Any, Any]  # Any: what the deserializers make, of which nobody knows here
Translate = Callable[[Record], Iterable[object] | None]
"""Makes values of one record. None or no values: the record is done."""


class Acknowledger(Protocol):
    def ack(self, attempt: RecordAttempt) -> None: ...
    def fail(
        self, attempt: RecordAttempt, delay_ms: int | None, error: BaseException | None
    ) -> None: ...


@final
class SpoutMessage:
    """One value of a record, to be acked or failed. A record is done when all its values are acked."""

    __slots__ = ("_acknowledger", "_attempt", "_is_acked", "_is_failed", "_record", "value")

    def __init__(
        self,
        record: Record,
        value: Any,  # Any: made by translate() or a deserializer
        attempt: RecordAttempt,
        acknowledger: Acknowledger,
    ) -> None:
        self._record = record
        self._attempt = attempt
        self._acknowledger = acknowledger
        self._is_acked = False
        self._is_failed = False
        self.value = value

    def __repr__(self) -> str:
        return f"<SpoutMessage {self.topic}-{self.partition} offset={self.offset} attempt={self.attempt}>"

    @property
    def delivery(self) -> RecordAttempt:
        """The state of the record inside the spout."""
        return self._attempt

    @property
    def topic(self) -> str:
        """The topic of the record."""
        return self._record.topic

    @property
    def partition(self) -> int:
        """The partition of the record."""
        return self._record.partition

    @property
    def offset(self) -> int:
        """The offset of the record."""
        return self._record.offset

    @property
    def key(self) -> Any:  # Any: made by the deserializer
        """The key of the record, None for a null."""
        return self._record.key

    @property
    def headers(self) -> tuple[tuple[str, bytes | None], ...]:
        """The headers of the record, in order; a name may stand more than once."""
        return self._record.headers

    @property
    def timestamp_ms(self) -> int:
        """The time of the record, in milliseconds since 1970 UTC."""
        return self._record.timestamp_ms

    @property
    def id(self) -> MessageId:
        """The place of the record in the log; the values of one record share it."""
        return self._attempt.message_id

    @property
    def attempt(self) -> int:
        """1 when the record is given out for the first time."""
        return self._attempt.number

    @property
    def is_settled(self) -> bool:
        """Whether ack() or fail() was called."""
        return self._is_acked or self._is_failed

    def ack(self) -> None:
        """Says that the value is done with.

        Ignored for one that was acked, and after its partition went to another owner.
        """
        if self._is_acked:
            return
        self._is_acked = True
        self._attempt.open_values -= 1
        if self._attempt.open_values == 0:
            self._acknowledger.ack(self._attempt)

    def fail(self, delay_ms: int | None = None, *, error: BaseException | None = None) -> None:
        """Asks for the record once more, after `delay_ms` or as the settings say. An ack before that takes it back."""
        self._is_failed = True
        self._acknowledger.fail(self._attempt, delay_ms, error)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpoutHooks:
    """Functions of the application.

    They are called on the event loop and must not block; what they raise ends the spout.
    """

    on_emit: Callable[[SpoutMessage], None] | None = None
    on_ack: Callable[[MessageId], None] | None = None
    """A record is done: all its values are acked."""
    on_retry: Callable[[MessageId, BaseException | None], None] | None = None
    """A record failed and will be given out again."""
    on_max_retry: Callable[[Record, BaseException | None], None] | None = None
    """A record had all its retries. It goes to `dead_letters`, or is counted as lost."""
    on_partitions: Callable[[set[TopicPartition]], None] | None = None
    """The partitions that the spout has now."""
