"""What records take is told without waits for a processor, so that rounds are as large on a busy machine as on an idle one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from millstream.streams.application.processing_rounds import ROUND_MS, ProcessingRounds
from millstream.streams.runtime.tasks.own_time import SHORT_MS, TIMES_OWN_MAX, OwnTime
from tests.unit.streams.application.manual_clock import MovedClock


class Machine:
    """On which a thread waits `busy` times as long for a processor as it has it."""

    def __init__(self, busy: int) -> None:
        self.clock = MovedClock()
        self.busy = busy
        self.waited_ms = 7_000
        """What the thread had waited before."""
        self.looks = 0
        self.own_time = OwnTime(self.clock, self.waited_ns)

    def waited_ns(self) -> int:
        self.looks += 1
        return self.waited_ms * 1_000_000

    def run(self, run_ms: int, sleep_ms: int = 0) -> Callable[[], str]:
        """Returns work that needs a processor for so long, and waits for something else."""

        def work() -> str:
            self.clock.pass_ms(run_ms * (1 + self.busy) + sleep_ms)
            self.waited_ms += run_ms * self.busy
            return "done"

        return work


@pytest.mark.parametrize("busy", [0, 1, TIMES_OWN_MAX - 1])
def test_waits_for_a_processor_do_not_count(busy: int) -> None:
    machine = Machine(busy)
    for _ in range(2):
        measured = machine.own_time.measure(machine.run(30))
        assert measured == ("done", 30, 30 * (1 + busy))


def test_waits_for_anything_else_count() -> None:
    machine = Machine(busy=3)
    assert machine.own_time.measure(machine.run(10, sleep_ms=100)) == ("done", 110, 140)


def test_work_that_others_wait_for_very_long_counts_for_more_than_it_has_run() -> None:
    machine = Machine(busy=99)
    assert machine.own_time.measure(machine.run(30)) == ("done", 300, 3_000)


def test_what_was_waited_between_two_pieces_of_work_belongs_to_neither() -> None:
    machine = Machine(busy=1)
    machine.own_time.measure(machine.run(30))
    machine.run(1_000)()
    assert machine.own_time.measure(machine.run(0, sleep_ms=80)) == ("done", 80, 80)


def test_short_work_costs_no_look() -> None:
    machine = Machine(busy=0)
    for _ in range(50):
        assert machine.own_time.measure(machine.run(0)) == ("done", 0, 0)
    assert machine.looks == 1
    for _ in range(50):
        machine.own_time.measure(machine.run(1))
    assert machine.looks <= 1 + 50 // SHORT_MS


@pytest.mark.parametrize(("busy", "smaller"), [(0, 1), (8, 1), (39, 4)])
def test_rounds_do_not_get_smaller_where_the_machine_is_busy(busy: int, smaller: int) -> None:
    """At first a record takes 1 ms, on a machine that is idle."""
    machine, rounds = Machine(busy), ProcessingRounds()
    for _ in range(20):
        records = rounds.records_max
        _, own_ms, whole_ms = machine.own_time.measure(machine.run(records))
        rounds.end(records, own_ms, ROUND_MS)
        assert whole_ms <= 2 * TIMES_OWN_MAX * ROUND_MS or records == 128
    assert rounds.records_max == ROUND_MS // smaller
