"""KTable joined with KTable on a foreign key (KIP-213): the names and the order of its eleven
nodes, two topics and store.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sized
from dataclasses import dataclass
from typing import Any, Final

from millstream.streams.dsl.graph.nodes import (
    GraphNode,
    ProcessorGraphNode,
    RepartitionGraphNode,
)
from millstream.streams.dsl.graph.streams import GraphTable
from millstream.streams.dsl.graph.table_definitions import (
    SourceDefinition,
    TableDefinition,
    store_names,
)
from millstream.streams.dsl.operations.materialize import AnyMaterialized, key_value_store
from millstream.streams.options import Partitioner, StoreType
from millstream.streams.serdes.foreign_key import SubscriptionResponseWrapper
from millstream.streams.serdes.serde import bytes_
from millstream.streams.topology import SinkNode, SourceNode, StoreKind, StoreSpec
from millstream.streams.topology import operators as ops
from millstream.streams.topology.functions import check_arity, check_partitioner
from millstream.streams.topology.names import NameGenerator
from millstream.streams.topology.nodes import ValueForm

_PROCESSOR = "KTABLE-FK-JOIN-SUBSCRIPTION-PROCESSOR-"
_REGISTRATION = "KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-"


_AnyPartitioner = Partitioner[Any, None]  # Any: keys of either table; values are never given
Partitioners = tuple[_AnyPartitioner | None, _AnyPartitioner | None]
"""Of the topics of the left and of the right table; None is the default one."""
NO_PARTITIONERS: Final[Partitioners] = (None, None)


@dataclass(frozen=True, slots=True)
class ForeignKeyOptions:
    """The arguments of a foreign-key join."""

    is_left: bool
    joiner: ops.UserFunction
    extractor: ops.UserFunction
    with_key: bool
    name: str | None
    partitioners: Partitioners
    materialized: AnyMaterialized | None

    @property
    def method(self) -> str:
        return "left_join" if self.is_left else "join"

    def check(self) -> None:
        """Raises TypeError for functions that cannot take their arguments."""
        method = self.method
        given_pair: object = self.partitioners
        if not isinstance(given_pair, Sized) or len(given_pair) != 2:
            raise TypeError(
                f"{method}: partitioners are a pair, of the left and of the right table's topic, "
                f"not {self.partitioners!r}: (None, None) are the default ones"
            )
        for partitioner in self.partitioners:
            check_partitioner(method, partitioner)
        check_arity(method, "joiner", self.joiner, "left", "right")
        given = ("key", "value") if self.with_key else ("value",)
        check_arity(method, "foreign_key", self.extractor, *given)


@dataclass(frozen=True, slots=True)
class _Names:
    """In the order in which Kafka Streams takes their numbers."""

    registration_topic: str
    subscribe: str
    registration_sink: str
    registration_source: str
    store: str
    receive: str
    answer: str
    notify: str
    response_topic: str
    response_sink: str
    response_source: str
    resolve: str
    result: str

    @classmethod
    def take(cls, names: NameGenerator, name: str | None) -> _Names:
        def suffixed(suffix: str, prefix: str) -> str:
            return names.suffixed_or_generate(name, suffix, prefix)

        return cls(
            suffixed("-subscription-registration", _REGISTRATION) + "-topic",
            suffixed("-subscription-registration-processor", _REGISTRATION),
            suffixed("-subscription-registration-sink", "KTABLE-SINK-"),
            suffixed("-subscription-registration-source", "KTABLE-SOURCE-"),
            suffixed("-subscription-store", "KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE-"),
            suffixed("-subscription-receive", _PROCESSOR),
            suffixed("-subscription-join-foreign", _PROCESSOR),
            suffixed("-foreign-join-subscription", _PROCESSOR),
            suffixed("-subscription-response", "KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-") + "-topic",
            suffixed("-subscription-response-sink", "KTABLE-SINK-"),
            suffixed("-subscription-response-source", "KTABLE-SOURCE-"),
            suffixed(
                "-subscription-response-resolver",
                "KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-RESOLVER-PROCESSOR-",
            ),
            suffixed("-result", "KTABLE-FK-JOIN-OUTPUT-"),
        )


def join_on_foreign_key(
    left: GraphTable, right: GraphTable, options: ForeignKeyOptions
) -> GraphTable:
    """Join two tables; each row of the left one says which row of the right one it belongs to."""
    graph = left.graph
    graph.check_same(options.method, "table", right.graph)
    options.check()
    left.definition.enable_old_values(force=True)
    right.definition.enable_old_values(force=True)
    names = _Names.take(graph.names, options.name)
    builder = _Builder(left, right, names, options)
    registration = builder.subscribe()
    answers = builder.answer(registration)
    resolved = builder.resolve(answers)
    request = key_value_store(graph, options.materialized, "KTABLE-FK-JOIN-OUTPUT-", left.key, None)
    spec = request.spec
    definition = SourceDefinition(spec, materialized=request.queryable)
    result = ProcessorGraphNode(
        names.result, operator=definition.operator, stores=definition.stores
    )
    graph.add(result, resolved)
    sources = left.sources | {names.response_source}
    return GraphTable(graph, result, definition, spec.key, spec.value, sources)


class _Builder:
    """Adds the nodes of one join."""

    def __init__(
        self, left: GraphTable, right: GraphTable, names: _Names, options: ForeignKeyOptions
    ) -> None:
        self._graph = left.graph
        self._names = names
        self._options = options
        self._left = left
        self._right = right
        self._serdes = ops.TableSerdes(left.key, left.value, right.key)
        self._store = StoreSpec(
            name=names.store,
            kind=StoreKind.SUBSCRIPTIONS,
            persistent=left.graph.store_type is StoreType.ROCKSDB,
            key=bytes_(),
            value=left.key,
            log_headers=True,
        )

    def subscribe(self) -> GraphNode:
        """The node behind the topic of subscriptions."""
        options, names = self._options, self._names
        subscribe = ops.ForeignKeySubscribe(
            options.extractor, options.with_key, options.is_left, self._serdes
        )
        node = ProcessorGraphNode(names.subscribe, operator=lambda: subscribe)
        self._graph.add(node, self._left.node)
        _, other = options.partitioners
        sink = SinkNode(
            names.registration_sink,
            (),
            names.registration_topic,
            self._right.key,
            self._left.key,
            None if other is None else _by_key(other),
            ValueForm.SUBSCRIPTION,
        )
        return self._topic(sink, names.registration_source, node)

    def answer(self, registration: GraphNode) -> tuple[GraphNode, GraphNode]:
        """The node that answers subscriptions, and the one that tells of changed rows."""
        names, store, serdes = self._names, self._store, self._serdes
        receive = ProcessorGraphNode(
            names.receive,
            operator=lambda: ops.ForeignKeyReceive(store.name, serdes),
            stores=lambda: (store,),
            copartitioned=self._right.sources | {names.registration_source},
        )
        self._graph.add(receive, registration)
        answer = _reader(names.answer, self._right.definition, ops.ForeignKeyAnswer)
        self._graph.add(answer, receive)
        notify = ProcessorGraphNode(
            names.notify,
            operator=lambda: ops.ForeignKeyNotify(store.name, serdes),
            connected=lambda: (store.name,),
        )
        self._graph.add(notify, self._right.node)
        return answer, notify

    def resolve(self, answers: tuple[GraphNode, GraphNode]) -> GraphNode:
        """The node that joins what comes back with the rows of the left table."""
        options, names, serdes = self._options, self._names, self._serdes
        own, _ = options.partitioners
        sink = SinkNode(
            names.response_sink,
            (),
            names.response_topic,
            self._left.key,
            self._right.value,
            _to_asking_partition if own is None else _by_key(own),
            ValueForm.RESPONSE,
        )
        source = self._topic(sink, names.response_source, *answers)
        resolve = _reader(
            names.resolve,
            self._left.definition,
            lambda view: ops.ForeignKeyResolve(view, options.joiner, options.is_left, serdes),
            copartitioned=self._left.sources | {names.response_source},
        )
        self._graph.add(resolve, source)
        return resolve

    def _topic(self, sink: SinkNode, source_name: str, *parents: GraphNode) -> GraphNode:
        assert isinstance(sink.topic, str), "a topic of the library's own"
        source = SourceNode(
            source_name, (sink.topic,), key=sink.key, value=sink.value, form=sink.form
        )
        node = RepartitionGraphNode(
            source_name, topic=sink.topic, sink=sink, source=source, mergeable=False
        )
        self._graph.add(node, *parents)
        return node


def _reader(
    name: str,
    table: TableDefinition,
    make: Callable[[ops.TableView], ops.OperatorSpec],
    copartitioned: frozenset[str] = frozenset(),
) -> ProcessorGraphNode:
    """A node that reads the rows of a table; the table keeps a store from now on."""
    table.view()
    return ProcessorGraphNode(
        name,
        operator=lambda: make(table.view()),
        connected=lambda: store_names(table.view()),
        copartitioned=copartitioned,
    )


def _by_key(partitioner: _AnyPartitioner) -> Partitioner[Any, Any]:  # Any: see the alias
    """The user's partitioner never sees what the library sends, and must name one partition at most."""

    def partition(topic: str, key: object, _value: object, partitions: int) -> int | None:
        given = partitioner(topic, key, None, partitions)
        if isinstance(given, Collection):
            raise TypeError(f"a foreign-key join needs one partition, not {given!r}")
        return given

    return partition


def _to_asking_partition(_topic: str, _key: object, value: object, _partitions: int) -> int | None:
    assert isinstance(value, SubscriptionResponseWrapper), "the topic holds responses"
    return value.partition
