"""What the log is told of an election: the role, the epoch, who leads, and why."""

from __future__ import annotations

from millstream.raft.election_state import ElectionState
from millstream.raft.messages import (
    EndQuorumEpochRequest,
    InboundRequest,
    LogPosition,
    ShutDown,
    Tick,
    VoteRequest,
)
from tests.unit.raft.led_quorum import LedQuorum, key
from tests.unit.raft.replicas import KEYS, StubLog, at, replica

ELECTED = [
    "Prospective in epoch 0, leader -1: no leader showed itself in time",
    "Candidate in epoch 1, leader -1: 1, 2 would elect it",
    "Leader in epoch 1, leader 1: 1, 2 elected it",
]


def test_an_election_that_is_won() -> None:
    assert LedQuorum(1, 2, 3).changes == ELECTED


def test_a_leader_that_nobody_hears() -> None:
    quorum = LedQuorum(1, 2, 3)
    quorum.step(Tick(), after_ms=3_000)
    assert quorum.changes[len(ELECTED) :] == [
        "Resigned in epoch 1, leader 1: no majority fetched for 3000 ms"
    ]


def test_a_leader_that_ends_and_votes_for_another() -> None:
    quorum = LedQuorum(1, 2, 3)
    quorum.step(ShutDown())
    quorum.ask(VoteRequest(source=key(2), epoch=2, log=LogPosition(9, 1), voter=key(1)))
    assert quorum.changes[len(ELECTED) :] == [
        "Resigned in epoch 1, leader 1: it ends",
        "Unattached in epoch 2, leader -1: another replica is in this epoch",
        "Unattached in epoch 2, leader -1: it votes for 2",
    ]


def test_a_follower_whose_leader_is_silent() -> None:
    follower = replica(stored=ElectionState(4, leader_id=2), log=StubLog(10, 4))
    assert follower.step(Tick(), at(1_999)).role_changes == ()
    (change,) = follower.step(Tick(), at(2_000)).role_changes
    assert str(change) == "Prospective in epoch 4, leader 2: 2 did not answer for 2000 ms"


def test_a_follower_whose_leader_goes() -> None:
    unattached = replica(stored=ElectionState(4), log=StubLog(10, 4))
    request = EndQuorumEpochRequest(source=2, epoch=5, preferred_successors=(KEYS[0],))
    changes = unattached.step(InboundRequest(1, request), at(0)).role_changes
    assert [str(change) for change in changes] == [
        "Follower in epoch 5, leader 2: 2 leads",
        "Prospective in epoch 5, leader 2: 2 steps down",
    ]
