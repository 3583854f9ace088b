"""The stores of one task as one unit: opened, committed, rolled back, restored and closed together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace

from millstream.model import TopicPartition
from millstream.streams.errors import InvalidStoreError
from millstream.streams.kernel.columns.batch import NO_HEADERS, RawBatch, SinkBatch
from millstream.streams.kernel.resolved_serdes import store_serdes
from millstream.streams.queries.answers import answer
from millstream.streams.queries.result import (
    FailureReason,
    Position,
    QueryResult,
    StateQueryRequest,
    is_up_to,
)
from millstream.streams.restore_listener import StateRestoreListener
from millstream.streams.state.cache import CacheRoom, RecordCache
from millstream.streams.state.changelog import Changelog
from millstream.streams.state.opening import open_store
from millstream.streams.state.storage.byte_store import TaskStores
from millstream.streams.state.storage.transaction import TransactionalRows
from millstream.streams.state.store import OwningTask, StateStore, StoreParts
from millstream.streams.topology.stores import StoreSpec
from millstream.streams.topology.topology import SubTopology, Topology


class TaskState:
    """`stores` by name, in the order of the topology.

    `changelogs`: by store, the topic it is restored from: its own changelog, or the source topic that serves as one.
    """

    def __init__(
        self,
        topology: Topology,
        group: SubTopology,
        byte_stores: TaskStores,
        partition: int,
        owner: OwningTask,
        *,
        listener: StateRestoreListener | None,
        cache_room: CacheRoom,
    ) -> None:
        self._byte_stores = byte_stores
        self._partition = partition
        self._owner = owner
        self._listener = listener
        self._restored: dict[str, int] = {}
        self.restored = 0
        """How many records the stores have been given of changelogs."""
        config = owner.config
        self._caches = config.cache_max_bytes > 0
        self._cache_room = cache_room
        specs = topology.stores_of(group)
        self.changelogs = {
            spec.name: topology.changelog_topic(spec.name, config.application_id)
            for spec in specs
            if spec.logging or (spec.name in topology.changelog_topics and not group.is_global)
        }
        self.stores: dict[str, StateStore] = {}
        try:
            for spec in specs:
                self.stores[spec.name] = self._open(spec)
        except BaseException:
            self.close()  # or their lock would outlive the task
            raise

    @property
    def changelog_forms(self) -> dict[str, str]:
        """By changelog topic, what its records look like."""
        return {
            topic: self.stores[name].spec.changelog_form for name, topic in self.changelogs.items()
        }

    def commit(
        self,
        marker: str | None,
        changelog_offsets: Mapping[str, int],
        input_offsets: Mapping[str, int],
    ) -> None:
        """Apply the writes of all stores in one write.

        A store whose changelog is a source topic is complete up to what the task has read of it.
        """
        offsets = {**input_offsets, **changelog_offsets}
        # One write for all: a crash leaves every store at this commit or every one at the last, for the marker and the
        # offsets of one are believed of all. Each store forgets its overlay as it comes to its turn, before the write
        # is made: whoever sees that fail has no stores that are whole in memory, and closes the task.
        with self._byte_stores.together():
            for name, store in self.stores.items():
                topic = self.changelogs.get(name)
                offset = None if topic is None else offsets.get(topic)
                store.commit(changelog_offset=offset, marker=marker)

    def database_properties(self) -> Mapping[str, int]:
        """Returns RocksDB's properties of the stores' database, by Kafka Streams' names; none without one."""
        return self._byte_stores.properties()

    @property
    def times(self) -> dict[str, dict[str, int]]:
        """By store, the times that operators keep there: the largest timestamp seen, the
        last close time given out, by name.
        """
        known = {name: store.known_times() for name, store in self.stores.items()}
        return {name: times for name, times in known.items() if times}

    def go_back(self, times: Mapping[str, Mapping[str, int]]) -> None:
        """Have what is restored next count as it did at the last commit, whose times these are; stores
        without any had no rows then.
        """
        for name, store in self.stores.items():
            store.go_back(times.get(name, {}))

    def resume(self, times: Mapping[str, Mapping[str, int]]) -> None:
        """Take over the times of the last commit; those of stores that are no longer there are left out."""
        for name, of_store in times.items():
            if name in self.stores:
                self.stores[name].resume(of_store)

    def discard(self) -> None:
        """Forget what was written since the last commit."""
        for store in self.stores.values():
            store.discard()

    def flush(self) -> None:
        """Have every store write to its changelog what it has held back: Kafka Streams' do with a commit."""
        for store in self.stores.values():
            store.flush()

    def take_changelogs(self) -> dict[str, SinkBatch]:
        """Takes the changelog records that the stores have written since the last call, by topic."""
        taken = {}
        for store in self.stores.values():
            if store.changelog is not None and store.changelog.keys:
                topic, with_headers = store.changelog.topic, store.changelog.headers
                keys, values, timestamps = store.changelog.take()
                headers = [NO_HEADERS] * len(keys)
                for row, given in with_headers.items():
                    headers[row] = given
                taken[topic] = SinkBatch(topic, keys, values, timestamps, headers)
        return taken

    def marker_of(self, store: str) -> str | None:
        """Returns the marker of the store's last commit."""
        return self.stores[store].rows.metadata.marker

    def ask(self, task_id: str, request: StateQueryRequest, position: Position) -> QueryResult:
        """Returns what a store answers that has seen its input up to `position`.

        Raises InvalidStoreError for a store that is not here.
        """
        store = self.stores.get(request.store)
        if store is None:
            raise InvalidStoreError(
                f"there is no store {request.store}; there are {sorted(self.stores)}"
            )
        if not is_up_to(position, request.position_bound):
            return QueryResult(
                failure=FailureReason.NOT_UP_TO_BOUND,
                message=f"store {request.store} is at {position}, not yet at {request.position_bound}",
                position=position,
            )
        info = (f"task {task_id}: {type(store).__name__}",) if request.execution_info else ()
        return replace(answer(store, request.query), position=position, execution_info=info)

    def restore_positions(self) -> dict[str, int | None]:
        """Returns, by changelog topic, the offset to restore from; None means from the beginning.

        A topic that is a source of the task too, a table's own, must be restored up to the task's committed
        offset of it and no further: what comes after is still to be processed.
        """
        return {
            topic: self.stores[name].rows.metadata.changelog_offset
            for name, topic in self.changelogs.items()
        }

    def start_restore(self, topic: str, starting_offset: int, ending_offset: int) -> None:
        """Tells the listener that records of a changelog topic will come."""
        self._restored[topic] = 0
        for listener, changelog, store in self._told(topic):
            listener.on_restore_start(changelog, store.name, starting_offset, ending_offset)

    def restore(self, topic: str, raw: RawBatch) -> None:
        """Applies records of a changelog topic to its store and commits them, at once."""
        if not len(raw):
            return
        last_offset = raw.offsets[-1]
        for store in self._restored_from(topic):
            store.restore(raw.keys, raw.values, raw.timestamps, last_offset + 1, raw.headers)
            self.restored += len(raw)
        if topic in self._restored:
            self._restored[topic] += len(raw)
            for listener, changelog, store in self._told(topic):
                listener.on_batch_restored(changelog, store.name, last_offset, len(raw))

    def end_restore(self, topic: str) -> None:
        """Tells the listener that a store is complete."""
        total = self._restored.pop(topic, 0)
        for listener, changelog, store in self._told(topic):
            listener.on_restore_end(changelog, store.name, total)

    def close(self) -> None:
        """Close the stores; what was not committed is forgotten."""
        for topic, total in self._restored.items():
            for listener, changelog, store in self._told(topic):
                listener.on_restore_suspended(changelog, store.name, total)
        self._restored = {}
        with closing(self._byte_stores):
            for store in self.stores.values():
                store.close()

    def _open(self, spec: StoreSpec) -> StateStore:
        owner = self._owner
        key, value = store_serdes(spec, owner.config)
        rows = TransactionalRows(self._byte_stores.open(spec))
        changelog = Changelog(self.changelogs[spec.name]) if spec.logging else None
        cache = RecordCache(self._cache_room) if self._caches and spec.is_cacheable else None
        other_value = spec.other_value or owner.config.default_value
        return open_store(StoreParts(spec, rows, key, value, changelog, owner, other_value, cache))

    def _restored_from(self, topic: str) -> Iterator[StateStore]:
        return (self.stores[name] for name, each in self.changelogs.items() if each == topic)

    def _told(
        self, topic: str
    ) -> Iterator[tuple[StateRestoreListener, TopicPartition, StateStore]]:
        """The listener, if there is one, with each store that is restored from this topic."""
        if self._listener is None:
            return
        changelog = TopicPartition(topic, self._partition)
        for store in self._restored_from(topic):
            yield self._listener, changelog, store
