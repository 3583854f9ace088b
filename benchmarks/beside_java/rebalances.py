"""How long records wait while 100 tasks move: one of three instances leaves, and another comes."""

from __future__ import annotations

import math
import sys
import tempfile
import time
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.beside_java.flow import Flow
from benchmarks.beside_java.instances import Application, Cluster, Instance, Side
from millstream.clients import NewTopic
from millstream.clients.admin import StreamsGroupDescription

TASKS: Final = 100
INSTANCES: Final = 3
RECORDS_PER_S: Final = 300
STEADY_S: Final = 2.0
LIMIT_S: Final = 60
COMMIT_INTERVAL_MS: Final = 1_000
BAR_S: Final = 2
_NUMBERS: Final = count()


class Rebalance(NamedTuple):
    """The longest that any record has waited, from a second before the event until records flow as before."""

    leaves_s: float
    comes_s: float


def measured(side: Side, topology: str, cluster: Cluster) -> Rebalance:
    """Each partition gets three records a second all the while.

    An event is over when the group is stable, every instance has its share and nothing has come out late for two seconds.
    The one that leaves is told to end; the one that comes is a new process, which nobody waits for until it has joined.
    """
    name = f"rebalance-{next(_NUMBERS)}"
    with ExitStack() as running:
        group = _Group(side, topology, name, cluster, running)
        instances = [group.start() for _ in range(INSTANCES)]
        group.settle(INSTANCES)
        left = time.perf_counter()
        instances.pop().stop()
        leaves_s = group.longest_wait_s(left, INSTANCES - 1)
        came = time.perf_counter()
        group.start()
        return Rebalance(leaves_s, group.longest_wait_s(came, INSTANCES))


class _Group:
    """The instances of one application, and the records that flow through it."""

    def __init__(
        self, side: Side, topology: str, name: str, cluster: Cluster, running: ExitStack
    ) -> None:
        self._side, self._name, self._cluster, self._running = side, name, cluster, running
        source, out = f"{name}-in", f"{name}-out"
        cluster.admin.create_topics([NewTopic(source, TASKS), NewTopic(out, 1)]).raise_errors()
        self._application = Application(
            name,
            topology,
            source,
            out,
            cluster.servers,
            cache_max_bytes=0,
            commit_interval_ms=COMMIT_INTERVAL_MS,
        )
        self._flow = Flow(
            cluster.servers,
            source,
            out,
            partitions=TASKS,
            records_per_s=RECORDS_PER_S,
            isolation_level="read_uncommitted",
        )
        running.callback(self._flow.close)
        self._instances: list[Instance] = []

    def start(self) -> Instance:
        directory = self._running.enter_context(tempfile.TemporaryDirectory())
        instance = Instance(self._side, self._application, Path(directory))
        self._instances.append(self._running.enter_context(instance))
        return instance

    def settle(self, members: int) -> None:
        """Has records flow until so many members have shared the tasks evenly for two seconds and nothing is late.

        The coordinator calls a group stable before its members have begun to start their tasks, and late is what waits a second.
        """
        shared_since = math.inf

        def is_settled() -> bool:
            nonlocal shared_since
            is_fine = self._flow.is_steady(STEADY_S) and self._shares() == members
            now = time.perf_counter()
            shared_since = min(shared_since, now) if is_fine else math.inf
            return now - shared_since > STEADY_S

        try:
            self._flow.run(is_settled, LIMIT_S)
        except TimeoutError as error:
            told = "\n".join(instance.printed() for instance in self._instances)
            described = self._described()
            raise TimeoutError(f"{self._side.name}: {error}: {described}\n{told}") from error

    def longest_wait_s(self, since: float, members: int) -> float:
        """Settles, and returns the longest wait of the records sent since and in the second before, which may have been on their way.

        Infinite where it does not settle, which is said with what the instances have printed.
        """
        try:
            self.settle(members)
        except TimeoutError as error:
            print(error, file=sys.stderr)
            return math.inf
        return max(self._flow.waits_s(since - 1))

    def _shares(self) -> int:
        """Returns among how many members a stable group has shared all tasks out evenly, or 0."""
        described = self._described()
        tasks = [len(member.assignment.active_tasks) for member in described.members]
        is_even = sum(tasks) == TASKS and max(tasks) - min(tasks) <= 1
        return len(tasks) if described.state.name == "STABLE" and is_even else 0

    def _described(self) -> StreamsGroupDescription:
        return self._cluster.admin.describe_streams_groups([self._name]).result(self._name)
