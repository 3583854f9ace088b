"""One node of a simulated cluster: its process, its disk and its place in the network, and everything that happens to machines.

A life is one process. It ends by a stop, by a kill (the disk keeps what was written), by a loss of power (the disk keeps what was synced)
or by itself. Knows no story.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from millstream.broker.config.broker_config import broker_config
from millstream.broker.node.process import NodeProcess, ReadyReport
from millstream.errors import MillstreamError
from millstream.model import Uuid
from millstream.raft.voter_set import VoterSet
from millstream.replication.partition import Partition
from millstream.testing.sim_random import SimRandom
from tests.sim.cluster.schedule import LoopClock, Schedule, ScheduledLoop
from tests.sim.network import SimNetwork
from tests.support.simulated_disk import SimFileSystem

CLEAN_SHUTDOWN: Final = ".kafka_cleanshutdown"
_HAD_AGAIN: Final = ("/partition.metadata", "/leader-epoch-checkpoint")
"""Files that are made with a new log and not synced: what they say is read from elsewhere where they are lost."""
_ASIDE: Final = ("-delete/", "-stray/")
"""Directories that no log is opened in: what they lack after a loss of power, nobody misses."""
CALM_DISK_S: Final = 0.002
SLOW_DISK_S: Final = 0.8


class Life:
    """One process of a node, on its own loop."""

    def __init__(self, node: SimNode, number: int) -> None:
        self.node = node
        self.number = number
        self.name = f"node {node.id}, life {number}"
        self.loop = node.schedule.new_loop(self.name)
        self.loop.owner = self
        self.loop.thread_s = node.thread_s
        if node.pace != 1:
            self.loop.go_at(node.pace)
        self.host = node.network.host(node.host)
        self.clock = LoopClock(self.loop, node.wall_error_ms)
        self.is_ready = False
        self.is_told_to_stop = False
        self.high_watermark = 0
        """The last that its replica told."""
        self.voters: VoterSet | None = None
        """Those that its replica counts with."""
        self.checked_voters = -3
        """Offset of the last record of voters that was looked at."""
        self.image_offset = -1
        """Of the image that it applied last."""
        self.broker_epoch = -1
        """As it has registered."""
        self.partitions: dict[tuple[Uuid, int], Partition] = {}
        """Its replicas, by topic id."""
        self.partition_epochs: dict[tuple[Uuid, int], int] = {}
        self.checked_epochs: dict[tuple[Uuid, int], int] = {}
        """Of partitions that it leads: the leader epoch for which that was looked at."""
        self.process = NodeProcess(
            broker_config(dict(node.settings)),
            self.clock,
            SimRandom(node.seed * 1_000 + node.id * 100 + number),
            node.disk,
            self.host,
            now_s=self.loop.time,
        )
        self.task = self.loop.create_task(self.process.run(self._announce, node.cluster_id))
        self.task.add_done_callback(lambda _: node.ended(self))

    @property
    def is_over(self) -> bool:
        return self.task.done() or self.loop.is_dead

    def _announce(self, report: ReadyReport) -> None:
        del report
        self.is_ready = True


@dataclass(eq=False)
class SimNode:
    id: int
    settings: Mapping[str, str]
    cluster_id: str | None
    schedule: Schedule
    network: SimNetwork
    seed: int
    disk: SimFileSystem = field(default_factory=SimFileSystem)
    wall_error_ms: int = 0
    pace: float = 1.0
    """How many seconds of its clocks are one of everybody else's."""
    disk_s: float = CALM_DISK_S
    """How long work of a thread takes at most."""
    may_fail: bool = False
    """Whether its disk has refused something in this life, so that it may end by itself, now or later."""
    on_kill: Callable[[Life], None] = lambda _life: None
    on_power_lost: Callable[[int], None] = lambda _node: None
    lives: int = 0
    life: Life | None = None
    failures: list[str] = field(default_factory=list)
    """Ends that nothing explains."""

    @property
    def host(self) -> str:
        return f"node-{self.id}"

    @property
    def is_up(self) -> bool:
        """Whether a process runs, paused or not."""
        return self.life is not None and not self.life.is_over

    @property
    def is_ready(self) -> bool:
        return self.life is not None and self.is_up and self.life.is_ready

    @property
    def is_to_end(self) -> bool:
        """Whether it was told to stop, and has still to do so."""
        return self.life is not None and self.is_up and self.life.is_told_to_stop

    @property
    def is_paused(self) -> bool:
        return self.life is not None and self.life.loop.is_paused

    @property
    def loop(self) -> ScheduledLoop:
        assert self.life is not None, "the node was never started"
        return self.life.loop

    def thread_s(self) -> float:
        return self.network.chance.uniform(0, self.disk_s)

    def start(self) -> None:
        """Begins a life. It may end by itself before it is ready."""
        assert not self.is_up, "one process a node"
        self._bury()
        self.lives += 1
        self.may_fail = False
        self.network.begin_process(self.host)
        self.life = Life(self, self.lives)

    def kill(self) -> None:
        """Ends the process at once (SIGKILL)."""
        if self.is_up:
            assert self.life is not None, "it is up"
            self.on_kill(self.life)
            self.network.end_process(self.host)
            self._abandon()

    def lose_power(self, torn: Callable[[str, int], int], undone: int) -> None:
        """Ends process and machine: what was not synced is gone, but for `torn` bytes of each file, and the last `undone` changes of directories.

        Nobody is told. A machine on which no process runs may lose its power, too.
        """
        self.on_power_lost(self.id)
        if self.is_up:
            self.network.end_process(self.host, silently=True)
            self.disk.crash(torn, undone_operations=undone)
            self._abandon()
        else:
            self.disk.crash(torn, undone_operations=undone)

    def pause(self) -> None:
        if self.is_up:
            self.loop.is_paused = True

    def resume(self) -> None:
        if self.is_up:
            self.loop.is_paused = False

    def go_at(self, pace: float) -> None:
        """Its clocks go faster or slower, also those of processes that are started later."""
        if pace == self.pace:
            return
        self.pace = pace
        if self.life is not None and not self.life.loop.is_dead:
            self.life.loop.go_at(pace)

    def request_stop(self) -> None:
        """As SIGTERM does."""
        if self.life is not None and self.is_up:
            self.life.is_told_to_stop = True
            self.loop.call_soon(self.life.process.request_stop)

    def ended(self, life: Life) -> None:
        """The process has ended by itself, or as it was asked to."""
        if life.loop.is_dead:
            return
        life.host.sever()
        error = None if life.task.cancelled() else life.task.exception()
        if error is not None:
            self.network.end_process(self.host)
        unsynced = self.disk.unsynced_beside(CLEAN_SHUTDOWN)
        if lost := [
            each
            for each in unsynced
            if not (each.endswith(_HAD_AGAIN) or any(aside in each for aside in _ASIDE))
        ]:
            self.failures.append(
                f"{life.name} has closed its directories as complete, and no disk has {lost}"
            )
        is_told = isinstance(error, MillstreamError | OSError)
        if error is not None and not (is_told and self.may_fail):
            trace = "".join(traceback.format_exception(error))
            self.failures.append(f"{life.name} ended by itself: {error!r}\n{trace}")

    def calm(self) -> None:
        """The disk is well again."""
        self.disk_s = CALM_DISK_S
        self.disk.failing_syncs = lambda _path: False
        self.disk.before_change = lambda _change, _path: None

    def wipe(self) -> None:
        """The disk is replaced by an empty one."""
        assert not self.is_up, "a disk is replaced while the node is down"
        self.disk = SimFileSystem()

    def _abandon(self) -> None:
        """What is left of the process may do to the old disk whatever it likes."""
        assert self.life is not None, "a process runs"
        self.life.host.sever()
        self.disk = self.disk.of_next_process()
        self.life.loop.die()

    def _bury(self) -> None:
        if self.life is not None and not self.life.loop.is_dead:
            assert self.life.task.done(), "the process runs"
            self.disk = self.disk.of_next_process()
            self.life.loop.die()

    def close(self) -> None:
        """At the end of the world."""
        if self.is_up:
            self.kill()
        else:
            self._bury()


async def until_up(nodes: list[SimNode], timeout_s: float) -> None:
    """Returns when all are ready. Raises TimeoutError."""
    async with asyncio.timeout(timeout_s):
        while not all(node.is_ready for node in nodes):  # noqa: ASYNC110 - other loops act
            await asyncio.sleep(0.05)
