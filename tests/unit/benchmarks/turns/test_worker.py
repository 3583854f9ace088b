"""Speed in turns: what a process that measures does with its orders, and the clock it reads."""

from __future__ import annotations

import io
import json
import os
import time
from pathlib import Path

import pytest

from benchmarks.turns import broker_rows, kernel_rows
from benchmarks.turns.cpu_clock import process_cpu_s
from benchmarks.turns.ratios import Slice
from benchmarks.turns.rows import ROWS
from benchmarks.turns.worker import Measure, check_product, serve, warm


class Counted:
    """A row whose slices cost 1 s, 2 s, 3 s ... a unit."""

    def __init__(self, units: int) -> None:
        self.units = units
        self.slices = 0

    def prepare(self) -> Measure:
        return warm(self.slice_, 2)

    def slice_(self) -> Slice:
        self.slices += 1
        return Slice(self.units, float(self.slices * self.units))


def answers(*orders: dict[str, str]) -> list[object]:
    rows = {"count": Counted(10).prepare, "join": Counted(5).prepare}
    written = io.StringIO()
    serve(rows, (json.dumps(order) for order in orders), written)
    return [json.loads(line) for line in written.getvalue().splitlines()]


def test_a_slice_is_measured_when_the_row_is_warm() -> None:
    assert answers({"prepare": "count"}, {"measure": "count"}, {"measure": "count"}) == [
        {},
        {"units": 10, "cpu_s": 30.0},
        {"units": 10, "cpu_s": 40.0},
    ]


def test_a_row_is_forgotten_when_the_next_is_prepared() -> None:
    with pytest.raises(KeyError, match="count"):
        answers({"prepare": "count"}, {"prepare": "join"}, {"measure": "count"})


def test_what_is_no_order_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"not an order: \{'stop': 'count'\}"):
        answers({"stop": "count"})


def test_another_product_than_that_of_the_checkout_is_not_measured() -> None:
    with pytest.raises(RuntimeError, match="not from /elsewhere"):
        check_product(Path("/elsewhere"))


@pytest.mark.parametrize("module", [broker_rows, kernel_rows])
def test_the_module_of_a_group_has_its_rows(module: object) -> None:
    group = {broker_rows: "broker", kernel_rows: "kernel"}[module]
    with module.open_rows() as rows:
        assert list(rows) == [row.name for row in ROWS if row.group == group]


def test_the_clock_of_a_process_is_what_the_process_itself_reads() -> None:
    before = time.process_time()
    read = process_cpu_s(os.getpid())
    assert before <= read <= time.process_time()


def test_a_process_that_is_gone_has_no_clock() -> None:
    with pytest.raises(OSError, match="Invalid argument"):
        process_cpu_s(2**22 + 1)  # above the highest process id of Linux
