"""MockProcessorContext: the context of one processor that a test calls by hand, without a topology.

It remembers what the processor forwards, schedules and asks for, and says what the test has set. Nothing happens by
itself: no child sees a record, no clock moves, no punctuation fires but by the test's own call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Self

from millstream.errors import ConfigError
from millstream.foreign_names.explanation import explain_construction
from millstream.streams.arguments import check_kind
from millstream.streams.config import StreamsConfig, with_prefix
from millstream.streams.errors import InvalidStoreError, StreamsError
from millstream.streams.kernel.processors.processor import check_record
from millstream.streams.kernel.resolved_serdes import store_serdes
from millstream.streams.kernel.schedule import checked_schedule
from millstream.streams.metrics import StreamsMetrics
from millstream.streams.options import RecordContext
from millstream.streams.processor import Headers, PunctuationType, Record
from millstream.streams.serdes import Serde
from millstream.streams.state.opening import open_store
from millstream.streams.state.storage.byte_store import MemoryByteStore
from millstream.streams.state.storage.transaction import TransactionalRows
from millstream.streams.state.store import OwningTask, StateStore, StoreParts
from millstream.streams.topology import StoreSpec


@dataclass(frozen=True, slots=True)
class CapturedForward:
    """A record that was forwarded; `child` is None where it goes to all children."""

    record: Record[Any, Any]  # Any: user types
    child: str | None = None


@dataclass(slots=True)
class CapturedPunctuator:
    """A punctuation that was scheduled. `fire` it by hand; `start_ms` is None where none was given."""

    interval: timedelta
    kind: PunctuationType
    callback: Callable[[int], object]
    start_ms: int | None = None
    cancelled: bool = field(default=False, init=False)

    def fire(self, time_ms: int) -> None:
        """Call the processor back with this time. Raises StreamsError where it was cancelled."""
        if self.cancelled:
            raise StreamsError("the punctuation was cancelled: the task would not fire it")
        self.callback(time_ms)

    def cancel(self) -> None:
        """Cancel the punctuation: it is not called again."""
        self.cancelled = True


@explain_construction
class MockProcessorContext:
    """A ProcessorContext for unit tests.

    `config` defaults to an application `test` without serdes. `state_dir` is asked for only by processors that write
    files. Use it as a context manager, or call `close`, where it has stores.
    """

    def __init__(
        self,
        config: StreamsConfig | None = None,
        *,
        task_id: str = "0_0",
        state_dir: str | None = None,
    ) -> None:
        check_kind("MockProcessorContext: config", config, StreamsConfig | None)
        self._config = config or StreamsConfig("test")
        self._owner = OwningTask(self._config, task_id)
        self._task_id = task_id
        self._state_dir = state_dir
        self._stores: dict[str, Any] = {}  # Any: stores of every kind
        self._metadata: RecordContext | None = None
        self._stream_time_ms: int | None = None
        self._system_time_ms: int | None = None
        self._metrics = StreamsMetrics(lambda: self._system_time_ms or 0, {"task-id": task_id})
        self._forwarded: list[CapturedForward] = []
        self._committed = False
        self.scheduled_punctuators: list[CapturedPunctuator] = []
        """Every punctuation that was scheduled, cancelled ones included."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of task {self._task_id}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    # What the test says.

    def set_record_metadata(
        self,
        topic: str,
        partition: int,
        offset: int,
        *,
        timestamp: int = 0,
        headers: Headers = (),
    ) -> None:
        """Set the topic, partition and offset of the record that the processor is given next."""
        self._metadata = RecordContext(topic, partition, offset, timestamp, headers)
        self._owner.record.timestamp, self._owner.record.headers = timestamp, headers

    def set_current_stream_time_ms(self, time_ms: int) -> None:
        """Set the stream time."""
        self._stream_time_ms = time_ms

    def set_current_system_time_ms(self, time_ms: int) -> None:
        """Set the wall clock."""
        self._system_time_ms = time_ms

    def add_store(self, spec: StoreSpec) -> StateStore:
        """Returns a store in memory, without a changelog; `store` of its name gives it from now on."""
        check_kind("add_store: spec", spec, StoreSpec)
        key, value = store_serdes(spec, self._config)
        rows = TransactionalRows(MemoryByteStore())
        store = open_store(StoreParts(spec, rows, key, value, None, self._owner))
        self.add_state_store(spec.name, store)
        return store

    def add_state_store(self, name: str, store: object) -> None:
        """Adds a store that is there already, or whatever stands for one."""
        self._stores[name] = store

    # What the test asks.

    def forwarded(self, child: str | None = None) -> list[CapturedForward]:
        """Returns the records that were forwarded; with `child`, those that this child would have got."""
        if child is None:
            return list(self._forwarded)
        return [each for each in self._forwarded if each.child in {None, child}]

    @property
    def committed(self) -> bool:
        """Whether the processor has asked for a commit."""
        return self._committed

    def reset_forwards(self) -> None:
        """Forget what was forwarded."""
        self._forwarded.clear()

    def reset_commit(self) -> None:
        """Forget that a commit was asked for."""
        self._committed = False

    def close(self) -> None:
        """Close the stores."""
        for store in self._stores.values():
            if isinstance(store, StateStore):
                store.close()

    # What the processor sees.

    @property
    def application_id(self) -> str:
        """The application id of the configuration."""
        return self._config.application_id

    @property
    def task_id(self) -> str:
        """The task id that the test has given, `<sub-topology>_<partition>`."""
        return self._task_id

    @property
    def key_serde(self) -> Serde[Any]:  # Any: default serdes of any type
        """The default serde of keys. Raises ConfigError where the config has none."""
        return _given(self._config.default_key, "default_key")

    @property
    def value_serde(self) -> Serde[Any]:  # Any: default serdes of any type
        """The default serde of values. Raises ConfigError where the config has none."""
        return _given(self._config.default_value, "default_value")

    @property
    def state_dir(self) -> str:
        """The state directory. Raises StreamsError where the test has given none."""
        if self._state_dir is None:
            raise StreamsError("the processor wants a directory: MockProcessorContext(state_dir=…)")
        return self._state_dir

    @property
    def metrics(self) -> StreamsMetrics:
        """The metrics, to which the processor adds its own."""
        return self._metrics

    def forward(
        self,
        record: Record[Any, Any],  # Any: user types
        child: str | None = None,
    ) -> None:
        """Remember the record. Raises TypeError or ValueError for what no task would forward."""
        check_record("the processor", record, ())
        self._forwarded.append(CapturedForward(record, child))

    def store(self, name: str) -> Any:  # Any: stores of every kind
        """Returns a store that the test has added. Raises InvalidStoreError for any other."""
        if name not in self._stores:
            raise InvalidStoreError(
                f"the test has no store {name}: add_store(StoreSpec({name!r}, …))"
            )
        return self._stores[name]

    def schedule(
        self,
        interval: timedelta,
        kind: PunctuationType,
        callback: Callable[[int], object],
        *,
        start_ms: int | None = None,
    ) -> CapturedPunctuator:
        """Remember the punctuation. Raises TypeError or ValueError for what cannot be scheduled."""
        _, kind = checked_schedule("the processor", interval, kind, callback, start_ms)
        captured = CapturedPunctuator(interval, kind, callback, start_ms)
        self.scheduled_punctuators.append(captured)
        return captured

    def record_metadata(self) -> RecordContext | None:
        """Returns the metadata that the test has set; None before."""
        return self._metadata

    def current_stream_time_ms(self) -> int:
        """Returns the stream time. Raises StreamsError before the test has set it."""
        if self._stream_time_ms is None:
            raise StreamsError("the processor asks for stream time: set_current_stream_time_ms(…)")
        return self._stream_time_ms

    def current_system_time_ms(self) -> int:
        """Returns the wall clock. Raises StreamsError before the test has set it."""
        if self._system_time_ms is None:
            raise StreamsError(
                "the processor asks for the wall clock: set_current_system_time_ms(…)"
            )
        return self._system_time_ms

    def commit(self) -> None:
        """Remember that a commit was asked for."""
        self._committed = True

    def app_configs(self) -> Mapping[str, object]:
        """Returns the configuration's settings by Kafka's names, and its own."""
        return self._config.as_settings()

    def app_configs_with_prefix(self, prefix: str) -> Mapping[str, object]:
        """Returns the settings whose names begin with the prefix, without it."""
        return with_prefix(self.app_configs(), prefix)


def _given(serde: Serde[Any] | None, name: str) -> Serde[Any]:  # Any: serdes of any type
    if serde is None:
        raise ConfigError(
            f"the processor asks for a default serde: StreamsConfig('test', {name}=…)"
        )
    return serde
