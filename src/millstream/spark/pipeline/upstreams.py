"""The order of time across the repartition topics that a sub-topology reads (ADR 0021): the driver finds out how far
its upstream tasks have come.

A micro-batch takes what may go on; a task keeps the rest, which it has read, for the next one. Pure but for the look.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from millstream.clients.admin import Admin
from millstream.model import Offset, TopicPartition
from millstream.streams.kernel.task.upstreams import NOT_BEGUN
from millstream.streams.runtime.upstreams.looks import look_at_cluster
from millstream.streams.runtime.upstreams.progress import Reached, UpstreamProgress, flow_of
from millstream.streams.runtime.upstreams.timeouts import UpstreamTimeouts
from millstream.streams.topology.alignment import Alignment
from millstream.streams.topology.plan import TopologyPlan

_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TimeOrder:
    """The things that all sub-topologies of an application share about the order of time.

    `alignment`: the repartition topics that are read in it. `timeout_ms`: upstream_timeout_ms. `available`:
    the ends to which source topics are read, where not to those that they have by now. `at_work`: the
    sub-topologies that run a micro-batch now.
    """

    alignment: Alignment
    timeout_ms: int
    available: dict[TopicPartition, Offset] = field(default_factory=dict)
    at_work: set[int] = field(default_factory=set)


@dataclass(slots=True)
class UpstreamTasks:
    """Those of one sub-topology, as the last look has found them."""

    application_id: str
    sub_topology: int
    order: TimeOrder
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    """The ends of all inputs at the last look, which was after that at the tasks."""
    _progress: UpstreamProgress | None = None
    _plan: TopologyPlan | None = None
    _told: dict[int, Reached] = field(default_factory=dict)
    _timeouts: dict[int, UpstreamTimeouts] = field(default_factory=dict)
    """By partition of the task that waits."""

    @property
    def alignment(self) -> Alignment:
        return self.order.alignment

    @property
    def are_at_work(self) -> bool:
        """Whether one of them is in the middle of a micro-batch: it comes forward, however long that takes."""
        upstream = self.alignment.upstream_of(self.sub_topology)
        # Threads of other sub-topologies change the set meanwhile; it holds plain numbers, so each call is one step for
        # them.
        return not upstream.isdisjoint(self.order.at_work)

    @property
    def read(self) -> frozenset[str]:
        """The topics of the sub-topology that are aligned."""
        return self.alignment.read.get(self.sub_topology, frozenset())

    @property
    def writes_aligned(self) -> bool:
        """Whether what the sub-topology writes is read in the order of time."""
        return self.sub_topology in self.alignment.writers.values()

    async def look(self, admin: Admin, plan: TopologyPlan, *, is_read_committed: bool) -> None:
        """Looks at the cluster.

        Ends that are `available` count instead of those that a topic has by now: nobody is to read further.

        It looks as often as there are sub-topologies on the way: each look tells of one more that has nothing left.
        """
        flow = flow_of(plan, self.alignment)
        if self._progress is None or plan != self._plan:
            self._plan, self._progress = plan, UpstreamProgress(flow)
        for _ in self.alignment.upstream_of(self.sub_topology):
            look = await look_at_cluster(
                admin, self.application_id, flow, dict, is_read_committed=is_read_committed
            )
            look = replace(look, ends={**look.ends, **self.order.available})
            self._progress.take(look)
            self.ends = look.ends

    def reached(
        self,
        partition: int,
        topics: Collection[str],
        ends: Mapping[str, int],
        now_ms: int,
        *,
        is_waiting: bool,
    ) -> Reached:
        """Returns how far the upstream tasks of a task have come that reads its `topics` up to `ends`.

        That holds where nothing is left behind them.

        `now_ms` is monotonic. `is_waiting`: the task holds records, and no upstream task is at work.
        """
        assert self._progress is not None, "it is looked before"
        timeouts = self._timeouts.setdefault(
            partition,
            UpstreamTimeouts(
                f"{self.sub_topology}_{partition}", self.alignment.writers, self.order.timeout_ms
            ),
        )
        found: dict[str, Mapping[int, int]] = {}
        for topic in self.read.intersection(topics):
            tp = TopicPartition(topic, partition)
            reached = self._progress.of_topic(topic)
            is_all = ends.get(topic, 0) >= self.ends.get(tp, 0)
            found[topic] = dict.fromkeys(reached, NOT_BEGUN)
            if is_all:
                found[topic] = timeouts.judge(topic, reached, now_ms, is_waiting=is_waiting)
        for overdue in timeouts.take_overdue():
            _LOGGER.warning("application %s: %s", self.application_id, overdue.text)
        return found

    def have_come_further(self, partition: int, reached: Reached) -> bool:
        """Whether a task that holds records may get on with some of them now."""
        return self._told.get(partition) != reached

    def note(self, partition: int, reached: Reached) -> None:
        """Notes what a task was told."""
        self._told[partition] = reached


NOTHING_REACHED: Final[Reached] = {}
