"""Operators of streams that keep nothing: filters, mappers, actions, merges, user processors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from millstream.streams.arguments import check_kind, check_serdes
from millstream.streams.dsl.graph.nodes import ProcessorGraphNode
from millstream.streams.dsl.graph.streams import AnySerde, GraphStream
from millstream.streams.dsl.operations.retries import AnyRetry, map_values_with_retries
from millstream.streams.topology import operators as ops
from millstream.streams.topology.functions import (
    check_arity,
    check_supplier,
    names_of_stores,
    stores_of,
)
from millstream.streams.topology.names import check_name


def filter_records(
    stream: GraphStream,
    method: str,
    predicate: ops.UserFunction,
    name: str | None,
    *,
    negate: bool,
) -> GraphStream:
    """Keep the records for which the predicate holds, or with `negate` the others."""
    check_arity(method, "predicate", predicate, "key", "value", takes_columns=True)
    node = stream.add(name, "KSTREAM-FILTER-", ops.Filter(predicate, negate))
    return stream.then(node, stream.key, stream.value)


def map_records(stream: GraphStream, mapper: ops.UserFunction, name: str | None) -> GraphStream:
    """Give each record a new key and a new value."""
    check_arity("map", "mapper", mapper, "key", "value")
    node = stream.add(name, "KSTREAM-MAP-", ops.Map(mapper))
    return stream.then(node, None, None, rekeyed=True)


def map_values(
    stream: GraphStream,
    mapper: ops.UserFunction,
    name: str | None,
    retry: AnyRetry | None = None,
    *,
    with_key: bool,
) -> GraphStream:
    """Give each record a new value."""
    parameters = ("key", "value") if with_key else ("value",)
    check_arity("map_values", "mapper", mapper, *parameters, takes_columns=retry is None)
    spec, prefix = ops.MapValues(mapper, with_key), "KSTREAM-MAPVALUES-"
    if retry is not None:
        return map_values_with_retries(stream, spec, retry, prefix, name)
    return stream.then(stream.add(name, prefix, spec), stream.key, None)


def flat_map(stream: GraphStream, mapper: ops.UserFunction, name: str | None) -> GraphStream:
    """Make any number of records of each."""
    check_arity("flat_map", "mapper", mapper, "key", "value", gives_rows=True)
    node = stream.add(name, "KSTREAM-FLATMAP-", ops.FlatMap(mapper))
    return stream.then(node, None, None, rekeyed=True)


def flat_map_values(
    stream: GraphStream, mapper: ops.UserFunction, name: str | None, *, with_key: bool
) -> GraphStream:
    """Make any number of records of each, all with its key."""
    parameters = ("key", "value") if with_key else ("value",)
    check_arity("flat_map_values", "mapper", mapper, *parameters, gives_rows=True)
    node = stream.add(name, "KSTREAM-FLATMAPVALUES-", ops.FlatMapValues(mapper, with_key))
    return stream.then(node, stream.key, None)


def select_key(
    stream: GraphStream,
    mapper: ops.UserFunction,
    key: AnySerde | None = None,
    name: str | None = None,
) -> GraphStream:
    """Give each record a new key."""
    check_arity("select_key", "mapper", mapper, "key", "value", takes_columns=True)
    check_serdes("select_key", key=key)
    node = stream.add(name, "KSTREAM-KEY-SELECT-", ops.SelectKey(mapper))
    return stream.then(node, key, stream.value, rekeyed=True)


def peek(stream: GraphStream, action: ops.UserFunction, name: str | None) -> GraphStream:
    """Call an action for each record that passes."""
    check_arity("peek", "action", action, "key", "value")
    node = stream.add(name, "KSTREAM-PEEK-", ops.Peek(action))
    return stream.then(node, stream.key, stream.value)


def foreach(stream: GraphStream, action: ops.UserFunction, name: str | None) -> None:
    """End the stream in an action."""
    check_arity("foreach", "action", action, "key", "value")
    stream.add(name, "KSTREAM-FOREACH-", ops.Peek(action, forward=False))


def print_records(
    stream: GraphStream,
    label: str | None,
    mapper: ops.UserFunction | None,
    write: Callable[[str], object],
    name: str | None,
) -> None:
    """End the stream in a line for each record."""
    check_kind("print: label", label, str | None)
    shown = label or stream.name
    check_arity("print", "write", write, "line")
    text = _key_and_value if mapper is None else mapper
    check_arity("print", "mapper", text, "key", "value")

    def print_record(key: object, value: object) -> None:
        write(f"[{shown}]: {text(key, value)}")

    stream.add(name, "KSTREAM-PRINTER-", ops.Peek(print_record, forward=False))


def _key_and_value(key: object, value: object) -> str:
    return f"{key}, {value}"


def merge(stream: GraphStream, other: GraphStream, name: str | None) -> GraphStream:
    """Make one stream of two."""
    graph = stream.graph
    graph.check_same("merge", "stream", other.graph)
    node_name = graph.names.name_or_generate(name, "KSTREAM-MERGE-")
    node = ProcessorGraphNode(node_name, operator=ops.PassThrough, merges_streams=True)
    graph.add(node, stream.node, other.node)
    return GraphStream(
        graph,
        node,
        key=None,
        value=None,
        sources=stream.sources | other.sources,
        repartition_required=stream.repartition_required or other.repartition_required,
    )


def process(
    stream: GraphStream,
    supplier: ops.UserFunction,
    stores: Iterable[str],
    name: str | None,
    *,
    fixed_key: bool,
) -> GraphStream:
    """Send each record through a user's processor. One that keeps keys makes no repartition necessary."""
    method = "process_values" if fixed_key else "process"
    check_supplier(method, supplier, "process", "record")
    connected = names_of_stores(method, stores)
    provided = stores_of(method, supplier)
    if name is None:  # no number is taken otherwise
        prefix = "KSTREAM-PROCESSVALUES-" if fixed_key else "KSTREAM-PROCESSOR-"
        name = stream.graph.names.processor_name(prefix)
    spec = ops.Process(supplier, fixed_key=fixed_key)
    node = ProcessorGraphNode(
        check_name(name),
        operator=lambda: spec,
        stores=lambda: provided,
        connected=lambda: connected,
    )
    stream.graph.add(node, stream.node)
    return stream.then(node, stream.key if fixed_key else None, None, rekeyed=not fixed_key)


@dataclass(slots=True, eq=False)
class Split:
    """One split: the node that sends each record to the first branch whose predicate holds, and the branches so far."""

    stream: GraphStream
    name: str
    branches: list[tuple[ops.UserFunction | None, str]] = field(default_factory=list)
    node: ProcessorGraphNode = field(init=False)

    def __post_init__(self) -> None:
        self.node = ProcessorGraphNode(self.name, operator=lambda: ops.Branch(tuple(self.branches)))
        self.stream.graph.add(self.node, self.stream.node)

    def add(self, predicate: ops.UserFunction | None, suffix: str) -> GraphStream:
        """Add a branch, whose full name is that of the split and the suffix; the default branch has no predicate."""
        graph = self.stream.graph
        graph.names.processor_name("KSTREAM-BRANCHCHILD-")  # Kafka Streams takes a number here
        check_kind("branch: name", suffix, str)
        name = check_name(self.name + suffix)
        self.branches.append((predicate, name))
        node = ProcessorGraphNode(name, operator=ops.PassThrough)
        graph.add(node, self.node)
        return self.stream.then(node, self.stream.key, self.stream.value)


def split(stream: GraphStream, name: str | None) -> Split:
    """Begin a split."""
    return Split(stream, stream.graph.names.name_or_generate(name, "KSTREAM-BRANCH-"))
