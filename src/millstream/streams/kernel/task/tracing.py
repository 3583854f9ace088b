"""Tracing of a task: which records are traced, and the traversal that notes what each node is given."""

from __future__ import annotations

from millstream.streams.kernel.columns.batch import Batch
from millstream.streams.kernel.current_run import CurrentRun
from millstream.streams.kernel.task.traversal import DepthFirst, OnFailure, RunningNode
from millstream.streams.tracing import OnTrace, RecordTrace, TracedRow, TraceStep


class Tracer(DepthFirst):
    """Traces one record of so many (`every`). Others are counted, and pass as they would without it.

    A traced record goes depth first, alone, which nobody can tell from a batch but by its speed.
    """

    def __init__(
        self,
        current: CurrentRun,
        task_id: str,
        on_failure: OnFailure,
        every: int,
        on_trace: OnTrace,
    ) -> None:
        super().__init__(current, self._handle_error)
        self._task_id = task_id
        self._raise_or_skip = on_failure
        self._every = every
        self._on_trace = on_trace
        self._passed = 0
        self._path: list[TraceStep] = []
        self._trace: RecordTrace | None = None

    @property
    def untraced(self) -> int:
        """The number of records that come before the next one to be traced."""
        return self._every - 1 - self._passed

    def count_passed(self, records: int) -> None:
        """Counts records that were not traced."""
        self._passed += records

    def trace(self, start: RunningNode, one: Batch) -> None:
        """Sends a record through the nodes from its source on, and gives its trace out, also where it fails."""
        current, run = self.current, self.current.run
        assert run.topic is not None, "records have a topic"
        self._passed = 0
        current.record.ordinal = one.ordinals[0]
        offset = run.offsets[one.ordinals[0]]
        trace = RecordTrace(self._task_id, run.topic, current.partition, offset)
        self._trace = trace
        try:
            self.deliver(start, one)
        finally:
            self._trace = None
            self._path.clear()
            self._on_trace(trace)

    def deliver(self, each: RunningNode, rows: Batch) -> None:
        trace = self._trace
        if trace is None:
            super().deliver(each, rows)
            return
        row = TracedRow(rows.keys[0], rows.values[0], rows.timestamps[0], rows.headers[0])
        step = TraceStep(each.name, row, not each.children)
        if self._path:
            self._path[-1].steps.append(step)
        else:
            trace.root = step
        self._path.append(step)
        try:
            super().deliver(each, rows)
        except Exception as error:
            step.error = step.error or repr(error)
            raise
        finally:
            self._path.pop()

    def _handle_error(self, node: str, rows: Batch, error: Exception) -> None:
        if self._path:
            self._path[-1].error = repr(error)
        self._raise_or_skip(node, rows, error)
