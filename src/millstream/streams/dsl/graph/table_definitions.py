"""Definitions of tables: how each is read, and whether it sends old values along with new ones.

These are the only mutable objects of the DSL. A join that reads a table makes its source keep a store;
an operator that needs old values asks for them up the chain. Both are settled before anything is written.
"""

from __future__ import annotations

from typing import Protocol

from millstream.streams.topology import StoreSpec
from millstream.streams.topology.operators import (
    FilterView,
    JoinView,
    MapValuesView,
    OperatorSpec,
    PassThrough,
    StoreView,
    SuppressView,
    TableFilter,
    TableJoin,
    TableJoinMerge,
    TableMapValues,
    TableSource,
    TableTransformValues,
    TableView,
    TransformView,
    UserFunction,
)


class TableDefinition(Protocol):
    """One table."""

    def view(self) -> TableView:
        """Returns the view by which other operators read its rows; makes the table keep a store where it must."""

    def enable_old_values(self, *, force: bool) -> bool:
        """Ask for old values. Without `force` a table that would need a store for it declines."""

    @property
    def history_ms(self) -> int | None:
        """The history of its rows, in milliseconds; None for a table without one."""

    def operator(self) -> OperatorSpec: ...

    def stores(self) -> tuple[StoreSpec, ...]: ...


class SourceDefinition:
    """A table read from a topic or made from a stream; its store exists if something needs it."""

    def __init__(self, store: StoreSpec, *, materialized: bool) -> None:
        self.store = store
        self.materialized = materialized
        self._send_old_values = False

    def view(self) -> TableView:
        self.materialized = True
        return StoreView(self.store.name)

    def enable_old_values(self, *, force: bool) -> bool:
        if not (force or self.materialized):
            return False
        self.materialized = self._send_old_values = True
        return True

    @property
    def history_ms(self) -> int | None:
        return self.store.history_ms

    def operator(self) -> OperatorSpec:
        return TableSource(self.store.name if self.materialized else None, self._send_old_values)

    def stores(self) -> tuple[StoreSpec, ...]:
        return (self.store,) if self.materialized else ()


class AggregateDefinition:
    """The result of an aggregation; always has a store. `make` is given whether to send old values."""

    def __init__(self, store: StoreSpec, make: UserFunction) -> None:
        self.store = store
        self._make = make
        self._send_old_values = False

    def view(self) -> TableView:
        return StoreView(self.store.name)

    def enable_old_values(self, *, force: bool) -> bool:
        self._send_old_values = True  # a store is there anyway, nothing needs force
        return self._send_old_values or force

    @property
    def history_ms(self) -> int | None:
        return self.store.history_ms

    def operator(self) -> OperatorSpec:
        spec = self._make(self._send_old_values)
        assert isinstance(spec, OperatorSpec), "an aggregation makes an operator"
        return spec

    def stores(self) -> tuple[StoreSpec, ...]:
        return (self.store,)


class SuppressDefinition:
    """A suppressed table. `make` is given whether to send old values."""

    def __init__(self, parent: TableDefinition, buffer: StoreSpec, make: UserFunction) -> None:
        self._parent = parent
        self._buffer = buffer
        self._make = make
        self._send_old_values = False
        parent.enable_old_values(force=True)

    def view(self) -> TableView:
        return SuppressView(self._parent.view(), self._buffer.name)

    def enable_old_values(self, *, force: bool) -> bool:
        self._send_old_values = True  # the parent sends them anyway, nothing needs force
        return self._send_old_values or force

    @property
    def history_ms(self) -> int | None:
        return None

    def operator(self) -> OperatorSpec:
        spec = self._make(self._send_old_values)
        assert isinstance(spec, OperatorSpec), "a suppressed table makes an operator"
        return spec

    def stores(self) -> tuple[StoreSpec, ...]:
        return (self._buffer,)


class CogroupDefinition:
    """The result of a cogrouped aggregation: several operators write one store, a pass-through joins them."""

    def __init__(self, store: StoreSpec) -> None:
        self.store = store
        self.send_old_values = False

    def view(self) -> TableView:
        return StoreView(self.store.name)

    def enable_old_values(self, *, force: bool) -> bool:
        self.send_old_values = True  # a store is there anyway, nothing needs force
        return self.send_old_values or force

    @property
    def history_ms(self) -> int | None:
        return self.store.history_ms

    def operator(self) -> OperatorSpec:
        return PassThrough()

    def stores(self) -> tuple[StoreSpec, ...]:
        return (self.store,)


class FilterDefinition:
    """KTable.filter, with a store only if the user named one.

    `is_view`: no Materialized was given; only then is it versioned as what it shows.
    """

    def __init__(
        self,
        parent: TableDefinition,
        predicate: UserFunction,
        store: StoreSpec | None,
        *,
        negate: bool,
        is_view: bool,
    ) -> None:
        self._parent = parent
        self._view_history_ms = parent.history_ms if is_view else None
        self._predicate = predicate
        self._negate = negate
        self._store = store
        # With old values at hand, rows that were filtered out before leave no tombstones.
        self._send_old_values = parent.enable_old_values(force=False)

    def view(self) -> TableView:
        if self._store is not None:
            return StoreView(self._store.name)
        return FilterView(self._parent.view(), self._predicate, self._negate)

    def enable_old_values(self, *, force: bool) -> bool:
        if self._store is not None or self._parent.enable_old_values(force=force):
            self._send_old_values = True
        return self._send_old_values

    @property
    def history_ms(self) -> int | None:
        return self._view_history_ms if self._store is None else self._store.history_ms

    def operator(self) -> OperatorSpec:
        store = None if self._store is None else self._store.name
        keeps_unseen = self._parent.history_ms is not None
        return TableFilter(
            self._predicate,
            self._negate,
            store,
            self._send_old_values,
            keeps_unseen,
            forgets_versions=self.history_ms is None,
        )

    def stores(self) -> tuple[StoreSpec, ...]:
        return () if self._store is None else (self._store,)


