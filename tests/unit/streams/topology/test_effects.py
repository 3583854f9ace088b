"""Effects of nodes: every kind of operator says what it does, and what depends on functions and settings is seen."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from datetime import timedelta

import pytest

from millstream.streams import SessionWindows
from millstream.streams.topology import operators as ops
from millstream.streams.topology.effects import BY_KIND, NO_EFFECTS, Effects, effects_of
from millstream.streams.topology.nodes import ProcessorNode, SinkNode, SourceNode
from millstream.streams.vectorised import vectorised

GAP = SessionWindows.of(timedelta(seconds=1))


@vectorised
def whole_column(column):
    return column


def of(spec: ops.OperatorSpec, *stores: str) -> Effects:
    return effects_of(ProcessorNode("node", spec, ("parent",), stores))


def sessions(*, emit_final: bool) -> ops.SessionAggregate:
    return ops.SessionAggregate("store", GAP, int, max, max, emit_final=emit_final)


def test_every_kind_of_operator_says_what_it_does() -> None:
    kinds = {
        kind
        for kind in vars(ops).values()
        if isinstance(kind, type) and issubclass(kind, ops.OperatorSpec)
    }
    assert BY_KIND.keys() == kinds - {ops.OperatorSpec}


def test_effects_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        NO_EFFECTS.multiplies = True  # type: ignore[misc]  # that is what is tested


def test_sources_and_sinks_of_one_topic_have_no_effects() -> None:
    assert effects_of(SourceNode("source", ("in",))) == NO_EFFECTS
    assert effects_of(SinkNode("sink", ("parent",), "out")) == NO_EFFECTS


def test_a_sink_that_extracts_its_topic_asks_where_rows_come_from() -> None:
    sink = SinkNode("sink", ("parent",), lambda _key, _value, _context: "out")
    assert effects_of(sink) == Effects(reads_origin=True)


@pytest.mark.parametrize("kind", [ops.Filter, ops.SelectKey, ops.MapValues])
def test_vectorised_functions_read_arrays(kind: type) -> None:
    assert of(kind(whole_column)).reads_arrays
    assert not of(kind(len)).reads_arrays


def test_a_vectorised_joiner_reads_arrays_unless_records_wait_for_the_table() -> None:
    view = ops.StoreView("table")
    assert of(ops.StreamTableJoin(view, whole_column)).reads_arrays
    waiting = of(ops.StreamTableJoin(view, whole_column, buffer="buffer"), "table", "buffer")
    assert waiting == Effects(
        stores=("table", "buffer"), multiplies=True, holds_rows=True, reads_origin=True
    )


def test_sessions_are_written_row_by_row_unless_they_go_on_when_they_are_closed() -> None:
    assert of(sessions(emit_final=False), "store") == Effects(
        stores=("store",), multiplies=True, writes_row_by_row=True
    )
    assert not of(sessions(emit_final=True), "store").writes_row_by_row


def test_a_wrapped_operator_is_given_single_records_and_writes_as_the_one_inside() -> None:
    wrapped = ops.Wrapped(sessions(emit_final=False), object)
    assert of(wrapped, "store") == Effects(
        stores=("store",), takes_single_records=True, writes_row_by_row=True
    )
    assert of(ops.Wrapped(ops.FlatMap(len), object)) == Effects(takes_single_records=True)


def test_an_operator_without_stores_may_run_again_unless_the_user_sees_it() -> None:
    assert of(ops.MapValues(len)).may_run_again
    assert not of(ops.Peek(print)).may_run_again
    assert not of(ops.Process(object)).may_run_again


def test_an_operator_with_a_store_may_run_again_if_it_writes_after_all_functions_were_called() -> (
    None
):
    assert of(ops.TableFilter(bool, store="store"), "store").may_run_again
    assert of(ops.TableJoin(ops.StoreView("other"), max, is_left=True), "other").may_run_again
    assert not of(ops.StreamReduce("store", max), "store").may_run_again
