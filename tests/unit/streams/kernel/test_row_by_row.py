"""Operators that go through the rows of a batch: the row at which one fails is noted, in one place for all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import millstream.streams
from millstream.streams import StreamsConfig
from millstream.streams.kernel.columns.batch import Batch
from millstream.streams.kernel.context import TaskContext
from millstream.streams.kernel.operator import RowByRow


class Inverted(RowByRow):
    def process(self, batch: Batch) -> Batch:
        return batch.with_values(self.loop(batch.ordinals, batch.values, self.inverted))

    @staticmethod
    def inverted(values: Iterator[object]) -> list[object]:
        return [1 / value for value in values]  # type: ignore[operator]  # numbers, as the tests give them


def inverted(*values: object) -> tuple[TaskContext, Batch | ZeroDivisionError]:
    context = TaskContext(StreamsConfig("app"), 0, "0_0")
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
    assert context.failed_ordinal == 7 + row


def test_nothing_is_noted_where_all_goes_well() -> None:
    context, batch = inverted(1, 2, 4)
    assert isinstance(batch, Batch)
    assert batch.values == [1.0, 0.5, 0.25]
    assert context.failed_ordinal is None


def test_a_loop_that_has_come_to_no_row_has_failed_at_none() -> None:
    def fails_at_once(_values: Iterator[object]) -> None:
        raise ZeroDivisionError

    context = TaskContext(StreamsConfig("app"), 0, "0_0")
    with pytest.raises(ZeroDivisionError):
        Inverted(context).loop([7], [1], fails_at_once)
    assert context.failed_ordinal is None


def test_one_module_notes_the_row_for_all_operators() -> None:
    root = Path(millstream.streams.__file__).parent
    noting = re.compile(r"\.failed_ordinal = (?!None)")
    notes = [
        str(each.relative_to(root))
        for each in root.rglob("*.py")
        if noting.search(each.read_text())
    ]
    assert notes == ["kernel/operator.py"]
