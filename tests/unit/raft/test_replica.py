"""RaftReplica: what it refuses, and what it never does. The protocol itself is in tests/interaction/raft."""

from __future__ import annotations

import pytest

from millstream.errors import (
    BrokerNotAvailable,
    FencedLeaderEpoch,
    InvalidRequest,
    InvalidVoterKey,
    KafkaError,
    KafkaStorageError,
    NotController,
    NotLeaderOrFollower,
    UnknownLeaderEpoch,
)
from millstream.model import Uuid
from millstream.raft.election_state import ElectionState
from millstream.raft.messages import (
    BeginQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    Flushed,
    InboundRequest,
    InboundResponse,
    LogPosition,
    Propose,
    ShutDown,
    Tick,
    UpgradeKraftVersion,
    VoteRequest,
)
from millstream.raft.quorum_state import RaftIdentity, RaftTimeouts
from millstream.raft.ready import Ready
from millstream.raft.replica import RaftReplica
from millstream.raft.roles import Follower, Resigned
from millstream.raft.voter_history import VoterHistory
from millstream.raft.voter_set import ReplicaKey, Voter, VoterEndpoint, VoterSet
from tests.unit.raft.replicas import KEYS, Never, StubLog, at, replica


def test_records_are_taken_by_the_leader_of_the_proposers_epoch_only() -> None:
    alone = replica(VoterSet([Voter(KEYS[0])]))
    with pytest.raises(NotController):
        replica().step(Propose((b"x",), 0), at(0))
    alone.step(Tick(), at(0))
    with pytest.raises(NotController):
        alone.step(Propose((b"x",), 7), at(0))
    (batch,) = alone.step(Propose((b"x", b"y"), 1), at(0)).append
    assert (batch.data, batch.last_offset - batch.base_offset) == ((b"x", b"y"), 1)


def test_a_static_voter_writes_itself_into_its_log_once() -> None:
    """Kafka's batch: the version, then the voters with their directories."""
    alone = RaftReplica(
        RaftIdentity(KEYS[0]),
        VoterHistory(VoterSet([Voter(KEYS[0])])),
        RaftTimeouts(),
        Never(),
        StubLog(),
        stored=ElectionState(),
        now=at(0),
    )
    with pytest.raises(NotController):
        alone.step(UpgradeKraftVersion(1), at(0))
    assert [len(batch.control) for batch in alone.step(Tick(), at(0)).append] == [1]
    (batch,) = alone.step(UpgradeKraftVersion(1), at(0)).append
    version, voters = batch.control
    assert version.kraft_version == 1
    assert [(v.voter_id, v.voter_directory_id) for v in voters.voters] == [KEYS[0]]
    assert alone.quorum.kraft_version == 1
    assert not alone.step(UpgradeKraftVersion(1), at(0)).append


def test_a_quorum_state_older_than_the_log_is_refused() -> None:
    with pytest.raises(KafkaStorageError, match="quorum-state knows 3 only"):
        replica(stored=ElectionState(3), log=StubLog(10, 4))


def test_a_leader_that_restarts_does_not_lead_its_epoch_again() -> None:
    """KAFKA-10527: its unsynced records may be gone."""
    restarted = replica(stored=ElectionState(4, leader_id=1), log=StubLog(10, 4))
    assert isinstance(restarted.quorum.role, Resigned)
    with pytest.raises(NotController):
        restarted.step(Propose((b"x",), 4), at(0))


def test_a_follower_that_restarts_follows_on() -> None:
    restarted = replica(stored=ElectionState(4, leader_id=2), log=StubLog(10, 4))
    ready = restarted.step(Tick(), at(0))
    assert isinstance(restarted.quorum.role, Follower)
    (send,) = ready.send
    assert (send.to.id, send.message) == (
        2,
        FetchRequest(source=KEYS[0], epoch=4, log=LogPosition(10, 4), high_watermark=0),
    )


def test_a_vote_request_for_another_directory_is_not_answered_with_a_vote() -> None:
    """KIP-853: the disk of this node was replaced; its promises went with the old one."""
    asked = VoteRequest(
        source=KEYS[1], epoch=1, log=LogPosition(0, -1), voter=ReplicaKey(1, Uuid(b"o" * 16))
    )
    (reply,) = replica().step(InboundRequest(7, asked), at(0)).reply
    assert (reply.token, reply.response.granted, reply.response.error) == (
        7, False, InvalidVoterKey,
    )  # fmt: skip


