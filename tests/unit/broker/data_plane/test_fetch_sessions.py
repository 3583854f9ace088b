"""Fetch sessions, KIP-227."""

from __future__ import annotations

import pytest

from millstream.broker.fetch.fetch_session import FetchKey
from millstream.broker.fetch.fetch_sessions import FetchSessions
from millstream.errors import (
    FetchSessionIdNotFound,
    FetchSessionTopicIdError,
    InvalidFetchSessionEpoch,
)
from millstream.model import ZERO_UUID, TopicPartition
from millstream.protocol.generated.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)
from millstream.replication.replica_progress import FetchPulse
from millstream.runtime import Instant
from tests.unit.broker.data_plane.conftest import CountingRandom

NOW = Instant(0, 0)
VERSION = 12


def key(number: int) -> FetchKey:
    return FetchKey("t", ZERO_UUID, number)


def quiet(
    found: FetchKey, _asked: FetchPartition, _told: PartitionData, _pulse: FetchPulse
) -> TopicPartition:
    return TopicPartition(found.topic, found.partition)


def request(*numbers: int, session_id=0, epoch=0, forgotten=()) -> FetchRequest:
    return FetchRequest(
        session_id=session_id,
        session_epoch=epoch,
        topics=[FetchTopic(topic="t", partitions=[FetchPartition(partition=n) for n in numbers])],
        forgotten_topics_data=[ForgottenTopic(topic="t", partitions=list(forgotten))]
        if forgotten
        else [],
    )


def answers(context, **changes: PartitionData) -> list:
    return [
        (found, changes.get(f"p{found.partition}") or PartitionData(partition_index=found.partition, high_watermark=5, log_start_offset=0, records=b""))
        for found, _ in context.partitions()
    ]  # fmt: skip


def answer(context, told: list) -> tuple[int, list]:
    return context.begin_answer(), [each for each in told if context.choose(*each)]


def chosen(context, **changes: PartitionData) -> list[int]:
    return [found.partition for found, _ in answer(context, answers(context, **changes))[1]]


@pytest.fixture
def sessions(plane) -> FetchSessions:
    return plane.services.fetch_sessions


def later(monotonic_ms: int) -> Instant:
    return Instant(0, monotonic_ms)


def begin_session(sessions: FetchSessions, *numbers: int, now=NOW) -> int:
    context = sessions.begin(request(*numbers), VERSION, now, quiet)
    return answer(context, answers(context))[0]


def test_a_full_fetch_answers_everything_and_opens_a_session(sessions):
    context = sessions.begin(request(0, 1), VERSION, NOW, quiet)
    session_id, told = answer(context, answers(context))
    assert session_id > 0
    assert [found.partition for found, _ in told] == [0, 1]


def test_the_final_epoch_means_no_session(sessions):
    context = sessions.begin(request(0, epoch=-1), VERSION, NOW, quiet)
    assert answer(context, answers(context))[0] == 0
    assert len(sessions) == 0


def test_a_partition_that_had_nothing_to_tell_is_not_read_again_before_it_stirs(plane, sessions):
    session_id = begin_session(sessions, 0, 1)
    context = sessions.begin(request(session_id=session_id, epoch=1), VERSION, NOW, quiet)
    assert context.partitions() == []
    heard = []
    context.set_progress_listener(lambda found, _asked: heard.append(found.partition))
    for _ in range(2):
        plane.purgatory.wake(TopicPartition("t", 1))
    assert heard == [1, 1]
    assert [found.partition for found, _ in context.partitions()] == [1]


def test_everything_is_read_now_and_then(sessions):
    session_id = begin_session(sessions, 0, 1)
    then = later(10_000)
    context = sessions.begin(request(session_id=session_id, epoch=1), VERSION, then, quiet)
    assert [found.partition for found, _ in context.partitions()] == [0, 1]
    answer(context, answers(context))
    context = sessions.begin(request(session_id=session_id, epoch=2), VERSION, then, quiet)
    assert context.partitions() == []


def test_everything_is_read_once_when_access_rules_changed(sessions):
    def read(epoch: int, rules_version: int) -> list[int]:
        asked = request(session_id=session_id, epoch=epoch)
        context = sessions.begin(asked, VERSION, NOW, quiet, rules_version=rules_version)
        answer(context, told := answers(context))
        return [found.partition for found, _ in told]

    session_id = begin_session(sessions, 0, 1)
    assert [read(1, 0), read(2, 7), read(3, 7), read(4, 8)] == [[], [0, 1], [], [0, 1]]


