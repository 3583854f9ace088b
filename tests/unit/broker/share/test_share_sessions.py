"""Share sessions: epochs, how many there may be, and how they end (KIP-932, as Kafka 4.3)."""

from __future__ import annotations

import pytest

from millstream.broker.share.sessions import (
    SessionKey,
    ShareSession,
    ShareSessionPartition,
    ShareSessions,
    check_group_id,
    check_member_id,
)
from millstream.errors import (
    InvalidRequest,
    InvalidShareSessionEpoch,
    ShareSessionLimitReached,
    ShareSessionNotFound,
)
from millstream.model import Uuid

ANN, BOB = SessionKey("workers", "ann"), SessionKey("workers", "bob")
ID = Uuid(b"1" * 16)
PARTITIONS = [(ShareSessionPartition(ID, number), "orders") for number in range(3)]


def opened(sessions: ShareSessions, key: SessionKey = ANN, connection_id: int = 1) -> ShareSession:
    return sessions.open(key, connection_id, PARTITIONS, has_acknowledgements=False)


def test_every_request_carries_the_next_epoch() -> None:
    sessions = ShareSessions(10)
    session = opened(sessions)
    for epoch in (1, 2, 3):
        assert sessions.proceed(ANN, epoch) is session
    with pytest.raises(InvalidShareSessionEpoch):
        sessions.proceed(ANN, 3)
    assert sessions.proceed(ANN, 4) is session, "a refused request changes nothing"


def test_after_the_last_epoch_comes_the_first() -> None:
    sessions = ShareSessions(10)
    opened(sessions).epoch = 2**31 - 1
    assert sessions.proceed(ANN, 2**31 - 1).epoch == 1


def test_a_session_that_is_not_there() -> None:
    sessions = ShareSessions(10)
    with pytest.raises(ShareSessionNotFound):
        sessions.proceed(ANN, 1)
    assert sessions.close(ANN) is None


def test_a_member_has_one_session() -> None:
    sessions = ShareSessions(1)
    opened(sessions)
    sessions.proceed(ANN, 1)
    assert opened(sessions).epoch == 1
    assert len(sessions) == 1


def test_there_are_only_so_many() -> None:
    sessions = ShareSessions(1)
    opened(sessions)
    with pytest.raises(ShareSessionLimitReached):
        opened(sessions, BOB, 2)
    sessions.close(ANN)
    opened(sessions, BOB, 2)


def test_nothing_is_acknowledged_in_the_first_request() -> None:
    with pytest.raises(InvalidRequest):
        ShareSessions(1).open(ANN, 1, PARTITIONS, has_acknowledgements=True)


def test_a_session_ends_with_its_connection() -> None:
    sessions = ShareSessions(10)
    session = opened(sessions, connection_id=7)
    assert sessions.close_connection(8) == []
    assert sessions.close_connection(7) == [session]
    assert len(sessions) == 0


def test_all_sessions_of_a_connection_end_with_it() -> None:
    sessions = ShareSessions(10, partitions_max=6)
    both = [opened(sessions), opened(sessions, BOB)]
    opened(sessions, BOB)
    assert sorted(each.key for each in sessions.close_connection(1)) == [each.key for each in both]
    assert len(sessions) == 0
    opened(sessions, connection_id=2)
    opened(sessions, BOB, 2)


def test_a_session_that_was_refused_leaves_those_of_its_connection() -> None:
    sessions = ShareSessions(10, partitions_max=3)
    first = opened(sessions)
    with pytest.raises(ShareSessionLimitReached):
        opened(sessions, BOB)
    assert sessions.close_connection(1) == [first]


def test_what_is_forgotten_makes_room_for_what_is_added() -> None:
    sessions = ShareSessions(10, partitions_max=3)
    session = opened(sessions)
    added, gone = ShareSessionPartition(ID, 9), ShareSessionPartition(ID, 0)
    sessions.update(session, [(added, "orders"), (gone, "orders")], [gone])
    assert [partition.partition for partition in session.partitions] == [1, 2, 9]
    with pytest.raises(ShareSessionLimitReached):
        sessions.update(session, [(gone, "orders")], [])


def test_a_session_that_was_opened_anew_elsewhere_outlives_its_first_connection() -> None:
    sessions = ShareSessions(10)
    opened(sessions, connection_id=1)
    opened(sessions, connection_id=2)
    assert sessions.close_connection(1) == []
    assert len(sessions) == 1


def test_a_group_is_here_while_one_of_its_members_is() -> None:
    sessions = ShareSessions(10)
    opened(sessions)
    opened(sessions, BOB, 2)
    sessions.close(ANN)
    assert sessions.has_group("workers")
    sessions.close(BOB)
    assert not sessions.has_group("workers")


def test_partitions_are_added_and_forgotten() -> None:
    sessions = ShareSessions(10)
    session = opened(sessions)
    added = ShareSessionPartition(ID, 9)
    sessions.update(
        session, [(added, "orders")], [ShareSessionPartition(ID, 0), ShareSessionPartition(ID, 77)]
    )
    assert [partition.partition for partition in session.partitions] == [1, 2, 9]


def test_every_partition_is_the_first_now_and_then() -> None:
    session = opened(ShareSessions(10))
    firsts = [session.rotated(epoch)[0][0].partition for epoch in range(4)]
    assert firsts == [0, 1, 2, 0]
    assert all(len(session.rotated(epoch)) == 3 for epoch in range(4))


@pytest.mark.parametrize("member_id", [None, "", "x" * 37])
def test_member_ids_are_uuids_or_as_long_at_most(member_id: str | None) -> None:
    with pytest.raises(InvalidRequest):
        check_member_id(member_id)
    assert check_member_id("x" * 36) == "x" * 36


def test_a_group_has_a_name() -> None:
    with pytest.raises(InvalidRequest):
        check_group_id(None)
    assert check_group_id("workers") == "workers"


def test_sessions_have_no_more_partitions_than_can_be_remembered() -> None:
    sessions = ShareSessions(10, partitions_max=5)
    session = opened(sessions)
    with pytest.raises(ShareSessionLimitReached, match="have 5 partitions already"):
        opened(sessions, BOB, 2)
    more = [(ShareSessionPartition(ID, number), "orders") for number in range(5)]
    sessions.update(session, more, [])
    with pytest.raises(ShareSessionLimitReached):
        sessions.update(session, [(ShareSessionPartition(ID, 9), "orders")], [])
    sessions.update(session, [], [partition for partition, _ in more[2:]])
    assert opened(sessions, BOB, 2).partitions
    sessions.close(ANN)
    assert sessions.close(BOB) is not None
    assert opened(sessions).partitions
