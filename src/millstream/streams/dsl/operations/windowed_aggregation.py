"""Aggregations of a grouped stream per key and window, and per key and session."""

from __future__ import annotations

from dataclasses import dataclass, replace

from millstream.streams.aggregates import Aggregate
from millstream.streams.arguments import check_kind
from millstream.streams.dsl.graph.streams import AnySerde, GraphTable
from millstream.streams.dsl.graph.table_definitions import AggregateDefinition
from millstream.streams.dsl.operations.grouping import StreamGrouping
from millstream.streams.dsl.operations.materialize import (
    AnyMaterialized,
    count_store,
    key_value_store,
    retained,
    window_size_ms,
)
from millstream.streams.options import EmitStrategy, StoreType
from millstream.streams.serdes.windowed import session_windowed, time_windowed
from millstream.streams.topology import StoreKind, StoreSpec
from millstream.streams.topology import operators as ops
from millstream.streams.topology.functions import add_one, check_arity
from millstream.streams.windows import (
    AnyWindows,
    SessionWindows,
    SlidingWindows,
    UnlimitedWindows,
)

Functions = tuple[ops.UserFunction, ops.UserFunction, ops.UserFunction | None]
"""Initializer, aggregator, and the merger of two sessions."""


@dataclass(frozen=True, slots=True, eq=False)
class WindowedGrouping:
    """A grouped stream with its windows, and when their results go on."""

    grouping: StreamGrouping
    windows: AnyWindows
    emit: EmitStrategy = EmitStrategy.ON_WINDOW_UPDATE

    def emitting(self, strategy: EmitStrategy) -> WindowedGrouping:
        """Returns the same windows, emitted as the strategy says."""
        check_kind("emit_strategy: strategy", strategy, EmitStrategy)
        if strategy is EmitStrategy.ON_WINDOW_CLOSE and isinstance(self.windows, UnlimitedWindows):
            raise ValueError(
                "emit_strategy: unlimited windows never close, so nothing would be emitted: "
                "use EmitStrategy.ON_WINDOW_UPDATE"
            )
        return replace(self, emit=strategy)

    @property
    def is_final(self) -> bool:
        """Whether only results of closed windows go on."""
        return self.emit is EmitStrategy.ON_WINDOW_CLOSE


def count(
    windowed: WindowedGrouping, name: str | None, materialized: AnyMaterialized | None
) -> GraphTable:
    """Count the records of each key and window."""
    stream = windowed.grouping.stream
    is_sliding = isinstance(windowed.windows, SlidingWindows)
    spec = count_store(stream.graph, materialized, stream.key, takes_number=not is_sliding).spec
    functions = (_zero, add_one, _add_counts)
    node_name = stream.graph.names.name_or_generate(name, "KSTREAM-AGGREGATE-")
    return _aggregate(windowed, functions, node_name, materialized, spec)


def reduce(
    windowed: WindowedGrouping,
    reducer: ops.UserFunction,
    name: str | None,
    materialized: AnyMaterialized | None,
) -> GraphTable:
    """Combine the values of each key and window."""
    check_arity("reduce", "reducer", reducer, "aggregate", "value")

    def aggregator(_key: object, value: object, aggregate: object) -> object:
        return value if aggregate is None else reducer(aggregate, value)

    def merger(_key: object, one: object, other: object) -> object:
        return other if one is None else reducer(one, other)

    functions, prefix = (_none, aggregator, merger), "KSTREAM-REDUCE-"
    spec = _store(windowed, prefix, materialized, windowed.grouping.stream.value)
    node_name = windowed.grouping.stream.graph.names.name_or_generate(name, prefix)
    return _aggregate(windowed, functions, node_name, materialized, spec)


