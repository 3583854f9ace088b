"""Effects of nodes as frozen data: what running a node does besides making rows out of rows.

Whether rows may go through a task as batches is decided by these facts alone (execution_plan.py). A kind of operator
that is not in the table is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from millstream.streams.topology import operators as ops
from millstream.streams.topology.nodes import Node, ProcessorNode, SinkNode
from millstream.streams.vectorised import Vectorised


@dataclass(frozen=True, slots=True)
class Effects:
    """The effects of running one node, besides giving rows to its children."""

    stores: tuple[str, ...] = ()
    """It may read and write these."""
    multiplies: bool = False
    """One row may become several."""
    takes_single_records: bool = False
    """Code of the user is given one record at a time, and may forward whatever it likes meanwhile."""
    is_seen: bool = False
    """The user sees when it is called, though nothing depends on it."""
    reads_arrays: bool = False
    """It takes arrays of a whole batch: rows had better not be read before it looks at them."""
    reads_origin: bool = False
    """It looks at where a row comes from: topic, partition, offset."""
    holds_rows: bool = False
    """It gives out rows that came with other records than those being processed."""
    writes_row_by_row: bool = False
    """A record may write several rows of its store, and each goes on before the next is written."""
    writes_last: bool = False
    """All functions of the user have been called before anything is written."""
    calls_once: bool = False
    """What it calls is not called again to find a row that failed: it knows that row."""
    dead_letters: str | None = None
    """The topic of the rows that it gives up, if it has one of its own."""
    may_run_again: bool = False
    """Rows of a batch that failed may be given to it once more, to find the one that failed."""


NO_EFFECTS: Final = Effects()
_MULTIPLIES: Final = Effects(multiplies=True)
_HOLDS_ROWS: Final = Effects(multiplies=True, holds_rows=True, reads_origin=True)
_TAKES_SINGLE_RECORDS: Final = Effects(takes_single_records=True)
_WRITES_LAST: Final = Effects(writes_last=True)

BY_KIND: Final[Mapping[type[ops.OperatorSpec], Effects]] = {
    ops.PassThrough: NO_EFFECTS,
    ops.Filter: NO_EFFECTS,
    ops.NullKeyFilter: NO_EFFECTS,
    ops.Map: NO_EFFECTS,
    ops.SelectKey: NO_EFFECTS,
    ops.MapValues: NO_EFFECTS,
    ops.FlatMap: _MULTIPLIES,
    ops.FlatMapValues: _MULTIPLIES,
    ops.MapAsync: Effects(calls_once=True),
    ops.MapValuesAsync: Effects(calls_once=True),
    ops.ProcessAsync: Effects(calls_once=True, multiplies=True),
    ops.MapValuesWithRetries: Effects(calls_once=True),
    ops.Peek: Effects(is_seen=True),
    ops.Branch: NO_EFFECTS,
    ops.StreamAggregate: NO_EFFECTS,
    ops.StreamCount: NO_EFFECTS,
    ops.StreamReduce: NO_EFFECTS,
    ops.WindowAggregate: _MULTIPLIES,
    ops.SlidingAggregate: _MULTIPLIES,
    ops.SessionAggregate: _MULTIPLIES,
    ops.TableSource: NO_EFFECTS,
    ops.TableFilter: _WRITES_LAST,
    ops.TableMapValues: _WRITES_LAST,
    ops.TableTransformValues: _TAKES_SINGLE_RECORDS,
    ops.TableToStream: NO_EFFECTS,
    ops.TableRegroup: _MULTIPLIES,
    ops.TableAggregate: NO_EFFECTS,
    ops.TableReduce: NO_EFFECTS,
    ops.TableJoin: _WRITES_LAST,
    ops.TableJoinMerge: NO_EFFECTS,
    ops.StreamTableJoin: _WRITES_LAST,
    ops.JoinWindow: NO_EFFECTS,
    ops.StreamJoin: _MULTIPLIES,
    ops.SelfJoin: _MULTIPLIES,
    ops.ForeignKeySubscribe: _MULTIPLIES,
    ops.ForeignKeyReceive: NO_EFFECTS,
    ops.ForeignKeyAnswer: NO_EFFECTS,
    ops.ForeignKeyNotify: _MULTIPLIES,
    ops.ForeignKeyResolve: _WRITES_LAST,
    ops.Suppress: _HOLDS_ROWS,
    ops.Process: _TAKES_SINGLE_RECORDS,
    ops.Wrapped: _TAKES_SINGLE_RECORDS,
}
"""What all operators of a kind do; what depends on the functions and settings of one comes on top of it."""


def effects_of(node: Node) -> Effects:
    """Returns the effects of one node of a topology."""
    if isinstance(node, SinkNode):
        return Effects(reads_origin=not isinstance(node.topic, str))
    if not isinstance(node, ProcessorNode):
        return NO_EFFECTS
    effects = replace(_of_operator(node.operator), stores=node.stores)
    hidden = effects.is_seen or effects.takes_single_records or effects.calls_once
    return replace(
        effects, may_run_again=not hidden and (effects.writes_last or not effects.stores)
    )


def _of_operator(spec: ops.OperatorSpec) -> Effects:
    effects = BY_KIND[type(spec)]
    match spec:
        case ops.Filter(predicate=function):
            return replace(effects, reads_arrays=isinstance(function, Vectorised))
        case ops.SelectKey(mapper=function) | ops.MapValues(mapper=function):
            return replace(effects, reads_arrays=isinstance(function, Vectorised))
        case ops.StreamTableJoin(joiner=function):
            if spec.buffer is not None:
                return _HOLDS_ROWS
            return replace(effects, reads_arrays=isinstance(function, Vectorised))
        case ops.MapValuesWithRetries(retry=retry):
            return replace(effects, dead_letters=retry.dead_letters)
        case ops.SessionAggregate():
            return replace(effects, writes_row_by_row=not spec.emit_final)
        case ops.Wrapped():
            inner = _of_operator(spec.inner)
            return replace(effects, writes_row_by_row=inner.writes_row_by_row)
        case _:
            return effects
