"""Adding, removing and updating voters, as their leader does it (KIP-853)."""

from __future__ import annotations

import pytest

from millstream.errors import (
    DuplicateVoter,
    FencedLeaderEpoch,
    InvalidRequest,
    InvalidUpdateVersion,
    KafkaError,
    NotLeaderOrFollower,
    RequestTimedOut,
    UnsupportedVersion,
    VoterNotFound,
)
from millstream.raft.election_state import ElectionState
from millstream.raft.messages import (
    AddVoterRequest,
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    InboundRequest,
    InboundResponse,
    KraftVersionsRequest,
    Propose,
    RemoveVoterRequest,
    Resign,
    ShutDown,
    Tick,
    Unanswered,
    UpdateVoterRequest,
    UpgradeKraftVersion,
    VoteRequest,
    VoteResponse,
)
from millstream.raft.roles import Leader, Resigned
from millstream.raft.voter_history import VoterHistory
from millstream.raft.voter_set import ReplicaKey, Voter, VoterSet
from tests.unit.raft.led_quorum import LedQuorum, key, voter
from tests.unit.raft.replicas import at, replica


def committed(*numbers: int) -> LedQuorum:
    """The leader has committed its epoch's first records."""
    quorum = LedQuorum(*numbers)
    for number in numbers[1:]:
        quorum.fetch(key(number))
    return quorum


def adding(quorum: LedQuorum, *, ack_when_committed: bool = True) -> int:
    """Voter 4, caught up, is to be added, and said what it can."""
    quorum.fetch(key(4))
    request = AddVoterRequest(voter=voter(4), ack_when_committed=ack_when_committed)
    token = quorum.ask(request)
    quorum.tell_versions()
    return token


def error_of(quorum: LedQuorum, token: int) -> type[KafkaError] | None:
    return quorum.replies[token].error


def test_a_new_voter_counts_from_the_append_and_the_answer_waits_for_the_commit() -> None:
    quorum = committed(1, 2, 3)
    quorum.fetch(key(4))
    token = quorum.ask(AddVoterRequest(voter=voter(4)))
    (asked,) = quorum.take_sent(KraftVersionsRequest)
    assert (asked.to.id, asked.to.endpoints) == (4, voter(4).endpoints)
    assert quorum.voters.keys() == {1, 2, 3}
    quorum.sent.append(asked)
    quorum.tell_versions((0, 1))
    assert quorum.voters.keys() == {1, 2, 3, 4}
    assert token not in quorum.replies
    quorum.fetch(key(2))
    assert token not in quorum.replies
    quorum.fetch(key(4))
    assert error_of(quorum, token) is None


def test_the_answer_does_not_wait_where_nobody_wants_it_to() -> None:
    quorum = committed(1, 2, 3)
    assert error_of(quorum, adding(quorum, ack_when_committed=False)) is None


def test_a_leader_that_has_committed_nothing_in_its_epoch_changes_no_voters() -> None:
    quorum = LedQuorum(1, 2, 3)
    for request in (
        AddVoterRequest(voter=voter(4)),
        RemoveVoterRequest(voter=key(3)),
        UpdateVoterRequest(epoch=1, voter=voter(3, host="new")),
    ):
        assert error_of(quorum, quorum.ask(request)) is RequestTimedOut


def test_one_change_at_a_time() -> None:
    quorum = committed(1, 2, 3)
    adding(quorum)
    for request in (
        AddVoterRequest(voter=voter(5)),
        RemoveVoterRequest(voter=key(3)),
        UpdateVoterRequest(epoch=1, voter=voter(3, host="new")),
    ):
        assert error_of(quorum, quorum.ask(request)) is RequestTimedOut


