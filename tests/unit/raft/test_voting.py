"""Who gets a vote: one test per sentence of the rules (Raft §5.2, §5.4.1; KIP-996)."""

from __future__ import annotations

import pytest

from millstream.model import Uuid
from millstream.raft.messages import LogPosition, VoteRequest
from millstream.raft.roles import (
    Candidate,
    Follower,
    Leader,
    Prospective,
    Resigned,
    Role,
    Unattached,
)
from millstream.raft.voter_set import ReplicaKey
from millstream.raft.voting import may_grant

ME, ASKER, OTHER = ReplicaKey(1), ReplicaKey(2, Uuid(b"2" * 16)), ReplicaKey(3)
OWN = LogPosition(10, 3)
LATER = 1_000

UNATTACHED = Unattached(epoch=4, election_deadline_ms=LATER)
FOLLOWER = Follower(epoch=4, leader_id=3, fetch_deadline_ms=LATER)


def granted(role: Role, *, pre_vote: bool = False, log: LogPosition = OWN) -> bool:
    request = VoteRequest(source=ASKER, epoch=4, log=log, voter=ME, pre_vote=pre_vote)
    return may_grant(role, request, OWN)


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (LogPosition(10, 3), True),
        (LogPosition(11, 3), True),
        (LogPosition(1, 4), True),
        (LogPosition(9, 3), False),
        (LogPosition(99, 2), False),
    ],
)
@pytest.mark.parametrize("pre_vote", [False, True])
def test_only_a_log_that_is_at_least_as_long_gets_a_vote(
    log: LogPosition, expected: bool, pre_vote: bool
) -> None:
    assert granted(UNATTACHED, pre_vote=pre_vote, log=log) is expected


@pytest.mark.parametrize(
    ("voted", "expected"),
    [(None, True), (ASKER, True), (OTHER, False), (ReplicaKey(2, Uuid(b"x" * 16)), False)],
)
def test_one_vote_an_epoch_and_the_same_answer_to_the_same_asker(
    voted: ReplicaKey | None, expected: bool
) -> None:
    assert granted(Unattached(epoch=4, voted=voted, election_deadline_ms=LATER)) is expected
    assert granted(Prospective(epoch=4, voted=voted, election_deadline_ms=LATER)) is expected


def test_no_vote_in_an_epoch_that_has_a_leader() -> None:
    assert not granted(Unattached(epoch=4, leader_id=3, election_deadline_ms=LATER))
    assert not granted(FOLLOWER)


def test_a_follower_repeats_the_vote_it_gave() -> None:
    assert granted(Follower(epoch=4, leader_id=2, voted=ASKER, fetch_deadline_ms=LATER))


@pytest.mark.parametrize(
    "role",
    [
        Candidate(epoch=4, local=ME, election_deadline_ms=LATER),
        Resigned(epoch=4, local=ME, election_deadline_ms=LATER),
        Leader(
            epoch=4,
            local=ME,
            epoch_start_offset=0,
            granting=(),
            progress={},
            begin_epoch_deadline_ms=0,
        ),
    ],
)
def test_who_voted_for_itself_votes_for_nobody_else(role: Role) -> None:
    assert not granted(role)


def test_a_pre_vote_is_refused_by_whoever_hears_from_a_leader() -> None:
    heard = Follower(epoch=4, leader_id=3, fetch_deadline_ms=LATER, has_fetched=True)
    leader = Leader(
        epoch=4, local=ME, epoch_start_offset=0, granting=(), progress={}, begin_epoch_deadline_ms=0
    )
    assert not granted(heard, pre_vote=True)
    assert not granted(leader, pre_vote=True)
    assert granted(FOLLOWER, pre_vote=True)
    assert granted(Candidate(epoch=4, local=ME, election_deadline_ms=LATER), pre_vote=True)
    assert granted(Resigned(epoch=4, local=ME, election_deadline_ms=LATER), pre_vote=True)
