"""When a member says something next, and what errors of every kind of member do to that."""

from __future__ import annotations

import pytest

from millstream.clients.group.core.heartbeat_request_manager import HeartbeatRequestManager
from millstream.errors import (
    BrokerNotAvailable,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    FencedMemberEpoch,
    GroupAuthorizationFailed,
    KafkaError,
    NetworkException,
    NotCoordinator,
    RequestTimedOut,
    TopicAuthorizationFailed,
    UnknownMemberId,
    UnsupportedVersion,
)
from millstream.net.client.core.outages import Backoff
from millstream.protocol.generated.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from millstream.testing.sim_random import SimRandom

INTERVAL_MS = 5_000
MAX_POLL_INTERVAL_MS = 20_000


class Recorder:
    """A membership that beats in the interval, wants to be told everything, and writes down what it hears."""

    def __init__(self) -> None:
        self.is_silent = False
        self.due_at_ms = 0
        self.heard: list[str] = []

    def heartbeat_due_ms(self, now_ms: int) -> int | None:
        return None if self.is_silent else max(0, self.due_at_ms - now_ms)

    def heartbeat_request(self, now_ms: int) -> ShareGroupHeartbeatRequest:
        self.due_at_ms = now_ms + INTERVAL_MS
        return ShareGroupHeartbeatRequest(group_id="g", member_id="m")

    def handle_heartbeat(
        self, _request: ShareGroupHeartbeatRequest, response: ShareGroupHeartbeatResponse
    ) -> KafkaError | None:
        self.heard.append(f"answer {response.error_code}")
        return None

    def handle_failure(self) -> None:
        self.heard.append("nothing")
        self.due_at_ms = 0

    def fail(self, error: KafkaError) -> KafkaError:
        self.is_silent = True
        return error


Manager = HeartbeatRequestManager[ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse]


def manager_of(member: Recorder) -> Manager:
    random = SimRandom(0)
    return HeartbeatRequestManager(member, Backoff(100, 1_000), random, MAX_POLL_INTERVAL_MS)


def beat(manager: Manager, now_ms: int, error: type[KafkaError] | None = None) -> None:
    request = manager.membership.heartbeat_request(now_ms)
    response = ShareGroupHeartbeatResponse(error_code=0 if error is None else error.code)
    assert manager.handle_response(request, response, now_ms) is None


@pytest.mark.parametrize(
    ("error", "backs_off", "is_lost"),
    [
        (NotCoordinator, True, True),
        (CoordinatorNotAvailable, True, True),
        (CoordinatorLoadInProgress, True, False),
        (TopicAuthorizationFailed, True, False),
        (FencedMemberEpoch, False, False),
        (UnknownMemberId, False, False),
    ],
)
def test_an_error_says_whether_to_wait_and_whether_to_look_again(
    error: type[KafkaError], backs_off: bool, is_lost: bool
) -> None:
    member = Recorder()
    manager = manager_of(member)
    beat(manager, 0, error)
    wait_ms = manager.wait_ms(0)
    assert wait_ms in (range(80, 121) if backs_off else [INTERVAL_MS]), "not after an interval"
    assert manager.has_lost_coordinator is is_lost
    assert member.heard == (["nothing"] if is_lost else [f"answer {error.code}"])


@pytest.mark.parametrize(
    ("error", "is_lost"),
    [(NetworkException, True), (RequestTimedOut, True), (CoordinatorLoadInProgress, False)],
)
def test_no_answer_is_waited_for_and_not_told(error: type[KafkaError], is_lost: bool) -> None:
    manager = manager_of(Recorder())
    assert manager.handle_failure(error(), 0) is None
    assert manager.wait_ms(0) in range(80, 121)
    assert manager.has_lost_coordinator is is_lost


def test_an_answer_ends_the_back_off_and_the_search() -> None:
    member = Recorder()
    manager = manager_of(member)
    for _ in range(4):
        manager.handle_failure(NetworkException(), 0)
    assert manager.wait_ms(0) in range(640, 961)
    beat(manager, 1_000)
    assert (manager.wait_ms(1_000), manager.has_lost_coordinator) == (INTERVAL_MS, False)
    manager.handle_failure(NetworkException(), 2_000)
    assert manager.wait_ms(2_000) in range(80, 121)


@pytest.mark.parametrize("error", [UnsupportedVersion, GroupAuthorizationFailed])
def test_what_nothing_changes_is_told_and_the_member_falls_silent(error: type[KafkaError]) -> None:
    manager = manager_of(Recorder())
    assert isinstance(manager.handle_failure(error(), 0), error)
    assert manager.wait_ms(0) is None


def test_that_nothing_listens_is_outlived_and_said_again_after_a_back_off() -> None:
    """The cluster restarts; whoever waits for it is told by the metadata, for every kind of member."""
    manager = manager_of(Recorder())
    assert manager.handle_failure(BrokerNotAvailable(), 0) is None
    assert manager.wait_ms(0) in range(80, 121)


def test_a_member_that_nobody_polls_has_to_leave_at_the_millisecond() -> None:
    """Kafka's timer has expired when its deadline is reached."""
    manager = manager_of(Recorder())
    beat(manager, 1_000)
    assert not manager.is_unpolled(10**9), "nobody has polled yet"
    manager.record_poll(1_000)
    assert manager.wait_ms(20_000) == 0, "the next heartbeat"
    beat(manager, 20_000)
    assert manager.wait_ms(20_000) == 1_000, "sooner than the next heartbeat"
    assert [manager.is_unpolled(now_ms) for now_ms in (20_999, 21_000)] == [False, True]
    manager.record_poll(20_999)
    assert not manager.is_unpolled(21_000)


def test_the_poll_limit_ends_within_a_back_off_too() -> None:
    manager = manager_of(Recorder())
    manager.record_poll(0)
    manager.handle_failure(NetworkException(), MAX_POLL_INTERVAL_MS - 10)
    assert manager.wait_ms(MAX_POLL_INTERVAL_MS - 10) == 10


def test_who_has_nothing_to_say_waits_without_end_whatever_else_is_due() -> None:
    member = Recorder()
    manager = manager_of(member)
    manager.record_poll(0)
    manager.handle_failure(NetworkException(), 0)
    member.is_silent = True
    assert manager.wait_ms(MAX_POLL_INTERVAL_MS) is None
