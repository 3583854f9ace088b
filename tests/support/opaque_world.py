"""A driver of Spark with its offset log, commit log and a source with opaque replay, which may die at any step. No Spark, no broker."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any

from millstream.errors import ProducerFenced
from millstream.model import Offset, TopicPartition
from millstream.spark import offsets as plan
from millstream.spark.offsets import Offsets
from millstream.spark.source.opaque.documents import opaque_batch_in, start_document
from millstream.spark.source.opaque.replay import OpaqueReplay

PARTITIONS = [TopicPartition("orders", number) for number in range(3)]
ZERO, ONE, TWO = PARTITIONS
Ranges = dict[TopicPartition, tuple[int, int]]


_IDS = count()


class Died(Exception):
    """The driver's process ends here."""


class DriverGone(Exception):
    """Raised in a process whose driver has died before it."""


class Driver:
    """The process that plans, of one start of the query. It may outlive its driver."""

    def __init__(self, store: DurableStore) -> None:
        self.is_gone = False
        self.replay = OpaqueReplay(
            OpenedStore(store), lambda: f"id {next(_IDS)}", self._require_driver
        )

    def _require_driver(self) -> None:
        if self.is_gone:
            raise DriverGone


class DurableStore:
    """What outlives drivers. `dies` says when the next write is the end of its driver: before or after it is durable.

    `meanwhile` is what happens while the next write is on its way.
    """

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        self.epoch = 0
        self.dies: str | None = None
        self.meanwhile: Callable[[], None] | None = None
        self.writes = 0

    def write(self, values: Mapping[str, bytes]) -> None:
        dies, self.dies = self.dies, None
        if dies == "before":
            raise Died
        self.values |= values
        self.writes += 1
        if dies == "after":
            raise Died


class OpenedStore:
    """The store as one process has it: it takes over when it is first asked, and is refused once another has."""

    def __init__(self, durable: DurableStore) -> None:
        self._durable = durable
        self._epoch: int | None = None
        self._values: dict[str, bytes] = {}

    def multi_get(self, keys: Sequence[str]) -> list[bytes | None]:
        self._open()
        return [self._values.get(key) for key in keys]

    def multi_put(self, values: Mapping[str, bytes]) -> None:
        self._open()
        meanwhile, self._durable.meanwhile = self._durable.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        if self._epoch != self._durable.epoch:
            raise ProducerFenced("another process has taken over")
        self._durable.write(values)
        self._values |= values

    def _open(self) -> None:
        if self._epoch is None:
            self._durable.epoch += 1
            self._epoch = self._durable.epoch
            self._values = dict(self._durable.values)


class World:
    """`ends`: of the logs of partitions. `given`: the ranges that each micro-batch in the commit log has read."""

    def __init__(self) -> None:
        self.ends = dict.fromkeys(PARTITIONS, 0)
        self.available = set(PARTITIONS)
        self.store = DurableStore()
        self.offset_log: list[dict[str, Any]] = []
        self.given: list[Ranges] = []
        self.read: Ranges | None = None
        """By the try that is under way."""
        self.driver = Driver(self.store)

    def start(self) -> Driver:
        """Starts the query anew, and returns the process that has planned before, which may be there still."""
        before, self.driver = self.driver, Driver(self.store)
        before.is_gone = True
        self.read = None
        return before

    @property
    def is_batch_open(self) -> bool:
        """Whether a micro-batch is in the offset log and not in the commit log."""
        return len(self.offset_log) > len(self.given)

    def plan(self, records_max: int = 100, *, dies: bool = False) -> bool:
        """Writes down the next micro-batch. Returns whether there is something for one."""
        assert not self.is_batch_open, "Spark plans when the last micro-batch is in the commit log"
        start = self.offset_log[-1] if self.offset_log else self._first_start()
        begin = self.driver.replay.positions_after(start)
        end = {
            tp: Offset(min(self.ends[tp], at + records_max)) if tp in self.available else at
            for tp, at in begin.items()
        }
        if end == begin:
            return False
        document = self.driver.replay.planned(start, begin, end)
        if dies:
            raise Died
        self.offset_log.append(document)
        return True

    def try_batch(self) -> Ranges:
        """Asks for the ranges of the open micro-batch, as Spark does before it hands out tasks."""
        self.read = self.ranges_by(self.driver)
        return self.read

    def ranges_by(self, driver: Driver) -> Ranges:
        batch = opaque_batch_in(self.offset_log[-1])
        assert batch is not None, "every micro-batch here is opaque"
        begin = driver.replay.begin_to_read(batch, lambda: self.available)
        return {tp: (at, batch.end[tp]) for tp, at in begin.items() if batch.end[tp] > at}

    def commit(self) -> None:
        assert self.read is not None, "a micro-batch is committed when it has been read"
        self.given.append(self.read)
        self.read = None

    def run(self, records_max: int = 100) -> bool:
        """Plans if there is nothing to try again, tries and commits. Returns whether there was something."""
        if not self.is_batch_open and not self.plan(records_max):
            return False
        self.try_batch()
        self.commit()
        return True

    def given_of(self, partition: TopicPartition) -> list[int]:
        """The offsets of a partition that micro-batches in the commit log have read, in their order."""
        ranges = [each[partition] for each in self.given if partition in each]
        return [offset for begin, end in ranges for offset in range(begin, end)]

    def logs_of_spark(self) -> tuple[list[Offsets], int]:
        """The ends in the offset log, and the length of the commit log."""
        return [plan.from_json(each) for each in self.offset_log], len(self.given)

    def _first_start(self) -> dict[str, Any]:
        return start_document(dict.fromkeys(PARTITIONS, Offset(0)), ())
