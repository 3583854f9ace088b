"""GlobalKTable: a table that every instance holds whole."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from millstream.foreign_names.explanation import explain_misspellings
from millstream.streams.serdes.serde import Serde

K = TypeVar("K")
V = TypeVar("V")


@explain_misspellings
class GlobalKTable(Generic[K, V]):
    """A table that is read by any key from any task."""

    __slots__ = ("key", "queryable_store_name", "store", "value")

    def __init__(
        self,
        store: str,
        *,
        key: Serde[K] | None,
        value: Serde[V] | None,
        queryable_store_name: str | None = None,
    ) -> None:
        self.store = store
        self.queryable_store_name = queryable_store_name
        """The store's name if the user gave it, for queries."""
        self.key = key
        self.value = value

    def __repr__(self) -> str:
        return f"<{type(self).__name__} in store {self.store}>"


AnyGlobalTable = GlobalKTable[Any, Any]  # Any: joins take global tables of any type
