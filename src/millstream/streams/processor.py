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
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from millstream.foreign_names.explanation import explain_missing
from millstream.streams.options import RecordContext
from millstream.streams.serdes.serde import Serde

if TYPE_CHECKING:
    from millstream.streams.metrics import StreamsMetrics

Headers = tuple[tuple[str, bytes | None], ...]

K = TypeVar("K")
V = TypeVar("V")
K_co = TypeVar("K_co", covariant=True)
V_co = TypeVar("V_co", covariant=True)
KIn = TypeVar("KIn")
VIn = TypeVar("VIn")
KOut = TypeVar("KOut")
VOut = TypeVar("VOut")
KIn_contra = TypeVar("KIn_contra", contravariant=True)
VIn_contra = TypeVar("VIn_contra", contravariant=True)
KOut_contra = TypeVar("KOut_contra", contravariant=True)
VOut_contra = TypeVar("VOut_contra", contravariant=True)
KOut_co = TypeVar("KOut_co", covariant=True)
VOut_co = TypeVar("VOut_co", covariant=True)


@explain_missing
@dataclass(frozen=True, slots=True)
class Record(Generic[K_co, V_co]):
    """A record that a processor is given or forwards. Change it with the `with_…` methods."""

    key: K_co
    value: V_co
    timestamp: int
    headers: Headers = ()

    def with_key(self, key: K) -> Record[K, V_co]:
        """Returns the same record with another key."""
        return Record(key, self.value, self.timestamp, self.headers)

    def with_value(self, value: V) -> Record[K_co, V]:
        """Returns the same record with another value."""
        return Record(self.key, value, self.timestamp, self.headers)

    def with_timestamp(self, timestamp: int) -> Record[K_co, V_co]:
        """Returns the same record with another timestamp (ms)."""
        return Record(self.key, self.value, timestamp, self.headers)

    def with_headers(self, headers: Headers) -> Record[K_co, V_co]:
        """Returns the same record with other headers."""
        return Record(self.key, self.value, self.timestamp, headers)


class PunctuationType(StrEnum):
    """The clock that a punctuation follows."""

    STREAM_TIME = "stream_time"
    WALL_CLOCK_TIME = "wall_clock_time"


class Cancellable(Protocol):
    """A scheduled punctuation."""

    def cancel(self) -> None:
        """Cancels the punctuation: it is not called again."""


class ProcessorContext(Protocol[KOut_contra, VOut_contra]):
    """The services that a processor may use. One per processor and task.

    Its types are those of the records it forwards.
    """

    @property
    def application_id(self) -> str:
        """The name of the application, with which its internal topics begin."""

    @property
    def task_id(self) -> str:
        """The id: `<sub-topology>_<partition>`; `-1_-1` for processors of global stores."""

    @property
    def key_serde(self) -> Serde[Any]:  # Any: default serdes of any type
        """The application's default serde of keys. Raises ConfigError where it has none."""

    @property
    def value_serde(self) -> Serde[Any]:  # Any: default serdes of any type
        """The application's default serde of values. Raises ConfigError where it has none."""

    @property
    def state_dir(self) -> str:
        """The directory of the task. Raises StreamsError where the runner keeps everything in memory."""

    @property
    def metrics(self) -> StreamsMetrics:
        """The metrics of the task, to which a processor may add its own."""

    def forward(self, record: Record[KOut_contra, VOut_contra], child: str | None = None) -> None:
        """Send a record to all children, or to the one named; all below have seen it when this returns.

        Raises StreamsError outside `process` and punctuations, and for a child that there is not.
        """

    def store(self, name: str) -> Any:  # Any: stores of every kind
        """Returns a store the processor is connected with, or a global store.

        Raises InvalidStoreError for any other.
        """

    def schedule(
        self,
        interval: timedelta,
        kind: PunctuationType,
        callback: Callable[[int], object],
        *,
        start_ms: int | None = None,
    ) -> Cancellable:
        """Call callback(time in ms) every interval; anchored at `start_ms` if that is given.

        Raises ValueError for less than 1 ms, StreamsError for processors of global stores.
        """

    def record_metadata(self) -> RecordContext | None:
        """Returns the origin of the record being processed.

        In `init`, in punctuations and in what these forward the topic is None, partition and offset are -1.
        """

    def current_stream_time_ms(self) -> int:
        """Returns the largest timestamp that the task has processed, -1 at first."""

    def current_system_time_ms(self) -> int:
        """Returns the wall clock, as the runner tells it."""

    def commit(self) -> None:
        """Ask for a commit soon."""

    def app_configs(self) -> Mapping[str, object]:
        """Returns the application's settings by Kafka's names, and its own (`StreamsConfig.settings`)."""

    def app_configs_with_prefix(self, prefix: str) -> Mapping[str, object]:
        """Returns the settings whose names begin so, without the prefix."""


class Processor(Protocol[KIn_contra, VIn_contra]):
    """The one method a processor must have. Without `init` it has no context, so it forwards nothing."""

    def process(self, record: Record[KIn_contra, VIn_contra]) -> None:
        """Called with one record after the other."""


class ForwardingProcessor(Protocol[KIn_contra, VIn_contra, KOut_co, VOut_co]):
    """A processor that asks for its context; the context's types are those of what it forwards."""

    def init(self, context: ProcessorContext[KOut_co, VOut_co]) -> None:
        """Called once, before the first record."""

    def process(self, record: Record[KIn_contra, VIn_contra]) -> None:
        """Called with one record after the other."""


class ContextualProcessor(Generic[KIn, VIn, KOut, VOut]):
    """A base for processors that want their context: `init` keeps it as `self.context`."""

    context: ProcessorContext[KOut, VOut]

    def init(self, context: ProcessorContext[KOut, VOut]) -> None:
        """Keeps the context. Who defines it calls this one first."""
        self.context = context

    def process(self, record: Record[KIn, VIn]) -> None:
        """Called with one record after the other. Must be defined."""
        raise NotImplementedError(f"{type(self).__name__} must define process(record)")


class ValueTransformer(Protocol[KIn_contra, VIn_contra, VOut_co]):
    """The object that `KTable.transform_values` calls; `init(context)` and `close()` are called if they are there.

    It cannot forward or schedule: its result is what `transform` returns.
    """

    def transform(self, key: KIn_contra, value: VIn_contra | None, /) -> VOut_co:
        """Returns the new value of the row; called again for each of its changes."""


ProcessorSupplier = Callable[[], Processor[Any, Any]]  # Any: where nothing is known of the types


class TableChange(NamedTuple):
    """The value of a table's record, as a wrapped processor sees it where old values are sent along."""

    new: Any  # Any: user types
    old: Any  # Any: user types
    is_latest: bool = True
    """False where a versioned table knows a newer version of the row."""


class ProcessorWrapper(Protocol):
    """Stands around every processor of a topology, the library's own included (KIP-1112).

    Both methods are given a node's name and what makes its processor, and give what is to make it instead: usually
    a supplier of processors that call the methods of the wrapped one. One that has an attribute `stores` brings these
    along. Processors of the second kind must leave keys as they are.
    """

    def wrap_processor_supplier(self, name: str, supplier: ProcessorSupplier) -> ProcessorSupplier:
        """Returns the supplier that makes the processor of node `name` instead."""

    def wrap_fixed_key_processor_supplier(
        self, name: str, supplier: ProcessorSupplier
    ) -> ProcessorSupplier:
        """Returns the same for a processor that must leave keys as they are."""