def aggregate(
    windowed: WindowedGrouping,
    functions: Functions,
    value: AnySerde | None,
    name: str | None,
    materialized: AnyMaterialized | None,
) -> GraphTable:
    """Aggregate the records of each key and window."""
    initializer, aggregator, merger = functions
    if isinstance(initializer, Aggregate):
        value = value or initializer.serde(windowed.grouping.stream.value)
        aggregator, merger = initializer, initializer.merger
        initializer = initializer.initializer
    check_arity("aggregate", "initializer", initializer)
    check_arity("aggregate", "aggregator", aggregator, "key", "value", "aggregate")
    if isinstance(windowed.windows, SessionWindows):
        check_arity("aggregate", "merger", merger, "key", "aggregate", "aggregate")
    prefix = "KSTREAM-AGGREGATE-"
    spec = _store(windowed, prefix, materialized, value)
    functions = (initializer, aggregator, merger)
    node_name = windowed.grouping.stream.graph.names.name_or_generate(name, prefix)
    return _aggregate(windowed, functions, node_name, materialized, spec)


def _store(
    windowed: WindowedGrouping,
    prefix: str,
    materialized: AnyMaterialized | None,
    value: AnySerde | None,
) -> StoreSpec:
    stream = windowed.grouping.stream
    return key_value_store(stream.graph, materialized, prefix, stream.key, value).spec


def _aggregate(
    windowed: WindowedGrouping,
    functions: Functions,
    node_name: str,
    materialized: AnyMaterialized | None,
    store: StoreSpec,
) -> GraphTable:
    grouping, windows = windowed.grouping, windowed.windows
    spec = window_store(windows, store, materialized, is_final=windowed.is_final)
    definition = AggregateDefinition(
        spec,
        lambda old: window_operator(
            spec.name, windows, functions, is_final=windowed.is_final, send_old_values=old
        ),
    )
    table = grouping.add_aggregation(node_name, definition, windowed_key(windows, spec.key))
    table.node.window_grace_ms = grace_ms(windows)
    return table


def window_store(
    windows: AnyWindows,
    spec: StoreSpec,
    materialized: AnyMaterialized | None,
    *,
    is_final: bool,
) -> StoreSpec:
    """Returns the store of an aggregation per window, from that of a plain one."""
    spec = retained(spec, materialized, windows.retention_ms)
    if isinstance(windows, SessionWindows):
        return replace(
            spec,
            kind=StoreKind.SESSION,
            caching=spec.caching and not is_final,
            time_ordered=is_final,
        )
    given = None if materialized is None else materialized.supplier
    in_order_of_keys = given is not None and given.type is StoreType.ROCKSDB
    return replace(
        spec,
        kind=StoreKind.TIMESTAMPED_WINDOW,
        window_size_ms=window_size_ms(materialized, windows.size_ms),
        caching=spec.caching and not (is_final and isinstance(windows, SlidingWindows)),
        time_ordered=is_final and not in_order_of_keys,
    )


def window_operator(
    store: str, windows: AnyWindows, functions: Functions, *, is_final: bool, send_old_values: bool
) -> ops.OperatorSpec:
    """Returns the operator that aggregates per window."""
    initializer, aggregator, merger = functions
    if isinstance(windows, SessionWindows):
        assert merger is not None, "sessions are merged"
        return ops.SessionAggregate(
            store, windows, initializer, aggregator, merger, is_final, send_old_values
        )
    if isinstance(windows, SlidingWindows):
        return ops.SlidingAggregate(
            store, windows, initializer, aggregator, is_final, send_old_values
        )
    return ops.WindowAggregate(store, windows, initializer, aggregator, is_final, send_old_values)


def windowed_key(windows: AnyWindows, key: AnySerde | None) -> AnySerde | None:
    """Returns the serde of keys with their window."""
    if key is None:
        return None
    if isinstance(windows, SessionWindows):
        return session_windowed(key)
    return time_windowed(key, windows.size_ms)


def grace_ms(windows: AnyWindows) -> int | None:
    """Returns the time for which a window stays open after its end; sessions also wait for their gap."""
    return windows.retention_ms if isinstance(windows, SessionWindows) else windows.grace_ms


def _zero() -> int:
    return 0


def _none() -> None:
    return None


def _add_counts(_key: object, one: int, other: int) -> int:
    return one + other
