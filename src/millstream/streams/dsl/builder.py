"""StreamsBuilder: makes the streams and tables that read topics, and builds the topology."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, TypeVar, overload

from millstream.foreign_names.explanation import explain_construction, explain_misspellings
from millstream.streams.arguments import check_kind, member
from millstream.streams.dsl.global_table import GlobalKTable
from millstream.streams.dsl.graph.nodes import (
    GlobalStoreGraphNode,
    SourceGraphNode,
    StoreGraphNode,
    TableSourceGraphNode,
)
from millstream.streams.dsl.graph.optimization import optimizations, optimize
from millstream.streams.dsl.graph.stream_graph import StreamGraph
from millstream.streams.dsl.graph.streams import GraphStream, GraphTable
from millstream.streams.dsl.graph.table_definitions import SourceDefinition
from millstream.streams.dsl.operations.materialize import key_value_store
from millstream.streams.dsl.stream import KStream
from millstream.streams.dsl.table import KTable
from millstream.streams.errors import TopologyError
from millstream.streams.options import Materialized, OffsetReset, StoreFormat, StoreType
from millstream.streams.processor import ProcessorSupplier, ProcessorWrapper
from millstream.streams.serdes.serde import Serde
from millstream.streams.timestamps import TimestampExtractor
from millstream.streams.topology import SourceNode, StoreSpec, Topology, TopologyWriter
from millstream.streams.topology.functions import check_pattern, check_reading, check_supplier
from millstream.streams.topology.names import check_topic
from millstream.streams.topology.operators import Process, TableSource
from millstream.streams.topology.wrapping import check_wrapper

K = TypeVar("K")
V = TypeVar("V")


@explain_construction
@explain_misspellings
class StreamsBuilder:
    """Collects the calls of one topology.

    Serdes that are not given are the application's default serdes. `store_type` is where stores live
    that do not say so themselves, `store_format` what those of tables keep (dsl.store.format). `explicit_names`
    refuses generated names of topics and stores. `optimization` is the setting `topology.optimization`: `none`,
    `all`, or names with commas between. `processor_wrapper` stands around every processor, the library's own included;
    records then go one by one.
    """

    def __init__(
        self,
        *,
        store_type: StoreType = StoreType.ROCKSDB,
        store_format: StoreFormat = StoreFormat.DEFAULT,
        explicit_names: bool = False,
        optimization: str = "none",
        processor_wrapper: ProcessorWrapper | None = None,
    ) -> None:
        check_kind("StreamsBuilder: explicit_names", explicit_names, bool)
        check_wrapper(processor_wrapper)
        self._processor_wrapper = processor_wrapper
        self._graph = StreamGraph(
            KStream,
            member("StreamsBuilder: store_type", store_type, StoreType),
            member("StreamsBuilder: store_format", store_format, StoreFormat),
        )
        self._explicit_names = explicit_names
        self._optimizations = optimizations(optimization)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} operators={len(self._graph.nodes())}>"

    @overload
    def stream(
        self,
        topics: str | Iterable[str] = (),
        *,
        pattern: str | re.Pattern[str] | None = None,
        key: Serde[K],
        value: Serde[V],
        timestamps: TimestampExtractor | None = None,
        reset: OffsetReset | timedelta | None = None,
        name: str | None = None,
    ) -> KStream[K, V]: ...
    @overload
    def stream(
        self,
        topics: str | Iterable[str] = (),
        *,
        pattern: str | re.Pattern[str] | None = None,
        key: Serde[K],
        value: None = None,
        timestamps: TimestampExtractor | None = None,
        reset: OffsetReset | timedelta | None = None,
        name: str | None = None,
    ) -> KStream[K, Any]: ...  # Any: the application's default
    @overload
    def stream(
        self,
        topics: str | Iterable[str] = (),
        *,
        pattern: str | re.Pattern[str] | None = None,
        key: None = None,
        value: Serde[V],
        timestamps: TimestampExtractor | None = None,
        reset: OffsetReset | timedelta | None = None,
        name: str | None = None,
    ) -> KStream[Any, V]: ...  # Any: the application's default
    @overload
    def stream(
        self,
        topics: str | Iterable[str] = (),
        *,
        pattern: str | re.Pattern[str] | None = None,
        key: None = None,
        value: None = None,
        timestamps: TimestampExtractor | None = None,
        reset: OffsetReset | timedelta | None = None,
        name: str | None = None,
    ) -> KStream[Any, Any]: ...  # Any: the application's default
    def stream(
        self,
        topics: str | Iterable[str] = (),
        *,
        pattern: str | re.Pattern[str] | None = None,
        key: Serde[K] | None = None,
        value: Serde[V] | None = None,
        timestamps: TimestampExtractor | None = None,
        reset: OffsetReset | timedelta | None = None,
        name: str | None = None,
    ) -> KStream[K, V]:
        """Returns a stream of one topic, of several, or of all topics whose whole name matches `pattern`.

        `reset`: where to begin without a committed offset; a timedelta goes back by that long (KIP-1106).
        """
        graph = self._graph
        check_reading("stream", timestamps, reset)
        given = _topics(topics, pattern)
        matched = None if pattern is None else check_pattern("stream", pattern)
        source_name = graph.names.name_or_generate(name, "KSTREAM-SOURCE-")
        source = SourceNode(source_name, given, matched, key, value, timestamps, reset)
        node = SourceGraphNode(source_name, source=source)
        graph.add(node)
        return KStream(GraphStream(graph, node, key, value, frozenset({source_name})))

    @overload
    def table(
        self,
        topic: str,
        *,
        key: Serde[K],
        value: Serde[V],
        timestamps: TimestampExtractor | None = None,
        reset: OffsetReset | timedelta | None = None,
        name: str | None = None,
        materialized: Materialized[K, V] | None = None,
    ) -> KTable[K, V]: ...
    @overload
    def table(
        self,
        topic: str,
        *,
        key: Serde[K],
        value: None = None,
        timestamps: TimestampExtractor | None = None,
        reset: OffsetReset | timedelta | None = None,
        name: str | None = None,
        materialized: Materialized[K, Any] | None = None,  # Any: the application's default
    ) -> KTable[K, Any]: ...  # Any: the application's default
    @overload
    def table(
        self,
        topic: str,
        *,
        key: None = None,
        value: Serde[V],
        timestamps: TimestampExtractor | None = None,
        reset: OffsetReset | timedelta | None = None,
        name: str | None = None,
        materialized: Materialized[Any, V] | None = None,  # Any: the application's default
    ) -> KTable[Any, V]: ...  # Any: the application's default
    @overload
    def table(
        self,
        topic: str,
        *,
        key: None = None,
        value: None = None,
        timestamps: TimestampExtractor | None = None,
        reset: OffsetReset | timedelta | None = None,
        name: str | None = None,
        materialized: Materialized[Any, Any] | None = None,  # Any: the application's default
    ) -> KTable[Any, Any]: ...  # Any: the application's default
    def table(
        self,
        topic: str,
        *,
        key: Serde[K] | None = None,
        value: Serde[V] | None = None,
        timestamps: TimestampExtractor | None = None,
        reset: OffsetReset | timedelta | None = None,
        name: str | None = None,
        materialized: Materialized[K, V] | None = None,
    ) -> KTable[K, V]:
        """Returns a table: the latest value of each key of a topic. Records with a null key are dropped."""
        check_topic(topic, "a table")
        check_reading("table", timestamps, reset)
        graph = self._graph
        request = key_value_store(graph, materialized, f"{topic}-", key, value)
        source_name = graph.names.suffixed_or_generate(name, "-source", "KSTREAM-SOURCE-")
        table_name = graph.names.name_or_generate(name, "KTABLE-SOURCE-")
        key, value = request.spec.key, request.spec.value
        source = SourceNode(source_name, (topic,), None, key, value, timestamps, reset)
        definition = SourceDefinition(request.spec, materialized=request.queryable)
        node = TableSourceGraphNode(
            table_name, source=source, operator=definition.operator, stores=definition.stores
        )
        graph.add(node)
        sources = frozenset({source_name})
        return KTable(GraphTable(graph, node, definition, key, value, sources))

    @overload
    def global_table(
        self,
        topic: str,
        *,
        key: Serde[K],
        value: Serde[V],
        timestamps: TimestampExtractor | None = None,
        name: str | None = None,
        materialized: Materialized[K, V] | None = None,
    ) -> GlobalKTable[K, V]: ...
    @overload
    def global_table(
        self,
        topic: str,
        *,
        key: Serde[K],
        value: None = None,
        timestamps: TimestampExtractor | None = None,
        name: str | None = None,
        materialized: Materialized[K, Any] | None = None,  # Any: the application's default
    ) -> GlobalKTable[K, Any]: ...  # Any: the application's default
    @overload
    def global_table(
        self,
        topic: str,
        *,
        key: None = None,
        value: Serde[V],
        timestamps: TimestampExtractor | None = None,
        name: str | None = None,
        materialized: Materialized[Any, V] | None = None,  # Any: the application's default
    ) -> GlobalKTable[Any, V]: ...  # Any: the application's default
    @overload
    def global_table(
        self,
        topic: str,
        *,
        key: None = None,
        value: None = None,
        timestamps: TimestampExtractor | None = None,
        name: str | None = None,
        materialized: Materialized[Any, Any] | None = None,  # Any: the application's default
    ) -> GlobalKTable[Any, Any]: ...  # Any: the application's default
    def global_table(
        self,
        topic: str,
        *,
        key: Serde[K] | None = None,
        value: Serde[V] | None = None,
        timestamps: TimestampExtractor | None = None,
        name: str | None = None,
        materialized: Materialized[K, V] | None = None,
    ) -> GlobalKTable[K, V]:
        """Returns a table that every instance holds whole.

        ValueError for a `materialized` that does not name its store.
        """
        check_topic(topic, "a global table")
        check_reading("global_table", timestamps)
        check_kind("global_table: materialized", materialized, Materialized | None)
        if materialized is not None and materialized.store_name is None:
            raise ValueError(
                f"global_table: the Materialized for {topic} names no store: name it, or leave the Materialized out"
            )
        graph = self._graph
        request = key_value_store(graph, materialized, f"{topic}-", key, value)
        spec, queryable = request.spec, request.queryable
        if spec.history_ms is not None:
            raise TopologyError(
                f"global table of topic {topic} cannot have a history: choose a supplier without one"
            )
        source_name = graph.names.suffixed_or_generate(name, "-source", "KSTREAM-SOURCE-")
        table_name = graph.names.name_or_generate(name, "KTABLE-SOURCE-")
        source = SourceNode(source_name, (topic,), None, spec.key, spec.value, timestamps)
        fills = TableSource(spec.name)
        graph.add(GlobalStoreGraphNode(table_name, source=source, store=spec, operator=fills))
        return GlobalKTable(
            spec.name,
            key=spec.key,
            value=spec.value,
            queryable_store_name=spec.name if queryable else None,
        )

    def add_state_store(self, store: StoreSpec) -> None:
        """Add a store; processors are connected with it by its name."""
        check_kind("add_state_store: store", store, StoreSpec)
        self._graph.add(StoreGraphNode(store.name, store=store))

    def add_global_store(
        self,
        store: StoreSpec,
        topic: str,
        supplier: ProcessorSupplier,
        *,
        key: Serde[K] | None = None,
        value: Serde[V] | None = None,
        timestamps: TimestampExtractor | None = None,
        name: str | None = None,
    ) -> None:
        """Add a store that every instance fills from a topic through a processor."""
        graph = self._graph
        check_kind("add_global_store: store", store, StoreSpec)
        check_topic(topic, "a global store")
        check_reading("add_global_store", timestamps)
        check_supplier("add_global_store", supplier, "process", "record")
        source_name = graph.names.suffixed_or_generate(name, "-source", "KSTREAM-SOURCE-")
        processor_name = graph.names.name_or_generate(name, "KTABLE-SOURCE-")
        source = SourceNode(source_name, (topic,), None, key, value, timestamps)
        fills = Process(supplier)
        graph.add(GlobalStoreGraphNode(processor_name, source=source, store=store, operator=fills))

    def build(self) -> Topology:
        """Returns the topology of all calls so far."""
        writer = TopologyWriter(self._processor_wrapper)
        self._graph.merge_equal_sources()
        optimize(self._graph, self._optimizations)
        self._graph.write(writer)
        self._graph.reset()
        if self._explicit_names and self._graph.unnamed:
            raise TopologyError(
                f"name what makes {', '.join(self._graph.unnamed)}: generated names change when operators "
                "are added, and state is lost with them"
            )
        return writer.build()


def _topics(topics: str | Iterable[str], pattern: str | re.Pattern[str] | None) -> tuple[str, ...]:
    """The topics of a stream.

    Raises TypeError where they are no names, or where there is a pattern too, TopologyError where there is neither, or
    a name that no topic can have.
    """
    if not isinstance(topics, str | Iterable):
        raise TypeError(f"stream: topics are a str or several, not {topics!r}")
    given = (topics,) if isinstance(topics, str) else tuple(topics)
    for topic in given:
        check_kind("stream: a topic", topic, str)
        check_topic(topic, "a stream")
    if given and pattern is not None:
        raise TypeError("stream: give topics or a pattern, not both")
    if not given and pattern is None:
        raise TopologyError("stream: give at least one topic, or a pattern")
    return given
