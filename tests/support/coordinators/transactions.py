"""A transaction coordinator in a world that stands still: a log in memory, and a clock that moves only when told.

For unit tests and random interleavings. The log keeps encoded records, so every test also goes through the record format;
commits can be held back and appends made to fail. Markers are what the test does about `prepared`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

from millstream.coordinator.record import CoordinatorRecord
from millstream.coordinator.result import Caller, Token
from millstream.coordinator.runtime import CoordinatorRuntime
from millstream.coordinator.transaction.context import (
    MarkersWritten,
    PreparedTransaction,
    TransactionCoordinatorConfig,
)
from millstream.coordinator.transaction.shard import TransactionShard
from millstream.coordinator.transaction.state import TransactionVersion
from millstream.coordinator.transaction.transaction import TransactionMetadata
from millstream.errors import CoordinatorLoadInProgress, KafkaError
from millstream.model import Offset, ProducerId
from millstream.protocol.generated.add_partitions_to_txn import (
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from millstream.protocol.generated.end_txn import EndTxnRequest
from millstream.protocol.generated.init_producer_id import InitProducerIdRequest
from millstream.protocol.record_frames import (
    decode_transaction_record,
    encode_record_key,
    encode_record_value,
)
from millstream.runtime import Instant

RequestT = TypeVar("RequestT")

START_WALL_MS = 1_700_000_000_000
COMMIT_TIMEOUT_MS = 5_000


class SimTransactions:
    """Drives a `CoordinatorRuntime` as an edge does, without the waiting. Producer ids begin with 1000."""

    def __init__(
        self,
        config: TransactionCoordinatorConfig | None = None,
        *,
        level: int = 2,
        log: Sequence[tuple[bytes, bytes | None]] = (),
        elapsed_ms: int = 0,
        next_producer_id: int = 1000,
    ) -> None:
        self.config = config or TransactionCoordinatorConfig()
        self.level = TransactionVersion(level)
        self.log = list(log)
        self.prepared: list[PreparedTransaction] = []
        """Decided, and waiting for their markers."""
        self.commits_by_itself = True
        self.has_producer_ids = True
        self.next_append_error: KafkaError | None = None
        self._next_producer_id = next_producer_id
        self._elapsed_ms = elapsed_ms
        self._outcomes: dict[Token, object] = {}
        self._last_token = 0
        shard = TransactionShard(self.config, self._take_producer_id)
        shard.level = self.level
        self._runtime = CoordinatorRuntime(shard, COMMIT_TIMEOUT_MS)
        for offset, (key, value) in enumerate(self.log):
            record = CoordinatorRecord(*decode_transaction_record(key, value))
            self._runtime.replay_loaded(Offset(offset), record)
        self._runtime.finish_loading(Offset(len(self.log)), self.now)
        self.settle()

    @property
    def now(self) -> Instant:
        return Instant(START_WALL_MS + self._elapsed_ms, self._elapsed_ms)

    @property
    def shard(self) -> TransactionShard:
        return self._runtime.shard

    def restarted(self) -> SimTransactions:
        """Another coordinator that has loaded this one's log."""
        return SimTransactions(
            self.config,
            level=self.level,
            log=self.log,
            elapsed_ms=self._elapsed_ms,
            next_producer_id=self._next_producer_id,
        )

    # --- requests; each gives the response, or raises what the request was refused with

    def init(
        self,
        transactional_id: str = "x",
        *,
        producer_id: int = -1,
        epoch: int = -1,
        timeout_ms: int = 60_000,
    ) -> tuple[int, int]:
        """The producer id and epoch given."""
        request = InitProducerIdRequest(transactional_id, timeout_ms, producer_id, epoch)
        answer = self.ask(request, version=5)
        return answer.producer_id, answer.producer_epoch

    def add(
        self,
        producer: tuple[int, int],
        *partitions: tuple[str, int],
        transactional_id: str = "x",
        version: int = 5,
        verify_only: bool = False,
    ) -> list[int]:
        """The error code of each partition."""
        request = AddPartitionsToTxnTransaction(
            transactional_id,
            *producer,
            verify_only,
            [AddPartitionsToTxnTopic(topic, [number]) for topic, number in partitions],
        )
        answer = self.ask(request, version=version)
        return [
            each.partition_error_code
            for topic in answer.topic_results
            for each in topic.results_by_partition
        ]

    def end(
        self,
        producer: tuple[int, int],
        *,
        commit: bool = True,
        transactional_id: str = "x",
        version: int = 5,
    ) -> tuple[int, int]:
        """The producer id and epoch to go on with; (-1, -1) before version 5."""
        request = EndTxnRequest(transactional_id, *producer, commit)
        answer = self.ask(request, version=version)
        return answer.producer_id, answer.producer_epoch

    def write_markers(self, *chosen: PreparedTransaction) -> list[TransactionMetadata]:
        """What is decided gets its markers, all of it unless some are chosen; gives what that was."""
        written = list(chosen or self.prepared)
        for prepared in written:
            self.prepared.remove(prepared)
            self.ask(MarkersWritten(prepared.transaction), version=0)
        return [prepared.transaction for prepared in written]

    def state(self, transactional_id: str = "x") -> TransactionMetadata:
        return self.shard.transactions.get(transactional_id)

    def ask(
        self, request: object, *, version: int
    ) -> Any:  # Any: each API has its own response class
        token = self.submit(request, version=version)
        assert token in self._outcomes, "the request waits: nothing was committed"
        return self.outcome(token)

    def submit(self, request: object, *, version: int) -> Token:
        self._last_token += 1
        token = Token(self._last_token)
        self._runtime.submit(request, Caller(token, version, "client", "/127.0.0.1"), self.now)
        self.settle()
        return token

    def is_answered(self, token: Token) -> bool:
        return token in self._outcomes

    def outcome(self, token: Token) -> Any:  # Any: each API has its own response class
        outcome = self._outcomes[token]
        if isinstance(outcome, KafkaError):
            raise outcome
        return outcome

    # --- the world

    def settle(self) -> None:
        """Runs until nothing is due."""
        is_long_next = False
        while True:
            ready = (
                self._runtime.run_long(self.now)
                if is_long_next
                else self._runtime.advance(self.now)
            )
            is_long_next = ready.is_long_next
            for reply in ready.replies:
                assert reply.token not in self._outcomes, f"request {reply.token} answered twice"
                self._outcomes[reply.token] = reply.outcome
            for notice in ready.notices:
                assert isinstance(notice, PreparedTransaction), "the only notice there is"
                self.prepared.append(notice)
            if ready.records:
                self._append(list(ready.records))
            elif not ready.replies and not is_long_next:
                return

    def commit(self) -> None:
        """Everything appended so far is safe."""
        self._runtime.update_last_committed_offset(Offset(len(self.log)))
        self.settle()

    def pass_time(self, duration_ms: int) -> None:
        """Stops at every deadline on the way, as a real edge wakes up for it."""
        end_ms = self._elapsed_ms + duration_ms
        while True:
            deadline_ms = self._runtime.next_deadline_ms()
            if deadline_ms is None or deadline_ms > end_ms:
                break
            self._elapsed_ms = max(self._elapsed_ms, deadline_ms)
            self.settle()
        self._elapsed_ms = end_ms

    def set_epoch(self, epoch: int, transactional_id: str = "x") -> None:
        """As if so many transactions had been run before."""
        known = self.shard.transactions.get(transactional_id)
        self.shard.transactions.put(replace(known, producer_epoch=epoch))

    def _take_producer_id(self) -> ProducerId:
        if not self.has_producer_ids:
            raise CoordinatorLoadInProgress
        given, self._next_producer_id = self._next_producer_id, self._next_producer_id + 1
        return ProducerId(given)

    def _append(self, records: list[CoordinatorRecord]) -> None:
        error, self.next_append_error = self.next_append_error, None
        if error is not None:
            self._runtime.fail_append(error, self.now)
            return
        first_offset = Offset(len(self.log))
        self.log += [_encoded(record) for record in records]
        self._runtime.complete_append(first_offset, self.now)
        if self.commits_by_itself:
            self._runtime.update_last_committed_offset(Offset(len(self.log)))


def _encoded(record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
    key, value = encode_record_key(record.key), record.value
    return key, None if value is None else encode_record_value(value, record.value_version)
