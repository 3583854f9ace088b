"""Specifications of operators as frozen data: one class for each kind. The kernel turns these into running operators.

User functions are plain callables; their arguments are (key, value) unless the field says otherwise.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from millstream.streams.options import Retry
from millstream.streams.serdes.serde import Serde
from millstream.streams.windows import (
    SessionWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
)

UserFunction = Callable[..., Any]  # Any: user functions work on user types


class OperatorSpec:
    """Root of all operator specifications."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class PassThrough(OperatorSpec):
    """Merge, named branch: rows go on as they are."""


@dataclass(frozen=True, slots=True)
class Filter(OperatorSpec):
    predicate: UserFunction
    negate: bool = False


@dataclass(frozen=True, slots=True)
class NullKeyFilter(OperatorSpec):
    """In front of a repartition topic; keeps null keys where a left or outer join follows."""

    keep_null: bool = False


@dataclass(frozen=True, slots=True)
class Map(OperatorSpec):
    """(key, value) → (new key, new value)."""

    mapper: UserFunction


@dataclass(frozen=True, slots=True)
class SelectKey(OperatorSpec):
    mapper: UserFunction


@dataclass(frozen=True, slots=True)
class MapValues(OperatorSpec):
    """value → new value; with_key: (key, value) → new value."""

    mapper: UserFunction
    with_key: bool = False


@dataclass(frozen=True, slots=True)
class FlatMap(OperatorSpec):
    """(key, value) → iterable of (new key, new value)."""

    mapper: UserFunction


@dataclass(frozen=True, slots=True)
class FlatMapValues(OperatorSpec):
    """value → iterable of new values; with_key: (key, value) → iterable of new values."""

    mapper: UserFunction
    with_key: bool = False


AsyncCall = Callable[[int], Awaitable[Any]]  # Any: what functions of the user give
"""Begins the call for one row."""
Outcome = tuple[Any, Exception | None]  # Any: as above
"""The answer of a call, and what it raised."""


class AsyncCaller(Protocol):
    """Awaits calls for a task that knows no event loop."""

    def run(
        self, chains: Iterable[Sequence[int]], call: AsyncCall, calls: AsyncCalls, /
    ) -> Mapping[int, Outcome]:
        """Returns outcomes by row: of all, or where one failed of those that had begun."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class AsyncCalls:
    """So many calls of an async function run at a time in a task, each for so long; None: as long as it takes.

    `open` makes what awaits them, once for each task, which it is given by name. `chains_fail_alone`: after a failure
    the chains of other keys go on; otherwise no call begins any more.
    """

    max_in_flight: int
    timeout_ms: int | None
    open: Callable[[str], AsyncCaller]
    chains_fail_alone: bool = False


@dataclass(frozen=True, slots=True)
class MapAsync(OperatorSpec):
    """async (key, value) → (new key, new value)."""

    mapper: UserFunction
    calls: AsyncCalls


@dataclass(frozen=True, slots=True)
class MapValuesAsync(OperatorSpec):
    """async value → new value; with_key: (key, value) → new value."""

    mapper: UserFunction
    calls: AsyncCalls
    with_key: bool = False


@dataclass(frozen=True, slots=True)
class ProcessAsync(OperatorSpec):
    """async record → record, iterable of records, or None."""

    function: UserFunction
    calls: AsyncCalls


@dataclass(frozen=True, slots=True)
class MapValuesWithRetries(OperatorSpec):
    """value → new value; with_key: (key, value) → new value.

    A row for which that fails waits in `store`, and is tried again.

    `calls`: of an async function; None: the function is a plain one.
    """

    store: str
    mapper: UserFunction
    with_key: bool
    retry: Retry[Any, Any]  # Any: streams of any type
    calls: AsyncCalls | None = None


@dataclass(frozen=True, slots=True)
class Peek(OperatorSpec):
    """Calls the action; `forward` tells peek from foreach."""

    action: UserFunction
    forward: bool = True


@dataclass(frozen=True, slots=True)
class Branch(OperatorSpec):
    """A row goes to the child of the first predicate that holds; None is the default branch."""

    branches: tuple[tuple[UserFunction | None, str], ...]


@dataclass(frozen=True, slots=True)
class StreamAggregate(OperatorSpec):
    """KStream aggregate: initializer() and aggregator(key, value, aggregate)."""

    store: str
    initializer: UserFunction
    aggregator: UserFunction
    send_old_values: bool = False


@dataclass(frozen=True, slots=True)
class StreamReduce(OperatorSpec):
    """KStream reduce: reducer(aggregate, value); the first value is stored as it is."""

    store: str
    reducer: UserFunction
    send_old_values: bool = False


@dataclass(frozen=True, slots=True)
class StreamCount(OperatorSpec):
    store: str
    send_old_values: bool = False


@dataclass(frozen=True, slots=True)
class WindowAggregate(OperatorSpec):
    """Time-windowed aggregate: initializer() and aggregator(key, value, aggregate)."""

    store: str
    windows: TimeWindows | UnlimitedWindows
    initializer: UserFunction
    aggregator: UserFunction
    emit_final: bool = False
    send_old_values: bool = False


@dataclass(frozen=True, slots=True)
class TableSource(OperatorSpec):
    """Turns a stream of records into a changelog; `store` is None where the rows are not needed."""

    store: str | None
    send_old_values: bool = False


@dataclass(frozen=True, slots=True)
class TableFilter(OperatorSpec):
    predicate: UserFunction
    negate: bool = False
    store: str | None = None
    send_old_values: bool = False
    keeps_unseen: bool = False
    """Tombstones go on also for keys that were not seen below, as above a versioned table."""
    forgets_versions: bool = False


@dataclass(frozen=True, slots=True)
class TableMapValues(OperatorSpec):
    mapper: UserFunction
    with_key: bool = False
    store: str | None = None
    send_old_values: bool = False
    forgets_versions: bool = False
    """Below, the latest change of a key is the newest, though the table above is versioned."""


@dataclass(frozen=True, slots=True)
class TableTransformValues(OperatorSpec):
    """`supplier` makes a transformer; unlike a mapper it is called for null as well, and may use stores."""

    supplier: UserFunction
    store: str | None = None
    send_old_values: bool = False
    forgets_versions: bool = False


@dataclass(frozen=True, slots=True)
class TableToStream(OperatorSpec):
    """The new values of a table's changes."""