class MapValuesDefinition:
    """KTable.mapValues, with a store only if the user named one."""

    def __init__(
        self,
        parent: TableDefinition,
        mapper: UserFunction,
        store: StoreSpec | None,
        *,
        with_key: bool,
        is_view: bool,
    ) -> None:
        self._parent = parent
        self._view_history_ms = parent.history_ms if is_view else None
        self._mapper = mapper
        self._with_key = with_key
        self._store = store
        self._send_old_values = False

    def view(self) -> TableView:
        if self._store is not None:
            return StoreView(self._store.name)
        return MapValuesView(self._parent.view(), self._mapper, self._with_key)

    def enable_old_values(self, *, force: bool) -> bool:
        if self._store is not None or self._parent.enable_old_values(force=force):
            self._send_old_values = True
        return self._send_old_values

    @property
    def history_ms(self) -> int | None:
        return self._view_history_ms if self._store is None else self._store.history_ms

    def operator(self) -> OperatorSpec:
        store = None if self._store is None else self._store.name
        return TableMapValues(
            self._mapper,
            self._with_key,
            store,
            self._send_old_values,
            forgets_versions=self.history_ms is None,
        )

    def stores(self) -> tuple[StoreSpec, ...]:
        return () if self._store is None else (self._store,)


class TransformValuesDefinition:
    """KTable.transformValues, with a store only if the user named one."""

    def __init__(
        self,
        parent: TableDefinition,
        supplier: UserFunction,
        store: StoreSpec | None,
        *,
        is_view: bool,
    ) -> None:
        self._parent = parent
        self._view_history_ms = parent.history_ms if is_view else None
        self._supplier = supplier
        self._store = store
        self._send_old_values = False

    def view(self) -> TableView:
        if self._store is not None:
            return StoreView(self._store.name)
        return TransformView(self._parent.view(), self._supplier)

    def enable_old_values(self, *, force: bool) -> bool:
        if self._store is not None or self._parent.enable_old_values(force=force):
            self._send_old_values = True
        return self._send_old_values

    @property
    def history_ms(self) -> int | None:
        return self._view_history_ms if self._store is None else self._store.history_ms

    def operator(self) -> OperatorSpec:
        store = None if self._store is None else self._store.name
        forgets = self.history_ms is None
        return TableTransformValues(self._supplier, store, self._send_old_values, forgets)

    def stores(self) -> tuple[StoreSpec, ...]:
        return () if self._store is None else (self._store,)


class JoinDefinition:
    """The result of a table-table join. `kinds`: whether left and right rows need no partner."""

    def __init__(
        self,
        sides: tuple[TableDefinition, TableDefinition],
        joiner: UserFunction,
        kinds: tuple[bool, bool],
        store: StoreSpec | None,
    ) -> None:
        self._left, self._right = sides
        self._joiner = joiner
        self._left_outer, self._right_outer = kinds
        self._store = store
        self._send_old_values = False
        if self._left_outer:
            self._left.enable_old_values(force=True)
        if self._right_outer:
            self._right.enable_old_values(force=True)

    def view(self) -> TableView:
        if self._store is not None:
            return StoreView(self._store.name)
        sides = self._left.view(), self._right.view()
        return JoinView(*sides, self._joiner, self._left_outer, self._right_outer)

    def enable_old_values(self, *, force: bool) -> bool:
        enabled = self._left.enable_old_values(force=force)
        if enabled and self._right.enable_old_values(force=force):
            self._send_old_values = True
        return self._send_old_values

    def side(self, *, left: bool) -> OperatorSpec:
        """Returns the operator of one side, which reads the other side's rows."""
        kinds = (self._left_outer, self._right_outer)
        keeps_this, keeps_other = kinds if left else kinds[::-1]
        view = (self._right if left else self._left).view()
        return TableJoin(view, self._joiner, left, keeps_this, keeps_other, self._send_old_values)

    @property
    def history_ms(self) -> int | None:
        return None if self._store is None else self._store.history_ms

    def operator(self) -> OperatorSpec:
        store = None if self._store is None else self._store.name
        return TableJoinMerge(store, self._send_old_values)

    def stores(self) -> tuple[StoreSpec, ...]:
        return () if self._store is None else (self._store,)


def store_names(view: TableView) -> tuple[str, ...]:
    """Stores that a reader of the view must be connected with."""
    if isinstance(view, StoreView):
        return (view.store,)
    if isinstance(view, JoinView):
        return store_names(view.left) + store_names(view.right)
    if isinstance(view, SuppressView):
        return (view.buffer, *store_names(view.parent))
    return store_names(view.parent)
