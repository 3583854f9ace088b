"""The execution plan of a task: how rows of each source travel through the nodes below it.

Whole batches go through the nodes in an order in which every node comes after its parents; where paths meet
again, rows are merged by ordinal, the number of the input row that each comes from. That is indistinguishable
from record at a time unless more than one node touches a store, user code is called in more than one place
for its effects, or paths meet in a way that ordinals do not decide: in a node, or in a topic, that of dead
letters included. The plan then says `record_at_a_time`: rows go one by one, depth first, through the same
nodes. What is written to two topics has no order between them.

Decided from the topology and the effects of its nodes (effects.py) before anything runs; opens no
store and calls no function.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from millstream.streams.topology import operators as ops
from millstream.streams.topology.effects import Effects, effects_of
from millstream.streams.topology.nodes import Node, ProcessorNode, SinkNode, SourceNode
from millstream.streams.topology.topology import SubTopology, Topology

_PATHS_MAX: Final = 16
"""With more of them rows go one at a time, which is right in any case: nobody looks through thousands of paths."""


@dataclass(frozen=True, slots=True)
class NodePlan:
    """A node of the task and how it takes part."""

    node: Node
    effects: Effects
    children: tuple[str, ...] = ()
    """In the order of the branches where the operator has some."""
    writes_cache: bool = False
    """A store that it may write has a record cache."""
    is_cached: bool = False
    """The changes of its table go on when the cache of its store is flushed, not before."""
    topics: frozenset[str | None] = frozenset()
    """What it may write records to, dead letters included; None: any topic, which is known when it runs."""
    writes_in_turn: bool = False
    """Each row that it gives is written when that row goes on: nodes below look into the same store."""

    @property
    def reached(self) -> tuple[str, ...]:
        """The children that its rows reach at once."""
        return () if self.is_cached else self.children

    def as_start(self) -> NodePlan:
        """Returns the plan of a cached table as the first node for rows that leave its cache: they
        have been written, and go on.
        """
        return NodePlan(self.node, Effects(stores=self.effects.stores), self.children)


@dataclass(frozen=True, slots=True)
class SourcePlan:
    """The route of rows from one node on."""

    order: tuple[str, ...]
    """The node itself, and all that its rows reach, every node after its parents."""
    record_at_a_time: bool
    reads_all_columns: bool
    """Keys and values had better be read all at once: every row is looked at alone, and no node takes arrays."""


@dataclass(frozen=True, slots=True)
class ExecutionPlan:
    """The plan of one sub-topology; nodes by name."""

    nodes: Mapping[str, NodePlan]
    sources: Mapping[str, SourcePlan]
    tables: Mapping[str, SourcePlan]
    """From each cached table on, for rows that leave its cache."""
    keeps_origins: bool
    """Some node asks where rows come from: a cache must be given them one by one."""


def plan_execution(
    topology: Topology,
    group: SubTopology,
    *,
    cached_stores: frozenset[str] = frozenset(),
    sink_letters: frozenset[str | None] = frozenset(),
    single: bool = False,
) -> ExecutionPlan:
    """Returns the plan of a task. `cached_stores` have a record cache; `single` makes every source go record at a time.

    `sink_letters`: the topics to which what a sink cannot write may go instead; None among them: any topic.
    """
    nodes = {name: _node_plan(topology, name, cached_stores, sink_letters) for name in group.nodes}
    cached = [name for name, each in nodes.items() if each.is_cached]
    sources = [name for name, each in nodes.items() if isinstance(each.node, SourceNode)]
    graphs = dict.fromkeys(sources, nodes)
    graphs |= {name: {**nodes, name: nodes[name].as_start()} for name in cached}
    orders = {name: _parents_first(name, graph) for name, graph in graphs.items()}
    one_by_one = {name for name in graphs if single or not _merges(orders[name], graphs[name])}
    in_turn = {name for start in one_by_one for name in _in_turn(orders[start], graphs[start])}
    one_by_one |= {name for name in graphs if not in_turn.isdisjoint(orders[name])}
    plans = {
        name: _source_plan(order, graphs[name], record_at_a_time=name in one_by_one)
        for name, order in orders.items()
    }
    return ExecutionPlan(
        {name: replace(each, writes_in_turn=name in in_turn) for name, each in nodes.items()},
        {name: plans[name] for name in sources},
        {name: plans[name] for name in cached},
        any(e.effects.takes_single_records or e.effects.reads_origin for e in nodes.values()),
    )


def _node_plan(
    topology: Topology,
    name: str,
    cached_stores: frozenset[str],
    sink_letters: frozenset[str | None],
) -> NodePlan:
    node, children = topology.nodes[name], topology.children[name]
    if isinstance(node, SinkNode):
        topics = {node.topic if isinstance(node.topic, str) else None, *sink_letters}
        return NodePlan(node, effects_of(node), children, topics=frozenset(topics))
    if not isinstance(node, ProcessorNode):
        return NodePlan(node, effects_of(node), children)
    spec, letters = node.operator, effects_of(node).dead_letters
    if isinstance(spec, ops.Branch | ops.Wrapped) and spec.branches is not None:
        children = tuple(child for _, child in spec.branches)
    return NodePlan(
        node,
        effects_of(node),
        children,
        writes_cache=not cached_stores.isdisjoint(node.stores),
        is_cached=table_store(spec) in cached_stores,
        topics=frozenset() if letters is None else frozenset({letters}),
    )


def table_operator(spec: ops.OperatorSpec) -> ops.OperatorSpec | None:
    """Returns the operator whose table's changes go on from a cache, if it has one; None where they never do.

    Changes of a processor's store go nowhere; what is given out when windows close does not wait in a cache.
    """
    inner = spec.inner if isinstance(spec, ops.Wrapped) else spec
    gives_final = bool(getattr(inner, "emit_final", False))
    return None if gives_final or isinstance(inner, ops.Process) else inner


def table_store(spec: ops.OperatorSpec) -> str | None:
    """Returns the store of the operator's table; None where its changes never wait in a cache."""
    store: str | None = getattr(table_operator(spec), "store", None)
    return store


