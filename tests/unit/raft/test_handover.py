"""A leader that ends hands over: who is told, who stands, and what no longer counts."""

from __future__ import annotations

from millstream.raft.election_state import ElectionState
from millstream.raft.elections import successor_wait_ms
from millstream.raft.messages import (
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    InboundRequest,
    InboundResponse,
    LogPosition,
    Propose,
    ShutDown,
    Tick,
    Unanswered,
    VoteRequest,
)
from millstream.raft.ready import Ready
from millstream.raft.replica import RaftReplica
from millstream.raft.roles import Follower, Prospective, Resigned
from millstream.raft.voter_set import ReplicaKey, Voter, VoterSet
from tests.unit.raft.led_quorum import LedQuorum, key
from tests.unit.raft.replicas import KEYS, StubLog, at, replica


def ended() -> LedQuorum:
    """The leader of four: voter 3 has everything, 4 nearly, 2 nothing."""
    quorum = LedQuorum(1, 2, 3, 4)
    quorum.step(Propose((b"x",), 1))
    quorum.fetch(key(4), 3)
    quorum.fetch(key(3), 4)
    quorum.sent.clear()
    quorum.step(ShutDown())
    return quorum


def test_the_voters_are_told_in_the_order_of_their_logs() -> None:
    told = ended().take_sent(EndQuorumEpochRequest)
    assert [send.to.id for send in told] == [3, 4, 2]
    assert {send.message.preferred_successors for send in told} == {(key(3), key(4), key(2))}


def test_they_are_told_until_they_have_heard() -> None:
    quorum = ended()
    third, fourth, second = quorum.take_sent(EndQuorumEpochRequest)
    quorum.step(InboundResponse(third, EndQuorumEpochResponse(epoch=1)))
    quorum.step(Unanswered(fourth))
    quorum.step(InboundResponse(second, EndQuorumEpochResponse(epoch=1)))
    assert not quorum.replica.has_handed_over
    quorum.step(Tick(), after_ms=1_000)
    (again,) = quorum.take_sent(EndQuorumEpochRequest)
    assert again.to.id == 4
    quorum.step(InboundResponse(again, EndQuorumEpochResponse(epoch=1)))
    assert quorum.replica.has_handed_over


def test_another_leader_ends_the_hand_over() -> None:
    quorum = ended()
    assert not quorum.replica.has_handed_over
    send = quorum.take_sent(EndQuorumEpochRequest)[0]
    quorum.step(InboundResponse(send, EndQuorumEpochResponse(epoch=2, leader_id=3)))
    assert isinstance(quorum.replica.quorum.role, Follower)
    assert quorum.replica.has_handed_over
    assert quorum.take_sent(FetchRequest) == []


def test_a_leader_alone_has_nobody_to_tell() -> None:
    quorum = LedQuorum(1)
    assert not quorum.replica.has_handed_over
    quorum.step(ShutDown())
    assert quorum.replica.has_handed_over
    quorum.step(Tick(), after_ms=60_000)
    assert isinstance(quorum.replica.quorum.role, Resigned)


def test_a_leader_that_restarts_tells_those_who_may_follow_it_still() -> None:
    """After a stop of all its voters would wait for a whole fetch time-out before one of them stands; Kafka's tells them, too."""
    restarted = replica(stored=ElectionState(4, leader_id=1), log=StubLog(10, 4))
    told = restarted.step(Tick(), at(0)).send
    assert {(send.to.id, type(send.message)) for send in told} == {
        (voter.id, EndQuorumEpochRequest) for voter in restarted.quorum.other_voters
    }
    assert {send.message.epoch for send in told} == {4}


def end_of_epoch(*successors: ReplicaKey) -> InboundRequest:
    request = EndQuorumEpochRequest(source=2, epoch=4, preferred_successors=successors)
    return InboundRequest(1, request)


def follower() -> tuple[RaftReplica, Ready]:
    """Voter 1 of four follows leader 2 and has just heard from it; its next fetch is on its way."""
    voters = VoterSet(Voter(each) for each in (*KEYS, key(4)))
    one = replica(voters, ElectionState(4, leader_id=2), StubLog(10, 4))
    (send,) = one.step(Tick(), at(0)).send
    return one, one.step(
        InboundResponse(send, FetchResponse(epoch=4, leader_id=2, high_watermark=0)), at(1)
    )


def pre_vote_granted(asked: RaftReplica, now_ms: int) -> bool:
    request = VoteRequest(
        source=KEYS[2], epoch=4, log=LogPosition(10, 4), voter=KEYS[0], pre_vote=True
    )
    (reply,) = asked.step(InboundRequest(2, request), at(now_ms)).reply
    return reply.response.granted


def test_the_first_successor_stands_at_once() -> None:
    one, _ = follower()
    ready = one.step(end_of_epoch(KEYS[0], KEYS[2]), at(2))
    assert isinstance(one.quorum.role, Prospective)
    assert [send.message.pre_vote for send in ready.send] == [True] * 3


def test_the_second_of_two_successors_stands_half_of_the_longest_back_off_later() -> None:
    one, _ = follower()
    one.step(end_of_epoch(KEYS[2], KEYS[0]), at(2))
    one.step(Tick(), at(501))
    assert isinstance(one.quorum.role, Follower)
    one.step(Tick(), at(502))
    assert isinstance(one.quorum.role, Prospective)


def test_the_back_off_of_successors_doubles_up_to_the_longest() -> None:
    """As `strictExponentialElectionBackoffMs` of Kafka 4.3.1 computes it."""
    assert [successor_wait_ms(place, 1, 1000) for place in range(2)] == [0, 1000]
    assert [successor_wait_ms(place, 4, 1000) for place in range(5)] == [0, 125, 250, 500, 1000]
    assert [successor_wait_ms(place, 3, 10) for place in range(4)] == [0, 2, 4, 10]


def test_a_successor_of_another_directory_is_another_replica() -> None:
    one, _ = follower()
    one.step(end_of_epoch(key(1, disk=9), KEYS[2]), at(2))
    assert isinstance(one.quorum.role, Follower)


def test_who_heard_that_the_leader_goes_holds_its_successor_back_no_more() -> None:
    """KAFKA-20895: in a quorum of four or five the election would be lost once."""
    one, _ = follower()
    assert not pre_vote_granted(one, 2)
    one.step(end_of_epoch(KEYS[2], KEYS[0]), at(3))
    assert pre_vote_granted(one, 4)


def test_what_the_leader_answered_before_it_went_does_not_bring_it_back() -> None:
    one, ready = follower()
    one.step(end_of_epoch(KEYS[2], KEYS[0]), at(3))
    (send,) = ready.send
    late = FetchResponse(epoch=4, leader_id=2, high_watermark=10, records=b"r")
    after = one.step(InboundResponse(send, late), at(4))
    assert (after.append_fetched, after.send) == (b"", ())
    assert pre_vote_granted(one, 5)
    one.step(Tick(), at(1_003))
    assert isinstance(one.quorum.role, Prospective)