@dataclass(frozen=True, slots=True)
class StoreView:
    """A table that is read from a store."""

    store: str


@dataclass(frozen=True, slots=True)
class FilterView:
    """A table without a store: its parent's row, filtered when it is read."""

    parent: TableView
    predicate: UserFunction
    negate: bool


@dataclass(frozen=True, slots=True)
class MapValuesView:
    """A table without a store: its parent's row, mapped when it is read."""

    parent: TableView
    mapper: UserFunction
    with_key: bool


@dataclass(frozen=True, slots=True)
class TransformView:
    """A table without a store: its parent's row, transformed when it is read by a transformer of the reader."""

    parent: TableView
    supplier: UserFunction


@dataclass(frozen=True, slots=True)
class JoinView:
    """A joined table without a store: both sides are read and joined."""

    left: TableView
    right: TableView
    joiner: UserFunction
    left_outer: bool
    right_outer: bool


@dataclass(frozen=True, slots=True)
class SuppressView:
    """A suppressed table: what the buffer's reader has last seen of a key that waits, otherwise its parent's row."""

    parent: TableView
    buffer: str


TableView = StoreView | FilterView | MapValuesView | TransformView | JoinView | SuppressView


@dataclass(frozen=True, slots=True)
class StreamTableJoin(OperatorSpec):
    """joiner(left, right), or joiner(key, left, right) with_key.

    `key_mapper` maps (key, value) to the key of a global table; None joins on the record's key. `buffer`: the store in
    which records wait for the table.
    """

    view: TableView
    joiner: UserFunction
    with_key: bool = False
    left: bool = False
    key_mapper: UserFunction | None = None
    buffer: str | None = None


@dataclass(frozen=True, slots=True)
class TableJoin(OperatorSpec):
    """One side of a table-table join: changes of this side meet the rows of the other.

    `joiner(left, right)` is called in the order of the join, whichever side this is. `keeps_this`: a row of
    this side needs no partner; `keeps_other`: a row of the other side needs none.
    """

    view: TableView
    joiner: UserFunction
    is_left: bool
    keeps_this: bool = False
    keeps_other: bool = False
    send_old_values: bool = False


@dataclass(frozen=True, slots=True)
class TableJoinMerge(OperatorSpec):
    """Merges the two sides of a table-table join; holds the result's store, if it has one."""

    store: str | None = None
    send_old_values: bool = False


@dataclass(frozen=True, slots=True)
class TableSerdes:
    """Serdes of both tables of a foreign-key join; None is the application's default."""

    left_key: Serde[Any] | None  # Any: tables of any type
    left_value: Serde[Any] | None  # Any: the same
    right_key: Serde[Any] | None  # Any: the same


@dataclass(frozen=True, slots=True)
class ForeignKeySubscribe(OperatorSpec):
    """extractor(value), or extractor(key, value) with_key, gives the key of the right table, or None."""

    extractor: UserFunction
    with_key: bool
    is_left: bool
    serdes: TableSerdes


