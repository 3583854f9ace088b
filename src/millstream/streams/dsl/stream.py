"""KStream: a stream of records, and everything one can do with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from millstream.streams.arguments import check_kind, check_serdes
from millstream.streams.dsl.graph import (
    GraphNode,
    ProcessorGraphNode,
    SinkGraphNode,
    repartition_node,
)
from millstream.streams.dsl.stream_joins import StreamJoins
from millstream.streams.options import Materialized, Partitioner, TopicExtractor
from millstream.streams.processor import ForwardingProcessor, Processor
from millstream.streams.serdes.serde import Serde
from millstream.streams.topology import SinkNode
from millstream.streams.topology import operators as ops
from millstream.streams.topology.functions import (
    check_arity,
    check_partitioner,
    check_supplier,
    names_of_stores,
    stores_of,
)
from millstream.streams.topology.names import check_name, check_topic

if TYPE_CHECKING:
    from millstream.streams.dsl.branched import BranchedKStream
    from millstream.streams.dsl.grouped import KGroupedStream
    from millstream.streams.dsl.table import KTable

K = TypeVar("K")
V = TypeVar("V")
K2 = TypeVar("K2")
V2 = TypeVar("V2")


class KStream(StreamJoins[K, V]):
    """A stream of records. Every method gives a new stream or ends this one; nothing changes in place.

    Serdes follow the records as far as their types are known: `map` drops both, `map_values` the value's.
    """

    __slots__ = ()

    # Stateless operators.

    def filter(
        self, predicate: Callable[[K, V], bool], *, name: str | None = None
    ) -> KStream[K, V]:
        """Records for which predicate(key, value) holds."""
        return self._filter("filter", predicate, name, negate=False)

    def filter_not(
        self, predicate: Callable[[K, V], bool], *, name: str | None = None
    ) -> KStream[K, V]:
        """Records for which predicate(key, value) does not hold."""
        return self._filter("filter_not", predicate, name, negate=True)

    def _filter(
        self, operator: str, predicate: Callable[[K, V], bool], name: str | None, *, negate: bool
    ) -> KStream[K, V]:
        check_arity(operator, "predicate", predicate, "key", "value", takes_columns=True)
        node = self._add(name, "KSTREAM-FILTER-", ops.Filter(predicate, negate))
        return self._next(node, self.key, self.value)

    def map(
        self, mapper: Callable[[K, V], tuple[K2, V2]], *, name: str | None = None
    ) -> KStream[K2, V2]:
        """mapper(key, value) gives (new key, new value)."""
        check_arity("map", "mapper", mapper, "key", "value")
        node = self._add(name, "KSTREAM-MAP-", ops.Map(mapper))
        return self._next(node, None, None, rekeyed=True)

    @overload
    def map_values(
        self,
        mapper: Callable[[V], V2],
        *,
        name: str | None = None,
        with_key: Literal[False] = False,
    ) -> KStream[K, V2]: ...
    @overload
    def map_values(
        self, mapper: Callable[[K, V], V2], *, name: str | None = None, with_key: Literal[True]
    ) -> KStream[K, V2]: ...
    def map_values(
        self, mapper: ops.UserFunction, *, name: str | None = None, with_key: bool = False
    ) -> KStream[K, V2]:
        """mapper(value), or mapper(key, value) with_key, gives the new value."""
        parameters = ("key", "value") if with_key else ("value",)
        check_arity("map_values", "mapper", mapper, *parameters, takes_columns=True)
        node = self._add(name, "KSTREAM-MAPVALUES-", ops.MapValues(mapper, with_key))
        return self._next(node, self.key, None)

    def flat_map(
        self, mapper: Callable[[K, V], Iterable[tuple[K2, V2]]], *, name: str | None = None
    ) -> KStream[K2, V2]:
        """mapper(key, value) gives any number of (new key, new value)."""
        check_arity("flat_map", "mapper", mapper, "key", "value", gives_rows=True)
        node = self._add(name, "KSTREAM-FLATMAP-", ops.FlatMap(mapper))
        return self._next(node, None, None, rekeyed=True)

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
        self, mapper: ops.UserFunction, *, name: str | None = None, with_key: bool = False
    ) -> KStream[K, V2]:
        """mapper(value), or mapper(key, value) with_key, gives any number of new values."""
        parameters = ("key", "value") if with_key else ("value",)
        check_arity("flat_map_values", "mapper", mapper, *parameters, gives_rows=True)
        node = self._add(name, "KSTREAM-FLATMAPVALUES-", ops.FlatMapValues(mapper, with_key))
        return self._next(node, self.key, None)

    def select_key(
        self,
        mapper: Callable[[K, V], K2],
        *,
        key: Serde[K2] | None = None,
        name: str | None = None,
    ) -> KStream[K2, V]:
        """mapper(key, value) gives the new key. `key`: its serde, for operators that follow."""
        check_arity("select_key", "mapper", mapper, "key", "value", takes_columns=True)
        check_serdes("select_key", key=key)
        node = self._add(name, "KSTREAM-KEY-SELECT-", ops.SelectKey(mapper))
        return self._next(node, key, self.value, rekeyed=True)

    def peek(self, action: Callable[[K, V], object], *, name: str | None = None) -> KStream[K, V]:
        """Calls action(key, value) for each record that passes."""
        check_arity("peek", "action", action, "key", "value")
        node = self._add(name, "KSTREAM-PEEK-", ops.Peek(action))
        return self._next(node, self.key, self.value)

    def foreach(self, action: Callable[[K, V], object], *, name: str | None = None) -> None:
        """Calls action(key, value) for each record; ends the stream."""
        check_arity("foreach", "action", action, "key", "value")
        self._add(name, "KSTREAM-FOREACH-", ops.Peek(action, forward=False))

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
        check_kind("print: label", label, str | None)
        shown = label or self.name
        check_arity("print", "write", write, "line")
        text = _key_and_value if mapper is None else mapper
        check_arity("print", "mapper", text, "key", "value")

        def action(key: K, value: V) -> None:
            write(f"[{shown}]: {text(key, value)}")

        self._add(name, "KSTREAM-PRINTER-", ops.Peek(action, forward=False))

    def merge(self, other: KStream[K, V], *, name: str | None = None) -> KStream[K, V]:
        """Records of both streams. No order between the two is promised."""
        check_kind("merge: the other stream", other, KStream)
        self._graph.check_same("merge", "stream", other._graph)
        node_name = self._graph.names.name_or_generate(name, "KSTREAM-MERGE-")
        node = ProcessorGraphNode(node_name, operator=ops.PassThrough, merges_streams=True)
        self._graph.add(node, self._node, other._node)
        return KStream(
            self._graph,
            node,
            key=None,
            value=None,
            sources=self.sources | other.sources,
            repartition_required=self.repartition_required or other.repartition_required,
        )

    def split(self, *, name: str | None = None) -> BranchedKStream[K, V]:
        """Send each record to the first branch whose predicate holds."""
        from millstream.streams.dsl.branched import BranchedKStream

        return BranchedKStream(self, self._graph, self._node, name)

    # Topics.

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
        if isinstance(topic, str):
            check_topic(topic, "a sink")
        else:
            check_arity("to", "topic", topic, "key", "value", "context")
        check_partitioner("to", partitioner)
        check_serdes("to", key=key, value=value)
        sink_name = self._graph.names.name_or_generate(name, "KSTREAM-SINK-")
        sink = SinkNode(sink_name, (), topic, key or self.key, value or self.value, partitioner)
        self._graph.add(SinkGraphNode(sink_name, sink=sink), self._node)

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
        names = self._graph.names
        check_partitioner("repartition", partitioner)
        check_serdes("repartition", key=key, value=value)
        check_kind("repartition: partitions", partitions, int | None)
        if partitions is not None and partitions < 1:
            raise ValueError(f"repartition: partitions must be at least 1, not {partitions}")
        prefix = names.processor_name("KSTREAM-REPARTITION-") if name is None else check_name(name)
        sink = SinkNode("", (), "", key or self.key, value or self.value, partitioner)
        node = repartition_node(names, prefix, sink)
        node.partitions = partitions
        if name is None:
            self._graph.unnamed[node.topic] = None
        node.mergeable = False
        self._graph.add(node, self._node)
        return KStream(
            self._graph, node, key=sink.key, value=sink.value, sources=frozenset({node.name})
        )

    # Tables and groups.

    def to_table(
        self, *, name: str | None = None, materialized: Materialized[K, V] | None = None
    ) -> KTable[K, V]:
        """The latest value of each key as a table."""
        from millstream.streams.dsl.to_table import stream_to_table

        return stream_to_table(self, self._graph, self._node, name, materialized)

    def group_by_key(
        self,
        *,
        key: Serde[K] | None = None,
        value: Serde[V] | None = None,
        name: str | None = None,
    ) -> KGroupedStream[K, V]:
        """Group by the key as it is. `name` is that of the repartition topic, where one is needed."""
        from millstream.streams.dsl.grouped import Grouping, KGroupedStream

        check_serdes("group_by_key", key=key, value=value)
        check_kind("group_by_key: name", name, str | None)
        grouping = Grouping(
            key or self.key, value or self.value, name, self.sources, self.repartition_required
        )
        return KGroupedStream(self._graph, self._node, grouping)

    def group_by(
        self,
        mapper: Callable[[K, V], K2],
        *,
        key: Serde[K2] | None = None,
        value: Serde[V] | None = None,
        name: str | None = None,
    ) -> KGroupedStream[K2, V]:
        """Group by mapper(key, value); the records go through a repartition topic."""
        from millstream.streams.dsl.grouped import Grouping, KGroupedStream

        check_arity("group_by", "mapper", mapper, "key", "value")
        check_serdes("group_by", key=key, value=value)
        node = self._add(name, "KSTREAM-KEY-SELECT-", ops.SelectKey(mapper))
        grouping = Grouping(key, value or self.value, name, self.sources, repartition_required=True)
        return KGroupedStream(self._graph, node, grouping)

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
        node = self._add_processor("KSTREAM-PROCESSOR-", ops.Process(supplier), stores, name)
        return self._next(node, None, None, rekeyed=True)

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
        spec = ops.Process(supplier, fixed_key=True)
        node = self._add_processor("KSTREAM-PROCESSVALUES-", spec, stores, name)
        return self._next(node, self.key, None)

    def _add_processor(
        self, prefix: str, spec: ops.Process, stores: Iterable[str], name: str | None
    ) -> GraphNode:
        method = "process_values" if spec.fixed_key else "process"
        check_supplier(method, spec.supplier, "process", "record")
        connected = names_of_stores(method, stores)
        provided = stores_of(method, spec.supplier)
        if name is None:  # no number is taken otherwise
            name = self._graph.names.processor_name(prefix)
        node = ProcessorGraphNode(
            check_name(name),
            operator=lambda: spec,
            stores=lambda: provided,
            connected=lambda: connected,
        )
        self._graph.add(node, self._node)
        return node

    def _add(self, name: str | None, prefix: str, spec: ops.OperatorSpec) -> GraphNode:
        node = ProcessorGraphNode(
            self._graph.names.name_or_generate(name, prefix),
            operator=lambda: spec,
            changes_key=isinstance(spec, ops.Map | ops.FlatMap | ops.SelectKey),
            changes_value=isinstance(spec, ops.MapValues | ops.FlatMapValues),
        )
        self._graph.add(node, self._node)
        return node

    def _next(
        self,
        node: GraphNode,
        key: Serde[K2] | None,
        value: Serde[V2] | None,
        *,
        rekeyed: bool = False,
    ) -> KStream[K2, V2]:
        return KStream(
            self._graph,
            node,
            key=key,
            value=value,
            sources=self.sources,
            repartition_required=self.repartition_required or rekeyed,
        )


def _key_and_value(key: object, value: object) -> str:
    return f"{key}, {value}"
