"""The loop of `copy`: batches as they are fetched, without an object for a record; and what makes them last."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from millstream.clients import ConsumerGroupMetadata
from millstream.errors import MillstreamError

if TYPE_CHECKING:
    import pyarrow as pa

    from millstream.cli.copy.bookmark import Bookmark
    from millstream.cli.copy.ranges import Range
    from millstream.clients.blocking import Admin, Consumer, Producer
    from millstream.clients.blocking.producer import BatchDelivery
    from millstream.clients.consumer.fetch_collector import ArrowRecords
    from millstream.model import TopicPartition

_POLL_MS: Final = 500
"""So late a copy that follows its topic hears of Ctrl-C."""
_KEEPS_MS: Final = 1_000
"""As much is copied twice after a crash, or done in vain where transactions are used."""


class Keeping(Protocol):
    """Makes what is written last, with the place in the source where it ends."""

    def begin(self) -> None:
        """Is called before a batch is sent."""

    def keep(self, next_offsets: Mapping[int, int]) -> None:
        """Is called now and then, and at the end; what was sent is there for good when it returns."""


class Delivered:
    """Waits until brokers have acknowledged all, and notes nothing."""

    def __init__(self, producer: Producer) -> None:
        self._producer = producer

    def begin(self) -> None:
        """Has nothing to begin."""

    def keep(self, next_offsets: Mapping[int, int]) -> None:
        del next_offsets
        self._producer.flush()


class Noted:
    """Notes the place once brokers have acknowledged what comes before it."""

    def __init__(self, producer: Producer, admin: Admin, bookmark: Bookmark) -> None:
        self._producer = producer
        self._admin = admin
        self._bookmark = bookmark

    def begin(self) -> None:
        """Has nothing to begin."""

    def keep(self, next_offsets: Mapping[int, int]) -> None:
        self._producer.flush()
        self._bookmark.write(self._admin, next_offsets)


class Transactional:
    """Commits records and place in one transaction. Whoever closes the producer aborts one that is open."""

    def __init__(self, producer: Producer, bookmark: Bookmark) -> None:
        self._producer = producer
        self._bookmark = bookmark
        self._is_open = False

    def begin(self) -> None:
        if not self._is_open:
            self._producer.begin_transaction()
            self._is_open = True

    def keep(self, next_offsets: Mapping[int, int]) -> None:
        self.begin()
        self._producer.send_offsets_to_transaction(
            self._bookmark.offsets(next_offsets), ConsumerGroupMetadata(self._bookmark.group)
        )
        self._producer.commit_transaction()
        self._is_open = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyPlan:
    """The ranges of a topic, and where they go. What is `noted` of partitions that are not copied now stays noted."""

    target: str
    ranges: Mapping[TopicPartition, Range]
    noted: Mapping[int, int]
    keeps_partitions: bool
    count_max: int | None


class Copying:
    """Copies ranges of one topic. `copied` and `next_offsets` are those of what is kept."""

    def __init__(
        self,
        consumer: Consumer,
        producer: Producer,
        plan: CopyPlan,
        keeping: Keeping,
    ) -> None:
        self._consumer = consumer
        self._producer = producer
        self._plan = plan
        self.ranges = {each.partition: of for each, of in plan.ranges.items()}
        self._partitions = {each.partition: each for each in plan.ranges}
        self._keeping = keeping
        self._on_their_way: deque[BatchDelivery] = deque()
        self._sent = dict.fromkeys(self.ranges, 0)
        self._reached = {number: of.start for number, of in self.ranges.items()}
        self._is_kept = True
        self.copied = dict(self._sent)
        self.next_offsets = dict(self._reached)

    @property
    def sent(self) -> int:
        return sum(self._sent.values())

    def run(self, now_ms: Callable[[], int], tell: Callable[[int], object]) -> None:
        """Copies until all ranges, or `count_max` records, are done. Raises what brokers refuse."""
        self._assign()
        kept_ms = now_ms()
        while not self._is_done():
            for batch in self._poll():
                self._take(batch)
            self._check_deliveries()
            tell(self.sent)
            if now_ms() - kept_ms >= _KEEPS_MS:
                self.keep()
                kept_ms = now_ms()
        self.keep()

    def _poll(self) -> list[ArrowRecords]:
        """Raises what brokers refuse; what was read before that is written all the same."""
        try:
            return self._consumer.poll_arrow(timeout_ms=_POLL_MS, headers=True)
        except MillstreamError:
            self.keep()
            raise

    def keep(self) -> None:
        """Makes last what was sent."""
        if self._is_kept:
            return
        self._keeping.keep({**self._plan.noted, **self._reached})
        self._is_kept = True
        self.copied = dict(self._sent)
        self.next_offsets = dict(self._reached)
        self._check_deliveries()

    def _assign(self) -> None:
        open_ranges = {number: of for number, of in self.ranges.items() if not self._is_at_stop(number)}  # fmt: skip
        self._consumer.assign(self._partitions[number] for number in open_ranges)
        for number, of in open_ranges.items():
            self._consumer.seek(self._partitions[number], of.start)

    def _is_at_stop(self, number: int) -> bool:
        stop = self.ranges[number].stop
        return stop is not None and self._reached[number] >= stop

    def _is_done(self) -> bool:
        if self._plan.count_max is not None and self.sent >= self._plan.count_max:
            return True
        return all(map(self._is_at_stop, self.ranges))

    def _take(self, batch: ArrowRecords) -> None:
        number = batch.partition
        if self._is_at_stop(number):
            return  # fetched before it was paused
        rows, reached = self._wanted(batch)
        if rows.num_rows:
            self._keeping.begin()
            to = number if self._plan.keeps_partitions else None
            self._on_their_way.append(
                self._producer.send_batch(self._plan.target, rows, partition=to)
            )
        self._sent[number] += rows.num_rows
        self._reached[number] = reached
        self._is_kept = False
        if self._is_at_stop(number):
            self._consumer.pause([self._partitions[number]])

    def _wanted(self, batch: ArrowRecords) -> tuple[pa.RecordBatch, int]:
        """Returns the rows before the end of the range and within the count, and the offset behind them."""
        from millstream.clients.core.arrow_batches import rows_before

        stop = self.ranges[batch.partition].stop
        rows, reached = batch.records, batch.next_offset
        if stop is not None and reached > stop:
            rows, reached = rows_before(rows, stop), stop
        if self._plan.count_max is not None and rows.num_rows > self._plan.count_max - self.sent:
            rows = rows.slice(0, self._plan.count_max - self.sent)
            reached = rows.column("offset")[-1].as_py() + 1 if rows.num_rows else self._reached[batch.partition]  # fmt: skip
        return rows, reached

    def _check_deliveries(self) -> None:
        """Raises the error of what brokers have refused."""
        while self._on_their_way and self._on_their_way[0].is_done:
            self._on_their_way.popleft().result()
