"""From the user's `Materialized` to the store of an operator: its name, its numbers, its serdes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from millstream.streams.dsl.graph.stream_graph import StreamGraph
from millstream.streams.options import Materialized, StoreFormat, StoreType
from millstream.streams.serdes.serde import Serde, long
from millstream.streams.topology import StoreKind, StoreSpec
from millstream.streams.topology.names import check_name
from millstream.streams.windows import to_ms

AnyMaterialized = Materialized[Any, Any]  # Any: tables of any type


@dataclass(frozen=True, slots=True)
class StoreRequest:
    """A store that an operator has, or would have if something needed it.

    `queryable`: the user named it, so it exists whether or not the topology needs it.
    """

    spec: StoreSpec
    queryable: bool


def key_value_store(
    graph: StreamGraph,
    materialized: AnyMaterialized | None,
    prefix: str,
    key: Serde[Any] | None,  # Any: serdes of any type
    value: Serde[Any] | None,  # Any: serdes of any type
) -> StoreRequest:
    """Returns a timestamped key-value store, or a versioned one; a number is taken if the user gave no name."""
    if not isinstance(materialized, Materialized | None):
        raise TypeError(
            f"materialized must be a Materialized, not {materialized!r}: write Materialized({materialized!r})"
        )
    options = materialized or Materialized()
    supplier = options.supplier
    store_type = options.type if supplier is None else supplier.type
    name = options.store_name
    if name is None:
        name = graph.names.store_name(prefix)
        graph.unnamed[name] = None
    else:
        check_name(name)
    history = None if supplier is None else supplier.history
    persistent = (store_type or graph.store_type) is StoreType.ROCKSDB
    if supplier is None:
        with_headers = persistent and graph.store_format is StoreFormat.HEADERS
    else:
        with_headers = supplier.with_headers
    spec = _with_logging(
        StoreSpec(
            name=name,
            kind=StoreKind.TIMESTAMPED_KEY_VALUE if history is None else StoreKind.VERSIONED,
            persistent=persistent,
            key=options.key or key,
            value=options.value or value,
            caching=options.caching,
            retention_ms=None if history is None else to_ms(history),
            entries_max=None if supplier is None else supplier.entries_max,
            with_headers=with_headers,
            keeps_timestamps=supplier is None or supplier.timestamped,
        ),
        options.logging,
    )
    return StoreRequest(spec, options.store_name is not None)


def count_store(
    graph: StreamGraph,
    materialized: AnyMaterialized | None,
    key: Serde[Any] | None,  # Any: serdes of any type
    *,
    takes_number: bool = True,
) -> StoreRequest:
    """Returns the store of a count.

    Where it has options but no name Kafka Streams takes one number more, if not of sliding windows.
    """
    unnamed = isinstance(materialized, Materialized) and materialized.store_name is None
    if takes_number and unnamed:
        graph.names.store_name("KSTREAM-AGGREGATE-")
    return key_value_store(graph, materialized, "KSTREAM-AGGREGATE-", key, long())


def retained(spec: StoreSpec, materialized: AnyMaterialized | None, needed_ms: int) -> StoreSpec:
    """Returns the store with how long it keeps its rows; a supplier's retention leaves the changelog's alone."""
    retention_ms = _checked_retention(spec.name, materialized, needed_ms)
    supplier = None if materialized is None else materialized.supplier
    if supplier is None or supplier.retention is None:
        return replace(spec, retention_ms=retention_ms)
    return replace(
        spec, retention_ms=to_ms(supplier.retention), changelog_retention_ms=retention_ms
    )


def window_size_ms(materialized: AnyMaterialized | None, windows_ms: int) -> int:
    """Returns the length of the windows of a store for its readers: that of its supplier, or that of the windows."""
    supplier = None if materialized is None else materialized.supplier
    if supplier is None or supplier.window_size is None:
        return windows_ms
    return to_ms(supplier.window_size)


def _checked_retention(store: str, materialized: AnyMaterialized | None, needed_ms: int) -> int:
    """The retention of a window store in milliseconds; ValueError if it is too short."""
    retention = None if materialized is None else materialized.retention
    retention_ms = needed_ms if retention is None else to_ms(retention)
    if retention_ms < needed_ms:
        raise ValueError(
            f"store {store} keeps {retention_ms} ms, less than its windows and their grace "
            f"({needed_ms} ms) need: raise its retention"
        )
    return retention_ms


def _with_logging(spec: StoreSpec, logging: bool | Mapping[str, str]) -> StoreSpec:
    if isinstance(logging, bool):
        return replace(spec, logging=logging)
    return replace(spec, logging=True, log_config=dict(logging))