def test_the_next_change_waits_for_the_commit_of_the_last_also_when_nobody_waits_for_it() -> None:
    quorum = committed(1, 2, 3)
    adding(quorum, ack_when_committed=False)
    remove = RemoveVoterRequest(voter=key(3))
    assert error_of(quorum, quorum.ask(remove)) is RequestTimedOut
    for number in (2, 4):
        quorum.fetch(key(number))
    quorum.ask(remove)
    assert quorum.voters.keys() == {1, 2, 4}


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (AddVoterRequest(voter=voter(3, disk=9)), DuplicateVoter),
        (AddVoterRequest(voter=Voter(key(4))), InvalidRequest),
        (RemoveVoterRequest(voter=key(3, disk=9)), VoterNotFound),
        (RemoveVoterRequest(voter=ReplicaKey(3)), VoterNotFound),
        (RemoveVoterRequest(voter=key(4)), VoterNotFound),
        (UpdateVoterRequest(epoch=1, voter=voter(3, disk=9)), VoterNotFound),
        (UpdateVoterRequest(epoch=1, voter=Voter(key(3))), InvalidRequest),
        (UpdateVoterRequest(epoch=0, voter=voter(3)), FencedLeaderEpoch),
        (
            UpdateVoterRequest(epoch=1, voter=Voter(key(3), voter(3).endpoints, (0, 0))),
            InvalidRequest,
        ),
    ],
)
def test_a_wrong_change_is_refused(request_: object, error: type[KafkaError]) -> None:
    quorum = committed(1, 2, 3)
    token = quorum.ask(request_)
    assert error_of(quorum, token) is error
    assert quorum.replies[token].message
    assert quorum.voters == {n: key(n) for n in (1, 2, 3)}


def test_the_last_voter_stays() -> None:
    quorum = committed(1)
    assert error_of(quorum, quorum.ask(RemoveVoterRequest(voter=key(1)))) is VoterNotFound


def test_only_the_leader_changes_voters() -> None:
    follower = replica(stored=ElectionState(4, leader_id=2))
    request = RemoveVoterRequest(voter=key(3))
    (reply,) = follower.step(InboundRequest(1, request), at(0)).reply
    assert (reply.response.error, reply.response.leader_id) == (NotLeaderOrFollower, 2)


def test_a_voter_that_lags_or_is_not_there_is_not_added() -> None:
    quorum = committed(1, 2, 3)
    for is_known in (False, True):
        token = quorum.ask(AddVoterRequest(voter=voter(4)))
        quorum.tell_versions()
        assert error_of(quorum, token) is RequestTimedOut, is_known
        quorum.fetch(key(4), 1)


def test_a_voter_that_does_not_say_what_it_can_is_not_added() -> None:
    quorum = committed(1, 2, 3)
    quorum.fetch(key(4))
    for versions in (None, (0, 0)):
        token = quorum.ask(AddVoterRequest(voter=voter(4)))
        quorum.tell_versions(versions)
        assert error_of(quorum, token) is InvalidRequest
    token = quorum.ask(AddVoterRequest(voter=voter(4)))
    quorum.step(Unanswered(quorum.sent[-1]))
    assert error_of(quorum, token) is RequestTimedOut
    assert quorum.voters.keys() == {1, 2, 3}


def test_a_change_that_takes_too_long_is_answered_and_may_yet_be_committed() -> None:
    quorum = committed(1, 2, 3)
    token = adding(quorum)
    quorum.step(Tick(), after_ms=1_999)
    assert token not in quorum.replies
    quorum.step(Tick(), after_ms=1)
    assert error_of(quorum, token) is RequestTimedOut
    assert quorum.voters.keys() == {1, 2, 3, 4}


def test_a_leader_that_goes_says_so_to_whoever_waits() -> None:
    quorum = committed(1, 2, 3)
    token = adding(quorum)
    quorum.step(ShutDown())
    assert error_of(quorum, token) is NotLeaderOrFollower


def test_a_removed_leader_leads_on_without_counting_itself_and_resigns_after_the_commit() -> None:
    """KAFKA-16530, KAFKA-17608."""
    quorum = committed(1, 2, 3)
    token = quorum.ask(RemoveVoterRequest(voter=key(1)))
    assert quorum.voters.keys() == {2, 3}
    quorum.step(Propose((b"x",), 1))
    quorum.fetch(key(2))
    assert isinstance(quorum.replica.quorum.role, Leader)
    assert quorum.replica.high_watermark == 3
    quorum.sent.clear()
    quorum.fetch(key(3))
    assert quorum.replica.high_watermark == 5
    assert error_of(quorum, token) is None
    assert isinstance(quorum.replica.quorum.role, Resigned)
    told = quorum.take_sent(EndQuorumEpochRequest)
    assert {send.to.id for send in told} == {2, 3}
    quorum.step(Tick(), after_ms=60_000)
    assert isinstance(quorum.replica.quorum.role, Resigned)


