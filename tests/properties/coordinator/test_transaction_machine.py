"""Transactions of several producers over real logs, with messages that come late or twice, zombies, time-outs and crashes.

The model is a list: what each transaction has written, and how its producer was told that it ended. Whatever the order of
events, a reader at read_committed sees the records of a transaction all or not at all, sees what was told committed, never
sees what was told aborted, and is never led past a transaction that is open.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from millstream.coordinator.transaction.transaction import TransactionMetadata
from millstream.errors import (
    ConcurrentTransactions,
    InvalidProducerEpoch,
    KafkaError,
    ProducerFenced,
)
from millstream.log import LogEnvironment, PartitionLog, SavedState
from millstream.metadata.image import PartitionImage
from millstream.metadata.topic_config import LogConfig
from millstream.model import ZERO_UUID, BrokerId, TopicPartition
from millstream.records.batch import iterate_batches, read_header
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.control import AbortedTransactionFilter, TransactionMarker
from millstream.records.record import Record, iterate_records
from millstream.replication.fetch_position import FetchPosition
from millstream.replication.partition import Partition
from millstream.testing.sim_random import SimRandom
from tests.support.coordinators.transactions import SimTransactions
from tests.support.simulated_disk import SimFileSystem

ME = BrokerId(1)
IDS = ("x", "y")
PARTITIONS = (TopicPartition("t", 0), TopicPartition("t", 1))
CONFIG = LogConfig(segment_ms=2**62, message_timestamp_after_max_ms=2**62)
TIMEOUT_MS = 1_000
HIJACKER = 2
"""The producer that takes the transactional id of another one now and then."""


@dataclass
class Run:
    """One transaction, as its producer knows it."""

    written: set[bytes] = field(default_factory=set)
    told_commit: bool = False
    told_abort: bool = False
    asked_commit: bool = False
    """The answer may have been lost: it is committed or aborted, and the producer cannot tell."""


@dataclass
class Client:
    """One instance of a producer. It may be a zombie and not know."""

    transactional_id: str
    identity: tuple[int, int] | None = None
    is_fenced: bool = False
    """It has been told so. A zombie that has not been told goes on."""
    run: Run = field(default_factory=Run)
    sequences: dict[TopicPartition, int] = field(default_factory=dict)


@dataclass(frozen=True)
class LateEnd:
    """An EndTxn somewhere in the network."""

    transactional_id: str
    identity: tuple[int, int]
    commit: bool


class TransactionMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.coordinator = SimTransactions()
        self.disk = SimFileSystem()
        self.partitions = {name: self.open(name) for name in PARTITIONS}
        self.clients = [Client(name) for name in (*IDS, IDS[0])]
        self.runs: list[Run] = []
        self.late: list[LateEnd] = []
        self.marked: defaultdict[TopicPartition, list[TransactionMetadata]] = defaultdict(list)
        self.epochs: dict[int, int] = {}
        self.values = self.rare = 0

    def open(self, name: TopicPartition) -> Partition:
        log = PartitionLog.open(
            name,
            f"/d/{name}",
            LogEnvironment(self.disk, SimRandom(0)),
            CONFIG,
            saved=SavedState(),
            now=self.coordinator.now,
        )
        partition = Partition(log, ZERO_UUID, ME, log.log_end_offset)
        partition.apply(
            PartitionImage(partition=name.partition, replicas=(ME,), isr=(ME,), leader=ME),
            self.coordinator.now,
        )
        return partition

    def draws_one_of(self, count: int) -> bool:
        """For what would keep the others from getting anywhere if it happened often."""
        self.rare += 1
        return self.rare % count == 0

    # --- producers

    @initialize()
    def two_of_three_are_there(self) -> None:
        for number in (0, 1):
            self.init(number, names_itself=False)

    @rule(number=st.integers(0, 2), names_itself=st.booleans())
    def restart(self, number: int, names_itself: bool) -> None:
        if self.draws_one_of(4):
            self.init(number, names_itself=names_itself)

    def init(self, number: int, *, names_itself: bool) -> None:
        client = self.clients[number]
        named = client.identity if names_itself and client.identity else (-1, -1)
        for _ in range(2):  # the first time, an open transaction is aborted
            try:
                identity = self.coordinator.init(
                    client.transactional_id,
                    producer_id=named[0],
                    epoch=named[1],
                    timeout_ms=TIMEOUT_MS,
                )
            except ConcurrentTransactions:
                self.write_all_markers()
            except ProducerFenced:
                client.is_fenced = True
                return
            else:
                self.clients[number] = Client(client.transactional_id, identity)
                return

    @rule(number=st.integers(0, 2), where=st.sampled_from(PARTITIONS), is_slow=st.booleans())
    def produce(self, number: int, where: TopicPartition, is_slow: bool) -> None:
        """The broker adds the partition before the first append. `is_slow`: while it asks, time runs out."""
        is_slow = is_slow and self.draws_one_of(4)
        if self.clients[number].is_fenced and number != HIJACKER:
            self.init(number, names_itself=False)
        client = self.clients[number]
        if client.identity is None:
            return
        partition, (producer_id, epoch) = self.partitions[where], client.identity
        self.values += 1
        value = b"%d" % self.values
        options = BatchOptions(
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=client.sequences.get(where, 0),
            is_transactional=True,
        )
        batch = memoryview(build_batch([Record(value=value, timestamp=1)], options))
        producers = partition.log.producers
        marker_offset = producers.last_marker_offset(producer_id)
        try:
            if not producers.has_open_transaction(producer_id, epoch):
                self.coordinator.add(
                    client.identity, where, transactional_id=client.transactional_id
                )
                if is_slow:
                    self.coordinator.pass_time(TIMEOUT_MS)
                    self.write_all_markers()
                producers.check_begins_transaction(
                    read_header(batch), marker_offset, sequence_from_0=True
                )
            partition.append(batch, self.coordinator.now)
        except (ProducerFenced, InvalidProducerEpoch):
            client.is_fenced = True
        except KafkaError:
            pass
        else:
            client.sequences[where] = client.sequences.get(where, 0) + 1
            if not client.run.written:
                self.runs.append(client.run)
            client.run.written.add(value)

    @rule(number=st.integers(0, 2), commit=st.booleans(), is_answer_lost=st.integers(0, 3))
    def end(self, number: int, commit: bool, is_answer_lost: int) -> None:
        client = self.clients[number]
        if client.identity is None:
            return
        client.run.asked_commit |= commit
        self.late.append(LateEnd(client.transactional_id, client.identity, commit))
        try:
            identity = self.coordinator.end(
                client.identity, commit=commit, transactional_id=client.transactional_id
            )
        except ProducerFenced:
            client.is_fenced = True
        except KafkaError:
            pass
        else:
            if is_answer_lost:
                client.run.told_commit |= commit
                client.run.told_abort |= not commit
                self.clients[number] = Client(client.transactional_id, identity)

    @rule(number=st.integers(0, 99))
    def a_late_end_arrives(self, number: int) -> None:
        """Sent once before, by a connection that was slow. Nobody waits for the answer."""
        if not self.late:
            return
        late = self.late[number % len(self.late)]
        with contextlib.suppress(KafkaError):
            self.coordinator.end(
                late.identity, commit=late.commit, transactional_id=late.transactional_id
            )

    # --- the broker

    @rule(where=st.sampled_from(PARTITIONS))
    def write_markers_of(self, where: TopicPartition) -> None:
        """One partition gets its markers; a transaction is complete when all have."""
        for prepared in list(self.coordinator.prepared):
            decided = prepared.transaction
            if where in decided.partitions and decided not in self.marked[where]:
                self.mark(where, decided)
                self.marked[where].append(decided)
            if all(decided in self.marked[each] for each in decided.partitions):
                self.coordinator.write_markers(prepared)

    def mark(self, where: TopicPartition, decided: TransactionMetadata) -> None:
        marker = TransactionMarker(
            decided.producer_id,
            decided.producer_epoch,
            0,
            decided.is_commit,
            decided.client_version,
        )
        self.partitions[where].append_marker(marker, self.coordinator.now)

    @rule()
    def write_all_markers(self) -> None:
        for where in PARTITIONS:
            self.write_markers_of(where)
        assert self.coordinator.prepared == [], "a decided transaction cannot be completed"

    @rule(duration_ms=st.sampled_from([1, TIMEOUT_MS // 2, TIMEOUT_MS]))
    def time_passes(self, duration_ms: int) -> None:
        self.coordinator.pass_time(duration_ms)

    @rule()
    def the_broker_crashes(self) -> None:
        """Everything was synced before it was answered; markers that were written may be written again."""
        for partition in self.partitions.values():
            partition.log.flush(self.coordinator.now)
        self.disk.crash()
        self.coordinator = self.coordinator.restarted()
        self.partitions = {name: self.open(name) for name in PARTITIONS}
        self.marked.clear()

    # --- what must hold

    def read(self, where: TopicPartition) -> list[bytes]:
        """As a consumer at read_committed does."""
        partition = self.partitions[where]
        fetched = partition.read(FetchPosition(0, 1 << 20, is_read_committed=True))
        data = fetched.records if isinstance(fetched.records, bytes) else fetched.records.read()
        aborted = [(t.producer_id, t.first_offset) for t in fetched.aborted_transactions or ()]
        is_committed = AbortedTransactionFilter(aborted)
        return [
            bytes(record.value or b"")
            for header, batch in iterate_batches(memoryview(data))
            if is_committed(header, batch) and not header.is_control
            for record in iterate_records(header, batch)
        ]

    @invariant()
    def nobody_sees_what_is_not_committed(self) -> None:
        seen = {value for where in PARTITIONS for value in self.read(where)}
        for run in self.runs:
            if not run.asked_commit or (run.told_abort and not run.told_commit):
                assert not run.written & seen, "an aborted or open record was read"

    @invariant()
    def readers_stop_at_open_transactions(self) -> None:
        for partition in self.partitions.values():
            for entry in partition.log.producers.entries():
                if entry.transaction_first_offset >= 0:
                    assert partition.last_stable_offset <= entry.transaction_first_offset

    @invariant()
    def epochs_never_go_back(self) -> None:
        for known in self.coordinator.shard.transactions:
            assert known.producer_epoch >= self.epochs.get(known.producer_id, -1)
            self.epochs[known.producer_id] = known.producer_epoch

    def teardown(self) -> None:
        """Everything comes to an end: what is open times out, what is decided is completed."""
        self.the_broker_crashes()
        self.coordinator.pass_time(TIMEOUT_MS)
        self.write_all_markers()
        seen = [value for where in PARTITIONS for value in self.read(where)]
        assert len(seen) == len(set(seen)), "a record was read twice"
        for run in self.runs:
            visible = run.written & set(seen)
            assert visible in (set(), run.written), "a transaction was torn apart"
            if run.told_commit and not run.told_abort:
                assert visible == run.written, "a committed transaction was lost"
        for partition in self.partitions.values():
            assert partition.last_stable_offset == partition.high_watermark


TransactionMachine.TestCase.settings = settings(
    max_examples=100, stateful_step_count=40, deadline=None
)
TestTransactionMachine = TransactionMachine.TestCase
