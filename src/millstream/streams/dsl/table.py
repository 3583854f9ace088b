"""KTable: the latest value of each key, and what one can do with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from millstream.streams.arguments import check_kind, check_serdes
from millstream.streams.dsl.foreign_key_join import (
    NO_PARTITIONERS,
    ForeignKeyOptions,
    Partitioners,
    join_on_foreign_key,
)
from millstream.streams.dsl.graph import GraphNode, ProcessorGraphNode, StreamGraph
from millstream.streams.dsl.materialize import AnyMaterialized, key_value_store
from millstream.streams.dsl.stream import KStream
from millstream.streams.dsl.suppressed import Suppressed, suppress_node
from millstream.streams.dsl.table_definitions import (
    FilterDefinition,
    MapValuesDefinition,
    TableDefinition,
    TransformValuesDefinition,
)
from millstream.streams.dsl.table_join import TableJoinOptions, join_tables
from millstream.streams.options import Materialized
from millstream.streams.processor import ValueTransformer
from millstream.streams.serdes.serde import Serde
from millstream.streams.topology import StoreKind, StoreSpec
from millstream.streams.topology import operators as ops
from millstream.streams.topology.functions import (
    check_arity,
    check_supplier,
    names_of_stores,
)

if TYPE_CHECKING:
    from millstream.streams.dsl.grouped_table import KGroupedTable

K = TypeVar("K")
V = TypeVar("V")
K2 = TypeVar("K2")
V2 = TypeVar("V2")
KO = TypeVar("KO")
VO = TypeVar("VO")


class KTable(Generic[K, V]):
    """A changelog: every update replaces the row of its key, null deletes it."""

    __slots__ = ("_graph", "_node", "definition", "key", "sources", "value")

    def __init__(
        self,
        graph: StreamGraph,
        node: GraphNode,
        definition: TableDefinition,
        *,
        key: Serde[K] | None,
        value: Serde[V] | None,
        sources: frozenset[str],
    ) -> None:
        self._graph = graph
        self._node = node
        self.definition = definition
        self.key = key
        self.value = value
        self.sources = sources

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._node.name}>"

    @property
    def name(self) -> str:
        """The name of the node that gives this table."""
        return self._node.name

    @property
    def queryable_store_name(self) -> str | None:
        """The store that holds the rows, for queries; None unless the user named it."""
        names = [
            store.name
            for store in self.definition.stores()
            if store.kind is not StoreKind.SUPPRESSION_BUFFER
        ]
        return next((name for name in names if name not in self._graph.unnamed), None)

    def filter(
        self,
        predicate: Callable[[K, V], bool],
        *,
        name: str | None = None,
        materialized: Materialized[K, V] | None = None,
    ) -> KTable[K, V]:
        """Rows for which predicate(key, value) holds; for others a tombstone goes on (S28)."""
        return self._filter("filter", predicate, name, materialized, negate=False)

    def filter_not(
        self,
        predicate: Callable[[K, V], bool],
        *,
        name: str | None = None,
        materialized: Materialized[K, V] | None = None,
    ) -> KTable[K, V]:
        """Rows for which predicate(key, value) does not hold."""
        return self._filter("filter_not", predicate, name, materialized, negate=True)

    def _filter(
        self,
        operator: str,
        predicate: Callable[[K, V], bool],
        name: str | None,
        materialized: Materialized[K, V] | None,
        *,
        negate: bool,
    ) -> KTable[K, V]:
        check_arity(operator, "predicate", predicate, "key", "value")
        spec, key, value = self._store("KTABLE-FILTER-", materialized, self.value)
        definition = FilterDefinition(
            self.definition, predicate, spec, negate=negate, is_view=materialized is None
        )
        return self._next(name, "KTABLE-FILTER-", definition, key, value)

    @overload
    def map_values(
        self,
        mapper: Callable[[V], V2],
        *,
        name: str | None = None,
        materialized: Materialized[K, V2] | None = None,
        with_key: Literal[False] = False,
    ) -> KTable[K, V2]: ...
    @overload
    def map_values(
        self,
        mapper: Callable[[K, V], V2],
        *,
        name: str | None = None,
        materialized: Materialized[K, V2] | None = None,
        with_key: Literal[True],
    ) -> KTable[K, V2]: ...
    def map_values(
        self,
        mapper: ops.UserFunction,
        *,
        name: str | None = None,
        materialized: Materialized[K, V2] | None = None,
        with_key: bool = False,
    ) -> KTable[K, V2]:
        """mapper(value), or mapper(key, value) with_key, gives the new value; never called for null."""
        check_arity("map_values", "mapper", mapper, *(("key", "value") if with_key else ("value",)))
        spec, key, value = self._store("KTABLE-MAPVALUES-", materialized, None)
        definition = MapValuesDefinition(
            self.definition, mapper, spec, with_key=with_key, is_view=materialized is None
        )
        return self._next(name, "KTABLE-MAPVALUES-", definition, key, value)

    def transform_values(
        self,
        supplier: Callable[[], ValueTransformer[K, V, V2]],
        *,
        stores: Iterable[str] = (),
        name: str | None = None,
        materialized: Materialized[K, V2] | None = None,
    ) -> KTable[K, V2]:
        """transform(key, value) of a transformer gives the new value, also for null; `stores` are those it uses."""
        check_supplier("transform_values", supplier, "transform", "key", "value")
        connected = names_of_stores("transform_values", stores)
        spec, key, value = None, self.key, None
        if isinstance(materialized, Materialized) and materialized.store_name is None:
            key, value = materialized.key or key, materialized.value  # takes no number here
        else:
            spec, key, value = self._store("KTABLE-TRANSFORMVALUES-", materialized, None)
        definition = TransformValuesDefinition(
            self.definition, supplier, spec, is_view=materialized is None
        )
        return self._next(
            name, "KTABLE-TRANSFORMVALUES-", definition, key, value, connected=connected
        )

    @overload
    def to_stream(self, *, name: str | None = None) -> KStream[K, V]: ...
    @overload
    def to_stream(
        self, mapper: Callable[[K, V], K2], *, name: str | None = None
    ) -> KStream[K2, V]: ...
    def to_stream(
        self, mapper: Callable[[K, V], K2] | None = None, *, name: str | None = None
    ) -> KStream[K, V] | KStream[K2, V]:
        """The table's updates as a stream; with a mapper(key, value) their keys are changed at once.

        `name` is that of the node that makes the stream, also where a mapper follows it.
        """
        if mapper is not None:
            check_arity("to_stream", "mapper", mapper, "key", "value")
        node_name = self._graph.names.name_or_generate(name, "KTABLE-TOSTREAM-")
        node = ProcessorGraphNode(node_name, operator=ops.TableToStream)
        self._graph.add(node, self._node)
        stream: KStream[K, V] = KStream(
            self._graph, node, key=self.key, value=self.value, sources=self.sources
        )
        return stream if mapper is None else stream.select_key(mapper)

    def suppress(self, suppressed: Suppressed) -> KTable[K, V]:
        """Hold changes back until their window closes or a time limit passes."""
        check_kind("suppress: what is given", suppressed, Suppressed)
        node, definition = suppress_node(
            self._graph, (self._node, self.definition), suppressed, (self.key, self.value)
        )
        return KTable(
            self._graph,
            node,
            definition,
            key=self.key,
            value=self.value,
            sources=frozenset(
                {self._node.name}
            ),  # as Kafka Streams, which copartitions nothing here
        )

    def group_by(
        self,
        mapper: Callable[[K, V], tuple[K2, V2]],
        *,
        key: Serde[K2] | None = None,
        value: Serde[V2] | None = None,
        name: str | None = None,
    ) -> KGroupedTable[K2, V2]:
        """Group rows by mapper(key, value) = (new key, new value); updates move rows between groups."""
        from millstream.streams.dsl.grouped_table import KGroupedTable, TableGrouping

        check_arity("group_by", "mapper", mapper, "key", "value")
        check_serdes("group_by", key=key, value=value)
        check_kind("group_by: name", name, str | None)
        self.definition.enable_old_values(force=True)
        node = ProcessorGraphNode(
            self._graph.names.name_or_generate(name, "KTABLE-SELECT-"),
            operator=lambda: ops.TableRegroup(mapper),
        )
        self._graph.add(node, self._node)
        return KGroupedTable(self._graph, node, TableGrouping(key, value, name))

    @overload
    def join(
        self,
        other: KTable[K, VO],
        joiner: Callable[[V, VO], V2],
        *,
        name: str | None = None,
        materialized: Materialized[K, V2] | None = None,
    ) -> KTable[K, V2]: ...
    @overload
    def join(
        self,
        other: KTable[KO, VO],
        joiner: Callable[[V, VO], V2],
        *,
        foreign_key: Callable[[V], KO | None],
        with_key: Literal[False] = False,
        name: str | None = None,
        partitioners: Partitioners = NO_PARTITIONERS,
        materialized: Materialized[K, V2] | None = None,
    ) -> KTable[K, V2]: ...
    @overload
    def join(
        self,
        other: KTable[KO, VO],
        joiner: Callable[[V, VO], V2],
        *,
        foreign_key: Callable[[K, V], KO | None],
        with_key: Literal[True],
        name: str | None = None,
        partitioners: Partitioners = NO_PARTITIONERS,
        materialized: Materialized[K, V2] | None = None,
    ) -> KTable[K, V2]: ...
    def join(
        self,
        other: KTable[Any, VO],  # Any: K, or the type of the foreign key
        joiner: Callable[[V, VO], V2],
        *,
        foreign_key: ops.UserFunction | None = None,
        with_key: bool = False,
        name: str | None = None,
        partitioners: Partitioners = NO_PARTITIONERS,
        materialized: Materialized[K, V2] | None = None,
    ) -> KTable[K, V2]:
        """Rows that both tables have, as joiner(value, other value) (S27).

        `foreign_key(value)`, or `foreign_key(key, value)` with_key, gives the key of the other table that a row of this one
        belongs to; without it rows of equal keys meet. `partitioners`: this table's and the other's, where they are not the
        default one; they are called with None as value.
        """
        if foreign_key is None:
            options = TableJoinOptions("join", joiner, (False, False), name, materialized)
            return self._join(other, options)
        return self._join_on_foreign_key(
            other,
            ForeignKeyOptions(
                False, joiner, foreign_key, with_key, name, partitioners, materialized
            ),
        )

    @overload
    def left_join(
        self,
        other: KTable[K, VO],
        joiner: Callable[[V, VO | None], V2],
        *,
        name: str | None = None,
        materialized: Materialized[K, V2] | None = None,
    ) -> KTable[K, V2]: ...
    @overload
    def left_join(
        self,
        other: KTable[KO, VO],
        joiner: Callable[[V, VO | None], V2],
        *,
        foreign_key: Callable[[V], KO | None],
        with_key: Literal[False] = False,
        name: str | None = None,
        partitioners: Partitioners = NO_PARTITIONERS,
        materialized: Materialized[K, V2] | None = None,
    ) -> KTable[K, V2]: ...
    @overload
    def left_join(
        self,
        other: KTable[KO, VO],
        joiner: Callable[[V, VO | None], V2],
        *,
        foreign_key: Callable[[K, V], KO | None],
        with_key: Literal[True],
        name: str | None = None,
        partitioners: Partitioners = NO_PARTITIONERS,
        materialized: Materialized[K, V2] | None = None,
    ) -> KTable[K, V2]: ...
    def left_join(
        self,
        other: KTable[Any, VO],  # Any: K, or the type of the foreign key
        joiner: Callable[[V, VO | None], V2],
        *,
        foreign_key: ops.UserFunction | None = None,
        with_key: bool = False,
        name: str | None = None,
        partitioners: Partitioners = NO_PARTITIONERS,
        materialized: Materialized[K, V2] | None = None,
    ) -> KTable[K, V2]:
        """All rows of this table; the joiner gets None where the other has none. See `join` for `foreign_key`."""
        if foreign_key is None:
            options = TableJoinOptions("left_join", joiner, (True, False), name, materialized)
            return self._join(other, options)
        return self._join_on_foreign_key(
            other,
            ForeignKeyOptions(
                True, joiner, foreign_key, with_key, name, partitioners, materialized
            ),
        )

    def outer_join(
        self,
        other: KTable[K, VO],
        joiner: Callable[[V | None, VO | None], V2],
        *,
        name: str | None = None,
        materialized: Materialized[K, V2] | None = None,
    ) -> KTable[K, V2]:
        """Rows of both tables; the joiner gets None where one side has none."""
        options = TableJoinOptions("outer_join", joiner, (True, True), name, materialized)
        return self._join(other, options)

    def _join(
        self,
        other: KTable[K, Any],  # Any: checked by the calling method's signature
        options: TableJoinOptions,
    ) -> KTable[K, Any]:  # Any: the same
        self._check_other(options.method, other)
        return join_tables(self._graph, (self, self._node), (other, other._node), options, KTable)

    def _join_on_foreign_key(
        self,
        other: KTable[Any, Any],  # Any: checked by the calling method's signature
        options: ForeignKeyOptions,
    ) -> KTable[K, Any]:  # Any: the same
        self._check_other(options.method, other)
        left, right = (self, self._node), (other, other._node)
        return join_on_foreign_key(self._graph, left, right, options, KTable)

    def _check_other(self, method: str, other: object) -> None:
        check_kind(f"{method}: the other table", other, KTable)
        assert isinstance(other, KTable), "just checked"
        self._graph.check_same(method, "table", other._graph)

    def _store(
        self,
        prefix: str,
        materialized: AnyMaterialized | None,
        value: Serde[Any] | None,  # Any: the value type before or after the operator
    ) -> tuple[StoreSpec | None, Serde[K] | None, Serde[Any] | None]:  # Any: the same
        """The operator's store (only a named one exists) and the serdes of its result."""
        if materialized is None:
            return None, self.key, value
        request = key_value_store(self._graph, materialized, prefix, self.key, value)
        spec = request.spec
        if request.queryable:
            return spec, spec.key, spec.value
        del self._graph.unnamed[spec.name]  # it will never exist
        return None, spec.key, spec.value

    def _next(
        self,
        name: str | None,
        prefix: str,
        definition: TableDefinition,
        key: Serde[K] | None,
        value: Serde[V2] | None,
        *,
        connected: tuple[str, ...] = (),
    ) -> KTable[K, V2]:
        node = ProcessorGraphNode(
            self._graph.names.name_or_generate(name, prefix),
            operator=definition.operator,
            stores=definition.stores,
            connected=lambda: connected,
        )
        self._graph.add(node, self._node)
        return KTable(self._graph, node, definition, key=key, value=value, sources=self.sources)
