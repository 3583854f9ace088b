"""RaftReplica: what it refuses, and what it never does. The protocol itself is in tests/interaction/raft."""

from __future__ import annotations

import pytest

from millstream.errors import KafkaStorageError, NotController
from millstream.model import Uuid
from millstream.raft.election_state import ElectionState
from millstream.raft.messages import (
    BeginQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    Flushed,
    LogPosition,
    Propose,
    Tick,
    UpgradeKraftVersion,
    VoteRequest,
)
from millstream.raft.quorum_state import RaftIdentity, RaftTimeouts
from millstream.raft.replica import RaftReplica
from millstream.raft.roles import Follower, Resigned
from millstream.raft.voter_history import VoterHistory
from millstream.raft.voter_set import ReplicaKey, Voter, VoterSet
from millstream.runtime import Instant

KEYS = [ReplicaKey(n, Uuid(bytes([n]) * 16)) for n in (1, 2, 3)]
THREE = VoterSet(Voter(key) for key in KEYS)


class StubLog:
    """Ends where the test says, all of it in one epoch."""

    def __init__(self, end_offset: int = 0, epoch: int = -1, high_watermark: int = 0) -> None:
        self.end, self.committed = LogPosition(end_offset, epoch), high_watermark

    def position(self) -> LogPosition:
        return self.end

    def end_of_epoch(self, epoch: int) -> LogPosition:
        return self.end if epoch >= self.end.last_epoch else LogPosition(0, -1)

    def high_watermark(self) -> int:
        return self.committed


class Never:
    def random(self) -> float:
        return 0.0

    def randrange(self, stop: int) -> int:
        return 0

    def randbytes(self, count: int) -> bytes:
        return bytes(count)


def at(now_ms: int) -> Instant:
    return Instant(now_ms, now_ms)


def replica(
    voters: VoterSet = THREE, stored: ElectionState | None = None, log: StubLog | None = None
) -> RaftReplica:
    return RaftReplica(
        RaftIdentity(KEYS[0]),
        VoterHistory.bootstrapped(voters),
        RaftTimeouts(),
        Never(),
        log or StubLog(),
        stored=stored or ElectionState(),
        now=at(0),
    )


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
    assert [send.message for send in ready.send] == [
        FetchRequest(source=KEYS[0], epoch=4, log=LogPosition(10, 4))
    ]


def test_a_vote_request_for_another_directory_is_not_answered_with_a_vote() -> None:
    """KIP-853: the disk of this node was replaced; its promises went with the old one."""
    asked = VoteRequest(
        source=KEYS[1], epoch=1, log=LogPosition(0, -1), voter=ReplicaKey(1, Uuid(b"o" * 16))
    )
    (send,) = replica().step(asked, at(0)).send
    assert not send.message.granted


def test_truncation_below_what_was_committed_is_refused() -> None:
    """KAFKA-12460."""
    follower = replica(stored=ElectionState(4, leader_id=2), log=StubLog(10, 4, high_watermark=8))
    follower.step(Tick(), at(0))
    answer = FetchResponse(
        source=2, epoch=4, leader_id=2, fetch_offset=10, diverging=LogPosition(5, 4)
    )
    with pytest.raises(AssertionError, match="below what was committed"):
        follower.step(answer, at(1))


def test_an_answer_of_another_epoch_or_to_an_old_fetch_is_ignored() -> None:
    follower = replica(stored=ElectionState(4, leader_id=2), log=StubLog(10, 4))
    follower.step(Tick(), at(0))
    for answer in (
        FetchResponse(source=2, epoch=3, leader_id=2, fetch_offset=10, records=b"old epoch"),
        FetchResponse(source=3, epoch=4, leader_id=2, fetch_offset=10, records=b"not the leader"),
        FetchResponse(source=2, epoch=4, leader_id=2, fetch_offset=7, records=b"old position"),
    ):
        assert follower.step(answer, at(1)).append_fetched == b""


def test_a_follower_fetches_only_from_what_it_has_synced() -> None:
    """KAFKA-10533: a fetch promises what lies below it."""
    log = StubLog(10, 4)
    follower = replica(stored=ElectionState(4, leader_id=2), log=log)
    follower.step(Tick(), at(0))
    fetched = follower.step(
        FetchResponse(source=2, epoch=4, leader_id=2, fetch_offset=10, records=b"r"), at(1)
    )
    assert (fetched.append_fetched, fetched.send) == (b"r", ())
    log.end = LogPosition(12, 4)
    assert follower.step(Flushed(11), at(2)).send == ()
    (send,) = follower.step(Flushed(12), at(3)).send
    assert send.message.log == LogPosition(12, 4)


def test_the_epoch_never_falls() -> None:
    follower = replica(stored=ElectionState(4, leader_id=2), log=StubLog(10, 4))
    (send, *_) = follower.step(BeginQuorumEpochRequest(source=3, epoch=3), at(0)).send
    assert (follower.quorum.epoch, follower.quorum.leader_id) == (4, 2)
    assert (send.message.epoch, send.message.leader_id) == (4, 2)


def test_a_second_leader_of_an_epoch_is_not_believed() -> None:
    unattached = replica(stored=ElectionState(4), log=StubLog(10, 4))
    unattached.step(BeginQuorumEpochRequest(source=2, epoch=4), at(0))
    unattached.step(BeginQuorumEpochRequest(source=3, epoch=4), at(0))
    assert unattached.quorum.leader_id == 2


def test_an_observer_stands_in_no_election() -> None:
    observer = replica(VoterSet([Voter(KEYS[1]), Voter(KEYS[2])]))
    ready = observer.step(Tick(), at(100_000))
    assert (ready.send, ready.persist, observer.quorum.epoch) == ((), None, 0)
