"""Standing: whom a replica asks again, and when it stands again."""

from __future__ import annotations

import pytest

from millstream.raft.election_state import ElectionState
from millstream.raft.messages import (
    FetchRequest,
    InboundRequest,
    InboundResponse,
    LogPosition,
    Send,
    Tick,
    Unanswered,
    VoteRequest,
    VoteResponse,
)
from millstream.raft.ready import Ready
from millstream.raft.replica import RaftReplica
from millstream.raft.roles import Candidate, Follower, Leader, Prospective, Unattached
from millstream.raft.voter_set import Voter, VoterSet
from tests.unit.raft.led_quorum import key
from tests.unit.raft.replicas import KEYS, StubLog, at, replica

FIVE = VoterSet(Voter(each) for each in (*KEYS, key(4), key(5)))


class Standing:
    """Voter 1 of a quorum misses its leader, 2, in epoch 4."""

    def __init__(self, voters: VoterSet) -> None:
        self.now_ms = 0
        self.replica: RaftReplica = replica(voters, ElectionState(4, leader_id=2), StubLog(10, 4))
        self.sent: dict[int, Send] = {}
        self.after(2_000)

    def step(self, event: object) -> Ready:
        ready = self.replica.step(event, at(self.now_ms))
        votes = [send for send in ready.send if isinstance(send.message, VoteRequest)]
        if votes:
            self.sent = {send.to.id: send for send in votes}
        return ready

    def after(self, duration_ms: int) -> None:
        self.sent = {}
        self.now_ms += duration_ms
        self.step(Tick())

    def answer(self, voter_id: int, *, granted: bool) -> None:
        send = self.sent[voter_id]
        response = VoteResponse(epoch=self.replica.quorum.epoch, granted=granted)
        self.step(InboundResponse(send, response))

    @property
    def role(self) -> type:
        return type(self.replica.quorum.role)


def test_who_refused_or_did_not_answer_is_asked_for_its_pre_vote_again() -> None:
    """The other one misses the leader a moment later, and would elect this one then."""
    standing = Standing(FIVE)
    assert sorted(standing.sent) == [2, 3, 4, 5]
    for voter_id, granted in [(3, False), (4, True)]:
        standing.answer(voter_id, granted=granted)
    standing.after(99)
    assert standing.sent == {}
    standing.after(1)
    assert sorted(standing.sent) == [2, 3, 5]
    standing.answer(3, granted=True)
    assert standing.role is Candidate


def test_who_did_not_answer_is_asked_for_its_vote_again() -> None:
    standing = Standing(FIVE)
    asked = dict(standing.sent)
    for voter_id in (3, 4):
        standing.sent = asked
        standing.answer(voter_id, granted=True)
    assert standing.role is Candidate
    standing.answer(3, granted=False)
    standing.after(100)
    assert sorted(standing.sent) == [2, 4, 5]
    assert not any(send.message.pre_vote for send in standing.sent.values())


def test_a_vote_is_counted_once() -> None:
    standing = Standing(FIVE)
    asked = dict(standing.sent)
    for _ in range(3):
        standing.sent = asked
        standing.answer(3, granted=True)
    assert standing.role is Prospective
    standing.answer(4, granted=True)
    asked = dict(standing.sent)
    for _ in range(3):
        standing.sent = asked
        standing.answer(3, granted=True)
    assert standing.role is Candidate
    standing.answer(5, granted=True)
    assert standing.role is Leader


def test_two_that_split_the_votes_stand_again_soon() -> None:
    """The third is dead: the votes of the two are all there are."""
    standing = Standing(VoterSet(Voter(each) for each in KEYS))
    standing.answer(3, granted=True)
    assert standing.role is Candidate
    asked = dict(standing.sent)
    standing.answer(3, granted=False)
    assert standing.replica.quorum.role.election_deadline_ms == 3_000
    standing.step(Unanswered(asked[2]))
    assert standing.role is Prospective


def test_an_answer_to_a_pre_vote_is_no_vote() -> None:
    standing = Standing(FIVE)
    asked = dict(standing.sent)
    for voter_id in (3, 4):
        standing.sent = asked
        standing.answer(voter_id, granted=True)
    late = InboundResponse(asked[5], VoteResponse(epoch=5, granted=True))
    standing.step(late)
    assert standing.replica.quorum.role.tally.granted == {1}


def test_who_is_refused_by_a_majority_goes_back_to_its_leader_for_half_a_time_out() -> None:
    standing = Standing(VoterSet(Voter(each) for each in KEYS))
    for voter_id in (2, 3):
        standing.answer(voter_id, granted=False)
    assert standing.role is Follower
    assert standing.replica.quorum.role.fetch_deadline_ms == 3_000


def test_who_stood_in_vain_tells_who_refused_and_who_is_silent() -> None:
    standing = Standing(VoterSet(Voter(each) for each in KEYS))
    standing.answer(2, granted=False)
    standing.after(60_000)
    assert standing.role is Follower
    state = standing.replica.state()
    assert (state.hears_leader, state.votes) == (False, "for: 1; against: 2; silent: 3")


def test_a_voter_without_a_leader_waits_again_when_a_majority_refuses() -> None:
    one = replica(stored=ElectionState(4), log=StubLog(10, 4))
    sends = one.step(Tick(), at(1_000)).send
    for send in sends:
        one.step(InboundResponse(send, VoteResponse(epoch=4)), at(1_001))
    assert isinstance(one.quorum.role, Unattached)


@pytest.mark.parametrize("is_observer", [False, True])
def test_a_vote_of_an_epoch_seen_for_the_first_time_is_given_by_observers_too(
    is_observer: bool,
) -> None:
    """The candidate's log may name voters that this one's does not yet."""
    voters = VoterSet(Voter(each) for each in KEYS[is_observer:])
    asked = replica(voters, ElectionState(4, leader_id=2), StubLog(10, 4))
    request = VoteRequest(source=KEYS[2], epoch=5, log=LogPosition(10, 4), voter=KEYS[0])
    ready = asked.step(InboundRequest(1, request), at(0))
    assert ready.reply[0].response.granted
    assert ready.persist == ElectionState(5, voted=KEYS[2])
    assert all(isinstance(send.message, FetchRequest) for send in ready.send)