def test_a_session_that_is_gone_follows_nothing(plane, sessions):
    session_id = begin_session(sessions, 0)
    sessions.begin(request(session_id=session_id, epoch=-1), VERSION, NOW, quiet)
    assert plane.purgatory._listeners == {}


def test_an_incremental_fetch_tells_only_news(plane, sessions):
    session_id = begin_session(sessions, 0, 1, 2, 3)
    for number in range(4):
        plane.purgatory.wake(TopicPartition("t", number))
    context = sessions.begin(request(session_id=session_id, epoch=1), VERSION, NOW, quiet)
    assert [found.partition for found, _ in context.partitions()] == [0, 1, 2, 3]
    news = {
        "p1": PartitionData(partition_index=1, high_watermark=6, log_start_offset=0, records=b""),
        "p2": PartitionData(partition_index=2, high_watermark=5, log_start_offset=0, records=b"x"),
        "p3": PartitionData(partition_index=3, high_watermark=5, log_start_offset=1, records=b""),
    }
    assert chosen(context, **news) == [1, 2, 3]


def test_who_got_records_goes_to_the_end_of_the_order(plane, sessions):
    session_id = begin_session(sessions, 0, 1)
    for number in range(2):
        plane.purgatory.wake(TopicPartition("t", number))
    context = sessions.begin(request(session_id=session_id, epoch=1), VERSION, NOW, quiet)
    records = PartitionData(partition_index=0, high_watermark=5, records=b"x")
    answer(context, [(key(0), records)])
    context = sessions.begin(request(session_id=session_id, epoch=2), VERSION, NOW, quiet)
    assert [found.partition for found, _ in context.partitions()] == [1, 0]


def test_an_error_is_told_until_it_is_gone_and_its_end_too(plane, sessions):
    session_id = begin_session(sessions, 0)
    plane.purgatory.wake(TopicPartition("t", 0))
    failed = PartitionData(partition_index=0, error_code=6, high_watermark=-1, log_start_offset=-1)
    for epoch in (1, 2):
        context = sessions.begin(request(session_id=session_id, epoch=epoch), VERSION, NOW, quiet)
        assert chosen(context, p0=failed) == [0]
    context = sessions.begin(request(session_id=session_id, epoch=3), VERSION, NOW, quiet)
    assert chosen(context) == [0]
    context = sessions.begin(request(session_id=session_id, epoch=4), VERSION, NOW, quiet)
    assert chosen(context) == []


def test_partitions_are_added_changed_and_forgotten(sessions):
    session_id = begin_session(sessions, 0, 1)
    changed = request(1, 2, session_id=session_id, epoch=1, forgotten=[0])
    changed.topics[0].partitions[0].fetch_offset = 77
    context = sessions.begin(changed, VERSION, NOW, quiet)
    assert [(found.partition, asked.fetch_offset) for found, asked in context.partitions()] == [
        (1, 77),
        (2, 0),
    ]
    assert chosen(context) == [2]


def test_a_session_without_partitions_is_closed(sessions):
    session_id = begin_session(sessions, 0)
    context = sessions.begin(
        request(session_id=session_id, epoch=1, forgotten=[0]), VERSION, NOW, quiet
    )
    assert answer(context, []) == (0, [])
    assert len(sessions) == 0


def test_an_unknown_session_and_a_wrong_epoch_are_errors(sessions):
    with pytest.raises(FetchSessionIdNotFound):
        sessions.begin(request(session_id=99, epoch=1), VERSION, NOW, quiet)
    session_id = begin_session(sessions, 0)
    with pytest.raises(InvalidFetchSessionEpoch, match="at epoch 1, not 2"):
        sessions.begin(request(session_id=session_id, epoch=2), VERSION, NOW, quiet)


def test_names_and_topic_ids_do_not_mix_in_a_session(sessions):
    session_id = begin_session(sessions, 0)
    with pytest.raises(FetchSessionTopicIdError):
        sessions.begin(request(session_id=session_id, epoch=1), 13, NOW, quiet)


def test_a_full_fetch_with_a_session_id_replaces_that_session(sessions):
    session_id = begin_session(sessions, 0)
    context = sessions.begin(request(0, session_id=session_id), VERSION, NOW, quiet)
    assert len(sessions) == 0
    answer(context, answers(context))
    assert len(sessions) == 1


def test_a_full_cache_gives_no_session_while_the_others_are_in_use(sessions):
    for _ in range(2):
        assert begin_session(sessions, 0) > 0
    assert begin_session(sessions, 0) == 0
    assert len(sessions) == 2


