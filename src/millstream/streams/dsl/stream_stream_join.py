"""KStream joined with KStream inside a time window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic

from millstream.streams.arguments import check_fields, check_kind, check_serdes
from millstream.streams.dsl.graph import (
    GraphNode,
    ProcessorGraphNode,
    StreamGraph,
    repartition_node,
)
from millstream.streams.errors import StreamsError
from millstream.streams.options import StoreSupplier, StoreType
from millstream.streams.serdes.serde import Serde
from millstream.streams.topology import SinkNode, StoreKind, StoreSpec, TopologyWriter
from millstream.streams.topology import operators as ops
from millstream.streams.topology.functions import check_arity
from millstream.streams.topology.nodes import ProcessorNode
from millstream.streams.type_variables import VO, K, V
from millstream.streams.windows import JoinWindows, to_ms

if TYPE_CHECKING:
    from millstream.streams.dsl.stream import KStream
    from millstream.streams.dsl.stream_joins import StreamJoins


@dataclass(frozen=True, slots=True)
class StreamJoined(Generic[K, V, VO]):
    """How the two sides of a stream-stream join are kept and repartitioned.

    A store with a supplier always has a changelog, without the settings in `logging`.
    """

    key: Serde[K] | None = None
    value: Serde[V] | None = None
    other_value: Serde[VO] | None = None
    name: str | None = None
    store_name: str | None = None
    type: StoreType | None = None
    logging: bool | Mapping[str, str] = True
    this_supplier: StoreSupplier | None = None
    other_supplier: StoreSupplier | None = None

    def __post_init__(self) -> None:
        check_serdes("StreamJoined", key=self.key, value=self.value, other_value=self.other_value)
        check_fields(
            self,
            name=str | None,
            store_name=str | None,
            type=StoreType | None,
            logging=bool | Mapping,
            this_supplier=StoreSupplier | None,
            other_supplier=StoreSupplier | None,
        )


@dataclass(frozen=True, slots=True)
class StreamJoinOptions:
    """The arguments of a join. `kinds`: whether left and right records need no partner."""

    method: str
    joiner: ops.UserFunction
    with_key: bool
    kinds: tuple[bool, bool]
    windows: JoinWindows
    joined: StreamJoined[Any, Any, Any]  # Any: streams of any type


@dataclass(eq=False, slots=True)
class StreamJoinGraphNode(GraphNode):
    """Both joining sides and their merge, named after the latter."""

    sides: tuple[tuple[str, str, ops.StreamJoin], ...] = ()
    """(name, parent, operator) of the left and the right side."""
    unmatched: StoreSpec | None = None
    copartitioned: frozenset[str] = frozenset()
    one_store: bool = False

    @property
    def is_self_join(self) -> bool:
        """Whether both sides are the same stream, and each still keeps its records."""
        return len(self.parents) == 2 and self.parents[0].parents == self.parents[1].parents

    def use_one_store(self) -> None:
        """Join a stream with itself from the left side's store; the right side is gone."""
        left = self.parents[0]
        assert isinstance(left, ProcessorGraphNode), "the windowed left side"
        left.operator = ops.PassThrough  # the join keeps a record itself, after it was joined
        self.one_store = True

    def write(self, topology: TopologyWriter) -> None:
        if self.one_store:
            self._write_self_join(topology)
            return
        for name, parent, spec in self.sides:
            topology.add_processor(ProcessorNode(name, spec, (parent,)))
        names = tuple(name for name, _, _ in self.sides)
        topology.add_processor(ProcessorNode(self.name, ops.PassThrough(), names))
        for name, _, spec in self.sides:
            topology.connect(name, (spec.other_store,))
        if self.unmatched is not None:
            topology.add_store(self.unmatched, names)
        topology.copartition(self.copartitioned)

    def _write_self_join(self, topology: TopologyWriter) -> None:
        (_, parent, left), (_, _, right) = self.sides
        join = ops.SelfJoin(
            right.other_store, left.joiner, left.with_key, left.before_ms, left.after_ms
        )
        topology.add_processor(ProcessorNode(self.name, join, (parent,)))
        topology.connect(self.name, (join.store,))
        topology.copartition(self.copartitioned)


