"""Orders that lie before a repartition topic, worked through by an application that is killed again and again, in each of the ways to run one."""

from __future__ import annotations

import asyncio
import random
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from millstream.streams import StoreType
from millstream.streams.config import GroupProtocol, ProcessingGuarantee
from millstream.streams.runtime.steps import RebalanceStep, Step
from tests.support.kills.driven import APPLICATION_ID
from tests.support.kills.driven_shapes import DRIVEN
from tests.support.kills.killed_instances import killed
from tests.support.kills.orders import PLANNED, PROCESSING, Moment, Order, Orders, Victim
from tests.support.kills.run import Run
from tests.support.kills.secured import allow
from tests.support.kills.shapes import CONTINUOUS, check_nothing_is_open
from tests.support.kills.watched_broker import Brokers, watched_broker
from tests.support.kills.ways import Way

BACKLOGS: Final = ("orders", "orders of closed windows", "orders through two topics")
EXACT_BACKLOGS: Final = (*BACKLOGS, "orders with payments")
"""Of those whose results are the same at least once, and the others: an order that is read again may find its payment gone."""
KILLS: Final = 5
"""Of one run on threads. Where one comes is decided by the records that the victim has processed by then, of 2,000 before the repartition topic."""
PROCESSED_MAX: Final = 350
"""Records that a process sees before it is killed in their middle: so few that there is work left for all kills."""
COMMITS_MAX: Final = 8
MOMENTS: Final[Mapping[Moment, int]] = {
    PROCESSING: 6, Step.PROCESSED: 1, Step.PRODUCED: 2, Step.OFFSETS_SENT: 2, Step.COMMITTED: 2, Step.STORED: 1,
    Step.FENCED: 1, Step.RESTORED: 1, RebalanceStep.ASSIGNED: 1,
}  # fmt: skip
"""With how often each is chosen."""
STARTING: Final = (Step.FENCED, Step.RESTORED, RebalanceStep.ASSIGNED)
"""They come where an instance is started anew."""
FETCHES: Final = (500, 5_000, 1 << 20)
LIMITS: Final = (100, 500, 500, 2_000, None, None)
"""Records of a micro-batch."""
CONTINUOUSLY: Final = 0.3
SESSIONS_MAX: Final = 40
KILLS_ON_SPARK: Final = 6
OFTEN: Final[Mapping[Victim, int]] = {
    Victim.HOST: 8, Victim.WORKER: 6, Victim.EXECUTOR: 5, Victim.DRIVER: 2, Victim.JVM: 1, Victim.BROKER: 2,
}  # fmt: skip
"""A driver costs a start of Spark."""
RUNS_MAX: Final = 4
"""So many steps of a kind a process comes to before it is killed there: a task host has few micro-batches."""
STEPS: Final = (PLANNED, *Step)
STARTS: Final = (Step.STARTING, Step.FENCED, Step.RESTORED)
PASSING: Final = (Victim.WORKER, Victim.BROKER)
"""Tasks go on when one of these is killed, and do not start anew."""


@dataclass(frozen=True)
class OnThreads:
    """So many instances of so many threads or processes."""

    instances: int
    threads: int
    use_processes: bool = False

    def __str__(self) -> str:
        each = f"{self.threads} {'processes' if self.use_processes else 'threads'}"
        return f"{self.instances} of {each}"

    def run(
        self, guarantee: ProcessingGuarantee, seed: int, directory: Path, brokers: Brokers
    ) -> list[Order]:
        chance = random.Random(f"{self}/{guarantee}/{seed}")
        way = Way(
            shape=chance.choice(_backlogs(guarantee)),
            store_type=chance.choice(list(StoreType)),
            use_processes=self.use_processes,
            protocol=chance.choice(list(GroupProtocol)),
            threads=self.threads,
            standby_replicas=chance.choice((0, 0, 1)) if self.instances > 1 else 0,
            instances=self.instances,
            guarantee=guarantee,
            is_secure=brokers is Brokers.SECURE,
            fetch_bytes=chance.choice(FETCHES),
            rows_max=chance.choice((20, 100)),
        )
        return asyncio.run(killed(way, self._orders(guarantee, chance), seed, directory))

    def _orders(self, guarantee: ProcessingGuarantee, chance: random.Random) -> list[Order]:
        thread = Victim.THREAD_PROCESS if self.use_processes else Victim.THREAD
        often = {each: MOMENTS[each] for each in MOMENTS if _has(guarantee, each)}
        orders: list[Order] = []
        while len(orders) < KILLS:
            (victim,) = chance.choices((Victim.INSTANCE, thread, Victim.BROKER), (6, 3, 1))
            is_start = bool(orders) and orders[-1].victim is Victim.INSTANCE
            moments = {each: often[each] for each in often if is_start or each not in STARTING}
            (moment,) = chance.choices([*moments], [*moments.values()])
            orders.append(Order(victim, moment, chance.randint(1, _nth_max(moment))))
        return orders


