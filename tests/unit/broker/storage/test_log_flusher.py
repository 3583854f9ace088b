"""What is told who waits for the sync of a log that is out of use by then."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.broker.requests.failure_log import FailureLog
from millstream.broker.storage.log_flusher import GroupCommitFlusher
from millstream.errors import KafkaStorageError, NotLeaderOrFollower
from millstream.log.log_health import LogHealth
from millstream.model import TopicPartition
from millstream.runtime.system import SystemClock

PARTITION = TopicPartition("t", 0)
UNUSED: Any = None  # Any: what a log that is out of use asks nothing of


class Log:
    """One that has records which are not on the disk."""

    partition = PARTITION
    recovery_point, log_end_offset = 0, 5

    def __init__(self) -> None:
        self.health = LogHealth(PARTITION, "/a/t-0", UNUSED)


async def refusal(log: Any) -> KafkaStorageError:
    with pytest.raises(KafkaStorageError) as refused:
        await GroupCommitFlusher(UNUSED, UNUSED, UNUSED, UNUSED).flush_to(log, 5)
    return refused.value


async def test_a_replica_that_was_taken_away_is_no_failure_of_its_disk(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A topic is deleted, or a replica moves, while a producer waits: the producer asks the leader of now."""
    log = Log()
    log.health.fail("its topic was deleted", is_gone=True)
    told = FailureLog(SystemClock()).of("t-0", await refusal(log))
    assert type(told) is NotLeaderOrFollower
    assert caplog.messages == []


async def test_a_disk_that_does_not_sync_is_told(caplog: pytest.LogCaptureFixture) -> None:
    log = Log()
    log.health.fail("the disk failed to sync it")
    told = FailureLog(SystemClock()).of("t-0", await refusal(log))
    assert type(told) is KafkaStorageError
    assert caplog.messages == [
        "t-0: the log of t-0 in /a/t-0 is offline: the disk failed to sync it"
    ]