@dataclass(frozen=True, slots=True)
class _Names:
    """Names of the nodes and stores of one join, left and right."""

    windowed: tuple[str, str]
    joins: tuple[str, str]
    stores: tuple[str, str]
    merge: str
    unmatched: str


def _names(graph: StreamGraph, options: StreamJoinOptions) -> _Names:
    """Six numbers are taken in this order, whatever the user has named (S1)."""
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


def join_streams(
    graph: StreamGraph,
    left: tuple[StreamJoins[Any, Any], GraphNode],  # Any: checked by the calling method's signature
    right: tuple[StreamJoins[Any, Any], GraphNode],  # Any: the same
    options: StreamJoinOptions,
) -> KStream[Any, Any]:  # Any: the same
    """Join two streams."""
    from millstream.streams.dsl.stream import KStream

    parameters = ("key", "left", "right") if options.with_key else ("left", "right")
    check_arity(options.method, "joiner", options.joiner, *parameters)
    check_kind(f"{options.method}: windows", options.windows, JoinWindows)
    check_kind(f"{options.method}: joined", options.joined, StreamJoined)
    joined, (left_outer, _) = options.joined, options.kinds
    left_parent, left_sources = _ready(graph, left, options, "-left", joined.value)
    right_parent, right_sources = _ready(graph, right, options, "-right", joined.other_value)
    names = _names(graph, options)
    values = (joined.value or left[0].value, joined.other_value or right[0].value)
    stores = _window_stores(graph, names, options, joined.key or left[0].key, values)
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
    for node_name, store, parent in zip(
        names.windowed, stores, (left_parent, right_parent), strict=True
    ):
        node = ProcessorGraphNode(
            node_name,
            operator=lambda store=store: ops.JoinWindow(store.name),  # type: ignore[misc]  # bound now
            stores=lambda store=store: (store,),  # type: ignore[misc]  # bound now
        )
        graph.add(node, parent)
        parents.append(node)
    sides = _sides(options, stores, None if unmatched is None else unmatched.name, names.merge)
    sources = left_sources | right_sources
    join = StreamJoinGraphNode(
        names.merge,
        sides=tuple(zip(names.joins, names.windowed, sides, strict=True)),
        unmatched=unmatched,
        copartitioned=sources,
        relaxed_join=left_outer,
    )
    graph.add(join, *dict.fromkeys(parents))
    return KStream(graph, join, key=joined.key, value=None, sources=sources)


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


def _ready(
    graph: StreamGraph,
    side: tuple[StreamJoins[Any, Any], GraphNode],  # Any: see join_streams
    options: StreamJoinOptions,
    suffix: str,
    value: Serde[Any] | None,  # Any: the side's type
) -> tuple[GraphNode, frozenset[str]]:
    """The node to join at, behind a repartition topic where the side's key was changed."""
    stream, node = side
    if not stream.repartition_required:
        return node, stream.sources
    joined = options.joined
    prefix = stream.name if joined.name is None else joined.name + suffix
    sink = SinkNode("", (), "", joined.key or stream.key, value or stream.value)
    made = repartition_node(graph.names, prefix, sink)
    known = graph.join_repartitions.get(stream.name)
    if known is not None and prefix == stream.name:
        # Kafka Streams names a source here that it then does not write: nothing more is copartitioned with the topic.
        return known, frozenset({made.name})
    graph.join_repartitions[stream.name] = made
    if joined.name is None:
        graph.unnamed[made.topic] = None
    graph.add(made, node)
    return made, frozenset({made.name})


def _window_stores(
    graph: StreamGraph,
    names: _Names,
    options: StreamJoinOptions,
    key: Serde[Any] | None,  # Any: see join_streams
    values: tuple[Serde[Any] | None, Serde[Any] | None],  # Any: the same
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


def _log_config(joined: StreamJoined[Any, Any, Any]) -> dict[str, str]:  # Any: streams of any type
    return {} if isinstance(joined.logging, bool) else dict(joined.logging)
