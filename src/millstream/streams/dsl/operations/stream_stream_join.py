"""KStream joined with KStream inside a time window."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from millstream.streams.arguments import check_kind
from millstream.streams.dsl.graph.nodes import ProcessorGraphNode, StreamJoinGraphNode
from millstream.streams.dsl.graph.stream_graph import StreamGraph
from millstream.streams.dsl.graph.streams import AnySerde, GraphStream
from millstream.streams.errors import StreamsError
from millstream.streams.options import StoreSupplier, StoreType, StreamJoined
from millstream.streams.topology import StoreKind, StoreSpec
from millstream.streams.topology import operators as ops
from millstream.streams.topology.functions import check_arity
from millstream.streams.windows import JoinWindows, to_ms

AnyJoined = StreamJoined[Any, Any, Any]  # Any: streams of any type


@dataclass(frozen=True, slots=True)
class StreamJoinOptions:
    """The arguments of a join. `kinds`: whether left and right records need no partner."""

    method: str
    joiner: ops.UserFunction
    with_key: bool
    kinds: tuple[bool, bool]
    windows: JoinWindows
    joined: AnyJoined


@dataclass(frozen=True, slots=True)
class _Names:
    """Names of the nodes and stores of one join, left and right."""

    windowed: tuple[str, str]
    joins: tuple[str, str]
    stores: tuple[str, str]
    merge: str
    unmatched: str


def _names(graph: StreamGraph, options: StreamJoinOptions) -> _Names:
    """Six numbers are taken in this order, whatever the user has named."""
    (left_outer, right_outer), names = options.kinds, graph.names
    name, base = options.joined.name, options.joined.store_name
    windowed = (
        names.suffixed_or_generate(name, "-this-windowed", "KSTREAM-WINDOWED-"),
        names.suffixed_or_generate(name, "-other-windowed", "KSTREAM-WINDOWED-"),
    )
    left = names.processor_name(f"KSTREAM-{'OUTERTHIS' if right_outer else 'JOINTHIS'}-")
    right = names.processor_name(f"KSTREAM-{'OUTEROTHER' if left_outer else 'JOINOTHER'}-")
    left_suffix = "-outer-this-join" if right_outer else "-this-join"
    right_suffix = "-outer-other-join" if left_outer else "-other-join"
    merge = names.suffixed_or_generate(name, "-merge", "KSTREAM-MERGE-")
    shared = f"KSTREAM-OUTERSHARED-{left[-10:]}"
    supplier = options.joined.this_supplier
    shared_base = base if supplier is None else supplier.name
    if shared_base is not None:
        shared = shared_base + ("-outer-shared-join" if right_outer else "-left-shared-join")
    bases = (left, right) if base is None else (base + left_suffix, base + right_suffix)
    return _Names(
        windowed=windowed,
        joins=(left, right) if name is None else (name + left_suffix, name + right_suffix),
        stores=(f"{bases[0]}-store", f"{bases[1]}-store"),
        merge=merge,
        unmatched=f"{shared}-store",
    )


def join_streams(left: GraphStream, right: GraphStream, options: StreamJoinOptions) -> GraphStream:
    """Join two streams."""
    parameters = ("key", "left", "right") if options.with_key else ("left", "right")
    check_arity(options.method, "joiner", options.joiner, *parameters)
    check_kind(f"{options.method}: windows", options.windows, JoinWindows)
    check_kind(f"{options.method}: joined", options.joined, StreamJoined)
    graph = left.graph
    joined, (left_outer, _) = options.joined, options.kinds
    left = _copartitioned(left, joined, "-left", joined.value)
    right = _copartitioned(right, joined, "-right", joined.other_value)
    names = _names(graph, options)
    values = (joined.value or left.value, joined.other_value or right.value)
    stores = _window_stores(graph, names, options, joined.key or left.key, values)
    unmatched = None
    kept = [store.name for store in stores] + ([names.unmatched] if left_outer else [])
    if joined.store_name is None:
        graph.unnamed.update(dict.fromkeys(kept))  # also those of suppliers, as in Kafka Streams
    if left_outer:
        unmatched = replace(
            stores[0],
            name=names.unmatched,
            kind=StoreKind.UNMATCHED,
            other_value=stores[1].value,
            logging=joined.logging is not False,
            log_config=_log_config(joined),
        )
    parents = []
    for node_name, store, stream in zip(names.windowed, stores, (left, right), strict=True):
        node = ProcessorGraphNode(
            node_name,
            operator=lambda store=store: ops.JoinWindow(store.name),  # type: ignore[misc]  # bound now
            stores=lambda store=store: (store,),  # type: ignore[misc]  # bound now
        )
        graph.add(node, stream.node)
        parents.append(node)
    sides = _sides(options, stores, None if unmatched is None else unmatched.name, names.merge)
    sources = left.sources | right.sources
    join = StreamJoinGraphNode(
        names.merge,
        sides=tuple(zip(names.joins, names.windowed, sides, strict=True)),
        unmatched=unmatched,
        copartitioned=sources,
        relaxed_join=left_outer,
    )
    graph.add(join, *dict.fromkeys(parents))
    return GraphStream(graph, join, joined.key, None, sources)


def _sides(
    options: StreamJoinOptions,
    stores: tuple[StoreSpec, StoreSpec],
    unmatched: str | None,
    tracker: str,
) -> list[ops.StreamJoin]:
    windows, (left_outer, right_outer) = options.windows, options.kinds
    shared = {
        "unmatched_store": unmatched,
        "joiner": options.joiner,
        "with_key": options.with_key,
        "grace_ms": windows.grace_ms,
        "left_wait_ms": windows.after_ms,
        "right_wait_ms": windows.before_ms,
        "tracker": tracker,
    }
    before, after = windows.before_ms, windows.after_ms
    left = {"is_left": True, "outer": left_outer, "before_ms": before, "after_ms": after}
    right = {"is_left": False, "outer": right_outer, "before_ms": after, "after_ms": before}
    return [
        ops.StreamJoin(other_store=stores[1].name, **left, **shared),  # type: ignore[arg-type]  # fields by name
        ops.StreamJoin(other_store=stores[0].name, **right, **shared),  # type: ignore[arg-type]  # fields by name
    ]


def _copartitioned(
    stream: GraphStream, joined: AnyJoined, suffix: str, value: AnySerde | None
) -> GraphStream:
    """The stream to join, behind a repartition topic where its key was changed."""
    if not stream.repartition_required:
        return stream
    prefix = stream.name if joined.name is None else joined.name + suffix
    return stream.repartitioned_for_join(
        prefix, key=joined.key, value=value, is_named=joined.name is not None
    )


def _window_stores(
    graph: StreamGraph,
    names: _Names,
    options: StreamJoinOptions,
    key: AnySerde | None,
    values: tuple[AnySerde | None, AnySerde | None],
) -> tuple[StoreSpec, StoreSpec]:
    """The stores of both sides; StreamsError where they were chosen by hand and do not fit."""
    suppliers = (options.joined.this_supplier, options.joined.other_supplier)
    stores = []
    for name, value, supplier in zip(names.stores, values, suppliers, strict=True):
        needed = _window_store(graph, name, options)
        store = needed if supplier is None else _supplied_store(supplier, needed)
        stores.append(replace(store, key=key, value=value))
    left, right = stores
    if left.name == right.name:
        raise StreamsError(
            f"both sides of a join keep their records in {left.name}: use two stores"
        )
    return left, right


def _window_store(graph: StreamGraph, name: str, options: StreamJoinOptions) -> StoreSpec:
    windows, joined = options.windows, options.joined
    size_ms = windows.before_ms + windows.after_ms
    return StoreSpec(
        name,
        StoreKind.WINDOW,
        persistent=(joined.type or graph.store_type) is StoreType.ROCKSDB,
        logging=joined.logging is not False,
        log_config=_log_config(joined),
        retention_ms=size_ms + windows.grace_ms,
        window_size_ms=size_ms,
        retain_duplicates=True,
        log_headers=True,
    )


def _supplied_store(supplier: StoreSupplier, needed: StoreSpec) -> StoreSpec:
    """The store chosen by hand; StreamsError unless it keeps exactly what the join needs."""
    retention_ms = None if supplier.retention is None else to_ms(supplier.retention)
    size_ms = None if supplier.window_size is None else to_ms(supplier.window_size)
    if (retention_ms, size_ms) != (needed.retention_ms, needed.window_size_ms):
        raise StreamsError(
            f"store {supplier.name} has a retention of {retention_ms} ms and windows of {size_ms} ms: "
            f"the join needs {needed.retention_ms} ms and {needed.window_size_ms} ms"
        )
    if not supplier.retain_duplicates:
        raise StreamsError(
            f"store {supplier.name} of a join must retain duplicates: say retain_duplicates=True"
        )
    return replace(
        needed,
        name=supplier.name,
        persistent=supplier.type is StoreType.ROCKSDB,
        logging=True,
        log_config={"cleanup.policy": "compact,delete"},
    )


def _log_config(joined: AnyJoined) -> dict[str, str]:
    return {} if isinstance(joined.logging, bool) else dict(joined.logging)
