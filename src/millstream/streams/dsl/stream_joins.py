"""The joins of a KStream: with a stream inside a window, with a table by its key, with a global table by any key.

`KStream` inherits them. Each kind of join takes its own options; the overloads say which.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from millstream.streams.dsl import stream_table_join as tables
from millstream.streams.dsl.global_tables import GlobalKTable
from millstream.streams.dsl.graph import GraphNode, StreamGraph
from millstream.streams.dsl.stream_stream_join import (
    StreamJoined,
    StreamJoinOptions,
    join_streams,
)
from millstream.streams.serdes.serde import Serde
from millstream.streams.topology.operators import UserFunction
from millstream.streams.windows import JoinWindows

if TYPE_CHECKING:
    from millstream.streams.dsl.stream import KStream
    from millstream.streams.dsl.table import KTable


K = TypeVar("K")
V = TypeVar("V")
V2 = TypeVar("V2")
KT = TypeVar("KT")
VT = TypeVar("VT")

_AnySerde = Serde[Any]  # Any: the stream's key and value types
_AnyJoined = StreamJoined[Any, Any, Any]  # Any: the types of both streams


@dataclass(frozen=True, slots=True)
class _Arguments:
    """The keyword arguments of all kinds of joins; None is what was not given."""

    windows: JoinWindows | None
    joined: _AnyJoined | None
    with_key: bool
    on: UserFunction | None = None
    key: _AnySerde | None = None
    value: _AnySerde | None = None
    name: str | None = None
    grace: timedelta | None = None


class StreamJoins(Generic[K, V]):
    """What a stream is to those that join it, and its joins. Only `KStream` is made of it."""

    __slots__ = ("_graph", "_node", "key", "repartition_required", "sources", "value")

    def __init__(
        self,
        graph: StreamGraph,
        node: GraphNode,
        *,
        key: Serde[K] | None,
        value: Serde[V] | None,
        sources: frozenset[str],
        repartition_required: bool = False,
    ) -> None:
        self._graph = graph
        self._node = node
        self.key = key
        self.value = value
        self.sources = sources
        self.repartition_required = repartition_required

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._node.name}>"

    @property
    def name(self) -> str:
        """The name of the node that gives this stream."""
        return self._node.name

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
        joined: _AnyJoined | None = None,
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
        given = _Arguments(windows, joined, with_key, on, key, value, name, grace)
        return self._join("join", other, joiner, (False, False), given)

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
        joined: _AnyJoined | None = None,
        on: UserFunction | None = None,
        with_key: bool = False,
        key: Serde[K] | None = None,
        value: Serde[V] | None = None,
        name: str | None = None,
        grace: timedelta | None = None,
    ) -> KStream[K, Any]:  # Any: see the overloads
        """As join; where the other side has nothing the joiner gets None for it.

        With a KStream that is when the record's window is over.
        """
        given = _Arguments(windows, joined, with_key, on, key, value, name, grace)
        return self._join("left_join", other, joiner, (True, False), given)

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
        joined: _AnyJoined | None = None,
        with_key: bool = False,
    ) -> KStream[K, Any]:  # Any: see the overloads
        """As left_join, for records of both streams."""
        given = _Arguments(windows, joined, with_key)
        return self._join("outer_join", other, joiner, (True, True), given)

    def _join(
        self,
        method: str,
        other: KStream[K, Any] | KTable[K, Any] | GlobalKTable[Any, Any],  # Any: see overloads
        joiner: UserFunction,
        kinds: tuple[bool, bool],
        given: _Arguments,
    ) -> KStream[Any, Any]:  # Any: see the overloads
        if isinstance(other, StreamJoins):
            return self._join_stream(method, other, joiner, kinds, given)
        if given.windows is not None or given.joined is not None:
            raise TypeError(f"{method} with a table has no windows: leave out windows= and joined=")
        options = tables.JoinOptions(
            method,
            joiner,
            given.with_key,
            kinds[0],
            (given.key, given.value),
            given.name,
            given.on,
            given.grace,
        )
        return tables.join_any_table(self, self._graph, self._node, other, options)

    def _join_stream(
        self,
        method: str,
        other: StreamJoins[Any, Any],  # Any: see the overloads
        joiner: UserFunction,
        kinds: tuple[bool, bool],
        given: _Arguments,
    ) -> KStream[Any, Any]:  # Any: see the overloads
        if given.windows is None:
            raise TypeError(f"{method} of two streams needs windows=, see JoinWindows.of")
        for option in ("on", "key", "value", "name", "grace"):
            if getattr(given, option) is not None:
                raise TypeError(
                    f"{method} of two streams takes no {option}=: its options are in joined=, see StreamJoined"
                )
        self._graph.check_same(method, "stream", other._graph)
        options = StreamJoinOptions(
            method, joiner, given.with_key, kinds, given.windows, given.joined or StreamJoined()
        )
        return join_streams(self._graph, (self, self._node), (other, other._node), options)
