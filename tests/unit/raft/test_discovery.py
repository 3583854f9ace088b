"""Finding a leader: whom to ask, and what their answers lead to."""

from __future__ import annotations

from millstream.errors import FencedLeaderEpoch, NotLeaderOrFollower
from millstream.model import Uuid
from millstream.raft.election_state import NOBODY, ElectionState
from millstream.raft.fetching import peers_to_ask
from millstream.raft.messages import (
    FetchRequest,
    FetchResponse,
    InboundRequest,
    InboundResponse,
    LogPosition,
    Peer,
    Tick,
    Unanswered,
    VoteRequest,
)
from millstream.raft.quorum_state import RaftIdentity, RaftTimeouts
from millstream.raft.ready import Ready
from millstream.raft.replica import RaftReplica
from millstream.raft.roles import Follower, Prospective, Unattached
from millstream.raft.voter_history import VoterHistory
from millstream.raft.voter_set import ReplicaKey, Voter, VoterEndpoint, VoterSet
from millstream.runtime import Instant
from tests.unit.raft.replicas import Never, StubLog, at


def listener(host: str) -> VoterEndpoint:
    return VoterEndpoint("CONTROLLER", host, 9093)


def key(number: int) -> ReplicaKey:
    return ReplicaKey(number, Uuid(bytes([number]) * 16))


VOTERS = VoterSet(Voter(key(n), (listener(f"host-{n}"),)) for n in (1, 2, 3))
SERVERS = (listener("seed"), listener("host-2"))


class Searcher:
    """One replica of three voters, or an observer beside them, and the requests it sends."""

    def __init__(
        self, number: int, stored: ElectionState | None = None, voters: VoterSet = VOTERS
    ) -> None:
        self.now_ms = 0
        self.replica = RaftReplica(
            RaftIdentity(key(number), (listener(f"host-{number}"),), SERVERS),
            VoterHistory.bootstrapped(voters),
            RaftTimeouts(),
            Never(),
            StubLog(),
            stored=stored or ElectionState(),
            now=at(0),
        )
        self.ready = self.step(Tick())

    def step(self, event: object) -> Ready:
        self.ready = self.replica.step(event, Instant(self.now_ms, self.now_ms))
        return self.ready

    @property
    def asks(self) -> Peer:
        (send,) = self.ready.send
        assert isinstance(send.message, FetchRequest)
        return send.to

    def answer(self, response: FetchResponse) -> None:
        (send,) = self.ready.send
        self.step(InboundResponse(send, response))

    def fail(self) -> None:
        (send,) = self.ready.send
        self.step(Unanswered(send))
        self.after(20)

    def after(self, duration_ms: int) -> None:
        self.now_ms += duration_ms
        self.step(Tick())


def test_each_address_and_each_id_is_asked_once_and_never_the_own() -> None:
    leader = Peer(3, (listener("host-3"),))
    found = peers_to_ask(leader, (*SERVERS, listener("host-1")), VOTERS, 1, (listener("host-1"),))
    assert found == (leader, Peer(NOBODY, (listener("seed"),)), Peer(NOBODY, (listener("host-2"),)))


def test_voters_without_addresses_are_asked_too() -> None:
    voters = VoterSet(Voter(key(n)) for n in (1, 2, 3))
    assert peers_to_ask(None, (), voters, 2, ()) == (Peer(1), Peer(3))


def test_an_observer_asks_all_in_turn_until_one_names_the_leader() -> None:
    observer = Searcher(9)
    hosts = []
    for _ in range(5):
        hosts.append(observer.asks.endpoints[0].host)
        observer.fail()
    assert hosts == ["seed", "host-2", "host-1", "host-3", "seed"]
    observer.answer(
        FetchResponse(
            epoch=7, leader_id=4, endpoints=(listener("host-4"),), error=FencedLeaderEpoch
        )
    )
    assert isinstance(observer.replica.quorum.role, Follower)
    assert observer.asks == Peer(4, (listener("host-4"),))


def test_a_replica_that_knows_no_leader_is_no_answer() -> None:
    observer = Searcher(9)
    observer.answer(FetchResponse(epoch=0, error=NotLeaderOrFollower))
    assert observer.ready.send == ()
    observer.after(20)
    assert observer.asks.endpoints == (listener("host-2"),)


