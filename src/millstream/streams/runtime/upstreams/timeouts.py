"""Finds the upstream tasks that a task waits for in vain (upstream_timeout_ms, ADR 0021). Pure; times are monotonic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from millstream.streams.kernel.task.upstreams import AT_ITS_END

_GRACE: Final = 10
"""Whoever may have waited for the upstream task that is given up has this part of the time to move
once that one is not waited for."""


@dataclass(frozen=True, slots=True)
class OverdueUpstream:
    """An upstream task that is not waited for any more.

    `task`: `sub-topology_partition`, as `waiting`, the task that has waited.
    """

    task: str
    topic: str
    waiting: str
    waited_ms: int
    timeout_ms: int

    @property
    def text(self) -> str:
        """Returns the sentence that tells people."""
        return (
            f"task {self.waiting} does not wait any longer for task {self.task}, which has records to read and has not come forward "
            f"for {self.waited_ms} ms (upstream_timeout_ms={self.timeout_ms}): until it moves, records of {self.topic} go on without "
            "its own, which may be late when they come. See whether that task runs, or give it more time"
        )


@dataclass(slots=True)
class _Clock:
    """Since when an upstream task stands where it is, as far as somebody has waited for it."""

    reached: int
    since_ms: int
    is_overdue: bool = False


@dataclass(slots=True)
class UpstreamTimeouts:
    """Of one task, `task` by its id. `writers`: by aligned topic that it reads, the sub-topology that writes it."""

    task: str
    writers: Mapping[str, int]
    timeout_ms: int
    _clocks: dict[str, dict[int, _Clock]] = field(default_factory=dict)
    _found: list[OverdueUpstream] = field(default_factory=list)

    def judge(
        self, topic: str, reached: Mapping[int, int], now_ms: int, *, is_waiting: bool
    ) -> Mapping[int, int]:
        """Returns how far the upstream tasks of a topic are to be taken to have come; those that are overdue are at
        their end until they move.

        `reached` is by partition of the upstream task. `is_waiting`: the task has queued records
        and could process none of them.
        """
        clocks = self._clocks.setdefault(topic, {})
        for partition, time in reached.items():
            clock = clocks.get(partition)
            if clock is None or clock.reached != time:
                clocks[partition] = _Clock(time, now_ms)
            elif not (is_waiting or clock.is_overdue):
                clock.since_ms = now_ms
        for gone in clocks.keys() - reached.keys():
            del clocks[gone]
        if is_waiting:
            self._find_overdue(topic, clocks, now_ms)
        return self.without_overdue(topic, reached)

    def without_overdue(self, topic: str, reached: Mapping[int, int]) -> Mapping[int, int]:
        """Returns as `judge` how far upstream tasks are to be taken to have come, by the last judgement."""
        clocks = self._clocks[topic]
        return {
            partition: AT_ITS_END if clocks[partition].is_overdue else time
            for partition, time in reached.items()
        }

    def take_overdue(self) -> list[OverdueUpstream]:
        """Returns the upstream tasks that have become overdue since the last call."""
        found, self._found = self._found, []
        return found

    def _find_overdue(self, topic: str, clocks: Mapping[int, _Clock], now_ms: int) -> None:
        """The slowest ones hold the task up. Others may wait for these themselves, and have a while from then on."""
        left = {
            partition: clock
            for partition, clock in clocks.items()
            if clock.reached != AT_ITS_END and not clock.is_overdue
        }
        slowest = min((clock.reached for clock in left.values()), default=AT_ITS_END)
        is_found = False
        for partition, clock in sorted(left.items()):
            waited_ms = now_ms - clock.since_ms
            if clock.reached == slowest and waited_ms >= self.timeout_ms:
                clock.is_overdue = is_found = True
                self._tell(topic, partition, waited_ms)
        if is_found:
            soonest_ms = now_ms - self.timeout_ms + self.timeout_ms // _GRACE
            for clock in left.values():
                if not clock.is_overdue:
                    clock.since_ms = max(clock.since_ms, soonest_ms)

    def _tell(self, topic: str, partition: int, waited_ms: int) -> None:
        """Says nothing where nobody is ever waited for, which is as it was wanted."""
        if self.timeout_ms:
            upstream = f"{self.writers[topic]}_{partition}"
            self._found.append(
                OverdueUpstream(upstream, topic, self.task, waited_ms, self.timeout_ms)
            )
