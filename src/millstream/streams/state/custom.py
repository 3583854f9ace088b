"""Stores of the user's own making, as Kafka Streams' StateStore: how they take part in what their task does.

A task commits all its stores as one: writes of the running batch are seen at once, become permanent when the task's
outputs are safe, and are forgotten when the batch fails. A store of one's own has two ways to take part:

- it keeps its rows in `context.rows`, an ordered map of bytes. These are committed, rolled back and kept on disk with
  the rows of all other stores; nothing else is to be done. What it remembers besides, decoded values for instance, it
  drops in `rollback`.
- it keeps them elsewhere, and then undoes in `rollback` whatever was written since the last `commit`. After a restart
  it is restored from the beginning of its changelog, unless `committed_offset` says how much of it the store has kept.

Either way its changelog is what it gives to `context.log`, and comes back to the function it has registered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

from millstream.streams.errors import InvalidStoreError, StreamsError
from millstream.streams.serdes.serde import Serde
from millstream.streams.state.storage.transaction import TransactionalRows
from millstream.streams.state.store import ChangelogRecord, StateStore, StoreParts

RestoreCallback = Callable[[Sequence[ChangelogRecord]], object]
"""Puts a batch of changelog records back into the store. It must not log them again."""


class CustomStateStore(Protocol):
    """The methods that a store of the user's must have.

    It is made anew for every task by its supplier, StoreSpec.supplier.

    Called as well where they exist: `flush()` before the outputs of a commit are taken, so that everything
    gets into the changelog; `commit(changelog_offset)` when what was flushed is safe, with the offset after
    the last changelog record written, or None where that is not known; `rollback()` when everything since the
    last commit is to be forgotten; `committed_offset()` once, after `init`, to be told the offset given to
    the last commit that the store has kept.
    """

    def init(self, context: StateStoreContext, /) -> None:
        """Open the store. One that is logged must call `context.register` here."""

    def close(self) -> None:
        """Give up what the store holds; what was not committed is forgotten."""


class StateStoreContext:
    """The context that a store of the user's is given when it is opened."""

    def __init__(self, parts: StoreParts) -> None:
        assert parts.task is not None, "only tasks open stores of the user's"
        self.application_id: str = parts.task.config.application_id
        self.task_id: str = parts.task.task_id
        self.key_serde: Serde[Any] | None = parts.task.config.default_key  # Any: any default
        self.value_serde: Serde[Any] | None = parts.task.config.default_value  # Any: the same
        self.restore: RestoreCallback | None = None
        self.is_opening = True
        self.uses_rows = False
        self._parts = parts

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of store {self._parts.spec.name} in task {self.task_id}>"

    @property
    def rows(self) -> TransactionalRows:
        """An ordered map of bytes that is committed and rolled back with the task: `get`, `put` and `scan`."""
        self.uses_rows = True
        return self._parts.rows

    def register(self, restore: RestoreCallback) -> None:
        """Tells how the store is restored from its changelog. Raises StreamsError after `init`."""
        if not self.is_opening:
            raise StreamsError(
                f"store {self._parts.spec.name} says how it is restored when its task has begun: "
                "call context.register in init"
            )
        self.restore = restore

    def log(self, key: bytes, value: bytes | None, timestamp: int | None = None) -> None:
        """Write to the changelog; nothing happens where logging is off. Without a timestamp the record's is taken."""
        changelog, task = self._parts.changelog, self._parts.task
        if changelog is not None and task is not None:
            changelog.append(key, value, task.record.timestamp if timestamp is None else timestamp)


class CustomStore(StateStore):
    """Stands between the task and a store of the user's."""

    def __init__(self, parts: StoreParts) -> None:
        super().__init__(parts)
        supplier = parts.spec.supplier
        assert supplier is not None, "the topology checks that there is one"
        self._made = supplier()
        for method in ("init", "close"):
            if not callable(getattr(self._made, method, None)):
                raise StreamsError(
                    f"store {self.name}: what its supplier makes, {self._made!r}, has no method {method}: add one"
                )
        self._context = StateStoreContext(parts)
        self._made.init(self._context)
        self._context.is_opening = False
        if parts.changelog is not None and self._context.restore is None:
            raise StreamsError(
                f"store {self.name} has a changelog, but said not how it is restored from it: "
                "call context.register in init, or switch its logging off"
            )
        committed_offset = getattr(self._made, "committed_offset", None)
        if committed_offset is not None:
            self._remember(committed_offset())

    @property
    def exposed(self) -> object:
        return self._made

    def flush(self) -> None:
        _call(self._made, "flush")

    def commit(self, *, changelog_offset: int | None, marker: str | None) -> None:
        if self._context.uses_rows:
            super().commit(changelog_offset=changelog_offset, marker=marker)
        else:
            self._remember(changelog_offset)
        _call(self._made, "commit", changelog_offset)

    def discard(self) -> None:
        super().discard()
        if not _call(self._made, "rollback") and not self._context.uses_rows:
            raise InvalidStoreError(
                f"store {self.name} cannot forget what the failed batch wrote: give it a method rollback, "
                "or let it keep its rows in context.rows; until then its task must be made anew"
            )

    def restore_rows(self, records: Sequence[ChangelogRecord]) -> None:
        restore = self._context.restore
        assert restore is not None, "a store without changelog is never restored"
        restore(records)

    def restore_row(self, *record: Any) -> None:  # Any: the fields of a ChangelogRecord
        self.restore_rows([ChangelogRecord(*record)])

    def close(self) -> None:
        super().close()
        self._made.close()

    def _remember(self, changelog_offset: int | None) -> None:
        """For as long as the store is open: it is the store itself that keeps, or loses, its rows."""
        if changelog_offset is not None:
            known = self.rows.metadata
            self.rows.metadata = replace(known, changelog_offset=changelog_offset)


def _call(store: CustomStateStore, name: str, *args: object) -> bool:
    """Call a method that the store may or may not have."""
    method = getattr(store, name, None)
    if method is not None:
        method(*args)
    return method is not None
