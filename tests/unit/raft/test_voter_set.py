"""Voters, majorities, and their records."""

from __future__ import annotations

import pytest

from millstream.errors import DuplicateVoter, VoterNotFound
from millstream.model import Uuid
from millstream.raft.voter_set import (
    ReplicaKey,
    Voter,
    VoterEndpoint,
    VoterSet,
    leader_change_record,
    voters_from_record,
    voters_record,
)

DISK_1, DISK_2 = Uuid(b"1" * 16), Uuid(b"2" * 16)


def voter_set(*ids: int) -> VoterSet:
    return VoterSet(Voter(ReplicaKey(n, DISK_1)) for n in ids)


@pytest.mark.parametrize(("count", "majority"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3)])
def test_a_majority_is_more_than_half(count: int, majority: int) -> None:
    assert voter_set(*range(count)).majority == majority


def test_a_voter_with_another_directory_is_another_replica() -> None:
    voters = voter_set(1, 2)
    assert voters.has(ReplicaKey(1, DISK_1))
    assert not voters.has(ReplicaKey(1, DISK_2))
    assert not voters.has(ReplicaKey(3, DISK_1))
    assert voters.has(ReplicaKey(1))


def test_one_directory_votes_for_one_id() -> None:
    with pytest.raises(DuplicateVoter):
        voter_set(1).with_voter(Voter(ReplicaKey(1, DISK_2)))
    assert voter_set(1).with_voter(Voter(ReplicaKey(2, DISK_1))) == voter_set(1, 2)


def test_only_a_voter_that_is_not_the_last_can_be_removed() -> None:
    assert voter_set(1, 2).without_voter(ReplicaKey(1, DISK_1)) == voter_set(2)
    with pytest.raises(VoterNotFound):
        voter_set(1, 2).without_voter(ReplicaKey(1, DISK_2))
    with pytest.raises(VoterNotFound):
        voter_set(1, 2).without_voter(ReplicaKey(1))
    with pytest.raises(VoterNotFound, match="last voter"):
        voter_set(1).without_voter(ReplicaKey(1, DISK_1))


def test_a_voter_is_updated_under_its_own_directory_only() -> None:
    moved = Voter(ReplicaKey(1, DISK_1), (VoterEndpoint("CONTROLLER", "host", 9093),))
    assert voter_set(1, 2).with_update(moved).get(1) == moved
    with pytest.raises(VoterNotFound):
        voter_set(1, 2).with_update(Voter(ReplicaKey(1, DISK_2)))


def test_voters_survive_their_record() -> None:
    voters = VoterSet(
        [Voter(ReplicaKey(1, DISK_1), (VoterEndpoint("CONTROLLER", "host", 9093),), (0, 1))]
    )
    record = voters_record(voters)
    out = bytearray()
    record.encode(out, 0)
    decoded, _ = type(record).decode(memoryview(out), 0, 0)
    assert voters_from_record(decoded) == voters


def test_a_leader_change_names_all_voters_and_those_that_granted() -> None:
    record = leader_change_record(
        ReplicaKey(2, DISK_1), voter_set(1, 2, 3), [ReplicaKey(1), ReplicaKey(2)]
    )
    assert (record.version, record.leader_id) == (0, 2)
    assert [v.voter_id for v in record.voters] == [1, 2, 3]
    assert [v.voter_id for v in record.granting_voters] == [1, 2]