def test_a_session_unused_for_two_minutes_makes_room(sessions):
    oldest = begin_session(sessions, 0)
    newest = begin_session(sessions, 0)
    then = later(120_001)
    sessions.begin(request(session_id=oldest, epoch=1), VERSION, then, quiet)
    assert begin_session(sessions, 0, now=then) > 0
    with pytest.raises(FetchSessionIdNotFound):
        sessions.begin(request(session_id=newest, epoch=1), VERSION, then, quiet)


def test_a_larger_session_takes_the_place_of_a_smaller_old_one(sessions):
    small, large = begin_session(sessions, 0), begin_session(sessions, 0, 1, 2)
    then = later(120_001)
    for session_id in (small, large):
        sessions.begin(request(session_id=session_id, epoch=1), VERSION, then, quiet)
    assert begin_session(sessions, 0, now=then) == 0
    assert begin_session(sessions, 0, 1, now=then) > 0
    with pytest.raises(FetchSessionIdNotFound):
        sessions.begin(request(session_id=small, epoch=2), VERSION, then, quiet)


def test_two_keys_of_one_partition_do_not_confuse_a_session(sessions):
    """The topic was made again: the old id and the new one are the same partition by name."""
    session_id = begin_session(sessions, 0, 1)
    one = TopicPartition("t", 0)
    for epoch, forgotten in ((1, [1]), (2, [0])):
        asked = request(session_id=session_id, epoch=epoch, forgotten=forgotten)
        asked.topics = [FetchTopic(topic="t", partitions=[FetchPartition(partition=2)])]
        context = sessions.begin(asked, VERSION, NOW, lambda *_asked_and_told: one)
        answer(context, answers(context))
    assert context.partitions() == []


def test_sessions_have_no_more_partitions_than_can_be_remembered(plane):
    """A consumer goes on without a session; one whose session grows too much begins anew."""
    sessions = FetchSessions(CountingRandom(), plane.purgatory, 10, partitions_max=5)
    first = begin_session(sessions, 0, 1, 2)
    assert first > 0
    assert begin_session(sessions, 3, 4, 5) == 0
    sessions.begin(request(3, 4, session_id=first, epoch=1), VERSION, NOW, quiet)
    with pytest.raises(FetchSessionIdNotFound, match="have 5 partitions already"):
        sessions.begin(request(5, session_id=first, epoch=2), VERSION, NOW, quiet)
    assert len(sessions) == 0


def test_sessions_that_nobody_uses_make_room_for_partitions(plane):
    """Those who hang up say nothing; two minutes later others have their place."""
    sessions = FetchSessions(CountingRandom(), plane.purgatory, 10, partitions_max=5)
    begin_session(sessions, 0, 1)
    kept = begin_session(sessions, 2)
    left = begin_session(sessions, 3, 4)
    assert begin_session(sessions, 5) == 0
    sessions.begin(request(session_id=kept, epoch=1), VERSION, later(60_000), quiet)
    assert begin_session(sessions, 5, now=later(120_000)) == 0
    assert begin_session(sessions, 5, now=later(120_001)) > 0
    assert len(sessions) == 3, "no more go than must"
    grown = request(0, 1, 6, session_id=kept, epoch=2)
    context = sessions.begin(grown, VERSION, later(180_002), quiet)
    assert context.known_id == kept, "it grows in the place of one that is idle"
    with pytest.raises(FetchSessionIdNotFound, match="not known any more"):
        sessions.begin(request(session_id=left, epoch=1), VERSION, later(180_002), quiet)


def test_partitions_of_followers_take_no_place_of_consumers(plane):
    sessions = FetchSessions(CountingRandom(), plane.purgatory, 10, partitions_max=2)
    asked = request(0, 1, 2)
    asked.replica_id = 7
    context = sessions.begin(asked, VERSION, NOW, quiet)
    follower = answer(context, answers(context))[0]
    assert begin_session(sessions, 0, 1) > 0
    assert begin_session(sessions, 0, 1, now=later(500_000)) > 0
    sessions.begin(request(session_id=follower, epoch=1), VERSION, later(500_000), quiet)


def test_a_follower_has_a_session_however_many_partitions_it_fetches(plane):
    sessions = FetchSessions(CountingRandom(), plane.purgatory, 10, partitions_max=2)
    asked = request(0, 1, 2)
    asked.replica_id = 7
    context = sessions.begin(asked, VERSION, NOW, quiet)
    assert answer(context, answers(context))[0] > 0
