"""Operators that go through the rows of a batch: the row at which one fails is noted, in one place for all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import millstream.streams
from millstream.streams import StreamsConfig
from millstream.streams.kernel.columns.batch import Batch
from millstream.streams.kernel.context import NodeContext, TaskFacts, TaskParts
from millstream.streams.kernel.counts import TaskCounts
from millstream.streams.kernel.current_run import CurrentRun
from millstream.streams.kernel.operator import RowByRow
from millstream.streams.kernel.schedule import Schedule
from millstream.streams.metrics import StreamsMetrics


class Inverted(RowByRow):
    def process(self, batch: Batch) -> Batch:
        return batch.with_values(self.loop(batch.ordinals, batch.values, self.inverted))

    @staticmethod
    def inverted(values: Iterator[object]) -> list[object]:
        return [1 / value for value in values]  # type: ignore[operator]  # numbers, as the tests give them


def context_of_a_task() -> NodeContext:
    current = CurrentRun(0)
    facts = TaskFacts(
        StreamsConfig("app"), "0_0", False, StreamsMetrics(lambda: 0, {}), lambda: None
    )
    parts = TaskParts(facts, current, TaskCounts(current), Schedule())
    return NodeContext("node", parts, NothingBelow())


class NothingBelow:
    """Of operators that neither send rows on by themselves nor give them up."""

    def send_on(self, *_: object) -> None:
        raise AssertionError("nothing is sent on")

    def give_up(self, *_: object) -> None:
        raise AssertionError("nothing is given up")


def inverted(*values: object) -> tuple[NodeContext, Batch | ZeroDivisionError]:
    context = context_of_a_task()
    rows = len(values)
    batch = Batch(
        [None] * rows, [*values], [0] * rows, [()] * rows, [7 + row for row in range(rows)]
    )
    try:
        return context, Inverted(context).process(batch)
    except ZeroDivisionError as error:
        return context, error


@pytest.mark.parametrize("row", [0, 1, 2])
def test_the_row_that_was_come_to_is_the_one_that_failed(row: int) -> None:
    values = [1, 2, 4]
    values[row] = 0
    context, error = inverted(*values)
    assert isinstance(error, ZeroDivisionError)
    assert context.current.failed_ordinal == 7 + row


def test_nothing_is_noted_where_all_goes_well() -> None:
    context, batch = inverted(1, 2, 4)
    assert isinstance(batch, Batch)
    assert batch.values == [1.0, 0.5, 0.25]
    assert context.current.failed_ordinal is None


def test_a_loop_that_has_come_to_no_row_has_failed_at_none() -> None:
    def fails_at_once(_values: Iterator[object]) -> None:
        raise ZeroDivisionError

    context = context_of_a_task()
    with pytest.raises(ZeroDivisionError):
        Inverted(context).loop([7], [1], fails_at_once)
    assert context.current.failed_ordinal is None


def test_one_module_notes_the_row_for_all_operators() -> None:
    root = Path(millstream.streams.__file__).parent
    noting = re.compile(r"\.failed_ordinal = (?!None)")
    notes = [
        str(each.relative_to(root))
        for each in root.rglob("*.py")
        if noting.search(each.read_text())
    ]
    assert notes == ["kernel/operator.py"]