def _backlogs(guarantee: ProcessingGuarantee) -> tuple[str, ...]:
    is_exact = guarantee is ProcessingGuarantee.EXACTLY_ONCE_V2
    return EXACT_BACKLOGS if is_exact else BACKLOGS


def _has(guarantee: ProcessingGuarantee, moment: Moment) -> bool:
    """At least once there is no transaction that offsets are sent to."""
    return guarantee is ProcessingGuarantee.EXACTLY_ONCE_V2 or moment != Step.OFFSETS_SENT


def _nth_max(moment: Moment) -> int:
    if moment == PROCESSING:
        return PROCESSED_MAX
    return 1 if moment in STARTING else COMMITS_MAX


@dataclass(frozen=True)
class OnSpark:
    """Micro-batches of any size, until nothing is left or continuously."""

    master: str

    def __str__(self) -> str:
        return self.master

    def run(
        self, guarantee: ProcessingGuarantee, seed: int, directory: Path, brokers: Brokers
    ) -> list[Order]:
        chance = random.Random(f"{self}/{guarantee}/{seed}")
        limit, is_continuous = chance.choice(LIMITS), chance.random() < CONTINUOUSLY
        wanted, name = self._orders(guarantee, limit, chance), chance.choice(_backlogs(guarantee))
        shape = replace(DRIVEN[name], guarantee=guarantee)
        orders = Orders(directory / "orders")
        orders.write(wanted)
        options = [str(guarantee), *([CONTINUOUS] if is_continuous else [])]
        is_secure = brokers is Brokers.SECURE
        with watched_broker(orders.broker, is_secure=is_secure) as servers:
            asyncio.run(shape.prepare(servers))
            if is_secure:
                asyncio.run(allow(servers, APPLICATION_ID, shape.topology()))
            for _ in range(SESSIONS_MAX):
                with Run.of_application(
                    name, servers, directory, limit, self.master, *options
                ) as run:
                    is_done = run.finish()
                    assert run.remains() == []
                if is_done:
                    break
            else:
                raise AssertionError(
                    f"it came to no end: {(directory / 'log').read_text()[-5_000:]}"
                )
            asyncio.run(shape.check(servers, directory))
            asyncio.run(check_nothing_is_open(servers))
        left = {int(path.name) for path in orders.left()}
        return [order for number, order in enumerate(wanted) if number not in left]

    def _orders(
        self, guarantee: ProcessingGuarantee, limit: int | None, chance: random.Random
    ) -> list[Order]:
        has_executors = not self.master.startswith("local[")
        often = {each: OFTEN[each] for each in OFTEN if has_executors or each != Victim.EXECUTOR}
        nth_max = 1 if limit is None else RUNS_MAX
        orders: list[Order] = []
        while len(orders) < KILLS_ON_SPARK:
            (victim,) = chance.choices([*often], [*often.values()])
            is_start = bool(orders) and orders[-1].victim not in PASSING
            moments = [each for each in STEPS if is_start or each not in STARTS]
            moment = chance.choice([each for each in moments if _has(guarantee, each)])
            is_once = moment in STARTS or victim in {Victim.DRIVER, Victim.JVM}
            orders.append(Order(victim, moment, 1 if is_once else chance.randint(1, nth_max)))
        return orders


_WAYS: Final[tuple[OnThreads | OnSpark, ...]] = (
    OnThreads(1, 1),
    OnThreads(1, 2),
    OnThreads(1, 4),
    OnThreads(1, 2, use_processes=True),
    OnThreads(2, 1),
    OnThreads(2, 2),
    OnThreads(2, 2, use_processes=True),
    OnSpark("local[1]"),
    OnSpark("local[2]"),
    OnSpark("local-cluster[2,1,1024]"),
)
KINDS: Final[Mapping[str, OnThreads | OnSpark]] = {str(each): each for each in _WAYS}


def killed_backlog(
    kind: str, guarantee: ProcessingGuarantee, seed: int, brokers: Brokers = Brokers.ONE
) -> list[Order]:
    """Runs one application until it has done everything, and returns the orders that were carried out.

    Raises AssertionError where the last windows, and exactly once all that was written or is kept, are not those of the test driver. Its files stay then.
    """
    directory = Path(
        tempfile.mkdtemp(prefix="kill")
    )  # a short name: those of Unix sockets may have 107 characters
    done = KINDS[kind].run(guarantee, seed, directory, brokers)
    shutil.rmtree(directory)
    return done
