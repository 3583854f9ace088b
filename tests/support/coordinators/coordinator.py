"""A group coordinator in a world that stands still: a log in memory, and a clock that moves only when told.

For unit tests, scripts and random interleavings of groups. The log keeps encoded records, so every test also goes through the
record format; commits can be held back and appends made to fail.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

from millstream.coordinator.group.config import GroupCoordinatorConfig
from millstream.coordinator.group.consumer.regex import TopicsMatched, TopicsToMatch
from millstream.coordinator.group.shard import GroupShard
from millstream.coordinator.record import CoordinatorRecord
from millstream.coordinator.result import Caller, Token
from millstream.coordinator.runtime import CoordinatorRuntime
from millstream.errors import KafkaError
from millstream.metadata.client_pattern import ClientPattern
from millstream.metadata.image import (
    MetadataImage,
    PartitionImage,
    TopicImage,
    TopicsImage,
    frozen_mapping,
)
from millstream.model import NO_PRODUCER_ID, BrokerId, Offset, ProducerId, Uuid
from millstream.protocol.record_frames import (
    decode_group_record,
    encode_record_key,
    encode_record_value,
)
from millstream.runtime import Instant
from millstream.testing.sim_random import SimRandom

RequestT = TypeVar("RequestT")

START_WALL_MS = 1_700_000_000_000
COMMIT_TIMEOUT_MS = 5_000


class LogEntry(NamedTuple):
    """One record as it is written."""

    key: bytes
    value: bytes | None
    producer_id: ProducerId = NO_PRODUCER_ID


class Marker(NamedTuple):
    """The end of a transaction."""

    producer_id: ProducerId
    is_commit: bool


def topics_image(sizes: Mapping[str, int]) -> TopicsImage:
    """Topics by name and number of partitions, all on broker 1."""
    topics = [
        TopicImage(name, Uuid(name.encode().ljust(16, b"\x01")[:16]), _partitions(size))
        for name, size in sizes.items()
    ]
    return TopicsImage(
        by_name=frozen_mapping({topic.name: topic for topic in topics}),
        by_id=frozen_mapping({topic.topic_id: topic for topic in topics}),
    )


def _partitions(size: int) -> tuple[PartitionImage, ...]:
    broker = (BrokerId(1),)
    return tuple(
        PartitionImage(partition=index, replicas=broker, isr=broker, leader=broker[0])
        for index in range(size)
    )


NAMED_BY_TESTS: Final = MetadataImage(topics=topics_image({"t": 10, "u": 10, "old": 10}))
"""The topics whose offsets tests commit, unless a world has others."""


class SimCoordinator:
    """Drives a `CoordinatorRuntime` as an edge does, without the waiting."""

    def __init__(
        self,
        config: GroupCoordinatorConfig | None = None,
        *,
        seed: int = 0,
        log: Sequence[LogEntry | Marker] = (),
        image: MetadataImage = NAMED_BY_TESTS,
        elapsed_ms: int = 0,
        next_append_error: KafkaError | None = None,
    ) -> None:
        self.config = config or GroupCoordinatorConfig()
        self.log = list(log)
        self.outcomes: dict[Token, object] = {}
        """What each request was answered with."""
        self.commits_by_itself = True
        self.next_append_error = next_append_error
        self._elapsed_ms = elapsed_ms
        self._last_token = 0
        self._random = SimRandom(seed)
        self._runtime = CoordinatorRuntime(GroupShard(self.config, self._random), COMMIT_TIMEOUT_MS)
        self.shard.apply_image(image)
        for offset, entry in enumerate(self.log):
            if isinstance(entry, Marker):
                self.shard.replay_end_transaction(entry.producer_id, committed=entry.is_commit)
            else:
                self._runtime.replay_loaded(Offset(offset), _decoded(entry))
        self._runtime.finish_loading(Offset(len(self.log)), self.now)
        self.settle()

    @property
    def now(self) -> Instant:
        return Instant(START_WALL_MS + self._elapsed_ms, self._elapsed_ms)

    @property
    def shard(self) -> GroupShard:
        return self._runtime.shard

    def send(
        self,
        request: object,
        *,
        version: int,
        client_id: str = "client",
    ) -> Token:
        """Hands a request over and lets the shard run; the answer may be in `outcomes` now, or later."""
        token = self.submit(request, version=version, client_id=client_id)
        self.settle()
        return token

    def submit(
        self,
        request: object,
        *,
        version: int,
        client_id: str = "client",
    ) -> Token:
        """Hands a request over without letting the shard run."""
        self._last_token += 1
        token = Token(self._last_token)
        self._runtime.submit(request, Caller(token, version, client_id, "/127.0.0.1"), self.now)
        return token

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
                assert reply.token not in self.outcomes, f"request {reply.token} answered twice"
                self.outcomes[reply.token] = reply.outcome
            for notice in ready.notices:
                self._match(notice)
            if ready.records:
                self._append(list(ready.records))
            elif not ready.replies and not ready.notices and not is_long_next:
                return

    def _match(self, notice: object) -> None:
        """What the edge does in a thread."""
        assert isinstance(notice, TopicsToMatch), "the only notice of a group shard"
        matches = {
            regex: frozenset(filter(ClientPattern(regex).matches, notice.topics))
            for regex in notice.regexes
        }
        self.submit(TopicsMatched(notice, matches), version=0)

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

    def stall(self, duration_ms: int) -> None:
        """Time passes and the coordinator does not run, as in a process that is stopped."""
        self._elapsed_ms += duration_ms

    def restarted(self, next_append_error: KafkaError | None = None) -> SimCoordinator:
        """Another coordinator that has loaded this one's log, at the same time of day."""
        seed = self._random.randrange(2**32)
        return SimCoordinator(
            self.config,
            seed=seed,
            log=self.log,
            image=self.shard.image,
            elapsed_ms=self._elapsed_ms,
            next_append_error=next_append_error,
        )

    def end_transaction(self, producer_id: ProducerId, *, committed: bool) -> None:
        """Writes the marker, as the edge does."""
        self.log.append(Marker(producer_id, committed))
        self._runtime.complete_transaction(Offset(len(self.log)), producer_id, committed=committed)
        self.commit()

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


def _encoded(record: CoordinatorRecord) -> LogEntry:
    value = record.value
    version = record.value_version
    return LogEntry(
        encode_record_key(record.key),
        None if value is None else encode_record_value(value, version),
        record.producer_id,
    )


def _decoded(entry: LogEntry) -> CoordinatorRecord:
    key, value = decode_group_record(entry.key, entry.value)
    return CoordinatorRecord(key, value, producer_id=entry.producer_id)
