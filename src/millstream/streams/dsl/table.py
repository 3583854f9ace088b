"""KTable: the latest value of each key, and what one can do with it.

The methods hold the types and the words; what they add to the graph is in `operations`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from millstream.foreign_names.explanation import explain_misspellings
from millstream.streams.aggregates import Aggregate
from millstream.streams.arguments import check_kind
from millstream.streams.dsl.graph.streams import GraphTable
from millstream.streams.dsl.operations import grouping, tables
from millstream.streams.dsl.operations.foreign_key_join import (
    NO_PARTITIONERS,
    ForeignKeyOptions,
    Partitioners,
    join_on_foreign_key,
)
from millstream.streams.dsl.operations.suppress import suppress
from millstream.streams.dsl.operations.table_join import EqualKeyJoinOptions, join_tables
from millstream.streams.options import Materialized, Suppressed
from millstream.streams.processor import ValueTransformer
from millstream.streams.serdes.serde import Serde
from millstream.streams.topology import StoreKind
from millstream.streams.topology.operators import UserFunction

if TYPE_CHECKING:
    from millstream.streams.dsl.stream import KStream

K = TypeVar("K")
V = TypeVar("V")
K2 = TypeVar("K2")
V2 = TypeVar("V2")
KO = TypeVar("KO")
VO = TypeVar("VO")
VA = TypeVar("VA")


@explain_misspellings
class KTable(Generic[K, V]):
    """A changelog: every update replaces the row of its key, null deletes it."""

    __slots__ = ("_table",)

    def __init__(self, table: GraphTable) -> None:
        self._table = table

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    @property
    def name(self) -> str:
        """The name of the node that gives this table."""
        return self._table.name

    @property
    def key(self) -> Serde[K] | None:
        """The serde of the keys, as far as it is known; None is the application's default."""
        return self._table.key

    @property
    def value(self) -> Serde[V] | None:
        """The serde of the values, as far as it is known; None is the application's default."""
        return self._table.value

    @property
    def queryable_store_name(self) -> str | None:
        """The store that holds the rows, for queries; None unless the user named it."""
        names = [
            store.name
            for store in self._table.definition.stores()
            if store.kind is not StoreKind.SUPPRESSION_BUFFER
        ]
        return next((name for name in names if name not in self._table.graph.unnamed), None)

    def filter(
        self,
        predicate: Callable[[K, V], bool],
        *,
        name: str | None = None,
        materialized: Materialized[K, V] | None = None,
    ) -> KTable[K, V]:
        """Keeps the rows for which predicate(key, value) holds; for others a tombstone goes on."""
        table = tables.filter_rows(
            self._table, "filter", predicate, name, materialized, negate=False
        )
        return KTable(table)

    def filter_not(
        self,
        predicate: Callable[[K, V], bool],
        *,
        name: str | None = None,
        materialized: Materialized[K, V] | None = None,
    ) -> KTable[K, V]:
        """Keeps the rows for which predicate(key, value) does not hold."""
        table = tables.filter_rows(
            self._table, "filter_not", predicate, name, materialized, negate=True
        )
        return KTable(table)

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
        mapper: UserFunction,
        *,
        name: str | None = None,
        materialized: Materialized[K, V2] | None = None,
        with_key: bool = False,
    ) -> KTable[K, V2]:
        """mapper(value), or mapper(key, value) with_key, gives the new value; never called for null."""
        return KTable(tables.map_values(self._table, mapper, name, materialized, with_key=with_key))

    def transform_values(
        self,
        supplier: Callable[[], ValueTransformer[K, V, V2]],
        *,
        stores: Iterable[str] = (),
        name: str | None = None,
        materialized: Materialized[K, V2] | None = None,
    ) -> KTable[K, V2]:
        """transform(key, value) of a transformer gives the new value, also for null; `stores` are those it uses."""
        return KTable(tables.transform_values(self._table, supplier, stores, name, materialized))

    @overload
    def to_stream(self, *, name: str | None = None) -> KStream[K, V]: ...
    @overload
    def to_stream(
        self, mapper: Callable[[K, V], K2], *, name: str | None = None
    ) -> KStream[K2, V]: ...
    def to_stream(
        self, mapper: Callable[[K, V], K2] | None = None, *, name: str | None = None
    ) -> KStream[K, V] | KStream[K2, V]:
        """Returns the table's updates as a stream; with a mapper(key, value) their keys are changed at once.

        `name` is that of the node that makes the stream, also where a mapper follows it.
        """
        stream: KStream[K, V] | KStream[K2, V] = self._table.graph.public_stream(
            tables.table_to_stream(self._table, mapper, name)
        )
        return stream

    def suppress(self, suppressed: Suppressed) -> KTable[K, V]:
        """Hold changes back until their window closes or a time limit passes."""
        check_kind("suppress: what is given", suppressed, Suppressed)
        return KTable(suppress(self._table, suppressed))

    def group_by(
        self,
        mapper: Callable[[K, V], tuple[K2, V2]],
        *,
        key: Serde[K2] | None = None,
        value: Serde[V2] | None = None,
        name: str | None = None,
    ) -> KGroupedTable[K2, V2]:
        """Group rows by mapper(key, value) = (new key, new value); updates move rows between groups."""
        return KGroupedTable(grouping.regroup(self._table, mapper, key, value, name))

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
        foreign_key: UserFunction | None = None,
        with_key: bool = False,
        name: str | None = None,
        partitioners: Partitioners = NO_PARTITIONERS,
        materialized: Materialized[K, V2] | None = None,
    ) -> KTable[K, V2]:
        """Joins the rows that both tables have, as joiner(value, other value).

        `foreign_key(value)`, or `foreign_key(key, value)` with_key, gives the key of the other table that a row of this
        one belongs to; without it rows of equal keys meet. `partitioners`: this table's and the other's, where they are
        not the default one; they are called with None as value.
        """
        if foreign_key is None:
            options = EqualKeyJoinOptions("join", joiner, (False, False), name, materialized)
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
        foreign_key: UserFunction | None = None,
        with_key: bool = False,
        name: str | None = None,
        partitioners: Partitioners = NO_PARTITIONERS,
        materialized: Materialized[K, V2] | None = None,
    ) -> KTable[K, V2]:
        """Joins all rows of this table; the joiner gets None where the other has none. See `join` for `foreign_key`."""
        if foreign_key is None:
            options = EqualKeyJoinOptions("left_join", joiner, (True, False), name, materialized)
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
        """Joins the rows of both tables; the joiner gets None where one side has none."""
        options = EqualKeyJoinOptions("outer_join", joiner, (True, True), name, materialized)
        return self._join(other, options)

    def _join(
        self,
        other: KTable[K, Any],  # Any: checked by the calling method's signature
        options: EqualKeyJoinOptions,
    ) -> KTable[K, Any]:  # Any: the same
        check_kind(f"{options.method}: the other table", other, KTable)
        return KTable(join_tables(self._table, other._table, options))

    def _join_on_foreign_key(
        self,
        other: KTable[Any, Any],  # Any: checked by the calling method's signature
        options: ForeignKeyOptions,
    ) -> KTable[K, Any]:  # Any: the same
        check_kind(f"{options.method}: the other table", other, KTable)
        return KTable(join_on_foreign_key(self._table, other._table, options))


