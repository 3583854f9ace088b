"""The nodes of a sub-topology as they run in one task, and the ways of rows through them.

Kafka Streams' class of this name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial

from millstream.streams.handlers import OutgoingRecord
from millstream.streams.kernel.columns.batch import Batch
from millstream.streams.kernel.context import NodeContext, TaskParts
from millstream.streams.kernel.operator import Operator
from millstream.streams.kernel.processors.processor import ProcessOperator
from millstream.streams.kernel.stateless import PassThroughOperator
from millstream.streams.kernel.task.failures import Failures
from millstream.streams.kernel.task.tracing import Tracer
from millstream.streams.kernel.task.traversal import DepthFirst, RunningNode, Traversal
from millstream.streams.topology.execution_plan import ExecutionPlan, NodePlan, SourcePlan
from millstream.streams.topology.nodes import SourceNode
from millstream.streams.tracing import OnTrace


class ProcessorTopology:
    """One per task. `make_operator` makes what runs a node."""

    def __init__(
        self,
        plan: ExecutionPlan,
        parts: TaskParts,
        failures: Failures,
        make_operator: Callable[[NodePlan, NodeContext], Operator],
    ) -> None:
        self._plan = plan
        self._parts = parts
        self._failures = failures
        self._nodes = {
            name: RunningNode(name, each, make_operator(each, NodeContext(name, parts, self)))
            for name, each in plan.nodes.items()
        }
        for name, each in plan.nodes.items():
            self._nodes[name].children = [self._nodes[child] for child in each.children]
        operators = {name: each.operator for name, each in self._nodes.items()}
        self.processors = {n: o for n, o in operators.items() if isinstance(o, ProcessOperator)}
        config = parts.facts.config
        self._rows_max = 1 if self.processors else config.batch_records_max
        self.trace(config.trace_every, config.on_trace)

    @property
    def nodes(self) -> Collection[RunningNode]:
        return self._nodes.values()

    def initialize_processors(self) -> None:
        """Gives every processor its way to forward, then calls init in the order of the nodes."""
        for name, operator in self.processors.items():
            operator.processor_context.emit = partial(self._forward, self._nodes[name])
        for operator in self.processors.values():
            operator.init()

    @property
    def closers(self) -> list[Callable[[], object]]:
        """The calls that are made when the task is closed, in their order."""
        return [*(each.close for each in self.processors.values()), *self._parts.closers]

    def trace(self, every: int, on_trace: OnTrace) -> None:
        """Gives the trace of one record of so many to `on_trace`, from now on; 0: of none."""
        current, task_id = self._parts.current, self._parts.facts.task_id
        failed = self._handle_error
        self._tracer = Tracer(current, task_id, failed, every, on_trace) if every else None
        self._depth_first = self._tracer or DepthFirst(current, failed)
        self._traversals = {
            name: self._traversal(plan, self._nodes[name], self._depth_first)
            for name, plan in self._plan.sources.items()
        }

    @property
    def rows_max(self) -> int:
        """The largest number of rows that may be run together."""
        tracer, rows_max = self._tracer, self._rows_max
        return rows_max if tracer is None else min(rows_max, max(1, tracer.untraced))

    def run(self, source: str, rows: Batch) -> None:
        """Sends rows from a source through everything below it."""
        if self._tracer is None:
            self._traversals[source].run(rows)
        elif self._tracer.untraced:
            self._tracer.count_passed(len(rows))
            self._traversals[source].run(rows)
        elif len(rows):
            self._tracer.trace(self._nodes[source], rows)

    def way_of_table(self, name: str) -> Traversal:
        """Returns the way of what leaves the table's cache.

        It is not traced: those are other records than the one that is.
        """
        table = self._nodes[name]
        passing = PassThroughOperator(NodeContext(name, self._parts, self))
        written = RunningNode(name, table.plan.as_start(), passing, table.children)
        depth_first = DepthFirst(self._parts.current, self._handle_error)
        return self._traversal(self._plan.tables[name], written, depth_first)

    def _traversal(
        self, plan: SourcePlan, start: RunningNode, depth_first: DepthFirst
    ) -> Traversal:
        nodes = [start, *(self._nodes[name] for name in plan.order[1:])]
        origins = self._plan.keeps_origins
        return Traversal(plan, nodes, depth_first, self._handle_error, keeps_origins=origins)

    def _forward(self, each: RunningNode, rows: Batch, child: str | None) -> None:
        self._depth_first.forward(each, rows, child)

    def give_up(
        self, node: str, row: Batch, error: Exception, letter: OutgoingRecord | None
    ) -> None:
        """Has a row fail that its node has tried to process again and again."""
        self._failures.handle_given_up(node, row, error, letter)

    def send_on(self, node: str, given: Batch, made: Batch) -> None:
        """Sends what a node makes of a row to its children.

        What a sink raises is a failure of the node, as in a traversal.
        """
        try:
            self._depth_first.forward(self._nodes[node], made, None)
        except Exception as error:  # noqa: BLE001  # the handler raises it again with the place
            self._handle_error(node, given, error)

    def _handle_error(self, node: str, rows: Batch, error: Exception) -> None:
        self._parts.current.failed_ordinal = None
        if isinstance(self._plan.nodes[node].node, SourceNode):
            self._failures.at_source(node, rows, error)
        self._failures.handle_processing_failure(node, rows, error)
