"""The quorum-state file, byte for byte as Kafka 4.3.1 writes it."""

from __future__ import annotations

import pytest

from millstream.errors import KafkaStorageError
from millstream.model import ZERO_UUID, Uuid
from millstream.raft.election_state import ElectionState, decode_quorum_state, encode_quorum_state
from millstream.raft.voter_set import ReplicaKey

LEADER = b'{"leaderId":7,"leaderEpoch":1,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}'
STATIC = b'{"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":-1,"appliedOffset":0,"currentVoters":[{"voterId":1}],"data_version":0}'


def test_a_leader_with_dynamic_voters_is_written_as_kafka_does() -> None:
    assert encode_quorum_state(ElectionState(1, 7), kraft_version=1) == LEADER
    assert decode_quorum_state(LEADER) == ElectionState(1, 7, None)


def test_static_voters_are_written_in_version_0() -> None:
    assert encode_quorum_state(ElectionState(2, 1), kraft_version=0, voter_ids=[1]) == STATIC
    assert decode_quorum_state(STATIC) == ElectionState(2, 1, None)


def test_a_vote_is_remembered_with_its_directory() -> None:
    state = ElectionState(5, voted=ReplicaKey(3, Uuid(b"d" * 16)))
    assert decode_quorum_state(encode_quorum_state(state, kraft_version=1)) == state
    static = decode_quorum_state(encode_quorum_state(state, kraft_version=0))
    assert static.voted == ReplicaKey(3, ZERO_UUID)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"null",
        LEADER[:-1],
        LEADER.replace(b'"data_version":1', b'"data_version":2'),
        LEADER.replace(b"7", b'"x"'),
    ],
)
def test_a_damaged_file_is_never_read_as_never_voted(data: bytes) -> None:
    with pytest.raises(KafkaStorageError, match="quorum-state file is damaged"):
        decode_quorum_state(data)
