"""KStream: a stream of records, and everything one can do with it. What its methods add to the graph is in `operations`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from datetime import timedelta
from typing import Any, Generic, Literal, TypeVar, overload

from millstream.foreign_names.explanation import explain_misspellings
from millstream.streams.arguments import check_kind
from millstream.streams.dsl.branched import BranchedKStream
from millstream.streams.dsl.global_table import GlobalKTable
from millstream.streams.dsl.graph.streams import GraphStream
from millstream.streams.dsl.grouped import KGroupedStream
from millstream.streams.dsl.operations import async_calls, grouping, stateless, topics
from millstream.streams.dsl.operations.joins import JoinArguments, join
from millstream.streams.dsl.operations.stream_stream_join import AnyJoined
from millstream.streams.dsl.operations.tables import stream_to_table
from millstream.streams.dsl.table import KTable
from millstream.streams.event_loop import TaskEventLoop
from millstream.streams.options import (
    Materialized,
    Partitioner,
    Retry,
    StreamJoined,
    TopicExtractor,
)
from millstream.streams.processor import ForwardingProcessor, Processor, Record
from millstream.streams.serdes.serde import Serde
from millstream.streams.topology.operators import AsyncCalls, MapValuesAsync, UserFunction
from millstream.streams.windows import JoinWindows

K = TypeVar("K")
V = TypeVar("V")
K2 = TypeVar("K2")
V2 = TypeVar("V2")
KT = TypeVar("KT")
VT = TypeVar("VT")


@explain_misspellings
class KStream(Generic[K, V]):
    """A stream of records. Every method gives a new stream or ends this one; nothing changes in place.

    Serdes follow the records as far as their types are known: `map` drops both, `map_values` the value's.
    """

    __slots__ = ("_stream",)

    def __init__(self, stream: GraphStream) -> None:
        self._stream = stream

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    @property
    def name(self) -> str:
        """The name of the node that gives this stream."""
        return self._stream.name

    @property
    def key(self) -> Serde[K] | None:
        """The serde of the keys, as far as it is known; None is the application's default."""
        return self._stream.key

    @property
    def value(self) -> Serde[V] | None:
        """The serde of the values, as far as it is known; None is the application's default."""
        return self._stream.value

    @property
    def repartition_required(self) -> bool:
        """Whether the key was changed, so that a join or an aggregation repartitions first."""
        return self._stream.repartition_required

    # Stateless operators.

    def filter(
        self, predicate: Callable[[K, V], bool], *, name: str | None = None
    ) -> KStream[K, V]:
        """Records for which predicate(key, value) holds."""
        kept = stateless.filter_records(self._stream, "filter", predicate, name, negate=False)
        return KStream(kept)

    def filter_not(
        self, predicate: Callable[[K, V], bool], *, name: str | None = None
    ) -> KStream[K, V]:
        """Records for which predicate(key, value) does not hold."""
        kept = stateless.filter_records(self._stream, "filter_not", predicate, name, negate=True)
        return KStream(kept)

    def map(
        self, mapper: Callable[[K, V], tuple[K2, V2]], *, name: str | None = None
    ) -> KStream[K2, V2]:
        """mapper(key, value) gives (new key, new value)."""
        return KStream(stateless.map_records(self._stream, mapper, name))

    @overload
    def map_values(
        self,
        mapper: Callable[[V], V2],
        *,
        retry: Retry[K, V] | None = None,
        name: str | None = None,
        with_key: Literal[False] = False,
    ) -> KStream[K, V2]: ...
    @overload
    def map_values(
        self,
        mapper: Callable[[K, V], V2],
        *,
        retry: Retry[K, V] | None = None,
        name: str | None = None,
        with_key: Literal[True],
    ) -> KStream[K, V2]: ...
    def map_values(
        self,
        mapper: UserFunction,
        *,
        retry: Retry[K, V] | None = None,
        name: str | None = None,
        with_key: bool = False,
    ) -> KStream[K, V2]:
        """mapper(value), or mapper(key, value) with_key, gives the new value. With `retry` in the end, should it fail for a while."""
        return KStream(stateless.map_values(self._stream, mapper, name, retry, with_key=with_key))

    def flat_map(
        self, mapper: Callable[[K, V], Iterable[tuple[K2, V2]]], *, name: str | None = None
    ) -> KStream[K2, V2]:
        """mapper(key, value) gives any number of (new key, new value)."""
        return KStream(stateless.flat_map(self._stream, mapper, name))

    @overload
    def flat_map_values(
        self,
        mapper: Callable[[V], Iterable[V2]],
        *,
        name: str | None = None,
        with_key: Literal[False] = False,
    ) -> KStream[K, V2]: ...
    @overload
    def flat_map_values(
        self,
        mapper: Callable[[K, V], Iterable[V2]],
        *,
        name: str | None = None,
        with_key: Literal[True],
    ) -> KStream[K, V2]: ...
    def flat_map_values(
        self, mapper: UserFunction, *, name: str | None = None, with_key: bool = False
    ) -> KStream[K, V2]:
        """mapper(value), or mapper(key, value) with_key, gives any number of new values."""
        return KStream(stateless.flat_map_values(self._stream, mapper, name, with_key=with_key))

    def select_key(
        self,
        mapper: Callable[[K, V], K2],
        *,
        key: Serde[K2] | None = None,
        name: str | None = None,
    ) -> KStream[K2, V]:
        """mapper(key, value) gives the new key. `key`: its serde, for operators that follow."""
        return KStream(stateless.select_key(self._stream, mapper, key, name))

    def peek(self, action: Callable[[K, V], object], *, name: str | None = None) -> KStream[K, V]:
        """Calls action(key, value) for each record that passes."""
        return KStream(stateless.peek(self._stream, action, name))

    def foreach(self, action: Callable[[K, V], object], *, name: str | None = None) -> None:
        """Calls action(key, value) for each record; ends the stream."""
        stateless.foreach(self._stream, action, name)

    def print(
        self,
        *,
        label: str | None = None,
        mapper: Callable[[K, V], str] | None = None,
        write: Callable[[str], object] = print,
        name: str | None = None,
    ) -> None:
        """Writes a line for each record, `[label]: key, value` or what mapper(key, value) gives after the label.

        `write` is called with the line, without its end: `partial(print, file=file)` writes to a file. Ends the stream.
        """
        stateless.print_records(self._stream, label, mapper, write, name)

    def merge(self, other: KStream[K, V], *, name: str | None = None) -> KStream[K, V]:
        """Records of both streams. No order between the two is promised."""
        check_kind("merge: the other stream", other, KStream)
        return KStream(stateless.merge(self._stream, other._stream, name))

    def split(self, *, name: str | None = None) -> BranchedKStream[K, V]:
        """Send each record to the first branch whose predicate holds."""
        return BranchedKStream(stateless.split(self._stream, name), KStream)

    # Async functions: many calls at a time, in the order of the records of each key, all answered before a commit.

    def map_async(
        self,
        mapper: Callable[[K, V], Awaitable[tuple[K2, V2]]],
        *,
        max_in_flight: int = 100,
        timeout_ms: int | None = None,
        name: str | None = None,
    ) -> KStream[K2, V2]:
        """Await mapper(key, value) gives (new key, new value). `max_in_flight`: calls at a time, in each task."""
        calls = AsyncCalls(max_in_flight, timeout_ms, TaskEventLoop)
        return KStream(async_calls.map_async(self._stream, mapper, calls, name))

    @overload
    def map_values_async(
        self,
        mapper: Callable[[V], Awaitable[V2]],
        *,
        max_in_flight: int = 100,
        timeout_ms: int | None = None,
        retry: Retry[K, V] | None = None,
        name: str | None = None,
        with_key: Literal[False] = False,
    ) -> KStream[K, V2]: ...
    @overload
    def map_values_async(
        self,
        mapper: Callable[[K, V], Awaitable[V2]],
        *,
        max_in_flight: int = 100,
        timeout_ms: int | None = None,
        retry: Retry[K, V] | None = None,
        name: str | None = None,
        with_key: Literal[True],
    ) -> KStream[K, V2]: ...
    def map_values_async(
        self,
        mapper: UserFunction,
        *,
        max_in_flight: int = 100,
        timeout_ms: int | None = None,
        retry: Retry[K, V] | None = None,
        name: str | None = None,
        with_key: bool = False,
    ) -> KStream[K, V2]:
        """Await mapper(value), or mapper(key, value) with_key, gives the new value. `retry` as in `map_values`."""
        calls = AsyncCalls(max_in_flight, timeout_ms, TaskEventLoop)
        spec = MapValuesAsync(mapper, calls, with_key)
        return KStream(async_calls.map_values_async(self._stream, spec, name, retry))

    def process_async(
        self,
        function: Callable[
            [Record[K, V]], Awaitable[Record[K2, V2] | Iterable[Record[K2, V2]] | None]
        ],
        *,
        max_in_flight: int = 100,
        timeout_ms: int | None = None,
        name: str | None = None,
    ) -> KStream[K2, V2]:
        """Await function(record) gives a record, several, or None; they may have other keys, timestamps and headers."""
        calls = AsyncCalls(max_in_flight, timeout_ms, TaskEventLoop)
        return KStream(async_calls.process_async(self._stream, function, calls, name))

    def to(
        self,
        topic: str | TopicExtractor[K, V],
        *,
        key: Serde[K] | None = None,
        value: Serde[V] | None = None,
        partitioner: Partitioner[K, V] | None = None,
        name: str | None = None,
    ) -> None:
        """Write to a topic, or to the topic that topic(key, value, context) names."""
        topics.to(self._stream, topic, key=key, value=value, partitioner=partitioner, name=name)

    def repartition(
        self,
        *,
        key: Serde[K] | None = None,
        value: Serde[V] | None = None,
        partitions: int | None = None,
        partitioner: Partitioner[K, V] | None = None,
        name: str | None = None,
    ) -> KStream[K, V]:
        """Write to an internal topic and read it again, so that equal keys meet in one task."""
        made = topics.repartition(
            self._stream, key, value, partitions=partitions, partitioner=partitioner, name=name
        )
        return KStream(made)

    # Tables and groups.

    def to_table(
        self, *, name: str | None = None, materialized: Materialized[K, V] | None = None
    ) -> KTable[K, V]:
        """Returns the latest value of each key as a table."""
        return KTable(stream_to_table(self._stream, name, materialized))

    def group_by_key(
        self,
        *,
        key: Serde[K] | None = None,
        value: Serde[V] | None = None,
        name: str | None = None,
    ) -> KGroupedStream[K, V]:
        """Group by the key as it is. `name` is that of the repartition topic, where one is needed."""
        return KGroupedStream(grouping.group_by_key(self._stream, key, value, name))

    def group_by(
        self,
        mapper: Callable[[K, V], K2],
        *,
        key: Serde[K2] | None = None,
        value: Serde[V] | None = None,
        name: str | None = None,
    ) -> KGroupedStream[K2, V]:
        """Group by mapper(key, value); the records go through a repartition topic."""
        return KGroupedStream(grouping.group_by(self._stream, mapper, key, value, name))

    # Processors.

    @overload
    def process(
        self,
        supplier: Callable[[], ForwardingProcessor[K, V, K2, V2]],
        *,
        stores: Iterable[str] = (),
        name: str | None = None,
    ) -> KStream[K2, V2]: ...
    @overload
    def process(
        self,
        supplier: Callable[[], Processor[K, V]],
        *,
        stores: Iterable[str] = (),
        name: str | None = None,
    ) -> KStream[Any, Any]: ...  # Any: without a context nothing is forwarded
    def process(
        self,
        supplier: Callable[[], Processor[K, V]],
        *,
        stores: Iterable[str] = (),
        name: str | None = None,
    ) -> KStream[Any, Any]:  # Any: a processor forwards what it likes
        """Send every record through a processor of one's own, which may change keys."""
        return KStream(stateless.process(self._stream, supplier, stores, name, fixed_key=False))

    @overload
    def process_values(
        self,
        supplier: Callable[[], ForwardingProcessor[K, V, K, V2]],
        *,
        stores: Iterable[str] = (),
        name: str | None = None,
    ) -> KStream[K, V2]: ...
    @overload
    def process_values(
        self,
        supplier: Callable[[], Processor[K, V]],
        *,
        stores: Iterable[str] = (),
        name: str | None = None,
    ) -> KStream[K, Any]: ...  # Any: without a context nothing is forwarded
    def process_values(
        self,
        supplier: Callable[[], Processor[K, V]],
        *,
        stores: Iterable[str] = (),
        name: str | None = None,
    ) -> KStream[K, Any]:  # Any: a processor forwards what it likes
        """Send every record through a processor that keeps keys, so that nothing is repartitioned."""
        return KStream(stateless.process(self._stream, supplier, stores, name, fixed_key=True))

    # Joins.

    @overload
    def join(
        self,
        other: KStream[K, VT],
        joiner: Callable[[V, VT], V2],
        *,
        windows: JoinWindows,
        with_key: Literal[False] = False,
        joined: StreamJoined[K, V, VT] | None = None,
    ) -> KStream[K, V2]: ...
    @overload
    def join(
        self,
        other: KStream[K, VT],
        joiner: Callable[[K, V, VT], V2],
        *,
        windows: JoinWindows,
        with_key: Literal[True],
        joined: StreamJoined[K, V, VT] | None = None,
    ) -> KStream[K, V2]: ...
    @overload
    def join(
        self,
        other: KTable[K, VT],
        joiner: Callable[[V, VT], V2],
        *,
        with_key: Literal[False] = False,
        key: Serde[K] | None = None,
        value: Serde[V] | None = None,
        name: str | None = None,
        grace: timedelta | None = None,
    ) -> KStream[K, V2]: ...
    @overload
    def join(
        self,
        other: KTable[K, VT],
        joiner: Callable[[K, V, VT], V2],
        *,
        with_key: Literal[True],
        key: Serde[K] | None = None,
        value: Serde[V] | None = None,
        name: str | None = None,
        grace: timedelta | None = None,
    ) -> KStream[K, V2]: ...
    @overload
    def join(
        self,
        other: GlobalKTable[KT, VT],
        joiner: Callable[[V, VT], V2],
        *,
        on: Callable[[K, V], KT],
        with_key: Literal[False] = False,
        name: str | None = None,
    ) -> KStream[K, V2]: ...
    @overload
    def join(
        self,
        other: GlobalKTable[KT, VT],
        joiner: Callable[[K, V, VT], V2],
        *,
        on: Callable[[K, V], KT],
        with_key: Literal[True],
        name: str | None = None,
    ) -> KStream[K, V2]: ...
    def join(
        self,
        other: KStream[K, Any] | KTable[K, Any] | GlobalKTable[Any, Any],  # Any: see overloads
        joiner: UserFunction,
        *,
        windows: JoinWindows | None = None,
        joined: AnyJoined | None = None,
        on: UserFunction | None = None,
        with_key: bool = False,
        key: Serde[K] | None = None,
        value: Serde[V] | None = None,
        name: str | None = None,
        grace: timedelta | None = None,
    ) -> KStream[K, Any]:  # Any: see the overloads
        """Join on equal keys: joiner(value, other value), or with the key first.

        A KStream is joined inside `windows` (options in `joined`), a KTable by looking up its row, a GlobalKTable
        by looking up the row of the key that `on(key, value)` gives. A versioned KTable gives the row of the
        record's own time; with `grace` records wait that long (in stream time) for rows that come late.
        """
        given = JoinArguments(
            "join", joiner, (False, False), with_key, windows, joined, on, key, value, name, grace
        )
        return self._join(other, given)

    @overload
    def left_join(
        self,
        other: KStream[K, VT],
        joiner: Callable[[V, VT | None], V2],
        *,
        windows: JoinWindows,
        with_key: Literal[False] = False,
        joined: StreamJoined[K, V, VT] | None = None,
    ) -> KStream[K, V2]: ...
    @overload
    def left_join(
        self,
        other: KStream[K, VT],
        joiner: Callable[[K, V, VT | None], V2],
        *,
        windows: JoinWindows,
        with_key: Literal[True],
        joined: StreamJoined[K, V, VT] | None = None,
    ) -> KStream[K, V2]: ...
    @overload
    def left_join(
        self,
        other: KTable[K, VT],
        joiner: Callable[[V, VT | None], V2],
        *,
        with_key: Literal[False] = False,
        key: Serde[K] | None = None,
        value: Serde[V] | None = None,
        name: str | None = None,
        grace: timedelta | None = None,
    ) -> KStream[K, V2]: ...
    @overload
    def left_join(
        self,
        other: KTable[K, VT],
        joiner: Callable[[K, V, VT | None], V2],
        *,
        with_key: Literal[True],
        key: Serde[K] | None = None,
        value: Serde[V] | None = None,
        name: str | None = None,
        grace: timedelta | None = None,
    ) -> KStream[K, V2]: ...
    @overload
    def left_join(
        self,
        other: GlobalKTable[KT, VT],
        joiner: Callable[[V, VT | None], V2],
        *,
        on: Callable[[K, V], KT],
        with_key: Literal[False] = False,
        name: str | None = None,
    ) -> KStream[K, V2]: ...
    @overload
    def left_join(
        self,
        other: GlobalKTable[KT, VT],
        joiner: Callable[[K, V, VT | None], V2],
        *,
        on: Callable[[K, V], KT],
        with_key: Literal[True],
        name: str | None = None,
    ) -> KStream[K, V2]: ...
    def left_join(
        self,
        other: KStream[K, Any] | KTable[K, Any] | GlobalKTable[Any, Any],  # Any: see overloads
        joiner: UserFunction,
        *,
        windows: JoinWindows | None = None,
        joined: AnyJoined | None = None,
        on: UserFunction | None = None,
        with_key: bool = False,
        key: Serde[K] | None = None,
        value: Serde[V] | None = None,
        name: str | None = None,
        grace: timedelta | None = None,
    ) -> KStream[K, Any]:  # Any: see the overloads
        """Joins as `join` does; where the other side has nothing the joiner gets None for it.

        With a KStream that is when the record's window is over.
        """
        kinds = (True, False)
        given = JoinArguments(
            "left_join", joiner, kinds, with_key, windows, joined, on, key, value, name, grace
        )
        return self._join(other, given)

    @overload
    def outer_join(
        self,
        other: KStream[K, VT],
        joiner: Callable[[V | None, VT | None], V2],
        *,
        windows: JoinWindows,
        with_key: Literal[False] = False,
        joined: StreamJoined[K, V, VT] | None = None,
    ) -> KStream[K, V2]: ...
    @overload
    def outer_join(
        self,
        other: KStream[K, VT],
        joiner: Callable[[K, V | None, VT | None], V2],
        *,
        windows: JoinWindows,
        with_key: Literal[True],
        joined: StreamJoined[K, V, VT] | None = None,
    ) -> KStream[K, V2]: ...
    def outer_join(
        self,
        other: KStream[K, Any],  # Any: see the overloads
        joiner: UserFunction,
        *,
        windows: JoinWindows,
        joined: AnyJoined | None = None,
        with_key: bool = False,
    ) -> KStream[K, Any]:  # Any: see the overloads
        """Joins as `left_join` does, for records of both streams."""
        given = JoinArguments("outer_join", joiner, (True, True), with_key, windows, joined)
        return self._join(other, given)

    def _join(
        self,
        other: KStream[K, Any] | KTable[K, Any] | GlobalKTable[Any, Any],  # Any: see overloads
        given: JoinArguments,
    ) -> KStream[Any, Any]:  # Any: see the overloads
        match other:
            case KStream():
                return KStream(join(self._stream, other._stream, given))
            case KTable():
                return KStream(join(self._stream, other._table, given))
            case GlobalKTable():
                return KStream(join(self._stream, other, given))
        raise TypeError(
            f"{given.method}: a stream is joined with a KStream, KTable or GlobalKTable, "
            f"not {type(other).__name__}"
        )
