"""Who votes, by the offset of the record that says so."""

from __future__ import annotations

from millstream.model import Uuid
from millstream.raft.voter_history import VoterHistory
from millstream.raft.voter_set import (
    ReplicaKey,
    Voter,
    VoterSet,
    dynamic_quorum_records,
    leader_change_record,
    voters_record,
)


def voters(*ids: int) -> VoterSet:
    return VoterSet(Voter(ReplicaKey(n, Uuid(bytes([n]) * 16))) for n in ids)


def history_of(*changes: tuple[int, VoterSet]) -> VoterHistory:
    """Bootstrapped with voter 1, then changed at the offsets given."""
    history = VoterHistory.bootstrapped(voters(1))
    history.note((offset, voters_record(voter_set)) for offset, voter_set in changes)
    return history


def test_voters_count_from_their_append_on() -> None:
    history = history_of((7, voters(1, 2)))
    assert (history.voters, history.newest.offset) == (voters(1, 2), 7)


def test_a_truncation_brings_back_those_before() -> None:
    history = history_of((7, voters(1, 2)), (9, voters(1, 2, 3)))
    history.truncate(9)
    assert history.voters == voters(1, 2)
    history.truncate(7)
    assert history.voters == voters(1)
    history.truncate(0)
    assert history.voters == voters(1)
    history.note([(7, voters_record(voters(1, 3)))])
    assert history.voters == voters(1, 3)


def test_a_snapshot_has_the_voters_of_its_offset() -> None:
    history = history_of((7, voters(1, 2)), (9, voters(1, 2, 3)))
    assert [history.at(end).voters for end in (7, 8, 9, 10)] == [
        voters(1), voters(1, 2), voters(1, 2), voters(1, 2, 3),
    ]  # fmt: skip


def test_what_a_snapshot_holds_is_forgotten_but_for_the_newest() -> None:
    history = history_of((7, voters(1, 2)), (9, voters(1, 2, 3)))
    history.compact(9)
    assert (history.at(0).voters, history.voters) == (voters(1, 2), voters(1, 2, 3))
    history.truncate(9)
    assert history.voters == voters(1, 2)


def test_a_fetched_snapshot_begins_anew() -> None:
    history = history_of((7, voters(1, 2)))
    history.start_at(100, voters(4, 5))
    assert (history.voters, history.newest.offset) == (voters(4, 5), 99)
    history.truncate(100)
    assert history.voters == voters(4, 5)


def test_static_voters_count_until_the_log_names_some() -> None:
    history = VoterHistory(voters(1, 2, 3))
    assert (history.kraft_version, history.newest.is_in_log) == (0, False)
    history.note([(0, leader_change_record(ReplicaKey(1), voters(1), []))])
    assert history.kraft_version == 0
    history.note(enumerate(dynamic_quorum_records(voters(1, 2)), 5))
    assert (history.kraft_version, history.voters) == (1, voters(1, 2))
    assert history.at(5).kraft_version == 0
    history.truncate(6)
    assert (history.kraft_version, history.voters) == (1, voters(1, 2, 3))
    history.truncate(5)
    assert (history.kraft_version, history.voters) == (0, voters(1, 2, 3))


def test_a_snapshot_of_a_static_quorum_leaves_its_voters_to_the_configuration() -> None:
    history = VoterHistory(voters(1, 2, 3))
    history.start_at(100, None)
    assert (history.kraft_version, history.voters) == (0, voters(1, 2, 3))


def test_bootstrapped_voters_are_not_in_the_log_yet() -> None:
    history = VoterHistory.bootstrapped(voters(1, 2))
    assert (history.kraft_version, history.newest.is_in_log) == (1, False)
    history.note([(2, voters_record(voters(1, 2)))])
    assert history.newest.is_in_log


def test_without_any_voters_nobody_is_a_majority() -> None:
    assert (len(VoterHistory().voters), VoterHistory().voters.majority) == (0, 1)
