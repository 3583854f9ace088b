"""`offsets --sizes`: what leaders hold, and which of them do not tell."""

from __future__ import annotations

from typing import Any, cast

import pytest

from millstream.cli.offsets import leader_bytes
from millstream.clients.admin import LogDirDescription, PartitionDescription, ReplicaInfo, Results
from millstream.clients.blocking import Admin
from millstream.errors import KafkaError, KafkaStorageError, RequestTimedOut
from millstream.model import TopicPartition

A, B, C = (TopicPartition("t", number) for number in range(3))


class Directories:
    """Broker 1 has one disk that is gone, broker 2 does not answer."""

    def describe_log_dirs(self, brokers: list[int], *, timeout_ms: int) -> Results[int, Any]:
        assert (brokers, timeout_ms) == ([1, 2], 10_000)
        held = LogDirDescription({A: ReplicaInfo(70, 0, is_future=False)}, None, None, is_cordoned=False)  # fmt: skip
        directories: dict[str, LogDirDescription | KafkaError] = {"/a": held, "/b": KafkaStorageError("gone")}  # fmt: skip
        return Results({1: directories, 2: RequestTimedOut("no answer")})


def test_an_empty_column_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    leaders = {A: 1, B: 1, C: 2}
    partitions = {key: PartitionDescription(key.partition, leader) for key, leader in leaders.items()}  # fmt: skip
    assert leader_bytes(cast("Admin", Directories()), partitions, "table") == {A: 70}
    assert capsys.readouterr().err.splitlines() == [
        "broker 1 does not tell how large the logs in /b are: gone",
        "broker 2 does not tell how large its logs are: no answer",
    ]
