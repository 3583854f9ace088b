"""The order of things: append, replay, commit, reply. Shown with a shard that counts."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from millstream.coordinator.record import CoordinatorRecord
from millstream.coordinator.result import Caller, CoordinatorResult, Reply, TimerKey, Token
from millstream.coordinator.runtime import QUEUE_OPERATIONS_MAX, CoordinatorRuntime
from millstream.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    IllegalGeneration,
    KafkaStorageError,
    MessageTooLarge,
    NotCoordinator,
    NotEnoughReplicas,
    RecordListTooLarge,
    UnknownServerError,
)
from millstream.model import Offset, ProducerId
from millstream.protocol.generated.group_records import GroupMetadataKey
from millstream.runtime import Instant

COMMIT_TIMEOUT_MS = 500


@dataclass(frozen=True)
class Write:
    names: tuple[str, ...]
    is_much: bool = False


class NameShard:
    """Hard state: the names it has stored, with their offsets. Soft state: what happened to it."""

    def __init__(self) -> None:
        self.stored: list[tuple[int, str]] = []
        self.events: list[str] = []

    def handle(self, request: object, caller: Caller, now: Instant) -> CoordinatorResult:
        del now
        match request:
            case Write():
                return self.write(caller.token, *request.names)
            case "refused":
                raise IllegalGeneration
            case _:
                return self.read(caller.token)

    def write(self, token: Token, *names: str) -> CoordinatorResult:
        result = CoordinatorResult()
        result.records += [_record(name) for name in names]
        result.reply(token, f"stored {', '.join(names)}")
        result.notices.append(f"see to {', '.join(names)}")
        return result

    def read(self, token: Token) -> CoordinatorResult:
        result = CoordinatorResult()
        result.reply(token, [name for _, name in self.stored])
        return result

    def replay(self, offset: Offset, record: CoordinatorRecord) -> None:
        assert isinstance(record.key, GroupMetadataKey)
        self.stored.append((offset, record.key.group))

    def transaction_size(self, producer_id: ProducerId) -> int:
        return len(self.stored)

    def replay_end_transaction(self, producer_id: ProducerId, *, committed: bool) -> None:
        self.events.append(f"{producer_id} {'committed' if committed else 'aborted'}")

    def handle_loaded(self, now: Instant) -> CoordinatorResult:
        result = CoordinatorResult()
        result.start_timer("tick", now.monotonic_ms + 100)
        return result

    def handle_timer(self, key: TimerKey, now: Instant) -> CoordinatorResult:
        self.events.append(f"{key} at {now.monotonic_ms}")
        return CoordinatorResult()

    def takes_long(self, asked: object) -> bool:
        return isinstance(asked, Write) and asked.is_much

    def handle_append_failed(self, failed: CoordinatorResult, now: Instant) -> CoordinatorResult:
        self.events.append(f"lost {len(failed.records)}")
        return CoordinatorResult()


def _record(name: str) -> CoordinatorRecord:
    return CoordinatorRecord(GroupMetadataKey(group=name), None)


def at(ms: int) -> Instant:
    return Instant(1_000_000 + ms, ms)


def loaded(*names: str) -> CoordinatorRuntime[NameShard]:
    runtime = CoordinatorRuntime(NameShard(), COMMIT_TIMEOUT_MS)
    for offset, name in enumerate(names):
        runtime.replay_loaded(Offset(offset), _record(name))
    runtime.finish_loading(Offset(len(names)), at(0))
    return runtime


def write(
    runtime: CoordinatorRuntime[NameShard],
    token: int,
    *names: str,
    ms: int = 0,
    is_long: bool = False,
    is_much: bool = False,
) -> None:
    caller = Caller(Token(token), 0, is_long=is_long)
    runtime.submit(Write(names, is_much), caller, at(ms))


def read(runtime: CoordinatorRuntime[NameShard], token: int, ms: int = 0) -> None:
    runtime.submit("read", Caller(Token(token), 0), at(ms))


def test_records_are_replayed_when_appended_and_answered_when_committed() -> None:
    runtime = loaded("old")
    write(runtime, 1, "a", "b")
    ready = runtime.advance(at(0))
    assert [r.key for r in ready.records] == [
        GroupMetadataKey(group="a"),
        GroupMetadataKey(group="b"),
    ]
    assert (ready.replies, runtime.shard.stored) == ([], [(0, "old")])
    runtime.complete_append(Offset(1), at(0))
    assert runtime.shard.stored == [(0, "old"), (1, "a"), (2, "b")]
    assert runtime.advance(at(0)).replies == []
    runtime.update_last_committed_offset(Offset(2))
    assert runtime.advance(at(0)).replies == []
    runtime.update_last_committed_offset(Offset(3))
    assert runtime.advance(at(0)).replies == [Reply(Token(1), "stored a, b")]


def test_a_read_after_a_write_waits_until_what_it_saw_is_committed() -> None:
    runtime = loaded()
    write(runtime, 1, "a")
    runtime.advance(at(0))
    runtime.complete_append(Offset(0), at(0))
    read(runtime, 2)
    assert runtime.advance(at(0)).replies == []
    runtime.update_last_committed_offset(Offset(1))
    assert runtime.advance(at(0)).replies == [Reply(Token(1), "stored a"), Reply(Token(2), ["a"])]


def test_a_read_with_nothing_under_way_is_answered_at_once() -> None:
    runtime = loaded("old")
    read(runtime, 1)
    assert runtime.advance(at(0)).replies == [Reply(Token(1), ["old"])]


def test_only_one_append_is_under_way() -> None:
    runtime = loaded()
    write(runtime, 1, "a")
    write(runtime, 2, "b")
    first = runtime.advance(at(0))
    assert runtime.advance(at(0)).records == first.records
    runtime.complete_append(Offset(0), at(0))
    assert runtime.advance(at(0)).records == [_record("b")]


def test_a_failed_append_changes_nothing_and_is_told_to_the_client_and_the_shard() -> None:
    runtime = loaded()
    write(runtime, 1, "a")
    runtime.advance(at(0))
    runtime.fail_append(NotEnoughReplicas(), at(0))
    (reply,) = runtime.advance(at(0)).replies
    assert reply.token == 1
    assert isinstance(reply.outcome, CoordinatorNotAvailable)
    assert (runtime.shard.stored, runtime.shard.events) == ([], ["lost 1"])


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        (NotEnoughReplicas(), CoordinatorNotAvailable),
        (KafkaStorageError(), NotCoordinator),
        (MessageTooLarge(), UnknownServerError),
        (RecordListTooLarge(), UnknownServerError),
    ],
)
def test_errors_of_the_log_become_errors_of_the_coordinator(
    cause: NotEnoughReplicas, expected: type[Exception]
) -> None:
    runtime = loaded()
    write(runtime, 1, "a")
    runtime.advance(at(0))
    runtime.fail_append(cause, at(0))
    (reply,) = runtime.advance(at(0)).replies
    assert type(reply.outcome) is expected


def test_a_refusal_is_the_answer() -> None:
    runtime = loaded()

    runtime.submit("refused", Caller(Token(7), 0), at(0))
    (reply,) = runtime.advance(at(0)).replies
    assert reply.token == 7
    assert isinstance(reply.outcome, IllegalGeneration)


def test_a_commit_that_does_not_come_is_given_up_on_but_stays_true() -> None:
    runtime = loaded()
    write(runtime, 1, "a")
    runtime.advance(at(0))
    runtime.complete_append(Offset(0), at(0))
    assert runtime.next_deadline_ms() == 100  # the shard's own timer
    runtime.advance(at(100))
    assert runtime.next_deadline_ms() == COMMIT_TIMEOUT_MS
    (reply,) = runtime.advance(at(COMMIT_TIMEOUT_MS)).replies
    assert isinstance(reply.outcome, CoordinatorNotAvailable)
    assert runtime.shard.stored == [(0, "a")]
    runtime.update_last_committed_offset(Offset(1))
    assert runtime.advance(at(600)).replies == []


def test_a_notice_comes_when_its_records_are_committed_however_late() -> None:
    runtime = loaded()
    write(runtime, 1, "a")
    assert not runtime.advance(at(0)).notices
    runtime.complete_append(Offset(0), at(0))
    assert not runtime.advance(at(2 * COMMIT_TIMEOUT_MS)).notices
    runtime.update_last_committed_offset(Offset(1))
    assert runtime.advance(at(2 * COMMIT_TIMEOUT_MS)).notices == ["see to a"]
    assert not runtime.advance(at(2 * COMMIT_TIMEOUT_MS)).notices


def test_records_that_are_not_written_give_no_notice() -> None:
    runtime = loaded()
    write(runtime, 1, "a")
    runtime.advance(at(0))
    runtime.fail_append(NotEnoughReplicas(), at(0))
    assert not runtime.advance(at(0)).notices


def test_a_marker_is_replayed_at_once_and_holds_back_what_is_answered_after_it() -> None:
    runtime = loaded("old")
    runtime.complete_transaction(Offset(2), ProducerId(7), committed=True)
    assert runtime.shard.events == ["7 committed"]
    read(runtime, 1)
    assert runtime.advance(at(0)).replies == []
    runtime.update_last_committed_offset(Offset(2))
    assert runtime.advance(at(0)).replies == [Reply(Token(1), ["old"])]


def test_timers_fire_when_due() -> None:
    runtime = loaded()
    assert runtime.next_deadline_ms() == 100
    runtime.advance(at(99))
    assert runtime.shard.events == []
    runtime.advance(at(100))
    assert runtime.shard.events == ["tick at 100"]
    assert runtime.next_deadline_ms() is None


def test_what_arrived_before_a_deadline_runs_before_the_timer() -> None:
    """A broker that was stopped for a while does not expire members whose heartbeats wait in its queue."""
    runtime = loaded()
    read(runtime, 1, ms=99)
    read(runtime, 2, ms=101)
    seen: list[str] = []
    shard = runtime.shard
    shard.read = lambda token: (seen.append(f"read {token}"), CoordinatorResult())[1]  # type: ignore[method-assign]
    shard.handle_timer = lambda _key, _now: (seen.append("timer"), CoordinatorResult())[1]  # type: ignore[method-assign]
    runtime.advance(at(5_000))
    assert seen == ["read 1", "timer", "read 2"]


def test_nothing_is_accepted_while_loading() -> None:
    runtime = CoordinatorRuntime(NameShard(), COMMIT_TIMEOUT_MS)
    with pytest.raises(CoordinatorLoadInProgress):
        read(runtime, 1)


def test_nothing_is_accepted_or_answered_after_unloading() -> None:
    runtime = loaded()
    write(runtime, 1, "a")
    runtime.unload()
    with pytest.raises(NotCoordinator):
        read(runtime, 2)
    assert runtime.advance(at(1_000)).replies == []
    assert runtime.next_deadline_ms() is None


def test_a_long_operation_is_run_apart_and_in_its_turn() -> None:
    runtime = loaded()
    write(runtime, 1, "a")
    write(runtime, 2, "b", is_long=True)
    write(runtime, 3, "c")
    ready = runtime.advance(at(0))
    assert (len(ready.records), ready.is_long_next) == (1, False)
    runtime.complete_append(Offset(0), at(0))
    ready = runtime.advance(at(0))
    assert (ready.records, ready.is_long_next) == ((), True)
    assert [r.key for r in runtime.run_long(at(0)).records] == [GroupMetadataKey(group="b")]
    runtime.complete_append(Offset(1), at(0))
    runtime.advance(at(0))
    runtime.complete_append(Offset(2), at(0))
    assert runtime.shard.stored == [(0, "a"), (1, "b"), (2, "c")]


def test_the_shard_says_what_takes_long() -> None:
    runtime = loaded()
    write(runtime, 1, "a", is_much=False)
    write(runtime, 2, "b", is_much=True)
    runtime.advance(at(0))
    runtime.complete_append(Offset(0), at(0))
    assert runtime.advance(at(0)).is_long_next
    assert [r.key for r in runtime.run_long(at(0)).records] == [GroupMetadataKey(group="b")]


def test_a_timer_may_take_long() -> None:
    runtime = loaded()
    runtime.shard.takes_long = lambda asked: asked == "tick"  # type: ignore[method-assign]
    assert runtime.advance(at(100)).is_long_next
    assert runtime.shard.events == []
    runtime.run_long(at(100))
    assert runtime.shard.events == ["tick at 100"]


def test_a_timer_that_is_due_comes_before_a_long_operation_that_arrived_later() -> None:
    runtime = loaded()
    write(runtime, 1, "a", ms=101, is_long=True)
    ready = runtime.advance(at(102))
    assert (runtime.shard.events, ready.is_long_next) == (["tick at 102"], True)


def test_the_queue_is_bounded() -> None:
    runtime = loaded()
    for token in range(QUEUE_OPERATIONS_MAX):
        read(runtime, token)
    with pytest.raises(CoordinatorNotAvailable):
        read(runtime, QUEUE_OPERATIONS_MAX)


def test_no_more_operations_run_at_once_than_are_allowed() -> None:
    """Thousands may be queued, and others want their turn."""
    runtime = loaded("old")
    for token in (1, 2, 3):
        read(runtime, token)
    first = runtime.advance(at(0), operations_max=2)
    assert ([reply.token for reply in first.replies], first.is_unfinished) == ([1, 2], True)
    rest = runtime.advance(at(0), operations_max=2)
    assert ([reply.token for reply in rest.replies], rest.is_unfinished) == ([3], False)


def test_what_is_checked_right_before_a_request_may_refuse_it() -> None:
    runtime = loaded()

    def refuse() -> None:
        raise IllegalGeneration

    runtime.submit(Write(("a",)), Caller(Token(7), 0), at(0), refuse)
    ready = runtime.advance(at(0))
    assert ready.records == ()
    assert [type(reply.outcome) for reply in ready.replies] == [IllegalGeneration]


def test_an_answer_that_tells_nothing_of_what_is_written_waits_for_no_commit() -> None:
    runtime = loaded()
    write(runtime, 1, "a")
    runtime.advance(at(0))
    runtime.complete_append(Offset(0), at(0))
    runtime.submit("read", Caller(Token(2), 0, sees_uncommitted=True), at(0))
    runtime.submit("refused", Caller(Token(3), 0, sees_uncommitted=True), at(0))
    read(runtime, 4)
    first, second = runtime.advance(at(0)).replies
    assert first == Reply(Token(2), ["a"])
    assert (second.token, type(second.outcome)) == (3, IllegalGeneration)


def test_what_such_a_request_writes_is_answered_when_it_is_committed() -> None:
    runtime = loaded()
    runtime.submit(Write(("a",)), Caller(Token(1), 0, sees_uncommitted=True), at(0))
    runtime.advance(at(0))
    runtime.complete_append(Offset(0), at(0))
    assert runtime.advance(at(0)).replies == []
    runtime.update_last_committed_offset(Offset(1))
    assert runtime.advance(at(0)).replies == [Reply(Token(1), "stored a")]


def test_what_is_loaded_and_not_committed_is_answered_from_once_it_is() -> None:
    runtime = CoordinatorRuntime(NameShard(), COMMIT_TIMEOUT_MS)
    for offset, name in enumerate(("a", "b")):
        runtime.replay_loaded(Offset(offset), _record(name))
    runtime.finish_loading(Offset(2), at(0), Offset(1))
    read(runtime, 1)
    assert runtime.advance(at(0)).replies == []
    assert runtime.first_awaited_offset == 2
    runtime.update_last_committed_offset(Offset(2))
    assert runtime.advance(at(0)).replies == [Reply(Token(1), ["a", "b"])]


def test_a_refusal_of_the_log_is_told_at_once_though_earlier_records_wait() -> None:
    """Where replicas are missing the log refuses, and the mark stands still for what it took before."""
    runtime = loaded()
    write(runtime, 1, "a")
    runtime.advance(at(0))
    runtime.complete_append(Offset(0), at(0))
    write(runtime, 2, "b")
    runtime.advance(at(0))
    runtime.fail_append(NotEnoughReplicas(), at(0))
    (reply,) = runtime.advance(at(0)).replies
    assert (reply.token, type(reply.outcome)) == (2, CoordinatorNotAvailable)


def test_what_is_awaited_next_is_not_what_is_committed_already() -> None:
    """Its notice may not have been taken yet."""
    runtime = loaded()
    for token, name in ((1, "a"), (2, "b")):
        write(runtime, token, name)
        runtime.advance(at(0))
        runtime.complete_append(Offset(token - 1), at(0))
    assert runtime.first_awaited_offset == 1
    runtime.update_last_committed_offset(Offset(1))
    assert runtime.first_awaited_offset == 2
    runtime.update_last_committed_offset(Offset(2))
    assert runtime.first_awaited_offset == 2


def test_what_is_awaited_next_can_be_asked_while_a_thread_parks_more() -> None:
    """The edge looks for what to sync next while a long operation runs."""

    def write_many(runtime: CoordinatorRuntime[NameShard]) -> None:
        for token in range(1, 3_000):
            write(runtime, token, "a")
            runtime.advance(at(0))
            runtime.complete_append(Offset(token - 1), at(0))

    switch_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # a thread may lose its turn anywhere: here it does
    try:
        with ThreadPoolExecutor(1) as pool:
            for _ in range(5):
                runtime = loaded()
                writing = pool.submit(write_many, runtime)
                while not writing.done():
                    assert runtime.first_awaited_offset in (0, 1)
                writing.result()
    finally:
        sys.setswitchinterval(switch_s)
