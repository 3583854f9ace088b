"""An UpstreamMerge gives out what upstream tasks have written in the order of its origin time, wherever it is interrupted."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from millstream.streams.kernel.columns.origins import UNKNOWN_UPSTREAM, OriginBatch
from millstream.streams.kernel.task.upstreams import (
    AT_ITS_END,
    NOT_BEGUN,
    DoneBehind,
    UpstreamMerge,
)

UPSTREAMS = range(3)
TIMES = st.integers(0, 12)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["read", "tell", "process", "commit", "restart", "roll back"]),
        st.integers(0, 8),
    ),
    max_size=60,
)


@dataclass(frozen=True, order=True)
class Record:
    """Ordered as it is to go on."""

    time: int
    upstream: int
    offset: int


@st.composite
def partitions(draw: st.DrawFn, *, ordered: bool = True) -> list[Record]:
    """Draws one partition: what upstream tasks write in the order of time, mixed by chance. Transactions leave gaps between offsets."""
    numbers = [*UPSTREAMS] if ordered else [*UPSTREAMS, UNKNOWN_UPSTREAM]
    writers = draw(st.lists(st.sampled_from(numbers), max_size=25))
    steps = draw(st.lists(st.integers(1, 3), min_size=len(writers), max_size=len(writers)))
    offsets = [each - 1 for each in accumulate(steps)]
    reached = dict.fromkeys(numbers, 0)
    found = []
    for writer, offset in zip(writers, offsets, strict=True):
        if ordered:
            reached[writer] += draw(st.integers(0, 3))
        else:  # an attempt that has failed is written again
            reached[writer] = draw(TIMES)
        found.append(Record(reached[writer], writer, offset))
    return found


@dataclass
class Runner:
    """Reads a partition into a merge, processes what comes out and commits, as a task does."""

    partition: list[Record]
    leaves_sleepers_out: bool = False
    """It says of an upstream task now and then that it is at its end, although it has more to write."""
    merge: UpstreamMerge = field(default_factory=UpstreamMerge)
    read: int = 0
    released: list[Record] = field(default_factory=list)
    processed: list[Record] = field(default_factory=list)
    committed: list[Record] = field(default_factory=list)
    position: tuple[int, DoneBehind | None] = (0, None)

    def step(self, kind: str, number: int) -> None:
        match kind:
            case "read":
                self.add(number)
            case "tell":
                self.tell(number)
            case "process":
                self.process(number)
            case "commit":
                self.commit()
            case "roll back":
                self.merge.clear()
                self.begin()
            case _:
                self.merge = UpstreamMerge()
                self.merge.resume(*self.position)
                self.begin()

    def add(self, number: int) -> None:
        rows = self.partition[self.read : self.read + number]
        self.read += len(rows)
        self.merge.add(origin_batch(rows))

    def tell(self, number: int) -> None:
        """Tells bounds that are true, and more or less exact."""
        reached = {}
        for upstream in UPSTREAMS:
            left = [each.time for each in self.partition[self.read :] if each.upstream == upstream]
            exact = min(left, default=AT_ITS_END)
            is_vague = (number >> upstream) & 1
            reached[upstream] = max(NOT_BEGUN, exact - number) if is_vague and left else exact
            if is_vague and self.leaves_sleepers_out:
                reached[upstream] = AT_ITS_END
        self.merge.expect(reached)

    def process(self, number: int) -> None:
        if not self.released:
            raw = self.merge.release()
            if raw is None:
                return
            by_offset = {each.offset: each for each in self.partition}
            self.released = [by_offset[offset] for offset in raw.offsets]
        done = self.released[:number]
        self.released = self.released[number:]
        self.merge.take(len(done))
        self.processed += done

    def commit(self) -> None:
        self.position = self.merge.position() or self.position
        self.merge.commit()
        self.committed += self.processed
        self.processed = []

    def begin(self) -> None:
        """Reads on from the committed position."""
        self.released, self.processed = [], []
        position = self.position[0]
        self.read = sum(each.offset < position for each in self.partition)

    def finish(self) -> list[Record]:
        self.add(len(self.partition))
        self.merge.expect(dict.fromkeys(UPSTREAMS, AT_ITS_END))
        while self.merge.waiting or self.released:
            self.process(len(self.partition))
        self.commit()
        return self.committed


def origin_batch(rows: list[Record]) -> OriginBatch:
    nothing: list[bytes | None] = [None] * len(rows)
    times = np.array([each.time for each in rows], np.int64)
    return OriginBatch(
        nothing,
        nothing,
        timestamps=times,
        offsets=np.array([each.offset for each in rows], np.int64),
        upstreams=np.array([each.upstream for each in rows], np.int64),
        origin_times=times,
    )


@given(partitions(), STEPS)
def test_records_go_on_by_origin_time_then_upstream_task_then_offset(
    partition: list[Record], steps: list[tuple[str, int]]
) -> None:
    runner = Runner(partition)
    for kind, number in steps:
        runner.step(kind, number)
        assert [*runner.committed, *runner.processed] == sorted(partition)[: done(runner)]
    assert runner.finish() == sorted(partition)
    assert runner.merge.position() in {None, (partition[-1].offset + 1 if partition else 0, None)}


@given(partitions(), STEPS)
def test_an_upstream_task_that_wakes_up_late_loses_nothing(
    partition: list[Record], steps: list[tuple[str, int]]
) -> None:
    runner = Runner(partition, leaves_sleepers_out=True)
    for kind, number in steps:
        runner.step(kind, number)
    found = runner.finish()
    assert sorted(found) == sorted(partition)
    for upstream in UPSTREAMS:  # its own order is kept
        mine = [each for each in found if each.upstream == upstream]
        assert mine == sorted(mine)


@given(partitions(ordered=False), STEPS)
def test_records_of_unknown_tasks_and_those_that_are_written_again_are_neither_lost_nor_doubled(
    partition: list[Record], steps: list[tuple[str, int]]
) -> None:
    runner = Runner(partition)
    for kind, number in steps:
        runner.step(kind, number)
    found = runner.finish()
    assert sorted(found) == sorted(partition)
    for upstream in (*UPSTREAMS, UNKNOWN_UPSTREAM):  # each keeps the order of its writes
        offsets = [each.offset for each in found if each.upstream == upstream]
        assert offsets == sorted(offsets)


def done(runner: Runner) -> int:
    return len(runner.committed) + len(runner.processed)
