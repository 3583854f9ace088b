"""How an application on stream threads is run while it is killed, and in which order what is killed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Final, Self

import orjson

from millstream.streams import StoreType, StreamsConfig
from millstream.streams.config import GroupProtocol, ProcessingGuarantee
from millstream.streams.runtime.steps import RebalanceStep, StandbyStep, Step
from tests.support.kills.driven import DrivenShape
from tests.support.kills.driven_shapes import ON_THREADS
from tests.support.kills.orders import PROCESSING, RESTORING, Moment, Order, Victim
from tests.support.kills.watched_broker import Brokers

ROWS_MAX: Final = 7
"""The records of a run through the operators, and of a turn of a thread: a batch has several."""
LACKING: Final = (RESTORING, StandbyStep.UPDATED)
"""Moments that come where a disk is lost."""
STARTING: Final = (RESTORING, Step.RESTORED, *RebalanceStep, StandbyStep.UPDATED)
"""Moments that come where a task starts, or a copy."""
MOMENTS: Final = (PROCESSING, Step.PRODUCED, Step.OFFSETS_SENT, Step.COMMITTED, *STARTING)
NTH_MAX: Final[Mapping[Moment, int]] = {PROCESSING: 30, **dict.fromkeys(STARTING, 1)}
OFTEN_NTH: Final = 4
RESTARTS_OF_KAFKA: Final = 2
"""Of Apache Kafka on one node; each takes longer than ten of instances."""
RESTARTS_OF_NODES: Final = 8
"""Of one of three nodes, which the others go on without until its session is over."""
LOSING_MARKERS: Final = (Victim.BROKER, Step.COMMITTED)
"""Apache Kafka 4.3.1 on one node, killed right after it has answered EndTxn, may call the transaction complete after its restart without having written
markers to any of its partitions: the group's offset stays unstable for ever, whoever asks.
"""


@dataclass(frozen=True)
class Way:
    """A row of the matrix."""

    shape: str
    store_type: StoreType
    use_processes: bool
    protocol: GroupProtocol
    threads: int
    standby_replicas: int
    is_kafka: bool = False
    has_nodes: bool = False
    """There are several nodes, so that the coordinator may be killed and move."""
    instances: int = 2
    guarantee: ProcessingGuarantee = ProcessingGuarantee.EXACTLY_ONCE_V2
    fetch_bytes: int = 1 << 20
    """What is read of a partition at a time."""
    rows_max: int = ROWS_MAX
    is_secure: bool = False
    """The broker lets the application log in and do what it must, and nothing else."""

    @classmethod
    def of_seed(cls, seed: int, brokers: Brokers = Brokers.ONE) -> Self:
        """Fifty-two seeds in a row have all shapes with all kinds of stores and of threads."""
        is_kafka = brokers is Brokers.KAFKA
        kinds = [*product(StoreType, (False, True))]
        shape = list(ON_THREADS)[seed % len(ON_THREADS)]
        store_type, use_processes = kinds[seed % len(kinds)]
        chance = random.Random(seed)
        protocol = chance.choice(list(GroupProtocol))
        return cls(
            shape=shape,
            store_type=store_type,
            use_processes=use_processes,
            protocol=protocol,
            threads=1 if use_processes else chance.choice((1, 2)),
            standby_replicas=chance.choice((0, 1)),
            is_kafka=is_kafka,
            is_secure=brokers is Brokers.SECURE,
            has_nodes=brokers is Brokers.THREE or (is_kafka and seed // len(kinds) % 2 == 0),
        )

    def encode(self) -> str:
        return orjson.dumps(asdict(self)).decode()

    @classmethod
    def decode(cls, text: str) -> Self:
        return cls(**orjson.loads(text))

    @property
    def killed(self) -> DrivenShape:
        return replace(
            ON_THREADS[self.shape],
            store_type=StoreType(self.store_type),
            guarantee=ProcessingGuarantee(self.guarantee),
        )

    @property
    def config(self) -> StreamsConfig:
        return replace(
            self.killed.config,
            batch_records_max=self.rows_max, commit_interval_ms=50, poll_ms=20,
            group_protocol=self.protocol, use_processes=self.use_processes,
            num_stream_threads=self.threads, num_standby_replicas=self.standby_replicas,
            acceptable_recovery_lag=0, probing_rebalance_interval_ms=1_000, repartition_purge_interval_ms=200,
        )  # fmt: skip

    @property
    def has_state(self) -> bool:
        return bool(self.killed.topology().stores)

    @property
    def has_copies(self) -> bool:
        """Only leaders of classic groups have tasks warm up."""
        is_classic = self.protocol is GroupProtocol.CLASSIC
        return self.has_state and (bool(self.standby_replicas) or is_classic)

    @property
    def moments(self) -> list[Moment]:
        """Copies leave nothing to restore, but for those that warm up, whose tasks are elsewhere meanwhile."""
        left_out: set[Moment] = set()
        if not self.has_state or self.standby_replicas:
            left_out.add(RESTORING)
        if not self.has_copies:
            left_out.add(StandbyStep.UPDATED)
        return [moment for moment in MOMENTS if moment not in left_out]


def orders(way: Way, seed: int) -> list[Order]:
    """Every victim at every moment once, Apache Kafka and one of three nodes at a few, in any order. Before moments of starts an instance is killed, so that there are some."""
    chance = random.Random(seed)
    thread = Victim.THREAD_PROCESS if way.use_processes else Victim.THREAD
    pairs = [*product((Victim.INSTANCE, thread), way.moments)]
    brokers = (Victim.BROKER, Victim.COORDINATOR) if way.has_nodes else (Victim.BROKER,)
    restarts = [*product(brokers, way.moments)]
    if way.is_kafka or way.has_nodes:
        if not way.has_nodes:
            restarts.remove(LOSING_MARKERS)
        restarts = chance.sample(
            restarts, RESTARTS_OF_NODES if way.has_nodes else RESTARTS_OF_KAFKA
        )
    pairs += restarts
    chance.shuffle(pairs)
    return list(_that_come(pairs, chance))


def _that_come(pairs: Sequence[tuple[Victim, Moment]], chance: random.Random) -> Iterator[Order]:
    is_steady = True
    for victim, moment in pairs:
        if moment in LACKING or (moment in STARTING and is_steady):
            yield Order(Victim.INSTANCE, Step.COMMITTED)  # so that there is something to restore
        yield Order(victim, moment, chance.randint(1, NTH_MAX.get(moment, OFTEN_NTH)))
        is_copy_alone = victim is Victim.THREAD and moment == StandbyStep.UPDATED
        is_steady = victim in {Victim.BROKER, Victim.COORDINATOR} or is_copy_alone
