"""A group coordinator in a world that stands still: a log in memory, and a clock that moves only when told.

For unit tests, scripts and random interleavings of groups. The log keeps encoded records, so every test also goes through the
record format; commits can be held back and appends made to fail.
"""

from __future__ import annotations

from typing import TypeVar

from millstream.coordinator.group.config import GroupCoordinatorConfig
from millstream.coordinator.group.consumer.regex import TopicsMatched, TopicsToMatch
from millstream.coordinator.group.shard import GroupShard
from millstream.coordinator.record import CoordinatorRecord
from millstream.coordinator.result import Caller, Token
from millstream.coordinator.runtime import CoordinatorRuntime
from millstream.errors import KafkaError
from millstream.metadata.client_pattern import ClientPattern
from millstream.model import Offset
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


class SimCoordinator:
    """Drives a `CoordinatorRuntime` as an edge does, without the waiting."""

    def __init__(
        self,
        config: GroupCoordinatorConfig | None = None,
        *,
        seed: int = 0,
        log: list[tuple[bytes, bytes | None]] | None = None,
        elapsed_ms: int = 0,
    ) -> None:
        self.config = config or GroupCoordinatorConfig()
        self.log: list[tuple[bytes, bytes | None]] = list(log or ())
        self.outcomes: dict[Token, object] = {}
        """What each request was answered with."""
        self.commits_by_itself = True
        self.next_append_error: KafkaError | None = None
        self._elapsed_ms = elapsed_ms
        self._last_token = 0
        self._random = SimRandom(seed)
        self._runtime = CoordinatorRuntime(GroupShard(self.config, self._random), COMMIT_TIMEOUT_MS)
        for offset, (key, value) in enumerate(self.log):
            self._runtime.replay_loaded(Offset(offset), _decoded(key, value))
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
        self._runtime.committed(Offset(len(self.log)))
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

    def restarted(self) -> SimCoordinator:
        """Another coordinator that has loaded this one's log, at the same time of day."""
        seed = self._random.randrange(2**32)
        return SimCoordinator(self.config, seed=seed, log=self.log, elapsed_ms=self._elapsed_ms)

    def _append(self, records: list[CoordinatorRecord]) -> None:
        error, self.next_append_error = self.next_append_error, None
        if error is not None:
            self._runtime.append_failed(error, self.now)
            return
        first_offset = Offset(len(self.log))
        self.log += [_encoded(record) for record in records]
        self._runtime.appended(first_offset, self.now)
        if self.commits_by_itself:
            self._runtime.committed(Offset(len(self.log)))


def _encoded(record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
    value = record.value
    version = record.value_version
    return (
        encode_record_key(record.key),
        None if value is None else encode_record_value(value, version),
    )


def _decoded(key: bytes, value: bytes | None) -> CoordinatorRecord:
    return CoordinatorRecord(*decode_group_record(key, value))
