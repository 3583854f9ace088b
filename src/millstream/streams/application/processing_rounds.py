"""Decides how many records a task processes before its thread looks at the clock, the group and the other tasks again.

Pure.

Kafka Streams adds and halves rounds of one record by the time since the last poll (StreamThread.numIterations). Here a
round is a run through columns, so its size follows the time that records take: fast functions get all that there is at
once, slow ones a few records.
"""

from __future__ import annotations

from typing import Final

from millstream.streams.topology.nodes import ProcessorNode
from millstream.streams.topology.operators import (
    MapAsync,
    MapValuesAsync,
    MapValuesWithRetries,
    ProcessAsync,
)
from millstream.streams.topology.topology import Topology

ROUND_MS: Final = 100
"""The tasks of a thread together are to take no longer."""
FIRST_RECORDS_MAX: Final = 128
"""Nobody knows yet how long they take."""
_LARGEST: Final = 2**20
"""Far more than buffered.records.per.partition lets anybody queue; only so that the number ends."""
_CALLS_EACH: Final = 4
"""So many calls after each other a round of async functions has room for, or the last of each round would
wait for a slow one too often."""


class ProcessingRounds:
    """The rounds of one task. `records_max` is the size of the next one."""

    def __init__(self, records_min: int = 1) -> None:
        self._records_min = records_min
        self.records_max = max(FIRST_RECORDS_MAX, records_min)

    def end(self, records: int, elapsed_ms: int, target_ms: int) -> bool:
        """Notes a round, which was to take `target_ms`. Returns whether there may be more records."""
        is_cut = records >= self.records_max
        if records and elapsed_ms > target_ms:
            fitting = records * max(1, target_ms) // elapsed_ms
            self.records_max = max(self._records_min, min(self.records_max, fitting))
        elif is_cut and elapsed_ms * 2 <= target_ms:
            self.records_max = min(_LARGEST, 2 * self.records_max)
        return is_cut


def records_min(topology: Topology, sub_topology: int) -> int:
    """Returns the smallest round that keeps the async functions of a sub-topology busy."""
    calls = (
        node.operator.calls
        for group in topology.sub_topologies
        if group.id == sub_topology
        for node in (topology.nodes[name] for name in group.nodes)
        if isinstance(node, ProcessorNode)
        and isinstance(
            node.operator, MapAsync | MapValuesAsync | MapValuesWithRetries | ProcessAsync
        )
    )
    return max((_CALLS_EACH * each.max_in_flight for each in calls if each is not None), default=1)