def test_a_voter_whose_removal_is_not_committed_stands_without_counting_itself() -> None:
    """Its log is the longest, so that the others may need a vote that it cannot give them (section 4.2.2 of the Raft thesis)."""
    quorum = committed(1, 2, 3)
    quorum.ask(RemoveVoterRequest(voter=key(1)))
    quorum.step(Resign())
    quorum.sent.clear()
    quorum.step(Tick(), after_ms=1_000)
    asked = quorum.take_sent(VoteRequest)
    assert [(send.to.id, send.message.pre_vote) for send in asked] == [(2, True), (3, True)]
    for send in asked:
        assert quorum.take_sent(VoteRequest) == []
        quorum.step(InboundResponse(send, VoteResponse(epoch=1, granted=True)))
    assert [send.message.epoch for send in quorum.take_sent(VoteRequest)] == [2, 2]


def test_the_mark_does_not_fall_when_a_voter_goes_or_comes() -> None:
    quorum = committed(1, 2, 3)
    adding(quorum)
    assert quorum.replica.high_watermark == 3
    for number in (2, 3):
        quorum.fetch(key(number))
    assert quorum.replica.high_watermark == 4


def test_a_new_directory_counts_only_once_it_is_a_voter() -> None:
    quorum = committed(1, 2, 3)
    quorum.ask(RemoveVoterRequest(voter=key(3)))
    quorum.fetch(key(2))
    new = voter(3, disk=9)
    quorum.fetch(new.key)
    quorum.ask(AddVoterRequest(voter=new))
    quorum.tell_versions()
    quorum.fetch(key(3))
    assert quorum.replica.high_watermark == 4
    quorum.fetch(new.key)
    assert quorum.replica.high_watermark == 5


def test_a_new_voter_is_told_who_leads() -> None:
    quorum = committed(1, 2, 3)
    quorum.step(Tick(), after_ms=1_000)
    quorum.fetch(key(2))
    quorum.fetch(key(3))
    quorum.sent.clear()
    adding(quorum)
    quorum.step(Tick(), after_ms=1_000)
    told = {send.to.id: send for send in quorum.take_sent(BeginQuorumEpochRequest)}
    assert told[4].message.voter == key(4)
    assert told[4].to.endpoints == voter(4).endpoints


def test_an_update_is_answered_at_once() -> None:
    quorum = committed(1, 2, 3)
    moved = voter(3, host="elsewhere")
    assert error_of(quorum, quorum.ask(UpdateVoterRequest(epoch=1, voter=moved))) is None
    assert quorum.replica.quorum.voters.get(3) == moved
    end = len(quorum.log.entries)
    quorum.fetch(key(2))
    assert error_of(quorum, quorum.ask(UpdateVoterRequest(epoch=1, voter=moved))) is None
    assert len(quorum.log.entries) == end


def static_quorum() -> LedQuorum:
    names = VoterSet(Voter(ReplicaKey(n), voter(n).endpoints) for n in (1, 2, 3))
    quorum = LedQuorum(1, 2, 3, history=VoterHistory(names))
    quorum.fetch(key(2))
    return quorum


def test_static_voters_are_not_changed() -> None:
    quorum = static_quorum()
    for request in (AddVoterRequest(voter=voter(4)), RemoveVoterRequest(voter=ReplicaKey(3))):
        assert error_of(quorum, quorum.ask(request)) is UnsupportedVersion


def test_a_static_quorum_becomes_dynamic_once_all_voters_told_their_directories() -> None:
    quorum = static_quorum()
    for number in (2, 3):
        with pytest.raises(InvalidUpdateVersion, match=f"voter {number} has not said"):
            quorum.step(UpgradeKraftVersion(1))
        told = UpdateVoterRequest(epoch=1, voter=voter(number))
        assert error_of(quorum, quorum.ask(told)) is None
    quorum.step(UpgradeKraftVersion(1))
    assert quorum.replica.quorum.kraft_version == 1
    assert quorum.voters == {n: key(n) for n in (1, 2, 3)}
    assert quorum.replica.high_watermark == 1
    assert quorum.replica.describe(quorum.now).observers == ()
    quorum.fetch(key(3))
    assert quorum.replica.high_watermark == 3