def test_an_unattached_voter_asks_until_it_stands() -> None:
    voter = Searcher(1)
    assert voter.asks.endpoints == (listener("seed"),)
    voter.after(1_000)
    assert isinstance(voter.replica.quorum.role, Prospective)


def test_an_answer_in_the_own_epoch_names_the_leader_too() -> None:
    observer = Searcher(9, ElectionState(7))
    assert isinstance(observer.replica.quorum.role, Unattached)
    observer.answer(FetchResponse(epoch=7, leader_id=3, error=NotLeaderOrFollower))
    assert observer.asks == Peer(3, (listener("host-3"),))


def test_the_answer_of_the_leader_itself_is_taken_at_once() -> None:
    observer = Searcher(9, ElectionState(7))
    observer.answer(FetchResponse(epoch=7, leader_id=3, high_watermark=0, records=b"r"))
    assert observer.ready.append_fetched == b"r"


def test_an_observer_with_a_silent_leader_asks_others_and_the_leader_again() -> None:
    observer = Searcher(9, ElectionState(7, leader_id=3))
    asked = []
    for _ in range(4):
        asked.append(observer.asks.endpoints[0].host)
        observer.after(1_000)
    assert asked == ["host-3", "seed", "host-2", "host-1"]
    assert observer.asks.id == 3
    observer.fail()
    observer.answer(FetchResponse(epoch=8, leader_id=2, error=FencedLeaderEpoch))
    assert observer.asks == Peer(2, (listener("host-2"),))


def test_an_observer_with_a_silent_leader_holds_no_election_back_and_names_nobody() -> None:
    """It may be a voter already, without knowing it: the others may need its vote."""
    observer = Searcher(9, ElectionState(7, leader_id=3))
    observer.answer(FetchResponse(epoch=7, leader_id=3, high_watermark=0))
    told = []
    for duration_ms in (0, 1_999, 1):
        observer.after(duration_ms)
        request = VoteRequest(
            source=key(2), epoch=7, log=LogPosition(0, -1), voter=key(9), pre_vote=True
        )
        (reply,) = observer.step(InboundRequest(1, request)).reply
        told.append((reply.response.granted, reply.response.leader_id))
    assert told == [(False, 3), (False, 3), (True, NOBODY)]


def test_a_fetch_that_fails_is_not_repeated_at_once() -> None:
    observer = Searcher(9, ElectionState(7, leader_id=3))
    (send,) = observer.ready.send
    assert observer.step(Unanswered(send)).send == ()
    assert observer.ready.deadline_ms == 20


def test_a_fetch_promises_no_more_than_the_log_has() -> None:
    observer = Searcher(9)
    (send,) = observer.ready.send
    assert send.message == FetchRequest(
        source=key(9), epoch=0, log=LogPosition(0, -1), high_watermark=0
    )


def test_a_leader_that_takes_its_time_is_not_asked_a_second_time_meanwhile() -> None:
    """Kafka has one request on its way to a node; more would wait behind each other, until the answers come too late."""
    observer = Searcher(9, ElectionState(7, leader_id=3))
    (slow,) = observer.ready.send
    assert slow.to.id == 3
    for _ in range(3):  # the others know no better
        observer.after(1_000 if observer.now_ms == 0 else 20)
        assert observer.asks.id != 3
        observer.answer(FetchResponse(epoch=7, leader_id=3, error=NotLeaderOrFollower))
    observer.after(500)
    assert observer.ready.send == (), "it is the leader's turn, which has 2 s for the first"
    observer.step(InboundResponse(slow, FetchResponse(epoch=7, leader_id=3, high_watermark=0)))
    assert observer.asks.id == 3


def test_a_leader_that_has_not_answered_in_time_has_its_turn_again() -> None:
    observer = Searcher(9, ElectionState(7, leader_id=3))
    for waits_ms in (1_000, 20, 20):
        observer.after(waits_ms)
        assert observer.asks.id != 3
        observer.answer(FetchResponse(epoch=7, leader_id=3, error=NotLeaderOrFollower))
    observer.after(2_000 - observer.now_ms)
    assert observer.asks.id == 3
