"""How rows of one source travel through the operators of a task.

Whole batches go through the operators in an order in which every node comes after its parents; where paths
meet again, rows are merged by ordinal. That is indistinguishable from record at a time unless more than one
operator touches a store, user code is called in more than one place for its effects, or paths meet in a way
that ordinals do not decide. `Plan.record_at_a_time` says so, and rows then go one by one, depth first,
through the same operators.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from millstream.streams.errors import StreamsError
from millstream.streams.kernel.columns.batch import Batch, merge_by_ordinal
from millstream.streams.kernel.context import TaskContext
from millstream.streams.kernel.operator import Operator
from millstream.streams.topology.nodes import Node, ProcessorNode, SinkNode

_PATHS_MAX = 16

OnFailure = Callable[[str, Batch, Exception], None]
"""(node, rows, error): raises, or returns to leave the rows out."""


@dataclass(slots=True, eq=False)
class PlanNode:
    """A node of the task with its operator and children."""

    name: str
    node: Node
    operator: Operator
    children: list[PlanNode] = field(default_factory=list)
    has_cache: bool = False
    """The operator writes to a store that has a cache."""
    is_cached: bool = False
    """The changes of the table that the operator writes go on when its cache is flushed, not before."""
    is_sink: bool = field(init=False)

    def __post_init__(self) -> None:
        self.is_sink = isinstance(self.node, SinkNode)

    @property
    def reached(self) -> list[PlanNode]:
        """Where rows go at once."""
        return [] if self.is_cached else self.children


class Plan:
    """The nodes below one source."""

    def __init__(
        self,
        source: PlanNode,
        depth_first: DepthFirst,
        on_failure: OnFailure,
        *,
        single: bool,
        origins_matter: bool = False,
    ) -> None:
        self._source = source
        self._depth_first = depth_first
        self._on_failure = on_failure
        self._order = _parents_first(source)
        self.record_at_a_time = single or not _merges_by_ordinal(source, self._order)
        self.takes_lists = self.record_at_a_time and not any(
            each.operator.reads_arrays for each in self._order
        )
        """Whether rows had better be read all at once: none goes on without somebody who looks at it."""
        self._origins_matter = origins_matter
        if self.record_at_a_time:
            _tell_those_that_share(self._order)
        self._forgetful = [e.operator for e in self._order if e.operator.forwards_then_forgets]

    def run(self, batch: Batch) -> None:
        """Send rows from the source through everything below it."""
        if self.record_at_a_time:
            if self.takes_lists:
                batch = batch.as_lists()
            for one in batch.each():
                self._depth_first.context.ordinal = one.ordinals[0]
                self._depth_first.deliver(self._source, one)
        else:
            self._run_batch(batch)

    def _run_batch(self, batch: Batch) -> None:
        inbox: dict[str, list[Batch]] = {each.name: [] for each in self._order}
        inbox[self._source.name].append(batch)
        for each in self._order:
            batches = [rows for rows in inbox.pop(each.name) if len(rows)]
            if not batches:
                continue
            rows = merge_by_ordinal(batches)
            try:
                if each.has_cache:
                    self._depth_first.note_origin(rows)
                if each.is_cached:
                    self._absorb(each, rows)
                    continue
                routed = each.operator.route(rows)
                if routed is None:
                    routed = [each.operator.process(rows)] * len(each.children)
            except Exception as error:  # noqa: BLE001  # the handler raises it again with the place
                found = _narrowed(each, rows, error, self._depth_first.context.failed_ordinal)
                self._on_failure(each.name, *found)
                continue
            for child, given in zip(each.children, routed, strict=True):
                inbox[child.name].append(given)
        for operator in self._forgetful:
            operator.forwarded()

    def _absorb(self, each: PlanNode, rows: Batch) -> None:
        """Row by row where somebody below may ask what record a row came from."""
        if self._origins_matter or any(rows.headers):
            for one in rows.each():
                self._depth_first.deliver(each, one)
        else:
            each.operator.process(rows)


class DepthFirst:
    """Record at a time: a row runs through all nodes below before the next one starts."""

    def __init__(self, context: TaskContext, on_failure: OnFailure) -> None:
        self.context = context
        self._on_failure = on_failure

    def note_origin(self, rows: Batch) -> None:
        """For caches: where the last of the rows comes from, and its ordinal, should one have to make room."""
        context = self.context
        context.origin, context.ordinal = context.origin_of(rows), rows.ordinals[-1]

    def deliver(self, each: PlanNode, rows: Batch) -> None:
        """One row into a node, and what comes of it, row by row, into its children.

        What a sink raises is a failure of the node above it, which then gives nothing more to its other children.
        """
        operator = each.operator
        if each.is_sink:
            operator.process(rows)
            return
        try:
            if each.has_cache:
                self.note_origin(rows)
                if each.is_cached:
                    operator.process(rows)
                    return
            routed = operator.route(rows)
            if routed is not None:
                for child, given in zip(each.children, routed, strict=True):
                    if len(given):
                        self.deliver(child, given)
            elif operator.forwards_then_forgets:
                self._deliver_held(each, operator.process(rows))
            else:
                for one in operator.process(rows).each():
                    for child in each.children:
                        self.deliver(child, one)
        except Exception as error:  # noqa: BLE001  # the handler raises it again with the place
            self._on_failure(each.name, rows, error)

    def _deliver_held(self, each: PlanNode, rows: Batch) -> None:
        try:
            for row, one in enumerate(rows.each()):
                each.operator.forwarding(row)
                for child in each.children:
                    self.deliver(child, one)
        finally:
            each.operator.forwarded()

    def forward(self, each: PlanNode, rows: Batch, child: str | None) -> None:
        """One row from a node to all its children, or to the one named."""
        if child is not None and child not in {below.name for below in each.children}:
            raise StreamsError(f"{each.name} has no child {child} to forward to")
        for below in each.children:
            if child is None or below.name == child:
                self.deliver(below, rows)


def _narrowed(
    each: PlanNode, rows: Batch, error: Exception, failed_ordinal: int | None
) -> tuple[Batch, Exception]:
    """The one row that fails and its error, where the operator knows, or may be run again to find it; else all rows."""
    if failed_ordinal is not None:
        return rows.take((rows.ordinals.index(failed_ordinal),)), error
    node, operator = each.node, each.operator
    if not isinstance(node, ProcessorNode) or operator.has_side_effects:
        return rows, error
    if node.stores and not operator.runs_again:
        return rows, error
    for row in range(len(rows)):
        one = rows.take((row,))
        try:
            if each.operator.route(one) is None:
                each.operator.process(one)
        except Exception as again:  # noqa: BLE001  # it is the same, or none of the row's alone
            return (one, again) if repr(again) == repr(error) else (rows, error)
    return rows, error


def _parents_first(source: PlanNode) -> list[PlanNode]:
    """Depth first in the order of children, but a node only after all its parents."""
    waiting = Counter[str]()
    seen: set[str] = set()
    stack = [source]
    while stack:
        each = stack.pop()
        if each.name not in seen:
            seen.add(each.name)
            waiting.update(child.name for child in each.reached)
            stack.extend(each.reached)
    order: list[PlanNode] = []
    ready = [source]
    while ready:
        each = ready.pop()
        order.append(each)
        for child in reversed(each.reached):
            waiting[child.name] -= 1
            if waiting[child.name] == 0:
                ready.append(child)
    return order


def _merges_by_ordinal(source: PlanNode, order: list[PlanNode]) -> bool:
    """Whether ordinals alone bring rows into the order of record-at-a-time processing."""
    if any(each.operator.needs_records for each in order):
        return False
    if sum(each.operator.has_side_effects for each in order) > 1:
        return False
    if any(each.operator.forwards_then_forgets and _is_asked_below(each) for each in order):
        return False
    if _shared_stores(order):
        return False
    turns = {each.name: turn for turn, each in enumerate(order)}
    return all(_is_simple_meeting(source, places, turns) for places in _meetings(order))


def _shared_stores(order: list[PlanNode]) -> set[str]:
    """Stores that more than one of the operators touch."""
    users = Counter(store for each in order for store in _stores(each))
    return {store for store, count in users.items() if count > 1}


def _stores(each: PlanNode) -> tuple[str, ...]:
    return each.node.stores if isinstance(each.node, ProcessorNode) else ()


def _tell_those_that_share(order: list[PlanNode]) -> None:
    shared = _shared_stores(order)
    for each in order:
        if not each.is_cached and not shared.isdisjoint(_stores(each)):
            each.operator.shares_store()


def _is_asked_below(each: PlanNode) -> bool:
    """Whether anything below asks where its rows come from, or keeps that with them until a cache is flushed."""
    return any(below.operator.asks_origin or below.is_cached for below in _parents_first(each)[1:])


def _meetings(order: list[PlanNode]) -> list[set[str]]:
    """Places where rows of several paths meet: nodes with several parents, sinks of one topic."""
    parents = Counter(child.name for each in order for child in each.reached)
    meetings = [{name} for name, count in parents.items() if count > 1]
    sinks: dict[str | None, set[str]] = {}
    for each in order:
        if isinstance(each.node, SinkNode):
            topic = each.node.topic
            sinks.setdefault(topic if isinstance(topic, str) else None, set()).add(each.name)
    extracting = sinks.pop(None, set())
    if extracting:
        everywhere = extracting.union(*sinks.values())
        return [*meetings, everywhere] if len(everywhere) > 1 else meetings
    return meetings + [names for names in sinks.values() if len(names) > 1]


def _is_simple_meeting(source: PlanNode, places: set[str], turns: dict[str, int]) -> bool:
    """All paths part at one node whose rows have an ordinal each, and share nothing until they meet.

    `turns`: when each node runs; rows of one ordinal meet in the order of the last nodes on their paths.
    """
    paths = _paths(source, places)
    if paths is None:
        return False
    arrivals = [(turns[path[-1].name], turns[path[-2].name]) for path in paths if len(path) > 1]
    if arrivals != sorted(arrivals):
        return False
    shared = 0
    while (
        all(len(path) > shared + 1 for path in paths) and len({path[shared] for path in paths}) == 1
    ):
        shared += 1
    parting = paths[0][:shared]
    if any(each.operator.multiplies for each in parting):
        return False
    between = Counter(each.name for path in paths for each in path[shared:-1])
    return all(count == 1 for count in between.values())


def _paths(source: PlanNode, places: set[str]) -> list[list[PlanNode]] | None:
    """All paths from the source to the places, in depth-first order; None if there are too many."""
    found: list[list[PlanNode]] = []
    stack = [[source]]
    while stack:
        path = stack.pop()
        if path[-1].name in places:
            found.append(path)
            if len(found) > _PATHS_MAX:
                return None
            continue
        stack.extend([*path, child] for child in reversed(path[-1].reached))
    return found