def fetched(follower: RaftReplica, ready: Ready, answer: FetchResponse, now_ms: int) -> Ready:
    """The follower's step when the fetch that `ready` sent is answered."""
    (send,) = ready.send
    return follower.step(InboundResponse(send, answer), at(now_ms))


def test_truncation_below_what_was_committed_is_refused() -> None:
    """KAFKA-12460."""
    follower = replica(stored=ElectionState(4, leader_id=2), log=StubLog(10, 4, high_watermark=8))
    sent = follower.step(Tick(), at(0))
    answer = FetchResponse(epoch=4, leader_id=2, diverging=LogPosition(5, 4))
    with pytest.raises(KafkaStorageError, match="below what was committed, 8"):
        fetched(follower, sent, answer, 1)


def test_an_answer_of_another_epoch_or_leader_is_ignored() -> None:
    for answer in (
        FetchResponse(epoch=3, leader_id=2, records=b"old epoch"),
        FetchResponse(epoch=4, leader_id=3, records=b"not the leader"),
        FetchResponse(epoch=4, leader_id=2, error=NotLeaderOrFollower, records=b"an error"),
    ):
        follower = replica(stored=ElectionState(4, leader_id=2), log=StubLog(10, 4))
        sent = follower.step(Tick(), at(0))
        assert fetched(follower, sent, answer, 1).append_fetched == b""
        assert (follower.quorum.epoch, follower.quorum.leader_id) == (4, 2)


def test_an_answer_to_a_fetch_from_another_position_is_ignored() -> None:
    log = StubLog(10, 4)
    follower = replica(stored=ElectionState(4, leader_id=2), log=log)
    sent = follower.step(Tick(), at(0))
    log.end = LogPosition(10, 3)
    answer = FetchResponse(epoch=4, leader_id=2, records=b"r")
    assert fetched(follower, sent, answer, 1).append_fetched == b""


def test_late_answers_do_not_multiply_fetches() -> None:
    """A fetch that was sent again is answered twice: only one more may be on its way."""
    follower = replica(stored=ElectionState(4, leader_id=2), log=StubLog(10, 4))
    first = follower.step(Tick(), at(0))
    second = follower.step(Tick(), at(1_000))
    assert [len(ready.send) for ready in (first, second)] == [1, 1]
    empty = FetchResponse(epoch=4, leader_id=2, high_watermark=0)
    assert fetched(follower, first, empty, 1_001).send == ()
    assert fetched(follower, first, empty, 1_002).send == ()
    assert len(fetched(follower, second, empty, 1_003).send) == 1
    assert fetched(follower, second, empty, 1_004).send == ()


def test_a_late_answer_that_fits_is_taken() -> None:
    """On a link slower than the retry every answer is late."""
    follower = replica(stored=ElectionState(4, leader_id=2), log=StubLog(10, 4))
    first = follower.step(Tick(), at(0))
    follower.step(Tick(), at(1_000))
    answer = FetchResponse(epoch=4, leader_id=2, records=b"r")
    assert fetched(follower, first, answer, 1_001).append_fetched == b"r"


def test_a_follower_fetches_only_from_what_it_has_synced() -> None:
    """KAFKA-10533: a fetch promises what lies below it."""
    log = StubLog(10, 4)
    follower = replica(stored=ElectionState(4, leader_id=2), log=log)
    sent = follower.step(Tick(), at(0))
    answer = FetchResponse(epoch=4, leader_id=2, records=b"r")
    ready = fetched(follower, sent, answer, 1)
    assert (ready.append_fetched, ready.send) == (b"r", ())
    log.end = LogPosition(12, 4)
    assert follower.step(Flushed(11), at(2)).send == ()
    (send,) = follower.step(Flushed(12), at(3)).send
    assert send.message.log == LogPosition(12, 4)


def begin(source: int, epoch: int) -> InboundRequest:
    request = BeginQuorumEpochRequest(
        source=source, epoch=epoch, voter=KEYS[0], endpoints=(at_host(f"leader-{source}"),)
    )
    return InboundRequest(1, request)


def at_host(host: str) -> VoterEndpoint:
    return VoterEndpoint("CONTROLLER", host, 9093)