def _source_plan(
    order: list[str], graph: Mapping[str, NodePlan], *, record_at_a_time: bool
) -> SourcePlan:
    takes_arrays = any(graph[name].effects.reads_arrays for name in order)
    return SourcePlan(tuple(order), record_at_a_time, record_at_a_time and not takes_arrays)


def _parents_first(start: str, graph: Mapping[str, NodePlan]) -> list[str]:
    """Depth first in the order of children, but a node only after all its parents."""
    waiting = Counter[str]()
    seen: set[str] = set()
    stack = [start]
    while stack:
        name = stack.pop()
        if name not in seen:
            seen.add(name)
            waiting.update(graph[name].reached)
            stack.extend(graph[name].reached)
    order: list[str] = []
    ready = [start]
    while ready:
        name = ready.pop()
        order.append(name)
        for child in reversed(graph[name].reached):
            waiting[child] -= 1
            if waiting[child] == 0:
                ready.append(child)
    return order


def _merges(order: list[str], graph: Mapping[str, NodePlan]) -> bool:
    """Whether ordinals alone bring rows into the order of record-at-a-time processing."""
    effects = [graph[name].effects for name in order]
    if any(each.takes_single_records for each in effects):
        return False
    if sum(each.is_seen for each in effects) > 1:
        return False
    if any(graph[name].effects.holds_rows and _is_asked_below(name, graph) for name in order):
        return False
    if _shared_stores(effects):
        return False
    turns = {name: turn for turn, name in enumerate(order)}
    return all(_is_simple_meeting(places, turns, graph) for places in _meetings(order, graph))


def _shared_stores(effects: Iterable[Effects]) -> set[str]:
    """Stores that more than one of the nodes touch."""
    users = Counter(store for each in effects for store in each.stores)
    return {store for store, count in users.items() if count > 1}


def _in_turn(order: list[str], graph: Mapping[str, NodePlan]) -> set[str]:
    """Nodes whose single writes are seen by others on the same way."""
    shared = _shared_stores(graph[name].effects for name in order)
    return {
        name
        for name in order
        if graph[name].effects.writes_row_by_row
        and not graph[name].is_cached
        and not shared.isdisjoint(graph[name].effects.stores)
    }


def _is_asked_below(name: str, graph: Mapping[str, NodePlan]) -> bool:
    """Whether anything below asks where its rows come from, or keeps that with them until a cache is flushed."""
    below = (graph[each] for each in _parents_first(name, graph)[1:])
    return any(each.effects.reads_origin or each.is_cached for each in below)


def _meetings(order: list[str], graph: Mapping[str, NodePlan]) -> list[set[str]]:
    """Places where rows of several paths meet: nodes with several parents, those that may write to one topic."""
    parents = Counter(child for name in order for child in graph[name].reached)
    meetings = [{name} for name, count in parents.items() if count > 1]
    writers: dict[str | None, set[str]] = {}
    for name in order:
        for topic in graph[name].topics:
            writers.setdefault(topic, set()).add(name)
    to_any = writers.pop(None, set())
    if to_any:
        writers = {None: to_any.union(*writers.values())}
    return meetings + [names for names in writers.values() if len(names) > 1]


def _is_simple_meeting(
    places: set[str], turns: Mapping[str, int], graph: Mapping[str, NodePlan]
) -> bool:
    """All paths part at one node whose rows have an ordinal each, and share nothing until they meet.

    `turns`: when each node runs; rows of one ordinal meet in the order of the last nodes on their paths.
    """
    paths = _paths(next(iter(turns)), places, graph)
    if paths is None:
        return False
    arrivals = [(turns[path[-1]], turns[path[-2]]) for path in paths if len(path) > 1]
    if arrivals != sorted(arrivals):
        return False
    shared = 0
    while (
        all(len(path) > shared + 1 for path in paths) and len({path[shared] for path in paths}) == 1
    ):
        shared += 1
    if any(graph[name].effects.multiplies for name in paths[0][:shared]):
        return False
    between = Counter(name for path in paths for name in path[shared:-1])
    return all(count == 1 for count in between.values())


def _paths(
    start: str, places: set[str], graph: Mapping[str, NodePlan]
) -> list[tuple[str, ...]] | None:
    """All paths from the start to the places, in depth-first order; None if there are too many.

    What a node writes that has others below it, such as dead letters, parts from what it gives to
    them: its path names it twice.
    """
    found: list[tuple[str, ...]] = []
    stack: list[tuple[str, ...]] = [(start,)]
    while stack:
        path = stack.pop()
        if path[-1] in places:
            is_end = len(places) == 1 or isinstance(graph[path[-1]].node, SinkNode)
            found.append(path if is_end else (*path, path[-1]))
            if len(found) > _PATHS_MAX:
                return None
            if is_end:
                continue
        stack.extend((*path, child) for child in reversed(graph[path[-1]].reached))
    return found
