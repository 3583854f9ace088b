"""Transactions over the wire, as a client of KIP-890 runs them, and what a crash in the middle of one leaves."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from millstream.errors import (
    ConcurrentTransactions,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    InvalidProducerEpoch,
    InvalidTxnState,
    NotCoordinator,
    ProducerFenced,
    TransactionAbortable,
    UnstableOffsetCommit,
)
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.end_txn import EndTxnRequest
from millstream.protocol.generated.fetch import FetchPartition, FetchRequest, FetchTopic
from millstream.protocol.generated.find_coordinator import FindCoordinatorRequest
from millstream.protocol.generated.init_producer_id import InitProducerIdRequest
from millstream.protocol.generated.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from millstream.protocol.generated.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from millstream.protocol.generated.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from millstream.protocol.generated.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from millstream.records.batch import iterate_batches
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.control import AbortedTransactionFilter
from millstream.records.record import Record, iterate_records
from millstream.testing.broker import Broker
from tests.patience import LONG_ENOUGH_S, wait_until
from tests.support.clients.raw_client import RawClient

TOPIC = "t"
PASSES = {
    ConcurrentTransactions.code,
    CoordinatorLoadInProgress.code,
    CoordinatorNotAvailable.code,
    NotCoordinator.code,
}


SETTINGS = {"transaction.state.log.num.partitions": "2", "offsets.topic.num.partitions": "2"}


def prepare(broker: Broker) -> None:
    with RawClient(broker.bootstrap_servers) as client:
        client.create_topic(TOPIC, partitions=2)
        for kind in (0, 1):
            request = FindCoordinatorRequest(key_type=kind, coordinator_keys=["x"])
            client.ask(ApiKey.FIND_COORDINATOR, 4, request)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    """In a process of its own, for tests that kill it."""
    with Broker(in_process=False, data=tmp_path / "data", settings=SETTINGS) as running:
        prepare(running)
        yield running


@pytest.fixture
def client(tmp_path: Path) -> Iterator[RawClient]:
    """Of a broker in a thread."""
    with Broker(data=tmp_path / "data", settings=SETTINGS) as running:
        prepare(running)
        with RawClient(running.bootstrap_servers) as connected:
            yield connected


@dataclass
class Sender:
    """A producer of transaction.version 2: it says what it writes, and adds no partitions."""

    client: RawClient
    transactional_id: str = "x"
    producer_id: int = -1
    epoch: int = -1
    sequences: dict[int, int] = field(default_factory=dict)

    def init(self, timeout_ms: int = 60_000) -> Sender:
        request = InitProducerIdRequest(self.transactional_id, timeout_ms, -1, -1)
        answer = self._until_it_passes(ApiKey.INIT_PRODUCER_ID, 4, request)
        assert answer.error_code == 0
        self.producer_id, self.epoch, self.sequences = answer.producer_id, answer.producer_epoch, {}
        return self

    def produce(self, value: bytes, partition: int = 0, version: int = 12) -> int:
        """The error code."""
        options = BatchOptions(
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=self.sequences.get(partition, 0),
            is_transactional=True,
        )
        records = memoryview(
            build_batch([Record(value=value, timestamp=int(time.time() * 1000))], options)
        )
        data = TopicProduceData(
            name=TOPIC, partition_data=[PartitionProduceData(partition, records)]
        )
        request = ProduceRequest(self.transactional_id, -1, 10_000, [data])
        answer = self.client.ask(ApiKey.PRODUCE, version, request)
        code = int(answer.responses[0].partition_responses[0].error_code)
        if not code:
            self.sequences[partition] = self.sequences.get(partition, 0) + 1
        return code

    def end(self, *, commit: bool) -> Any:  # Any: the response, as the codec gives it
        request = EndTxnRequest(self.transactional_id, self.producer_id, self.epoch, commit)
        answer = self._until_it_passes(ApiKey.END_TXN, 5, request)
        if not answer.error_code:
            self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
            self.sequences = {}
        return answer

    def commit_offset(self, offset: int, version: int = 5) -> int:
        """The error code."""
        topic = TxnOffsetCommitRequestTopic(
            TOPIC, [TxnOffsetCommitRequestPartition(0, offset, -1, "")]
        )
        request = TxnOffsetCommitRequest(
            self.transactional_id, "g", self.producer_id, self.epoch, topics=[topic]
        )
        deadline = time.monotonic() + LONG_ENOUGH_S
        while True:
            answer = self.client.ask(ApiKey.TXN_OFFSET_COMMIT, version, request)
            code = int(answer.topics[0].partitions[0].error_code)
            if code not in PASSES:
                return code
            assert time.monotonic() < deadline, answer
            time.sleep(0.02)

    def _until_it_passes(self, key: ApiKey, version: int, request: Any) -> Any:  # Any: see `end`
        deadline = time.monotonic() + LONG_ENOUGH_S
        while True:
            answer = self.client.ask(key, version, request)
            if answer.error_code not in PASSES:
                return answer
            assert time.monotonic() < deadline, answer
            time.sleep(0.02)


def read(client: RawClient, partition: int = 0) -> tuple[list[bytes], bool]:
    """What a reader at read_committed sees, and whether that is all there is."""
    asked = FetchPartition(partition=partition, fetch_offset=0, partition_max_bytes=1 << 20)
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        isolation_level=1,
        topics=[FetchTopic(topic=TOPIC, partitions=[asked])],
    )
    found = client.ask(ApiKey.FETCH, 11, request).responses[0].partitions[0]
    aborted = [(a.producer_id, a.first_offset) for a in found.aborted_transactions or ()]
    is_committed = AbortedTransactionFilter(aborted)
    values = [
        bytes(record.value)
        for header, batch in iterate_batches(memoryview(bytes(found.records or b"")))
        if is_committed(header, batch) and not header.is_control
        for record in iterate_records(header, batch)
    ]
    return values, found.last_stable_offset == found.high_watermark


def until_stable(client: RawClient, partition: int = 0) -> list[bytes]:
    """Markers are written after EndTxn is answered."""
    wait_until(lambda: read(client, partition)[1])
    return read(client, partition)[0]


def committed_offset(client: RawClient) -> tuple[int, int]:
    """(error code, offset), asked as consumers in an exactly-once copy do."""
    topic = OffsetFetchRequestTopics(name=TOPIC, partition_indexes=[0])
    request = OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup("g", topics=[topic])], require_stable=True
    )
    answer = client.ask(ApiKey.OFFSET_FETCH, 8, request).groups[0].topics[0].partitions[0]
    return answer.error_code, answer.committed_offset


def test_a_transaction_is_seen_when_it_is_committed_and_never_when_it_is_aborted(
    client: RawClient,
) -> None:
    sender = Sender(client).init()
    assert [sender.produce(b"a", 0), sender.produce(b"b", 1), sender.produce(b"c", 0)] == [0, 0, 0]
    assert read(client) == ([], False)
    before = sender.epoch
    assert sender.end(commit=True).error_code == 0
    assert sender.epoch == before + 1
    assert (until_stable(client, 0), until_stable(client, 1)) == ([b"a", b"c"], [b"b"])
    assert sender.produce(b"d") == 0
    assert sender.end(commit=False).error_code == 0
    assert sender.produce(b"e") == 0
    assert sender.end(commit=True).error_code == 0
    assert until_stable(client) == [b"a", b"c", b"e"]


def test_offsets_count_with_the_transaction(client: RawClient) -> None:
    sender = Sender(client).init()
    assert sender.commit_offset(5) == 0
    assert committed_offset(client) == (UnstableOffsetCommit.code, -1)
    sender.end(commit=False)
    assert sender.commit_offset(7) == 0
    sender.end(commit=True)
    wait_until(lambda: committed_offset(client)[0] != UnstableOffsetCommit.code)
    assert committed_offset(client) == (0, 7)


def test_an_older_client_must_have_added_what_it_writes_to(client: RawClient) -> None:
    """KIP-890: verification, for producers that add partitions themselves."""
    sender = Sender(client).init()
    assert sender.produce(b"a", version=10) == InvalidTxnState.code
    assert sender.produce(b"a", version=11) == TransactionAbortable.code
    assert sender.commit_offset(5, version=4) == TransactionAbortable.code
    assert sender.commit_offset(5, version=3) == InvalidTxnState.code
    assert read(client) == ([], True)


def test_a_zombie_is_fenced_and_nothing_of_it_is_mixed_in(client: RawClient) -> None:
    """Another producer has taken the transactional id."""
    zombie = Sender(client).init()
    zombie.produce(b"of the zombie")
    heir = Sender(client).init()
    assert zombie.produce(b"more of it") == InvalidProducerEpoch.code
    assert zombie.produce(b"elsewhere", 1) == InvalidProducerEpoch.code
    assert zombie.commit_offset(9) == InvalidProducerEpoch.code
    heir.produce(b"of the heir")
    assert zombie.end(commit=True).error_code == ProducerFenced.code
    assert heir.end(commit=True).error_code == 0
    assert until_stable(client) == [b"of the heir"]


def test_a_transaction_that_takes_too_long_is_aborted(client: RawClient) -> None:
    sender = Sender(client).init(timeout_ms=300)
    sender.produce(b"slow")
    assert until_stable(client) == []
    assert sender.end(commit=True).error_code == InvalidTxnState.code


@pytest.mark.parametrize("commit", [True, False])
def test_what_was_decided_before_a_crash_is_completed_after_it(
    broker: Broker, commit: bool
) -> None:
    """The markers may have been written or not: the answer to EndTxn is what counts."""
    with RawClient(broker.bootstrap_servers) as client:
        sender = Sender(client).init()
        sender.produce(b"a", 0)
        sender.produce(b"b", 1)
        assert sender.end(commit=commit).error_code == 0
        broker.kill()
    broker.restart()
    with RawClient(broker.bootstrap_servers) as client:
        expected = ([b"a"], [b"b"]) if commit else ([], [])
        assert (until_stable(client, 0), until_stable(client, 1)) == expected
        sender.client = client
        assert sender.produce(b"c") == 0
        assert sender.end(commit=True).error_code == 0
        assert until_stable(client) == [*expected[0], b"c"]


def test_what_was_open_at_a_crash_goes_on_after_it(broker: Broker) -> None:
    with RawClient(broker.bootstrap_servers) as client:
        sender = Sender(client).init()
        sender.produce(b"a")
        sender.commit_offset(3)
        broker.kill()
    broker.restart()
    with RawClient(broker.bootstrap_servers) as client:
        sender.client = client
        assert read(client) == ([], False)
        assert sender.produce(b"b") == 0
        assert sender.end(commit=True).error_code == 0
        assert until_stable(client) == [b"a", b"b"]


def test_a_transaction_that_hangs_can_be_ended_by_hand(client: RawClient) -> None:
    """WriteTxnMarkers, as `kafka-transactions abort` sends it (KIP-664)."""
    sender = Sender(client).init()
    sender.produce(b"hangs")
    marker = WritableTxnMarker(
        sender.producer_id, sender.epoch, False, [WritableTxnMarkerTopic(TOPIC, [0, 7])], 0
    )
    answer = client.ask(ApiKey.WRITE_TXN_MARKERS, 1, WriteTxnMarkersRequest([marker]))
    codes = [(p.partition_index, p.error_code) for p in answer.markers[0].topics[0].partitions]
    assert codes == [(0, 0), (7, 3)]
    assert read(client) == ([], True)
