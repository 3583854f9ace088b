"""Instances of an application on stream threads, killed as orders say while input keeps coming, until they have done everything."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import signal
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from millstream.streams.runtime.steps import StandbyStep
from tests.patience import LONG_ENOUGH_S, until
from tests.support.kills.driven import APPLICATION_ID, base_ms, put
from tests.support.kills.nursed import Nursery
from tests.support.kills.orders import VARIABLE, Order, Orders
from tests.support.kills.remains import held_below
from tests.support.kills.secured import allow
from tests.support.kills.shapes import check_nothing_is_open
from tests.support.kills.until_done import until_done
from tests.support.kills.watched_broker import Brokers, watched_broker, watched_cluster
from tests.support.kills.ways import LACKING, Way

INSTANCE: Final = "tests.support.kills.instance"
_LOGGER = logging.getLogger(__name__)
EMPTY_DISKS: Final = 0.4
"""So often an instance comes back without its disk."""
PORTIONS_A_KILL: Final = 6
PORTION_EVERY_S: Final = 0.4
MISSED_AFTER_S: Final = 5.0
"""By then the tasks of an instance that was killed are elsewhere, so that they are warmed up where it comes back."""
STAYS_AWAY: Final = 0.4
"""So often one that was killed over a backlog comes back so late, if there is another one."""
PASSED_OVER_AFTER_S: Final = 30.0
"""An order whose moment does not come: nothing is to be restored, or a copy has all that it lacks."""
SETTINGS: Final[Mapping[str, str]] = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "500",
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.heartbeat.interval.ms": "200",
    "group.streams.min.heartbeat.interval.ms": "200",
    "group.streams.assignment.interval.ms": "0",
    "group.streams.min.session.timeout.ms": "3000",
    "group.streams.session.timeout.ms": "3000",
}
"""Of a broker that soon misses a member that was killed."""


async def killed(way: Way, wanted: Sequence[Order], seed: int, directory: Path) -> list[Order]:
    """Runs one application until it has done everything, and returns the orders that were carried out.

    Raises AssertionError where what it has written or keeps is not what the test driver gives, or where an instance ends by itself.
    """
    orders = Orders(directory / "orders")
    orders.write(wanted)
    shape = way.killed
    with _watched(way, orders) as servers:
        await shape.create_topics(servers)
        if way.is_secure:
            await allow(servers, APPLICATION_ID, shape.topology())
        chance = random.Random(seed)
        async with Nursery.open(INSTANCE, {VARIABLE: str(orders.directory)}) as nursery:
            instances = [
                _Instance(
                    way, servers, orders, nursery, directory / str(number),
                    random.Random(chance.random()),
                )
                for number in range(way.instances)
            ]  # fmt: skip
            if shape.is_backlog:
                await put(servers, shape.given(), base_ms())
            async with _running(instances):
                if shape.is_backlog:
                    await until_done(way.killed.topology(), servers)
                    passed_over = _give_up(orders)
                else:
                    passed_over = await _feed(way, servers, orders)
                    await until_done(way.killed.topology(), servers)
        await until(lambda: not [*held_below(directory)])  # threads whose application was killed
        await check_nothing_is_open(servers)
        await shape.check(servers, directory)
    return [order for number, order in enumerate(wanted) if number not in passed_over]


def _watched(way: Way, orders: Orders) -> AbstractContextManager[str]:
    if way.has_nodes:
        brokers = Brokers.KAFKA if way.is_kafka else Brokers.THREE
        return watched_cluster(orders.broker, orders.coordinator, APPLICATION_ID, SETTINGS, brokers)
    return watched_broker(
        orders.broker, is_kafka=way.is_kafka, is_secure=way.is_secure, settings=SETTINGS
    )


@dataclass
class _Instance:
    """A place of the application, where a process is started again whenever it was killed: `directory` has its disks, one after another."""

    way: Way
    servers: str
    orders: Orders
    nursery: Nursery
    directory: Path
    chance: random.Random
    disks: int = 0

    async def keep(self, ending: asyncio.Event) -> None:
        """Until the event is set: the process is told to end then, and must do so. Raises AssertionError where it has ended by itself."""
        end = asyncio.create_task(ending.wait())
        while not ending.is_set():
            state = self._disk / "state"
            state.mkdir(parents=True, exist_ok=True)
            pid, exited = await self.nursery.start(
                self._disk / "log", self.way.encode(), self.servers, str(state)
            )
            first: set[asyncio.Future[Any]] = {end, exited}  # Any: of two types
            await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
            if not exited.done():
                os.kill(pid, signal.SIGTERM)
            async with asyncio.timeout(LONG_ENOUGH_S):
                code = await exited
            if (
                ending.is_set()
            ):  # one that has only just been started is ended before it can end itself
                assert code in {0, -signal.SIGTERM}, f"ended with {code}: {self._log}"
            else:
                assert code == -signal.SIGKILL, f"ended by itself with {code}: {self._log}"
                if self._is_to_be_missed():
                    await asyncio.sleep(MISSED_AFTER_S)
                is_lost = self.orders.next_moment in LACKING or self.chance.random() < EMPTY_DISKS
                self.disks += is_lost

    def _is_to_be_missed(self) -> bool:
        if self.orders.next_moment == StandbyStep.UPDATED and not self.way.standby_replicas:
            return True
        has_others = self.way.killed.is_backlog and self.way.instances > 1
        return has_others and self.chance.random() < STAYS_AWAY

    @property
    def _disk(self) -> Path:
        return self.directory / str(self.disks)

    @property
    def _log(self) -> str:
        return (self._disk / "log").read_text(errors="replace")[-5_000:]


@asynccontextmanager
async def _running(instances: Iterable[_Instance]) -> AsyncIterator[None]:
    ending = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for instance in instances:
            group.create_task(instance.keep(ending))
        yield
        ending.set()


async def _feed(way: Way, servers: str, orders: Orders) -> frozenset[int | None]:
    """Puts all input, a little at a time for as long as there are orders. Returns the numbers of those that were passed over."""
    given, base = list(way.killed.given()), base_ms()
    passed_over: set[int | None] = set()
    loop = asyncio.get_running_loop()
    first, since = orders.left()[:1], loop.time()
    while left := orders.left():
        if left[:1] != first:
            _LOGGER.info("%.1f s, %d orders left", loop.time() - since, len(left))
            first, since = left[:1], loop.time()
        elif loop.time() - since > PASSED_OVER_AFTER_S:
            passed_over.add(orders.pass_over())
        size = len(given) // (PORTIONS_A_KILL * (len(left) + 1))
        await put(servers, given[:size], base)
        del given[:size]
        await asyncio.sleep(PORTION_EVERY_S)  # any moment will do
    await put(servers, given, base)
    return frozenset(passed_over)


def _give_up(orders: Orders) -> frozenset[int | None]:
    """Has nobody killed any more. Returns the numbers of the orders that were passed over: there is nothing left in whose middle they would come."""
    passed_over: set[int | None] = set()
    while orders.left():
        passed_over.add(orders.pass_over())
    return frozenset(passed_over)
