"""What the admin client makes of answers, by rule."""

from __future__ import annotations

import hashlib

from millstream.clients.admin import (
    ConfigSource,
    GroupState,
    GroupType,
    Operation,
    ReplicaLogDirs,
    ScramMechanism,
    TransactionState,
    UpsertScramCredential,
)
from millstream.clients.admin.cluster.log_dirs import replica_log_dirs
from millstream.clients.admin.core.results import NOT_ASKED, operations
from millstream.clients.admin.security.scram import salted
from millstream.model import TopicPartition
from millstream.protocol.generated.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)


def test_a_replica_on_the_move_is_in_two_directories() -> None:
    def directory(path: str, lag: int, *, future: bool) -> DescribeLogDirsResult:
        partition = DescribeLogDirsPartition(0, 100, lag, future)
        return DescribeLogDirsResult(log_dir=path, topics=[DescribeLogDirsTopic("t", [partition])])

    response = DescribeLogDirsResponse(
        results=[directory("/a", 0, future=False), directory("/b", 7, future=True)]
    )
    assert replica_log_dirs(FIRST, response) == ReplicaLogDirs("/a", 0, "/b", 7)
    assert replica_log_dirs(SECOND, response) == ReplicaLogDirs()


def test_brokers_never_see_a_password() -> None:
    """RFC 5802: Hi() is PBKDF2 with HMAC."""
    credential = UpsertScramCredential("ann", ScramMechanism.SCRAM_SHA_512, "secret", 4096)
    told = salted(credential, b"salt")
    assert told.salted_password == hashlib.pbkdf2_hmac("sha512", b"secret", b"salt", 4096)
    assert (told.name, told.mechanism, told.iterations, told.salt) == ("ann", 2, 4096, b"salt")
    assert "secret" not in repr(credential)


def test_operations_are_bits() -> None:
    """KIP-430."""
    assert operations(0b1000_1000) == {Operation.READ, Operation.ALTER}
    assert operations(NOT_ASKED) is None


def test_codes_of_a_later_kafka_are_unknown() -> None:
    assert GroupState.of("Dreaming") is GroupState.UNKNOWN
    assert GroupType.of("Share") is GroupType.SHARE
    assert GroupType.of("cult") is GroupType.UNKNOWN
    assert TransactionState.of("Dreaming") is TransactionState.UNKNOWN
    assert ConfigSource.of(99) is ConfigSource.UNKNOWN
