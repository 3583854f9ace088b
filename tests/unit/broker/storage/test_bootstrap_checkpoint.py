"""The file that says with which records the metadata of a new cluster begins."""

from __future__ import annotations

import pytest

from millstream.broker.storage.bootstrap_checkpoint import (
    BOOTSTRAP_FILE,
    encode_bootstrap,
    read_bootstrap,
)
from millstream.errors import KafkaStorageError
from millstream.metadata.features import default_levels, feature_records
from millstream.protocol.generated.metadata_records import UserScramCredentialRecord
from tests.support.simulated_disk import SimFileSystem

RECORDS = [
    *feature_records(default_levels(30)),
    UserScramCredentialRecord(name="alice", mechanism=1, salt=b"s", iterations=4096),
]
PATH = f"data/{BOOTSTRAP_FILE}"


def disk_with(content: bytes) -> SimFileSystem:
    disk = SimFileSystem()
    disk.make_directory("data")
    disk.write_atomically(PATH, content)
    return disk


def test_what_was_written_is_read() -> None:
    assert read_bootstrap(disk_with(encode_bootstrap(RECORDS, 1_700_000_000_000)), "data") == RECORDS  # fmt: skip


def test_a_directory_without_the_file_has_no_records_of_its_own() -> None:
    disk = SimFileSystem()
    disk.make_directory("data")
    assert read_bootstrap(disk, "data") is None


def test_a_file_that_is_cut_off_anywhere_is_refused_by_its_name() -> None:
    whole = encode_bootstrap(RECORDS, 1_700_000_000_000)
    for size in range(len(whole)):
        with pytest.raises(KafkaStorageError, match=f"^{PATH} is damaged, or of a newer version"):
            read_bootstrap(disk_with(whole[:size]), "data")


def test_a_file_with_one_wrong_byte_is_refused_or_says_the_same() -> None:
    """The checksums leave base offsets and leader epochs out, which mean nothing here."""
    whole = encode_bootstrap(RECORDS, 1_700_000_000_000)
    refused = 0
    for at in range(len(whole)):
        changed = bytearray(whole)
        changed[at] ^= 0xFF
        try:
            assert read_bootstrap(disk_with(bytes(changed)), "data") == RECORDS
        except KafkaStorageError:
            refused += 1
    assert refused > len(whole) * 0.9


def test_a_record_of_a_newer_kafka_is_refused() -> None:
    """ClusterIdRecord of 4.4 has a number that no record of 4.3 has."""
    whole = encode_bootstrap(RECORDS, 1_700_000_000_000)
    newer = encode_bootstrap([_Unknown()], 1_700_000_000_000)
    assert len(newer) < len(whole)
    with pytest.raises(KafkaStorageError, match="of a newer version"):
        read_bootstrap(disk_with(newer), "data")


class _Unknown(UserScramCredentialRecord):
    KEY = 99
