"""Processors of the user: their context, and the operator that calls them record by record.

What a processor forwards goes down the graph at once, before `forward` returns, as in Kafka Streams. A source
with a processor below it therefore runs record at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from millstream.errors import ConfigError
from millstream.foreign_names.explanation import explain_missing
from millstream.streams.arguments import check_headers, check_kind
from millstream.streams.config import with_prefix
from millstream.streams.errors import InvalidStoreError, ProcessingError, StreamsError
from millstream.streams.kernel.columns.batch import Batch
from millstream.streams.kernel.context import NodeContext
from millstream.streams.kernel.operator import Operator
from millstream.streams.kernel.schedule import Punctuation, checked_schedule
from millstream.streams.metrics import StreamsMetrics
from millstream.streams.options import RecordContext
from millstream.streams.processor import Headers, ProcessorSupplier, PunctuationType, Record
from millstream.streams.serdes.serde import Serde


@explain_missing
class ProcessorContextImpl:
    """The context of one processor in one task."""

    def __init__(
        self, context: NodeContext, stores: Mapping[str, object], *, fixed_key: bool
    ) -> None:
        self.application_id = context.config.application_id
        self.task_id = context.facts.task_id
        self.node = context.node
        self._context = context
        self._record = context.current.record
        self._stores = stores
        self._fixed_key = fixed_key
        self._rows: Batch | None = None
        self._is_called = False
        self.emit: Callable[[Batch, str | None], None] | None = None

    @property
    def key_serde(self) -> Serde[Any]:  # Any: default serdes of any type
        """The application's default serde of keys. Raises ConfigError where it has none."""
        return self._default(self._context.config.default_key, "default_key")

    @property
    def value_serde(self) -> Serde[Any]:  # Any: default serdes of any type
        """The application's default serde of values. Raises ConfigError where it has none."""
        return self._default(self._context.config.default_value, "default_value")

    @property
    def state_dir(self) -> str:
        """The directory of the task. Raises StreamsError where the runner keeps everything in memory."""
        directory = self._context.facts.state_dir()
        if directory is None:
            raise StreamsError(
                f"task {self.task_id} has no state directory: its stores are in memory"
            )
        return directory

    @property
    def metrics(self) -> StreamsMetrics:
        """The metrics of the task, to which a processor may add its own."""
        return self._context.facts.metrics

    def _default(self, serde: Serde[Any] | None, name: str) -> Serde[Any]:  # Any: as above
        if serde is None:
            raise ConfigError(f"{self.node} asks for the default serde: set {name} in the config")
        return serde

    def forward(self, record: Record[object, object], child: str | None = None) -> None:
        """Send a record to all children, or to the one named."""
        if self.emit is None or not self._is_called:
            raise StreamsError(
                f"{self.node} can forward only while it processes a record or punctuates"
            )
        rows, own = self._rows, self._record
        check_record(self.node, record, own.headers)
        if self._fixed_key and rows is not None and record.key != rows.keys[0]:
            raise StreamsError(f"{self.node} must keep the key of its records: use process instead")
        before = own.timestamp, own.headers, own.origin
        self.emit(self.rows_of(record, self.ordinal), child)
        own.timestamp, own.headers, own.origin = before

    @property
    def ordinal(self) -> int:
        """The ordinal of the row being processed; 0 in a punctuation, which is a run of its own."""
        return 0 if self._rows is None else self._rows.ordinals[0]

    def rows_of(
        self,
        record: Record[Any, Any],  # Any: user types
        ordinal: int,
    ) -> Batch:
        """Returns the record as a row."""
        return Batch([record.key], [record.value], [record.timestamp], [record.headers], [ordinal])

    def record_of(self, rows: Batch) -> Record[Any, Any]:  # Any: user types
        """Returns the one row as the processor sees it."""
        return Record(rows.keys[0], rows.values[0], rows.timestamps[0], rows.headers[0])

    def store(self, name: str) -> Any:  # Any: stores of every kind
        """Returns a store the processor is connected with, or a global store."""
        if name not in self._stores:
            raise InvalidStoreError(
                f"{self.node} is not connected with store {name}: name it when the processor is added"
            )
        return self._stores[name]

    def schedule(
        self,
        interval: timedelta,
        kind: PunctuationType,
        callback: Callable[[int], object],
        *,
        start_ms: int | None = None,
    ) -> Punctuation:
        """Call callback(time in ms) every interval; the first time as Kafka Streams aligns it.

        On stream time that is at once, on the wall clock after an interval; with `start_ms` then, or where that has
        passed, the next time that is as many intervals later.
        """
        if self._context.facts.is_global:
            raise StreamsError(f"{self.node} fills a global store, which has no punctuations")
        every_ms, kind = checked_schedule(self.node, interval, kind, callback, start_ms)
        follows_records = kind is PunctuationType.STREAM_TIME
        current = self._context.current
        now_ms = current.stream_time if follows_records else current.wall_clock_ms
        if start_ms is None:
            first_ms = 0 if follows_records else now_ms + every_ms
            punctuation = Punctuation(self.node, first_ms, every_ms, callback)
        else:
            punctuation = Punctuation(self.node, start_ms, every_ms, callback)
            if start_ms < now_ms:
                punctuation.skip(now_ms)
        self._context.schedule.punctuations[kind].append(punctuation)
        return punctuation

    def record_metadata(self) -> RecordContext | None:
        """Returns topic, partition and offset of the record being processed."""
        rows, current = self._rows, self._context.current
        if rows is None:
            return current.record_context(0, self._record.timestamp, ())
        return current.record_context(rows.ordinals[0], rows.timestamps[0], rows.headers[0])

    def current_stream_time_ms(self) -> int:
        """Returns the largest timestamp that the task has processed, -1 at first."""
        if self._context.facts.is_global:
            raise StreamsError(f"{self.node} fills a global store, which has no stream time")
        return self._context.current.stream_time

    def current_system_time_ms(self) -> int:
        return self._context.current.wall_clock_ms

    def commit(self) -> None:
        """Ask for a commit soon."""
        self._context.schedule.commit_requested = True

    def app_configs(self) -> Mapping[str, object]:
        """Returns the application's settings by Kafka's names, and its own."""
        return self._context.config.as_settings()

    def app_configs_with_prefix(self, prefix: str) -> Mapping[str, object]:
        """Returns the settings whose names begin so, without the prefix."""
        return with_prefix(self.app_configs(), prefix)

    def begin(self, rows: Batch | None, timestamp: int) -> None:
        """Sets the record that is processed from now on, or None for a punctuation."""
        self._rows = rows
        self._is_called = True
        self._record.timestamp = timestamp
        self._record.headers = () if rows is None else rows.headers[0]

    def end(self) -> None:
        """The call is over: what the processor keeps of its context can no longer forward."""
        self._is_called = False