def test_the_epoch_never_falls() -> None:
    follower = replica(stored=ElectionState(4, leader_id=2), log=StubLog(10, 4))
    (reply,) = follower.step(begin(3, 3), at(0)).reply
    assert (follower.quorum.epoch, follower.quorum.leader_id) == (4, 2)
    assert (reply.response.epoch, reply.response.leader_id) == (4, 2)
    assert reply.response.error is FencedLeaderEpoch


def test_a_second_leader_of_an_epoch_is_not_believed() -> None:
    """A Kafka voter ends itself when it hears of one."""
    unattached = replica(stored=ElectionState(4), log=StubLog(10, 4))
    unattached.step(begin(2, 4), at(0))
    ready = unattached.step(begin(3, 4), at(0))
    assert unattached.quorum.leader_id == 2
    assert [reply.response.error for reply in ready.reply] == [InvalidRequest]


def test_an_observer_stands_in_no_election() -> None:
    observer = replica(VoterSet([Voter(KEYS[1]), Voter(KEYS[2])]))
    ready = observer.step(Tick(), at(100_000))
    assert (ready.persist, observer.quorum.epoch) == (None, 0)
    assert [type(send.message) for send in ready.send] == [FetchRequest]


@pytest.mark.parametrize(
    ("epoch", "is_leader", "error"),
    [
        (0, False, FencedLeaderEpoch),
        (1, False, NotLeaderOrFollower),
        (2, False, UnknownLeaderEpoch),
        (0, True, FencedLeaderEpoch),
        (1, True, None),
        (2, True, UnknownLeaderEpoch),
    ],
)
def test_only_the_leader_of_the_epoch_answers_a_fetch(
    epoch: int, is_leader: bool, error: type[KafkaError] | None
) -> None:
    """And a fetch moves nobody to another epoch: an observer may send it."""
    asked = replica(stored=ElectionState(1, leader_id=2))
    if is_leader:
        asked = replica(VoterSet([Voter(KEYS[0])]))
        asked.step(Tick(), at(0))
    request = FetchRequest(source=KEYS[1], epoch=epoch, log=LogPosition(0, -1), high_watermark=0)
    (reply,) = asked.step(InboundRequest(9, request), at(0)).reply
    leader_id = 1 if is_leader else 2
    assert reply.response.error is error
    assert (reply.response.epoch, reply.response.leader_id) == (1, leader_id)


@pytest.mark.parametrize("position", [(-1, 0), (5, -1), (-(2**63), -(2**31))])
def test_a_fetch_from_where_no_log_can_end_is_a_wrong_request(position: tuple[int, int]) -> None:
    leader = replica(VoterSet([Voter(KEYS[0])]))
    leader.step(Tick(), at(0))
    request = FetchRequest(source=KEYS[1], epoch=1, log=LogPosition(*position), high_watermark=0)
    (reply,) = leader.step(InboundRequest(1, request), at(0)).reply
    assert reply.response.error is InvalidRequest


def test_a_replica_that_ends_says_so() -> None:
    leader = replica(VoterSet([Voter(KEYS[0])]))
    leader.step(Tick(), at(0))
    leader.step(ShutDown(), at(0))
    request = FetchRequest(source=KEYS[1], epoch=1, log=LogPosition(0, -1), high_watermark=0)
    (reply,) = leader.step(InboundRequest(9, request), at(0)).reply
    assert reply.response.error is BrokerNotAvailable
    assert leader.step(Tick(), at(100_000)).send == ()
    assert isinstance(leader.quorum.role, Resigned)


def test_a_vote_for_an_epoch_that_has_records_is_a_wrong_request() -> None:
    asked = replica(stored=ElectionState(4), log=StubLog(10, 4))
    for epoch, last_epoch, pre_vote, error in [
        (5, 5, False, InvalidRequest),
        (5, 4, False, None),
        (5, 6, True, InvalidRequest),
        (5, 5, True, None),
    ]:
        request = VoteRequest(
            source=KEYS[1], epoch=epoch, log=LogPosition(10, last_epoch), voter=KEYS[0], pre_vote=pre_vote
        )  # fmt: skip
        (reply,) = asked.step(InboundRequest(1, request), at(0)).reply
        assert reply.response.error is error