@explain_misspellings
class KGroupedTable(Generic[K, V]):
    """Aggregations of a regrouped table: an update takes the old row off its group and adds the new one."""

    def __init__(self, grouping: grouping.TableGrouping) -> None:
        self._grouping = grouping

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._grouping.node.name}>"

    def count(
        self, *, name: str | None = None, materialized: Materialized[K, int] | None = None
    ) -> KTable[K, int]:
        """Counts the rows of each new key."""
        return KTable(grouping.count_rows(self._grouping, name, materialized))

    def reduce(
        self,
        adder: Callable[[V, V], V],
        subtractor: Callable[[V, V], V],
        *,
        name: str | None = None,
        materialized: Materialized[K, V] | None = None,
    ) -> KTable[K, V]:
        """adder(aggregate, value) and subtractor(aggregate, value) give the new aggregate."""
        functions = (adder, subtractor)
        return KTable(grouping.reduce_rows(self._grouping, functions, name, materialized))

    @overload
    def aggregate(
        self,
        initializer: Aggregate[V, VA],
        *,
        value: Serde[VA] | None = None,
        name: str | None = None,
        materialized: Materialized[K, VA] | None = None,
    ) -> KTable[K, VA]: ...
    @overload
    def aggregate(
        self,
        initializer: Callable[[], VA],
        adder: Callable[[K, V, VA], VA],
        subtractor: Callable[[K, V, VA], VA],
        *,
        value: Serde[VA] | None = None,
        name: str | None = None,
        materialized: Materialized[K, VA] | None = None,
    ) -> KTable[K, VA]: ...
    def aggregate(
        self,
        initializer: Aggregate[V, VA] | Callable[[], VA],
        adder: Any = None,  # Any: as the overloads say
        subtractor: Any = None,  # Any: as the overloads say
        *,
        value: Serde[VA] | None = None,
        name: str | None = None,
        materialized: Materialized[K, VA] | None = None,
    ) -> KTable[K, VA]:
        """adder(key, value, aggregate) and subtractor(key, value, aggregate) give the new aggregate.

        A ready-made aggregation, of `millstream.streams.aggregates`, stands for the functions, if it can take values
        off again: TypeError for `min_of` and `max_of`.
        """
        functions = (initializer, adder, subtractor)
        return KTable(grouping.aggregate_rows(self._grouping, functions, value, name, materialized))
