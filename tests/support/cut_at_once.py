"""Cuts a replica as `LogCutter` does, without a pool: for tests that are not about the time it takes."""

from __future__ import annotations

from collections.abc import Callable

from millstream.log.truncation import LogCut
from millstream.replication.partition import Partition
from millstream.runtime import Instant

NOW = Instant(1_000_000, 0)


def cut_at_once(partition: Partition, cut: LogCut | None) -> None:
    """Makes a cut that was planned, and brings it to the disk. Raises what `Partition.make_cut` raises."""
    if cut is None:
        return
    cut.read()
    while not partition.make_cut(cut, partition.leader_epoch):
        cut.read()
    cut.settle()
    partition.log.cuts.complete(cut, NOW)


def start_at_once(
    partition: Partition, cut: LogCut, then: Callable[[Exception | None], None]
) -> None:
    """Stands for `LogCutter.start`."""
    cut_at_once(partition, cut)
    then(None)
