"""Writes what happens in the metadata quorum to the log of the node: who, which epoch, and why, in
one line for each change.

A quorum without a majority changes roles again and again, and a candidate asks again and again:
what was said is not said twice.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import Final

from millstream.model import ZERO_UUID, BrokerId, LeaderEpoch, uuid_text
from millstream.raft.election_state import NOBODY
from millstream.raft.ready import Ready, RoleChange, VoteAnswer
from millstream.raft.replica import RaftReplica
from millstream.raft.voter_set import ReplicaKey, VoterSet
from millstream.runtime.interfaces import Instant

_LOGGER = logging.getLogger(__name__)
_PATIENCE_MS: Final = 10_000
"""Several elections may fail before an operator has to look at it."""
_VOTES_AGAIN_MS: Final = 60_000
"""A candidate that asks every 100 ms is answered in the log once a minute."""
_VOTES_MAX: Final = 50
"""Lines about votes in a minute: a stranger may ask in the name of any node."""


class ElectionLog:
    """The lines about the quorum of one replica. `note` is called after each of its steps."""

    def __init__(self, replica: RaftReplica, now: Instant) -> None:
        self._replica = replica
        self._voters = replica.quorum.voters
        self._roles_told: set[tuple[str, str]] = set()
        self._votes_told: dict[tuple[BrokerId, bool, bool], int] = {}
        self._epoch = replica.quorum.epoch
        self._heard_ms: int | None = None
        self._has_leader = self._led = False
        self._lost: Instant = now
        """Since when there is no leader, where there is none."""
        self._is_long = False

    def note(self, ready: Ready, now: Instant) -> None:
        """Logs what a step has changed."""
        quorum = self._replica.quorum
        if quorum.voters != self._voters:
            self._tell_voters(quorum.voters)
        self._forget_what_is_over(quorum.epoch)
        for answer in ready.vote_answers:
            self._tell_vote(answer, now.monotonic_ms)
        for change in ready.role_changes:
            self._tell_role(change)
        self._watch_leader(now)

    def _forget_what_is_over(self, epoch: LeaderEpoch) -> None:
        if epoch != self._epoch:
            self._votes_told.clear()
        if epoch != self._epoch or self._replica.heard_ms != self._heard_ms:
            self._roles_told.clear()
        self._epoch, self._heard_ms = epoch, self._replica.heard_ms

    def _tell_role(self, change: RoleChange) -> None:
        said = (change.role, change.reason)
        if said not in self._roles_told:
            self._roles_told.add(said)
            _LOGGER.info("metadata quorum: node %d is %s", self._id, change)

    def _tell_vote(self, answer: VoteAnswer, now_ms: int) -> None:
        said = (answer.candidate, answer.pre_vote, answer.refusal is None)
        for old, told_ms in list(self._votes_told.items()):
            if now_ms - told_ms >= _VOTES_AGAIN_MS:
                del self._votes_told[old]
        if said not in self._votes_told and len(self._votes_told) < _VOTES_MAX:
            self._votes_told[said] = now_ms
            _LOGGER.info("metadata quorum: node %d %s", self._id, answer)

    def _tell_voters(self, voters: VoterSet) -> None:
        before, self._voters = self._voters, voters
        old, new = ({voter.key for voter in each} for each in (before, voters))
        changes = [f"{_named(key)} joins" for key in sorted(new - old)]
        changes += [f"{_named(key)} leaves" for key in sorted(old - new)]
        why = ", ".join(changes) or "where they listen, or what they can, has changed"
        ids = ", ".join(str(each) for each in sorted(voters.ids))
        _LOGGER.info("metadata quorum: the voters are %s: %s", ids or "not known", why)

    def _watch_leader(self, now: Instant) -> None:
        state, quorum = self._replica.state(), self._replica.quorum
        if state.hears_leader and not self._has_leader:
            passed_s = (now.monotonic_ms - self._lost.monotonic_ms) / 1000
            _LOGGER.info(
                "metadata quorum: node %d leads epoch %d; there was no controller for %.1f s",
                quorum.leader_id,
                quorum.epoch,
                passed_s,
            )
            self._is_long = False
        elif self._has_leader and not state.hears_leader:
            self._lost = self._last_heard(now)
        self._has_leader, self._led = state.hears_leader, self._replica.is_leader
        if self._has_leader or self._is_long:
            return
        if now.monotonic_ms - self._lost.monotonic_ms >= _PATIENCE_MS:
            self._is_long = True
            leader_id, epoch = quorum.leader_id, quorum.epoch
            _LOGGER.warning(
                "metadata quorum: no controller since %s: %s",
                _time(self._lost.wall_ms),
                f"nobody leads epoch {epoch}"
                if leader_id == NOBODY
                else f"node {leader_id}, which leads epoch {epoch}, does not answer",
            )

    def _last_heard(self, now: Instant) -> Instant:
        """Whoever led itself until now has heard of a leader until now."""
        heard_ms = self._replica.heard_ms
        if heard_ms is None or self._led:
            return now
        return Instant(now.wall_ms - (now.monotonic_ms - heard_ms), heard_ms)

    @property
    def _id(self) -> BrokerId:
        return self._replica.quorum.local.id


def _named(key: ReplicaKey) -> str:
    if key.directory_id == ZERO_UUID:
        return f"node {key.id}"
    return f"node {key.id} with directory {uuid_text(key.directory_id)}"


def _time(wall_ms: int) -> str:
    time = datetime.fromtimestamp(wall_ms / 1000, UTC)
    return time.isoformat(timespec="seconds").replace("+00:00", "Z")