@dataclass(frozen=True, slots=True)
class ForeignKeyReceive(OperatorSpec):
    """Keeps the subscriptions of left rows in `store`."""

    store: str
    serdes: TableSerdes


@dataclass(frozen=True, slots=True)
class ForeignKeyAnswer(OperatorSpec):
    """Answers a subscription with the row of the right table, which `view` reads."""

    view: TableView


@dataclass(frozen=True, slots=True)
class ForeignKeyNotify(OperatorSpec):
    """Tells those whose subscriptions are in `store` of a changed row of the right table."""

    store: str
    serdes: TableSerdes


@dataclass(frozen=True, slots=True)
class ForeignKeyResolve(OperatorSpec):
    """joiner(left, right) with the row of the left table, which `view` reads."""

    view: TableView
    joiner: UserFunction
    is_left: bool
    serdes: TableSerdes


@dataclass(frozen=True, slots=True)
class TableRegroup(OperatorSpec):
    """KTable.groupBy: (key, value) → (new key, new value), for the old and the new row."""

    mapper: UserFunction


@dataclass(frozen=True, slots=True)
class TableAggregate(OperatorSpec):
    """KGroupedTable aggregate: adder and subtractor are called with (key, value, aggregate)."""

    store: str
    initializer: UserFunction
    adder: UserFunction
    subtractor: UserFunction
    send_old_values: bool = False


@dataclass(frozen=True, slots=True)
class TableReduce(OperatorSpec):
    """KGroupedTable reduce: adder and subtractor are called with (aggregate, value)."""

    store: str
    adder: UserFunction
    subtractor: UserFunction
    send_old_values: bool = False


@dataclass(frozen=True, slots=True)
class SlidingAggregate(OperatorSpec):
    """Aggregate in sliding windows: initializer() and aggregator(key, value, aggregate)."""

    store: str
    windows: SlidingWindows
    initializer: UserFunction
    aggregator: UserFunction
    emit_final: bool = False
    send_old_values: bool = False


@dataclass(frozen=True, slots=True)
class SessionAggregate(OperatorSpec):
    """Aggregate in sessions: also merger(key, aggregate, aggregate)."""

    store: str
    windows: SessionWindows
    initializer: UserFunction
    aggregator: UserFunction
    merger: UserFunction
    emit_final: bool = False
    send_old_values: bool = False


@dataclass(frozen=True, slots=True)
class Process(OperatorSpec):
    """A processor of the user; `fixed_key` forbids that it changes the key."""

    supplier: UserFunction
    fixed_key: bool = False


@dataclass(frozen=True, slots=True)
class Wrapped(OperatorSpec):
    """An operator of the library that a processor wrapper stands around: `supplier` makes the wrapper's processor."""

    inner: OperatorSpec
    supplier: UserFunction

    @property
    def branches(self) -> Any:  # Any: as the inner operator has it
        """The children in the order of the inner operator's branches; None where it has none."""
        return getattr(self.inner, "branches", None)


@dataclass(frozen=True, slots=True)
class Suppress(OperatorSpec):
    """KTable.suppress: changes wait `wait_ms` after their window's end, or after their own time."""

    store: str
    wait_ms: int
    until_window_closes: bool
    max_records: int | None = None
    max_bytes: int | None = None
    emit_early: bool = False
    send_old_values: bool = False


@dataclass(frozen=True, slots=True)
class JoinWindow(OperatorSpec):
    """Keeps the records of one side of a stream-stream join."""

    store: str


@dataclass(frozen=True, slots=True)
class SelfJoin(OperatorSpec):
    """A stream joined with itself from one store, which this operator fills.

    joiner(left, right), or joiner(key, left, right) with_key; right records lie in
    [timestamp - before, timestamp + after] of the left one.
    """

    store: str
    joiner: UserFunction
    with_key: bool
    before_ms: int
    after_ms: int


@dataclass(frozen=True, slots=True)
class StreamJoin(OperatorSpec):
    """One side of a stream-stream join, seen from that side.

    joiner(left, right), or joiner(key, left, right) with_key. `other_store` holds the other side's records;
    a partner lies in [timestamp - before, timestamp + after]. `left_wait_ms` and `right_wait_ms`: how long a
    record of that side waits for a partner. `tracker` names the times that both sides share.
    """

    other_store: str
    unmatched_store: str | None
    joiner: UserFunction
    with_key: bool
    is_left: bool
    outer: bool
    before_ms: int
    after_ms: int
    grace_ms: int
    left_wait_ms: int
    right_wait_ms: int
    tracker: str
