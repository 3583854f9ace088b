"""The Processor API: user code that sees records one by one, keeps state and is called as time goes on.

A processor is any object with `process(record)`; `init(context)` and `close()` are called if they are there.
A supplier is a callable that makes one processor per task, often simply the class. A supplier (or class) with
an attribute `stores`, a sequence of StoreSpec, brings these stores along and is connected with them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any, Protocol

from millstream.streams.options import RecordContext

Headers = tuple[tuple[str, bytes | None], ...]


@dataclass(frozen=True, slots=True)
class Record:
    """What a processor is given and forwards. Change it with the `with_…` methods."""

    key: Any  # Any: user types
    value: Any  # Any: user types
    timestamp: int
    headers: Headers = ()

    def with_key(self, key: object) -> Record:
        return Record(key, self.value, self.timestamp, self.headers)

    def with_value(self, value: object) -> Record:
        return Record(self.key, value, self.timestamp, self.headers)

    def with_timestamp(self, timestamp: int) -> Record:
        return Record(self.key, self.value, timestamp, self.headers)

    def with_headers(self, headers: Headers) -> Record:
        return Record(self.key, self.value, self.timestamp, headers)


class PunctuationType(StrEnum):
    """Which clock a punctuation follows."""

    STREAM_TIME = "stream_time"
    WALL_CLOCK_TIME = "wall_clock_time"


class Cancellable(Protocol):
    """A scheduled punctuation."""

    def cancel(self) -> None: ...


class ProcessorContext(Protocol):
    """What a processor may use. One per processor and task."""

    application_id: str
    task_id: str

    def forward(self, record: Record, child: str | None = None) -> None:
        """Send a record to all children, or to the one named."""

    def store(self, name: str) -> Any:  # Any: stores of every kind
        """A store the processor is connected with, or a global store."""

    def schedule(
        self,
        interval: timedelta,
        kind: PunctuationType,
        callback: Callable[[int], object],
        *,
        start_ms: int | None = None,
    ) -> Cancellable:
        """Call callback(time in ms) every interval; from `start_ms` on if that is given."""

    def record_metadata(self) -> RecordContext | None:
        """Where the record being processed came from; None in a punctuation."""

    def current_stream_time_ms(self) -> int: ...

    def current_system_time_ms(self) -> int: ...

    def commit(self) -> None:
        """Ask for a commit soon (S41)."""

    def app_configs(self) -> Mapping[str, object]: ...


class Processor(Protocol):
    """The one method a processor must have."""

    def process(self, record: Record) -> None: ...


class ValueTransformer(Protocol):
    """What `KTable.transform_values` calls; `init(context)` and `close()` are called if they are there.

    It cannot forward or schedule: its result is what `transform` returns.
    """

    def transform(self, key: Any, value: Any, /) -> Any: ...  # Any: user types


ValueTransformerSupplier = Callable[[], ValueTransformer]

ProcessorSupplier = Callable[[], Processor]
