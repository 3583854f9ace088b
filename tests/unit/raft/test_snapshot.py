"""Snapshots as bytes: header, voters, records, footer, in batches as Kafka writes them."""

from __future__ import annotations

import pytest

from millstream.errors import CorruptMessage, InvalidRecord
from millstream.model import Uuid
from millstream.protocol.generated.control_records import VotersRecord
from millstream.raft.snapshot import (
    SNAPSHOT_DAMAGE,
    Snapshot,
    SnapshotId,
    decode_snapshot,
    encode_snapshot,
)
from millstream.raft.voter_set import ReplicaKey, Voter, VoterSet, voters_from_record
from millstream.records.batch import iterate_batches

ID = SnapshotId(1234, 7)
VOTERS = VoterSet([Voter(ReplicaKey(1, Uuid(b"d" * 16)))])


def test_a_file_is_named_by_end_offset_and_epoch() -> None:
    assert ID.file_name == "00000000000000001234-0000000007.checkpoint"
    assert SnapshotId.of_file(ID.file_name) == ID
    for other in ("bootstrap.checkpoint", "00000000000000001234.log", f"{ID.file_name}.part"):
        assert SnapshotId.of_file(other) is None


@pytest.mark.parametrize("voters", [VOTERS, None])
@pytest.mark.parametrize("values", [(), (b"one", b"two"), tuple(b"x" * 1000 for _ in range(3000))])
def test_what_is_written_is_read(voters: VoterSet | None, values: tuple[bytes, ...]) -> None:
    snapshot = Snapshot(ID, 99, voters, values)
    assert decode_snapshot(ID, encode_snapshot(snapshot)) == snapshot


def test_batches_are_of_the_snapshots_epoch_and_bounded() -> None:
    data = encode_snapshot(Snapshot(ID, 99, VOTERS, tuple(b"x" * 1000 for _ in range(3000))))
    headers = [header for header, _ in iterate_batches(memoryview(data))]
    assert [(h.is_control, h.base_offset, h.last_offset) for h in headers] == [
        (True, 0, 2),
        (False, 3, 1051),
        (False, 1052, 2100),
        (False, 2101, 3002),
        (True, 3003, 3003),
    ]
    assert {h.partition_leader_epoch for h in headers} == {7}


def test_a_snapshot_that_was_not_finished_is_none() -> None:
    data = encode_snapshot(Snapshot(ID, 99, VOTERS, (b"one",)))
    for cut in range(len(data)):
        with pytest.raises(SNAPSHOT_DAMAGE):
            decode_snapshot(ID, data[:cut])


def test_a_damaged_snapshot_is_noticed() -> None:
    data = bytearray(encode_snapshot(Snapshot(ID, 99, VOTERS, (b"one",))))
    data[-30] ^= 1
    with pytest.raises(CorruptMessage):
        decode_snapshot(ID, bytes(data))


def test_one_wrong_byte_is_noticed_or_changes_nothing() -> None:
    """Also in a batch's magic, which would make it a message of old; the checksums leave offsets and epochs out."""
    whole = encode_snapshot(Snapshot(ID, 99, VOTERS, (b"one",)))
    noticed = 0
    for at in range(len(whole)):
        for wrong in (0, 1, whole[at] ^ 0xFF):
            data = whole[:at] + bytes([wrong]) + whole[at + 1 :]
            try:
                found = decode_snapshot(ID, data)
            except SNAPSHOT_DAMAGE:
                noticed += 1
            else:
                assert (found.voters, found.values) == (VOTERS, (b"one",))
    assert noticed > len(whole)


def test_a_quorum_without_voters_is_none() -> None:
    with pytest.raises(InvalidRecord, match="names no voter"):
        voters_from_record(VotersRecord(voters=[]))
