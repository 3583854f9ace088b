"""One broker as a share consumer knows it: the session, whether a request is out, and what it is to be told.

Acknowledgements that are committed go in requests of their own, in order; the others wait for the next fetch. Those of
a session that is gone have failed, because the broker takes none outside a session.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from millstream.clients.cluster.core.cluster_metadata import ClusterMetadata
from millstream.clients.share.core.commit import CommitPart, OutcomeLog
from millstream.clients.share.core.planned_requests import (
    PlannedAcknowledge,
    answers,
    partitions_by_id,
)
from millstream.clients.share.core.requests import (
    FINAL_EPOCH,
    SharePolicy,
    ShareSessionHandler,
    acknowledge_request,
)
from millstream.clients.share.core.values import Acknowledgements, TopicIdPartition
from millstream.errors import (
    FencedLeaderEpoch,
    InvalidRecordState,
    InvalidShareSessionEpoch,
    KafkaError,
    NotLeaderOrFollower,
    RequestTimedOut,
    ShareSessionLimitReached,
    ShareSessionNotFound,
    UnknownTopicId,
    UnknownTopicOrPartition,
    error_for,
)
from millstream.net.client.core.outages import Backoff
from millstream.protocol.generated.share_acknowledge import ShareAcknowledgeResponse
from millstream.runtime import Random

_SESSION_LOST: Final = (ShareSessionNotFound, InvalidShareSessionEpoch, ShareSessionLimitReached)
_LEADER_GONE: Final = (
    UnknownTopicOrPartition,
    UnknownTopicId,
    NotLeaderOrFollower,
    FencedLeaderEpoch,
)
"""Errors that asking the same broker again does not cure."""


class ShareNode:
    def __init__(
        self,
        node_id: int,
        policy: SharePolicy,
        outcomes: OutcomeLog,
        backoff: Backoff,
        random: Random,
    ) -> None:
        self.node_id = node_id
        self.session = ShareSessionHandler()
        self.is_busy = False
        self.last_read = 0
        """When records were last asked for, as a count of requests."""
        self.metadata_wanted = False
        self._policy = policy
        self._outcomes = outcomes
        self._backoff = backoff
        self._random = random
        self._parts: deque[CommitPart] = deque()
        self._with_fetch: dict[TopicIdPartition, Acknowledgements] = {}
        self._retry_ms = 0
        self._failures = 0

    @property
    def has_acknowledgements(self) -> bool:
        """Whether acknowledgements wait for a fetch."""
        return bool(self._with_fetch)

    def is_free(self, now_ms: int) -> bool:
        return not self.is_busy and self._retry_ms <= now_ms

    def turns_ms(self) -> list[int]:
        """Returns the times at which there may be something to do, if nothing happens before."""
        if self.is_busy:
            return []
        return [self._retry_ms, *(part.deadline_ms for part in self._parts)]

    # ---- what it is to be told

    def acknowledge_with_fetch(
        self, partition: TopicIdPartition, acknowledgements: Acknowledgements
    ) -> None:
        self._with_fetch.setdefault(partition, {}).update(acknowledgements)

    def enqueue(self, part: CommitPart, cluster: ClusterMetadata) -> None:
        """A part that closes the session takes along what waits for a fetch."""
        if part.closes_session:
            part.acknowledgements.update(self._with_fetch)
            self._with_fetch = {}
        for partition in list(part.acknowledgements):
            if cluster.leader(partition.topic_partition) not in (None, self.node_id):
                self._outcomes.settle_part(part, partition, _gone("the leader has changed"))
        if part.acknowledgements or part.closes_session:
            part.commit.outstanding += 1
            self._parts.append(part)

    def plan_acknowledge(self, now_ms: int) -> PlannedAcknowledge | None:
        """Returns the next part. It stays ours until it has come back."""
        while self._parts:
            part = self._parts[0]
            if part.deadline_ms <= now_ms:
                self.finish(part, RequestTimedOut("the acknowledgements could not be sent in time"))
            elif self.session.is_new and not part.closes_session:
                self.finish(part, _gone("the share session is over"))
            else:
                epoch = FINAL_EPOCH if part.closes_session else self.session.epoch
                request = acknowledge_request(self._policy, epoch, part.acknowledgements)
                self.is_busy = True
                asked = partitions_by_id(part.acknowledgements)
                return PlannedAcknowledge(self.node_id, request, part, asked)
        return None

    def take_with_fetch(self, cluster: ClusterMetadata) -> dict[TopicIdPartition, Acknowledgements]:
        """Takes the acknowledgements that go with a fetch that is made now."""
        waiting, self._with_fetch = self._with_fetch, {}
        said = {}
        for partition, acknowledgements in waiting.items():
            if self.session.is_new:
                gone = _gone("the share session is over")
                self._outcomes.settle(partition, acknowledgements, gone)
            elif cluster.leader(partition.topic_partition) not in (None, self.node_id):
                gone = _gone("the leader has changed")
                self._outcomes.settle(partition, acknowledgements, gone)
            else:
                said[partition] = acknowledgements
        return said

    # ---- what comes back

    def handle_acknowledge(
        self, planned: PlannedAcknowledge, response: ShareAcknowledgeResponse, now_ms: int
    ) -> None:
        part = planned.part
        if response.error_code:
            error = error_for(response.error_code, response.error_message)
            self.handle_refusal(error, now_ms)
            if not (part.may_be_repeated and error.retriable):
                self.finish(part, error)
            return
        self.session.handle_answer()
        lock_ms = response.acquisition_lock_timeout_ms or None
        untold = set(part.acknowledgements)
        retry = False
        for partition, answer in answers(planned.partitions, response.responses):
            untold.discard(partition)
            error = error_for(answer.error_code, answer.error_message)
            if not answer.error_code:
                self._outcomes.settle_part(part, partition, None, lock_ms)
            elif part.may_be_repeated and error.retriable and not isinstance(error, _LEADER_GONE):
                retry = True
            else:
                self.metadata_wanted |= isinstance(error, _LEADER_GONE)
                self._outcomes.settle_part(part, partition, error)
        for partition in untold:
            self._outcomes.settle_part(part, partition, left_out())
        self.settle_down(now_ms, failed=retry)
        if not retry:
            self.finish(part, left_out())

    def handle_refusal(self, error: KafkaError, now_ms: int) -> None:
        """A whole request was refused."""
        if isinstance(error, _SESSION_LOST):
            self.session.handle_lost()
        else:
            self.session.handle_answer()
        self.metadata_wanted = True
        self.settle_down(now_ms, failed=True)

    def handle_failure(self, now_ms: int) -> None:
        """Notes that no answer came: the broker may have seen the request or not."""
        self.session.handle_lost()
        self.metadata_wanted = True
        self.settle_down(now_ms, failed=True)

    def settle_down(self, now_ms: int, *, failed: bool) -> None:
        """The request is over."""
        self.is_busy = False
        self._failures = self._failures + 1 if failed else 0
        if failed:
            self._retry_ms = now_ms + self._backoff.delay_ms(self._failures, self._random)

    def finish(self, part: CommitPart, error: KafkaError) -> None:
        """Ends a part; `error` is the outcome of what has none yet."""
        self._parts.remove(part)
        self._outcomes.fail_part(part, error)
        part.commit.outstanding -= 1


def left_out() -> InvalidRecordState:
    return InvalidRecordState("the broker's answer leaves out the acknowledged partition")


def _gone(why: str) -> NotLeaderOrFollower:
    return NotLeaderOrFollower(
        f"{why}: what was acquired from this broker is given to somebody again, maybe to us"
    )
