"""Decides when a member of a group, of whichever kind, says something to its coordinator. Kafka's manager of that name.

    came back                                            the coordinator is   the next heartbeat comes
    an answer                                            known                when the membership says
    NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE           looked for again     after a back-off
    COORDINATOR_LOAD_IN_PROGRESS, or that of a topic     known                after a back-off
    another error: the member is fenced, or has failed   known                when the membership says
    nothing, since none could be reached                 looked for again     after a back-off
    nothing, since a login or a certificate is refused   looked for again     when the membership says, if ever

A member whose application has not polled for `max.poll.interval.ms` leaves at that moment; a session is timed by the
coordinator alone. What is said, and what an answer means, is its membership's own. Nothing is sent or awaited here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

from millstream.errors import (
    BrokerNotAvailable,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    FencedMemberEpoch,
    KafkaError,
    MillstreamError,
    NetworkException,
    NotCoordinator,
    RequestTimedOut,
    TopicAuthorizationFailed,
    UnknownMemberId,
    error_for,
)
from millstream.net.client.core.outages import Backoff
from millstream.protocol.api import Message
from millstream.runtime import Random

JOIN_EPOCH: Final = 0
LEAVE_EPOCH: Final = -1
_LEAVE_FOR_A_WHILE_EPOCH: Final = -2
_ELSEWHERE: Final = (NotCoordinator, CoordinatorNotAvailable, NetworkException, RequestTimedOut)


class HeartbeatAnswer(Message, Protocol):
    error_code: int


Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=HeartbeatAnswer)
_Response_contra = TypeVar("_Response_contra", bound=HeartbeatAnswer, contravariant=True)


class HeartbeatMembership(Protocol[Request, _Response_contra]):
    """Says what a kind of member has to say, and makes of the answers what they mean to it."""

    def heartbeat_due_ms(self, now_ms: int, /) -> int | None:
        """Returns the milliseconds until the next heartbeat; None while there is nothing to say."""

    def heartbeat_request(self, now_ms: int, /) -> Request: ...

    def handle_heartbeat(
        self, request: Request, response: _Response_contra, /
    ) -> MillstreamError | None:
        """Returns an error that the application must know. An answer to an earlier identity means nothing."""

    def handle_failure(self) -> None:
        """Notes that nobody heard what was said: it is said again."""

    def fail(self, error: KafkaError, /) -> MillstreamError:
        """Notes that membership is impossible. Returns the error as the application is told."""
        ...


def leave_epoch(group_instance_id: str | None) -> int:
    """Returns what a member says when it leaves: a static one will come back to its partitions."""
    return LEAVE_EPOCH if group_instance_id is None else _LEAVE_FOR_A_WHILE_EPOCH


def coordinator_may_have_moved(error: KafkaError) -> bool:
    """Whether the next attempt is to look for the coordinator first."""
    return isinstance(error, _ELSEWHERE)


def handle_refusal(
    error: KafkaError,
    fence: Callable[[], None],
    fail: Callable[[KafkaError], MillstreamError],
) -> MillstreamError | None:
    """Has a member with an epoch heed the error of an answer. Returns what the application must know."""
    if isinstance(error, FencedMemberEpoch | UnknownMemberId):
        fence()
    elif isinstance(error, TopicAuthorizationFailed):
        return error  # which may yet be permitted
    elif not isinstance(error, CoordinatorLoadInProgress):
        return fail(error)
    return None


@dataclass(slots=True)
class HeartbeatRequestManager(Generic[Request, Response]):
    membership: HeartbeatMembership[Request, Response]
    backoff: Backoff
    random: Random
    max_poll_interval_ms: int = 0
    poll_deadline_ms: int | None = None
    """None where nobody polls, or a poll may take as long as it likes."""
    has_lost_coordinator: bool = False
    """It is to be looked for before the next heartbeat."""
    _failures: int = 0
    _backed_off_until_ms: int = 0

    def record_poll(self, now_ms: int) -> None:
        self.poll_deadline_ms = now_ms + self.max_poll_interval_ms

    def is_unpolled(self, now_ms: int) -> bool:
        """Whether the application is stuck or slow, and others are to have what the member holds."""
        return self.poll_deadline_ms is not None and self.poll_deadline_ms <= now_ms

    def wait_ms(self, now_ms: int) -> int | None:
        """Returns the time until the member says something or has to leave; None while it has nothing to say."""
        due_ms = self.membership.heartbeat_due_ms(now_ms)
        if due_ms is None:
            return None
        if self._failures:
            due_ms = 0  # what nobody heard is said again, and the back-off alone says when
        due_ms = max(due_ms, self._backed_off_until_ms - now_ms)
        if self.poll_deadline_ms is not None:
            due_ms = min(due_ms, self.poll_deadline_ms - now_ms)
        return max(0, due_ms)

    def handle_response(
        self, request: Request, response: Response, now_ms: int
    ) -> MillstreamError | None:
        """Returns what the application must know."""
        error = error_for(response.error_code) if response.error_code else None
        if isinstance(error, _ELSEWHERE):
            return self.handle_failure(error, now_ms)  # nobody heard it who knows the group
        if error is not None and (error.retriable or isinstance(error, TopicAuthorizationFailed)):
            self._back_off(now_ms)
        else:
            self._failures = 0  # it was heard, also where the member is fenced
        self.has_lost_coordinator = False
        return self.membership.handle_heartbeat(request, response)

    def handle_failure(self, error: KafkaError, now_ms: int) -> MillstreamError | None:
        """Takes in that there is no answer. Returns what the application must know."""
        self.has_lost_coordinator = coordinator_may_have_moved(error)
        self.membership.handle_failure()
        self._back_off(now_ms)
        # Where nothing listens, whoever polls is told by the metadata, and an application by its start; the cluster may restart.
        may_pass = error.retriable or isinstance(error, BrokerNotAvailable)
        return None if may_pass else self.membership.fail(error)

    def _back_off(self, now_ms: int) -> None:
        self._failures += 1
        self._backed_off_until_ms = now_ms + self.backoff.delay_ms(self._failures, self.random)
