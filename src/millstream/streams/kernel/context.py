"""The context of a task: the records that its operators are processing, and counts of what they drop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Sized
from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, TypeVar, overload

from millstream.streams.config import StreamsConfig
from millstream.streams.handlers import ErrorContext, OutgoingRecord
from millstream.streams.kernel.columns.batch import Batch, Headers
from millstream.streams.kernel.emit_interval import EmitInterval
from millstream.streams.kernel.punctuation import PunctuationQueue, Punctuations, Timer
from millstream.streams.metrics import StreamsMetrics
from millstream.streams.options import RecordContext
from millstream.streams.processor import PunctuationType
from millstream.streams.state.cache import NOWHERE, ProcessorRecordContext
from millstream.streams.topology.operators import AsyncCaller

if TYPE_CHECKING:
    from millstream.streams.kernel.columns.origins import Numbers

T = TypeVar("T")
SizedT = TypeVar("SizedT", bound=Sized)
NO_RAW: Sequence[bytes | None] = ()
Run = tuple[
    str | None, Sequence[int], Sequence[bytes | None], Sequence[bytes | None], "Numbers | None"
]
"""Topic, offsets, bytes of keys and values, and origin times of the records that are processed together."""


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


class TaskContext:
    """One per task. `counts`: by node and Kafka's name of the metric, without `-total`, what nodes have counted; `""` is
    the task. `produced`: records by sink and topic.

    `offsets`, `raw_keys` and `raw_values` are those of the run being processed; a row's ordinal
    finds its own. In a punctuation there is no topic, and nothing has an offset. `origin_time` is the largest of the runs before.

    `ordinal` is that of the row being processed, `origin` where it comes from; kept where a cache may make room meanwhile.
    `failed_ordinal` is the row at which an operator stopped in the middle of a batch. `node` is the node whose operator is
    being made. `closers` are called when the task is closed.
    """

    __slots__ = (
        "async_caller",
        "closers",
        "commit_requested",
        "config",
        "counts",
        "dropped_records",
        "emit_intervals",
        "failed_ordinal",
        "give_up",
        "is_global",
        "metrics",
        "node",
        "offsets",
        "ordinal",
        "origin",
        "origin_time",
        "origin_times",
        "partition",
        "produced",
        "punctuations",
        "raw_keys",
        "raw_values",
        "record_headers",
        "record_timestamp",
        "send_on",
        "state_dir",
        "stream_time",
        "task_id",
        "timers",
        "topic",
        "wall_clock_ms",
    )

    def __init__(
        self, config: StreamsConfig, partition: int, task_id: str, *, is_global: bool = False
    ) -> None:
        self.config = config
        self.partition = partition
        self.topic: str | None = None
        self.offsets: Sequence[int] = (-1,)
        self.raw_keys = NO_RAW
        self.raw_values = NO_RAW
        self.origin_times: Numbers | None = None
        self.origin_time = -1
        self.stream_time = -1
        self.wall_clock_ms = 0
        self.dropped_records = 0
        self.counts = Counter[tuple[str, str]]()
        self.produced = Counter[tuple[str, str]]()
        self.failed_ordinal: int | None = None
        self.node = ""
        self.task_id = task_id
        self.is_global = is_global
        self.record_timestamp = 0
        self.record_headers: Headers = ()
        self.origin = NOWHERE
        self.ordinal = 0
        self.state_dir: Callable[[], str | None] = lambda: None
        self.metrics = StreamsMetrics(lambda: self.wall_clock_ms, {"task-id": task_id})
        self.commit_requested = False
        self.emit_intervals: dict[str, EmitInterval] = {}
        """Of joins, whose two sides share one, by the name of what they share."""
        self.async_caller: AsyncCaller | None = None
        self.closers: list[Callable[[], object]] = []
        self.timers: list[Timer] = []
        self.send_on: Callable[[str, Batch, Batch], None]
        self.give_up: Callable[[str, Batch, Exception, OutgoingRecord | None], None]
        self.punctuations: Punctuations = {kind: PunctuationQueue() for kind in PunctuationType}

    def begin(
        self,
        topic: str | None,
        offsets: Sequence[int],
        raw_keys: Sequence[bytes | None] = NO_RAW,
        raw_values: Sequence[bytes | None] = NO_RAW,
        origin_times: Numbers | None = None,
    ) -> None:
        """Notes the topic whose rows are processed from now on; None: a punctuation."""
        self.origin_times = origin_times
        self.origin = NOWHERE
        self.topic = topic
        self.offsets = offsets
        self.raw_keys = raw_keys
        self.raw_values = raw_values

    def begin_record(
        self, topic: str | None, offset: int, raw_key: bytes | None, raw_value: bytes | None
    ) -> None:
        """Notes the record whose rows are processed from now on, whatever their ordinals.

        It is the one being processed, with whose ordinal they go on, that has brought them: its origin time stays theirs.
        """
        origin_times = self.origin_times
        self.begin(topic, _Everywhere(offset), _Everywhere(raw_key), _Everywhere(raw_value))
        self.origin_times = origin_times

    @property
    def run(self) -> Run:
        """The arguments of the last `begin`."""
        return self.topic, self.offsets, self.raw_keys, self.raw_values, self.origin_times

    @contextmanager
    def elsewhere(self) -> Iterator[None]:
        """Lets rows of other records be processed inside; those of before go on after it."""
        run = self.run
        record = self.origin, self.record_timestamp, self.record_headers
        try:
            yield
        finally:
            self.begin(*run)
            self.origin, self.record_timestamp, self.record_headers = record

    def origin_times_of(self, ordinals: Sequence[int]) -> Numbers:
        """Returns the origin times of the rows with these ordinals; of those that no record has led to, how far the task has come."""
        import numpy as np

        if self.origin_times is None:
            return np.full(len(ordinals), self.origin_time, np.int64)
        times: Numbers = self.origin_times[np.asarray(ordinals, np.int64)]
        return times

    def counted(self, batch: SizedT, kept: SizedT) -> SizedT:
        """Returns `kept`, after counting as dropped what `batch` had more."""
        self.dropped_records += len(batch) - len(kept)
        return kept

    def record_context(self, ordinal: int, timestamp: int, headers: Headers) -> RecordContext:
        """Returns the origin of the row with this ordinal."""
        topic = self.topic
        partition = -1 if topic is None else self.partition
        raw_key = self.raw_keys[ordinal] if self.raw_keys else None
        raw_value = self.raw_values[ordinal] if self.raw_values else None
        offset = self.offsets[ordinal]
        return RecordContext(topic, partition, offset, timestamp, headers, raw_key, raw_value)

    def origin_of(self, rows: Batch) -> ProcessorRecordContext:
        """Returns the record that the last of the rows came from."""
        row = rows.ordinals[-1]
        raw_key = self.raw_keys[row] if self.raw_keys else None
        raw_value = self.raw_values[row] if self.raw_values else None
        return ProcessorRecordContext(
            self.topic, self.offsets[row], rows.headers[-1], raw_key, raw_value
        )

    def place_of(self, rows: Batch) -> str:
        """Returns the source of rows, for the text of an error."""
        if self.topic is None:
            return "a record of a punctuation"
        first, last = self.offsets[rows.ordinals[0]], self.offsets[rows.ordinals[-1]]
        offsets = f"offset {first}" if first == last else f"offsets {first} to {last}"
        return f"{self.topic}-{self.partition} {offsets}"

    def error_context(
        self, node: str, ordinal: int, timestamp: int, headers: Headers
    ) -> ErrorContext:
        """Returns the place of the row with this ordinal, for a handler of errors."""
        place = self.record_context(ordinal, timestamp, headers)
        return ErrorContext(
            place.topic,
            place.partition,
            place.offset,
            headers,
            node,
            self.task_id,
            timestamp,
            place.source_raw_key,
            place.source_raw_value,
        )
