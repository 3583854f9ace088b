"""Sends the rows of one source through the operators of a task: in batches or depth first, as its plan says.

What the plan is, and why, is decided beforehand: topology/execution_plan.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from millstream.streams.errors import StreamsError
from millstream.streams.kernel.columns.batch import Batch, merge_by_ordinal
from millstream.streams.kernel.current_run import CurrentRun
from millstream.streams.kernel.operator import Operator
from millstream.streams.kernel.turns import RowsInTurn, deliver_in_turn
from millstream.streams.topology.execution_plan import NodePlan, SourcePlan
from millstream.streams.topology.nodes import SinkNode

OnFailure = Callable[[str, Batch, Exception], None]
"""(node, rows, error): raises, or returns to leave the rows out."""

_SAMPLE: Final = 8
"""The age of at least so many rows of a batch is measured, evenly spread over it and with the last: that
costs nothing beside the batch."""


@dataclass(slots=True, eq=False)
class RunningNode:
    """A node of the task with its operator and children."""

    name: str
    plan: NodePlan
    operator: Operator
    children: list[RunningNode] = field(default_factory=list)
    arrivals: list[int] | None = None
    """Where the age of records is measured: the timestamps of those that have come since it was
    last, of some of them in long batches."""
    is_sink: bool = field(init=False)
    writes_cache: bool = field(init=False)
    is_cached: bool = field(init=False)

    def note_arrivals(self, timestamps: list[int]) -> None:
        """Notes the timestamps of rows that have come."""
        assert self.arrivals is not None, "asked for only where it is measured"
        count = len(timestamps)
        if count <= _SAMPLE:
            self.arrivals += timestamps
        else:
            self.arrivals += timestamps[:: count // _SAMPLE]
            self.arrivals.append(timestamps[-1])

    def __post_init__(self) -> None:
        self.is_sink = isinstance(self.plan.node, SinkNode)
        self.writes_cache = self.plan.writes_cache
        self.is_cached = self.plan.is_cached


class Traversal:
    """The way of rows from one node through all nodes below it. `nodes` are those of the plan, in its order."""

    def __init__(
        self,
        plan: SourcePlan,
        nodes: list[RunningNode],
        depth_first: DepthFirst,
        on_failure: OnFailure,
        *,
        keeps_origins: bool,
    ) -> None:
        self._plan = plan
        self._nodes = nodes
        self._depth_first = depth_first
        self._on_failure = on_failure
        self._keeps_origins = keeps_origins

    def run(self, batch: Batch) -> None:
        """Send rows from the first node through everything below it."""
        if self._plan.record_at_a_time:
            if self._plan.reads_all_columns:
                batch = batch.as_lists()
            for one in batch.each():
                self._depth_first.current.record.ordinal = one.ordinals[0]
                self._depth_first.deliver(self._nodes[0], one)
        else:
            self._run_batch(batch)

    def _run_batch(self, batch: Batch) -> None:
        inbox: dict[str, list[Batch]] = {each.name: [] for each in self._nodes}
        inbox[self._nodes[0].name].append(batch)
        for each in self._nodes:
            batches = [rows for rows in inbox.pop(each.name) if len(rows)]
            if not batches:
                continue
            rows = merge_by_ordinal(batches)
            if each.arrivals is not None:
                each.note_arrivals(rows.timestamps)
            try:
                if each.writes_cache:
                    self._depth_first.note_origin(rows)
                if each.is_cached:
                    self._absorb(each, rows)
                    continue
                routed = each.operator.route(rows)
                if routed is None:
                    given = each.operator.process(rows)
                    given = given.at_once() if isinstance(given, RowsInTurn) else given
                    routed = [given] * len(each.children)
            except Exception as error:  # noqa: BLE001  # the handler raises it again with the place
                found = _narrowed(each, rows, error, self._depth_first.current.failed_ordinal)
                self._on_failure(each.name, *found)
                continue
            for child, given in zip(each.children, routed, strict=True):
                inbox[child.name].append(given)

    def _absorb(self, each: RunningNode, rows: Batch) -> None:
        """Row by row where a node below may ask what record a row came from."""
        if self._keeps_origins or any(rows.headers):
            for one in rows.each():
                self._depth_first.deliver(each, one)
        else:
            each.operator.process(rows)


class DepthFirst:
    """Record at a time: a row runs through all nodes below before the next one starts."""

    def __init__(self, current: CurrentRun, on_failure: OnFailure) -> None:
        self.current = current
        self._on_failure = on_failure

    def note_origin(self, rows: Batch) -> None:
        """For caches: where the last of the rows comes from, and its ordinal, should one have to make room."""
        current, record = self.current, self.current.record
        record.origin, record.ordinal = current.origin_of(rows), rows.ordinals[-1]

    def deliver(self, each: RunningNode, rows: Batch) -> None:
        """One row into a node, and what comes of it, row by row, into its children.

        What a sink raises is a failure of the node above it, which then gives nothing more to its other children.
        """
        operator = each.operator
        if each.arrivals is not None:
            each.arrivals += rows.timestamps
        if each.is_sink:
            operator.process(rows)
            return
        try:
            if each.writes_cache:
                self.note_origin(rows)
                if each.is_cached:
                    operator.process(rows)
                    return
            routed = operator.route(rows)
            if routed is not None:
                for child, given in zip(each.children, routed, strict=True):
                    if len(given):
                        self.deliver(child, given)
                return
            made = operator.process(rows)
            if isinstance(made, RowsInTurn):
                self._deliver_in_turn(each, made)
                return
            for one in made.each():
                for child in each.children:
                    self.deliver(child, one)
        except Exception as error:  # noqa: BLE001  # the handler raises it again with the place
            self._on_failure(each.name, rows, error)

    def _deliver_in_turn(self, each: RunningNode, made: RowsInTurn) -> None:
        def deliver_to_children(one: Batch) -> None:
            for child in each.children:
                self.deliver(child, one)

        deliver_in_turn(self.current, made, deliver_to_children)

    def forward(self, each: RunningNode, rows: Batch, child: str | None) -> None:
        """One row from a node to all its children, or to the one named."""
        if child is not None and child not in {below.name for below in each.children}:
            raise StreamsError(f"{each.name} has no child {child} to forward to")
        for below in each.children:
            if child is None or below.name == child:
                self.deliver(below, rows)


def _narrowed(
    each: RunningNode, rows: Batch, error: Exception, failed_ordinal: int | None
) -> tuple[Batch, Exception]:
    """The one row that fails and its error, where the operator knows, or may be run again to find it; else all rows."""
    if failed_ordinal is not None:
        return rows.take((rows.ordinals.index(failed_ordinal),)), error
    if not each.plan.effects.may_run_again:
        return rows, error
    for row in range(len(rows)):
        one = rows.take((row,))
        try:
            if each.operator.route(one) is None:
                each.operator.process(one)
        except Exception as again:  # noqa: BLE001  # it is the same, or none of the row's alone
            return (one, again) if repr(again) == repr(error) else (rows, error)
    return rows, error
