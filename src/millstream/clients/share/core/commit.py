"""Acknowledgements on their way, and what the brokers made of them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from millstream.clients.share.core.values import (
    AcknowledgementOutcome,
    Acknowledgements,
    TopicIdPartition,
)
from millstream.errors import KafkaError


@dataclass(slots=True, eq=False)
class ShareCommit:
    """One call of commit(), commit_async() or close(). Complete once every partition has an outcome."""

    results: dict[TopicIdPartition, KafkaError | None] = field(default_factory=dict)
    outstanding: int = 0
    """Parts that have not come back."""

    @property
    def is_complete(self) -> bool:
        return self.outstanding == 0


@dataclass(slots=True, eq=False)
class CommitPart:
    """The acknowledgements of one ShareAcknowledge request."""

    commit: ShareCommit
    acknowledgements: dict[TopicIdPartition, Acknowledgements]
    deadline_ms: int
    closes_session: bool = False
    """The last word to this broker: it releases what is not acknowledged."""

    @property
    def may_be_repeated(self) -> bool:
        """Whether it may be sent again: not once the session is closed, since nothing can be said then."""
        return not self.closes_session


class OutcomeLog:
    """Every outcome, until the application's turn to hear of it."""

    def __init__(self) -> None:
        self._outcomes: deque[AcknowledgementOutcome] = deque()

    def take(self) -> AcknowledgementOutcome | None:
        """Returns the next one, if there is one."""
        return self._outcomes.popleft() if self._outcomes else None

    def settle(
        self,
        partition: TopicIdPartition,
        acknowledgements: Acknowledgements,
        error: KafkaError | None,
        lock_timeout_ms: int | None = None,
    ) -> None:
        self._outcomes.append(
            AcknowledgementOutcome(partition, acknowledgements, error, lock_timeout_ms)
        )

    def settle_part(
        self,
        part: CommitPart,
        partition: TopicIdPartition,
        error: KafkaError | None,
        lock_timeout_ms: int | None = None,
    ) -> None:
        """Settles one partition of a part; a failure is not covered up by a success of the same commit."""
        self.settle(partition, part.acknowledgements.pop(partition), error, lock_timeout_ms)
        part.commit.results[partition] = part.commit.results.get(partition) or error

    def fail_part(self, part: CommitPart, error: KafkaError) -> None:
        """Fails all of the part that has no outcome yet."""
        for partition in list(part.acknowledgements):
            self.settle_part(part, partition, error)
