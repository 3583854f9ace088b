"""A leader writes its own entry of the voters anew where that is old, as it begins to lead (Kafka: `appendStartOfEpochControlRecords`)."""

from __future__ import annotations

import pytest

from millstream.protocol.generated.control_records import KRaftVersionRecord, VotersRecord
from millstream.raft.election_state import ElectionState
from millstream.raft.messages import Flushed, Tick
from millstream.raft.quorum_state import RaftIdentity, RaftTimeouts
from millstream.raft.replica import RaftReplica
from millstream.raft.voter_history import VoterHistory
from millstream.raft.voter_set import Voter, VoterSet, voters_from_record, voters_record
from tests.sim.raft_log import MemoryLog
from tests.unit.raft.led_quorum import key, voter
from tests.unit.raft.replicas import Never, at


def in_log(*voters: Voter) -> VoterHistory:
    """The history of a log whose two records name these voters."""
    history = VoterHistory()
    history.note([(0, KRaftVersionRecord(kraft_version=1)), (1, voters_record(VoterSet(voters)))])
    return history


def written(history: VoterHistory, identity: RaftIdentity) -> list[VoterSet]:
    """Returns the voters that replica 1 writes down when it has elected itself."""
    log = MemoryLog()
    if history.newest.is_in_log:
        log.entries = [(1, "a record"), (1, "another")]
        log.synced = 2
    replica = RaftReplica(
        identity, history, RaftTimeouts(), Never(), log, stored=ElectionState(1), now=at(0)
    )
    ready = replica.step(Tick(), at(10_000))
    for batch in ready.append:
        log.append(batch)
    log.synced = len(log.entries)
    replica.step(Flushed(log.synced), at(10_000))
    assert replica.is_leader
    return [
        voters_from_record(value) for _, value in log.entries if isinstance(value, VotersRecord)
    ]


@pytest.mark.parametrize(
    "old", [Voter(key(1)), voter(1, host="before")], ids=["nowhere", "elsewhere"]
)
def test_a_leader_alone_writes_where_it_listens(old: Voter) -> None:
    assert written(in_log(old), RaftIdentity(key(1), voter(1).endpoints)) == [VoterSet([voter(1)])]


def test_an_entry_that_is_right_is_not_written_again() -> None:
    assert written(in_log(voter(1)), RaftIdentity(key(1), voter(1).endpoints)) == []


def test_whoever_listens_to_nobody_leaves_its_entry() -> None:
    assert written(in_log(voter(1)), RaftIdentity(key(1))) == []


def test_voters_of_a_new_cluster_are_written_as_they_are_now() -> None:
    formatted = VoterHistory.bootstrapped(VoterSet([voter(1, host="formatted")]))
    assert written(formatted, RaftIdentity(key(1), voter(1).endpoints)) == [VoterSet([voter(1)])]


def test_static_voters_are_never_written() -> None:
    static = VoterHistory(VoterSet([Voter(key(1))]))
    assert written(static, RaftIdentity(key(1), voter(1).endpoints)) == []
