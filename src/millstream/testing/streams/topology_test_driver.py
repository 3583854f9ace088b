"""TopologyTestDriver: runs a topology record by record, without a broker, on the kernel that every runner uses.

It is one task over one partition of every topic. After each record that is piped in, records are processed one
at a time until none is queued: the one with the smallest timestamp first, output to topics that the topology
reads goes back in, and every record is committed on its own. Time stands still unless it is moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any, Self, TypeVar

from millstream.foreign_names.explanation import explain_construction
from millstream.streams import queries
from millstream.streams.arguments import check_headers, check_kind, check_serdes
from millstream.streams.config import OnError, ProcessingGuarantee, StreamsConfig
from millstream.streams.dropped_records import DroppedRecords, together
from millstream.streams.errors import InvalidStoreError, SerializationError, StreamsError
from millstream.streams.kernel import (
    Headers,
    RawBatch,
    SinkBatch,
    StreamTask,
    TaskOutput,
    TaskTopics,
)
from millstream.streams.metrics import MetricName
from millstream.streams.options import K, V
from millstream.streams.queries import (
    FailureReason,
    KeyValueView,
    QueryResult,
    SessionView,
    StateQueryRequest,
    StateQueryResult,
    StoreQueryParameters,
    VersionedView,
    WindowView,
    view_of,
)
from millstream.streams.serdes import Serde
from millstream.streams.state import (
    AggregationWithHeaders,
    StoreFactory,
    ValueTimestampHeaders,
    in_memory_stores,
)
from millstream.streams.state.cache import CacheRoom
from millstream.streams.state.store import StateStore
from millstream.streams.topology import SubTopology, Topology
from millstream.streams.tracing import RecordTrace
from millstream.testing.streams.topology_test_topics import (
    TestInputTopic,
    TestOutputTopic,
    TestRecord,
    not_negative_ms,
)

__all__ = ["TestInputTopic", "TestOutputTopic", "TestRecord", "TopologyTestDriver"]

View = TypeVar("View")


@explain_construction
class TopologyTestDriver:
    """See the module. Use it as a context manager, or call `close`.

    With `processing_guarantee` exactly_once_v2 what a record had sent before it failed is never seen; otherwise it
    comes with the output of the next record.

    `pattern_topics`: topics that exist for sources with a pattern; a topic that is piped into needs no mention.
    `wall_clock_ms`: the wall clock at the beginning; 0, so that tests repeat, where Java's driver takes the time it is.
    """

    __test__ = False

    def __init__(
        self,
        topology: Topology,
        config: StreamsConfig | None = None,
        *,
        stores: StoreFactory | None = None,
        pattern_topics: Iterable[str] = (),
        wall_clock_ms: int = 0,
    ) -> None:
        check_kind("TopologyTestDriver: what build() gives, the topology,", topology, Topology)
        check_kind("TopologyTestDriver: config", config, StreamsConfig | None)
        config = replace(config or StreamsConfig("test"), batch_records_max=1)
        self._config = config
        self._dropped: tuple[DroppedRecords, ...] = ()
        nodes = [
            name for group in topology.sub_topologies if not group.is_global for name in group.nodes
        ]
        every_node = SubTopology(0, tuple(nodes))
        factory = stores or in_memory_stores()
        # Java's driver skips what it cannot read of global topics, whatever the application's handler says.
        skips = replace(config, on_deserialization_error=OnError.CONTINUE)
        room = CacheRoom(config.cache_max_bytes)
        self._global_tasks = [
            StreamTask(
                topology, group, 0, factory, skips, wall_clock_ms=wall_clock_ms, cache_room=room
            )
            for group in topology.sub_topologies
            if group.is_global
        ]
        global_stores = {n: s for task in self._global_tasks for n, s in task.stores.items()}
        self._task = StreamTask(
            topology,
            every_node,
            0,
            factory,
            config,
            topics=TaskTopics(matched=pattern_topics),
            global_stores=global_stores,
            wall_clock_ms=wall_clock_ms,
            cache_room=room,
        )
        self._tasks = dict.fromkeys(self._task.source_topics, self._task)
        for task in self._global_tasks:
            self._tasks.update(dict.fromkeys(task.source_topics, task))
        self._next_offsets: dict[str, int] = {}
        self._written: dict[str, list[TestRecord[bytes, bytes]]] = {}
        self._wall_clock_ms = wall_clock_ms
        self._is_closed = False

    def __repr__(self) -> str:
        topics = ",".join(self._task.source_topics)
        return f"<{type(self).__name__} of {topics}{' closed' if self._is_closed else ''}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def input_topic(
        self,
        topic: str,
        *,
        key: Serde[K] | None = None,
        value: Serde[V] | None = None,
        start_ms: int | None = None,
        advance: timedelta = timedelta(0),
    ) -> TestInputTopic[K, V]:
        """Returns a topic to pipe into; serdes default to those of the application.

        Records that are piped without a time of their own get that of the topic: `start_ms`, or the driver's wall
        clock now, and `advance` more after each of them.
        """
        start_ms = self._wall_clock_ms if start_ms is None else start_ms
        return TestInputTopic(self, topic, self._serdes(key, value), start_ms, advance)

    def output_topic(
        self, topic: str, *, key: Serde[K] | None = None, value: Serde[V] | None = None
    ) -> TestOutputTopic[K, V]:
        """Returns a topic to read from; serdes default to those of the application."""
        return TestOutputTopic(self, topic, self._serdes(key, value))

    def pipe_bytes(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        *,
        timestamp: int = 0,
        headers: Headers = (),
    ) -> None:
        """Pipe one record as bytes and process everything that follows from it."""
        if self._is_closed:
            raise StreamsError(f"the driver is closed: nothing can be piped into {topic}")
        if not self._reads(topic):
            raise ValueError(
                f"the topology does not read topic {topic}; it reads {sorted(self._tasks)}"
            )
        check_kind(f"the timestamp of a record for {topic}", timestamp, int)
        check_headers(f"a record for {topic}", headers)
        if timestamp < 0:
            raise ValueError(f"a record of topic {topic} cannot have timestamp {timestamp}")
        self._append(topic, [key], [value], [timestamp], [headers])
        self._run()

    @contextmanager
    def traced(self) -> Iterator[list[RecordTrace]]:
        """Gives a list that gets the trace of every record that is processed inside, in order.

        Records that come back through a repartition topic have traces of their own.
        """
        traces: list[RecordTrace] = []
        tasks = (*self._global_tasks, self._task)
        try:
            for task in tasks:
                task.trace(1, traces.append)
            yield traces
        finally:
            for task in tasks:
                task.trace(self._config.trace_every, self._config.on_trace)

    def read_bytes(self, topic: str) -> list[TestRecord[bytes, bytes]]:
        """Returns every record written to a topic, internal ones included, since the last read."""
        written = self._written.get(topic, [])
        if written:
            self._written[topic] = []
        return written

    def read_bytes_once(self, topic: str) -> TestRecord[bytes, bytes]:
        """Returns the first record of a topic that was not read. Raises LookupError where there is none."""
        written = self._written.get(topic)
        if not written:
            raise LookupError(f"topic {topic} has no record that was not read")
        return written.pop(0)

    def unread(self, topic: str) -> int:
        """Returns the number of records that were written to a topic since the last read."""
        return len(self._written.get(topic, ()))

    def produced_topics(self) -> list[str]:
        """Returns every topic that was ever written to, internal ones included, in the order of their names."""
        return sorted(self._written)

    def advance_wall_clock(self, by: timedelta) -> None:
        """Move the wall clock, and process what follows from it."""
        self._wall_clock_ms += not_negative_ms(by)
        self._collect(self._task.process(self._wall_clock_ms, records_max=0))
        self._commit()
        self._run()

    def query(self, request: StateQueryRequest) -> StateQueryResult:
        """Ask a store, as an application would while it runs. The driver has partition 0 alone.

        Raises InvalidStoreError for a store that the topology does not have.
        """
        check_kind("query: request", request, StateQueryRequest)
        for task in self._global_tasks:
            if request.store in task.stores:
                return StateQueryResult(global_result=task.query(request))
        if request.partitions is None or 0 in request.partitions:
            results = {0: self._task.query(request)}
        else:
            results = {}
        absent = QueryResult(
            failure=FailureReason.DOES_NOT_EXIST, message="the driver has partition 0 alone"
        )
        others = {each: absent for each in request.partitions or () if each != 0}
        return StateQueryResult(results | others)

    def store(self, parameters: StoreQueryParameters[View]) -> View:
        """Returns a view of a store, as an application would be given it while it runs.

        Raises InvalidStoreError for a store that is not there, or is of another type.
        """
        check_kind("store: parameters", parameters, StoreQueryParameters)
        if parameters.partition:
            raise InvalidStoreError(
                f"partition {parameters.partition} of store {parameters.store} is not here: "
                "the driver has partition 0 alone"
            )
        return view_of(self._store(parameters.store), parameters.type)

    def key_value_store(self, name: str) -> KeyValueView[Any, Any]:  # Any: the test's types
        """Returns a view of a key-value store, or of a table's, without its timestamps."""
        return view_of(self._store(name), queries.key_value_store())

    def timestamped_key_value_store(
        self, name: str
    ) -> KeyValueView[Any, tuple[Any, int]]:  # Any: the test's types
        """Returns a view of a table's store: values with their timestamps (ms)."""
        return view_of(self._store(name), queries.timestamped_key_value_store())

    def timestamped_key_value_store_with_headers(
        self, name: str
    ) -> KeyValueView[Any, ValueTimestampHeaders]:  # Any: the test's types
        """Returns a view of a store with headers: values with timestamps and headers."""
        return view_of(self._store(name), queries.timestamped_key_value_store_with_headers())

    def versioned_key_value_store(self, name: str) -> VersionedView[Any]:  # Any: the test's types
        """Returns a view of a versioned store."""
        return view_of(self._store(name), queries.versioned_key_value_store())

    def window_store(self, name: str) -> WindowView[Any, Any]:  # Any: the test's types
        """Returns a view of a window store, without its timestamps."""
        return view_of(self._store(name), queries.window_store())

    def timestamped_window_store(
        self, name: str
    ) -> WindowView[Any, tuple[Any, int]]:  # Any: the test's types
        """Returns a view of a window store: values with their timestamps (ms)."""
        return view_of(self._store(name), queries.timestamped_window_store())

    def timestamped_window_store_with_headers(
        self, name: str
    ) -> WindowView[Any, ValueTimestampHeaders]:  # Any: the test's types
        """Returns a view of a window store with headers: values with timestamps and headers."""
        return view_of(self._store(name), queries.timestamped_window_store_with_headers())

    def session_store(self, name: str) -> SessionView[Any, Any]:  # Any: the test's types
        """Returns a view of a session store."""
        return view_of(self._store(name), queries.session_store())

    def session_store_with_headers(
        self, name: str
    ) -> SessionView[Any, AggregationWithHeaders]:  # Any: the test's types
        """Returns a view of a session store with headers: aggregations with headers."""
        return view_of(self._store(name), queries.session_store_with_headers())

    def _store(self, name: str) -> StateStore:
        stores = self.stores()
        if name not in stores:
            raise InvalidStoreError(f"there is no store {name}; there are {sorted(stores)}")
        return stores[name]

    def stores(self) -> Mapping[str, StateStore]:
        """Returns all stores by name."""
        stores = dict(self._task.stores)
        for task in self._global_tasks:
            stores.update(task.stores)
        return stores

    @property
    def dropped_records(self) -> int:
        """The number of records left out so far: null keys, late, unreadable, failed."""
        return sum(task.dropped.total for task in (self._task, *self._global_tasks))

    @property
    def dropped(self) -> tuple[DroppedRecords, ...]:
        """The records left out so far, by node, topic and reason; an application tells them at
        WARN, as their `text` has it.
        """
        tasks = (self._task, *self._global_tasks)
        new = (each for task in tasks for each in task.dropped.take())
        self._dropped = together((*self._dropped, *new))
        return self._dropped

    def metrics(self) -> dict[MetricName, float]:
        """Returns every metric of tasks and nodes, and those that processors have added."""
        tasks = (self._task, *self._global_tasks)
        return {name: value for task in tasks for name, value in task.metrics.values().items()}

    def close(self) -> None:
        """Close processors and stores; closing again does nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        with ExitStack() as last_first:
            for task in (*self._global_tasks, self._task):
                last_first.callback(task.close)

    def _serdes(
        self,
        key: Serde[Any] | None,  # Any: the caller's type parameters
        value: Serde[Any] | None,  # Any: the caller's type parameters
    ) -> tuple[Serde[Any], Serde[Any]]:  # Any: the caller's type parameters
        check_serdes("a topic of the driver", key=key, value=value)
        key, value = key or self._config.default_key, value or self._config.default_value
        if key is None or value is None:
            raise ValueError(
                "give the topic key and value serdes, or the application default serdes"
            )
        return key, value

    def _reads(self, topic: str) -> bool:
        """Whether the topology reads the topic, one that a pattern matches included."""
        if topic not in self._tasks and self._task.inputs.maybe_read(topic):
            self._tasks[topic] = self._task
        return topic in self._tasks

    def _append(
        self,
        topic: str,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        timestamps: list[int],
        headers: list[Headers],
    ) -> None:
        # Topics of one pattern count together.
        counted = self._task.inputs.pattern_of_topic.get(topic, topic)
        first = self._next_offsets.get(counted, 0)
        self._next_offsets[counted] = first + len(keys)
        offsets = range(first, first + len(keys))
        self._tasks[topic].add(topic, RawBatch(keys, values, timestamps, offsets, headers))

    def _run(self) -> None:
        if self._config.processing_guarantee is ProcessingGuarantee.EXACTLY_ONCE_V2:
            self._task.discard_output()  # of a record that failed: no transaction has committed it
        for task in self._global_tasks:
            task.process(self._wall_clock_ms)
            task.prepare_commit()
            task.commit()
        goes_on = True
        while goes_on:
            output = self._task.process(self._wall_clock_ms, records_max=1)
            goes_on = self._collect(
                output
            )  # also of a record that could not be read: its dead letter
            if output.processed:
                goes_on = True
                self._commit()

    def _commit(self) -> None:
        self._collect(self._task.prepare_commit().output)
        self._task.commit()

    def _collect(self, output: TaskOutput) -> bool:
        """Note what was written, and feed what the topology itself reads. Whether there was any of that."""
        fed = False
        self._task.counts.count_written(output.sinks)
        for batch in (*output.changelogs.values(), *output.sinks.values()):
            self._note(batch)
            if self._reads(batch.topic):
                self._append(batch.topic, batch.keys, batch.values, batch.timestamps, batch.headers)
                fed = True
        return fed

    def _note(self, batch: SinkBatch) -> None:
        _check_bytes(batch)
        written = self._written.setdefault(batch.topic, [])
        written.extend(
            TestRecord(*row)
            for row in zip(batch.keys, batch.values, batch.timestamps, batch.headers, strict=True)
        )


def _check_bytes(batch: SinkBatch) -> None:
    """A producer would refuse what is no bytes: raise SerializationError here, where no producer is."""
    for what, column in (("key", batch.keys), ("value", batch.values)):
        for given in column:
            if not isinstance(given, bytes | bytearray | memoryview | None):
                raise SerializationError(
                    f"the serde of the {what} of topic {batch.topic} gave {given!r}: encode must give bytes"
                )
