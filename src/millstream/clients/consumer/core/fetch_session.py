"""Incremental fetch sessions with one broker (KIP-227): after the first request only changes are named."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from millstream.errors import FetchSessionIdNotFound
from millstream.model import TopicPartition, Uuid

_EPOCH_MAX = 2**31 - 1
_NEW_SESSION_EPOCH = 0


@dataclass(frozen=True, slots=True)
class FetchRequestPartition:
    """The request of one partition in a fetch."""

    topic_id: Uuid
    offset: int
    leader_epoch: int
    bytes_max: int


@dataclass(frozen=True, slots=True)
class SessionPlan:
    """Header fields and the partitions to name: those to fetch or change, and those to forget."""

    session_id: int
    session_epoch: int
    fetch: dict[TopicPartition, FetchRequestPartition]
    forget: dict[TopicPartition, Uuid]


class FetchSessionHandler:
    def __init__(self) -> None:
        self._session_id = 0
        self._epoch = _NEW_SESSION_EPOCH
        self._known: dict[TopicPartition, FetchRequestPartition] = {}

    def plan(self, wanted: dict[TopicPartition, FetchRequestPartition]) -> SessionPlan:
        """Returns the request that makes the broker look at exactly `wanted`."""
        if self._epoch == _NEW_SESSION_EPOCH:
            self._known = dict(wanted)
            return SessionPlan(self._session_id, _NEW_SESSION_EPOCH, wanted, {})
        changed = {tp: p for tp, p in wanted.items() if self._known.get(tp) != p}
        forget = {tp: p.topic_id for tp, p in self._known.items() if tp not in wanted}
        for tp, position in changed.items():
            known = self._known.get(tp)
            if known is not None and known.topic_id != position.topic_id:
                forget[tp] = known.topic_id  # recreated: the old topic's partition must go
        self._known = dict(wanted)
        return SessionPlan(self._session_id, self._epoch, changed, forget)

    def mismatch(self, answered: AbstractSet[TopicPartition]) -> str | None:
        """Says what is wrong with an answer about these partitions.

        A full request is answered for each of its partitions; later ones name only partitions with news.
        """
        if extra := answered - self._known.keys():
            return f"partitions that were not asked for: {_listed(extra)}"
        if self._epoch == _NEW_SESSION_EPOCH and (missing := self._known.keys() - answered):
            return f"nothing about {_listed(missing)}"
        return None

    def handle_answer(self, session_id: int) -> None:
        """Takes in the session id of an answer.

        0: the broker keeps no session for us, so the next request is full again.
        """
        if session_id == 0:
            self._session_id = 0
            self._epoch = _NEW_SESSION_EPOCH
            return
        self._session_id = session_id
        self._epoch = self._epoch + 1 if self._epoch < _EPOCH_MAX else 1

    def handle_error(self, code: int) -> None:
        """Notes that the broker does not know the session, or disagrees where it stands; then it is
        asked to close it.
        """
        if code == FetchSessionIdNotFound.code:
            self._session_id = 0
        self._epoch = _NEW_SESSION_EPOCH

    def handle_lost_answer(self) -> None:
        """Closes the session and starts another, as the broker may have seen the request or not."""
        self._epoch = _NEW_SESSION_EPOCH

    def tell_of(self, unknown: AbstractSet[TopicPartition]) -> None:
        """Has the broker tell of these partitions.

        Where the session has one, it would not as long as nothing is new: it starts over.
        """
        if not unknown.isdisjoint(self._known):
            self._epoch = _NEW_SESSION_EPOCH


def _listed(partitions: AbstractSet[TopicPartition]) -> str:
    return ", ".join(str(topic_partition) for topic_partition in sorted(partitions))
