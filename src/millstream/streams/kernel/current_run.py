"""The records that a task is processing: where they come from, and how far time has come with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar, overload

from millstream.streams.kernel.columns.batch import Batch, Headers
from millstream.streams.options import RecordContext
from millstream.streams.state.cache import NOWHERE, ProcessorRecordContext
from millstream.streams.state.store import RecordInProcess

if TYPE_CHECKING:
    from millstream.streams.kernel.columns.batch import Numbers

T = TypeVar("T")


@dataclass(slots=True)
class Run:
    """Rows that are processed together, and where they come from: a row's ordinal finds its own offset and bytes.

    In a punctuation there is no topic, and nothing has an offset. Rows that come from a queue are a batch of one topic.
    """

    topic: str | None
    offsets: Sequence[int]
    raw_keys: Sequence[bytes | None] = ()
    raw_values: Sequence[bytes | None] = ()
    origin_times: Numbers | None = None
    """Of each row; None where nobody asks for them."""
    timestamps: Sequence[int] = ()
    """Of each row, where they come from a queue."""
    ordinals: Sequence[int] = ()
    time_before: int = -1
    """The stream time before the run, where timestamps are known."""


PUNCTUATION = Run(None, (-1,))


class CurrentRun:
    """One per task. A run begins, and with it nothing is known of the record of it that is being processed.

    `partition` is that of the input: tasks that fill global stores read one after the other. `origin_time` is the
    largest of the runs before. `failed_ordinal` is the row at which an operator stopped in the middle of a batch.
    """

    __slots__ = (
        "failed_ordinal",
        "origin_time",
        "partition",
        "record",
        "run",
        "stream_time",
        "wall_clock_ms",
    )

    def __init__(self, partition: int, wall_clock_ms: int = 0) -> None:
        self.partition = partition
        self.run = PUNCTUATION
        self.record = RecordInProcess()
        self.stream_time = -1
        self.origin_time = -1
        self.wall_clock_ms = wall_clock_ms
        self.failed_ordinal: int | None = None

    def begin(self, run: Run) -> None:
        """Lets the rows of this run be processed from now on."""
        self.run = run
        self.record.origin = NOWHERE

    def begin_record(
        self, topic: str | None, offset: int, raw_key: bytes | None, raw_value: bytes | None
    ) -> None:
        """Notes the record whose rows are processed from now on, whatever their ordinals.

        It is the one being processed, with whose ordinal they go on, that has brought them: its
        origin time stays theirs.
        """
        everywhere = _Everywhere(offset), _Everywhere(raw_key), _Everywhere(raw_value)
        self.begin(Run(topic, *everywhere, self.run.origin_times))

    @contextmanager
    def elsewhere(self) -> Iterator[None]:
        """Lets rows of other records be processed inside; those of before go on after it."""
        run, record = self.run, self.record
        before = record.origin, record.timestamp, record.headers
        try:
            yield
        finally:
            self.begin(run)
            record.origin, record.timestamp, record.headers = before

    def stream_time_at(self, ordinal: int) -> int:
        """Returns the stream time when this row came, whatever rows are processed with it."""
        run = self.run
        if not 0 <= ordinal < len(run.timestamps):
            return self.stream_time
        return max(run.time_before, *run.timestamps[: ordinal + 1])

    def origin_times_of(self, ordinals: Sequence[int]) -> Numbers:
        """Returns the origin times of the rows with these ordinals; of those that no record has led
        to, how far the task has come.
        """
        import numpy as np

        run = self.run
        if run.origin_times is None:
            return np.full(len(ordinals), self.origin_time, np.int64)
        if ordinals is run.ordinals:  # no operator has left rows out, or made more of them
            return run.origin_times
        times: Numbers = run.origin_times[np.asarray(ordinals, np.int64)]
        return times

    def record_context(self, ordinal: int, timestamp: int, headers: Headers) -> RecordContext:
        """Returns the origin of the row with this ordinal."""
        run = self.run
        partition = -1 if run.topic is None else self.partition
        raw_key = run.raw_keys[ordinal] if run.raw_keys else None
        raw_value = run.raw_values[ordinal] if run.raw_values else None
        offset = run.offsets[ordinal]
        return RecordContext(run.topic, partition, offset, timestamp, headers, raw_key, raw_value)

    def origin_of(self, rows: Batch) -> ProcessorRecordContext:
        """Returns the record that the last of the rows came from."""
        run, row = self.run, rows.ordinals[-1]
        raw_key = run.raw_keys[row] if run.raw_keys else None
        raw_value = run.raw_values[row] if run.raw_values else None
        return ProcessorRecordContext(
            run.topic, run.offsets[row], rows.headers[-1], raw_key, raw_value
        )

    def place_of(self, rows: Batch) -> str:
        """Returns the source of rows, for the text of an error."""
        run = self.run
        if run.topic is None:
            return "a record of a punctuation"
        first, last = run.offsets[rows.ordinals[0]], run.offsets[rows.ordinals[-1]]
        offsets = f"offset {first}" if first == last else f"offsets {first} to {last}"
        return f"{run.topic}-{self.partition} {offsets}"


class _Everywhere(Sequence[T], Generic[T]):
    """One item, whatever the ordinal."""

    __slots__ = ("_item",)

    def __init__(self, item: T) -> None:
        self._item = item

    def __len__(self) -> int:
        return 1

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[T]: ...
    def __getitem__(self, at: int | slice) -> T | Sequence[T]:
        return self if isinstance(at, slice) else self._item