class ProcessOperator(Operator):
    """KStream.process, processValues, and processors of the Processor API."""

    def __init__(
        self,
        context: NodeContext,
        supplier: ProcessorSupplier,
        processor_context: ProcessorContextImpl,
    ) -> None:
        super().__init__(context)
        self.processor_context = processor_context
        self._processor = supplier()

    def init(self) -> None:
        """Called once, when all nodes of the task exist.

        Raises ProcessingError where the processor's own init fails.
        """
        init = getattr(self._processor, "init", None)
        if init is None:
            return
        try:
            init(self.processor_context)
        except StreamsError:
            raise
        except Exception as error:
            raise ProcessingError(f"init of {self.node} failed: {error!r}") from error

    def close(self) -> None:
        """Called once. Raises ProcessingError where the processor's own close fails."""
        close = getattr(self._processor, "close", None)
        if close is None:
            return
        try:
            close()
        except StreamsError:
            raise
        except Exception as error:
            raise ProcessingError(f"close of {self.node} failed: {error!r}") from error

    def process(self, batch: Batch) -> Batch:
        for one in batch.each():
            self.processor_context.begin(one, one.timestamps[0])
            try:
                self._processor.process(self.processor_context.record_of(one))
            finally:
                self.processor_context.end()
        return batch.take(())

    def punctuate(self, due: Punctuation, time_ms: int) -> None:
        """Fire one of the processor's punctuations."""
        self.processor_context.begin(None, time_ms)
        try:
            due.fire(time_ms)
        finally:
            self.processor_context.end()


def check_record(node: str, record: Record[Any, Any], known: Headers) -> None:  # Any: user types
    """Raise TypeError or ValueError, naming the node, for what no topic could have. `known`: headers that were read."""
    check_kind(f"what {node} forwards", record, Record)
    timestamp: object = record.timestamp
    if not isinstance(timestamp, int) or timestamp < 0:
        raise ValueError(
            f"{node} forwards a record with timestamp {timestamp!r}: give milliseconds, 0 or more"
        )
    if record.headers is not known:
        check_headers(f"a record that {node} forwards", record.headers)
