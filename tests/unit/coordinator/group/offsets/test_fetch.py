"""OffsetFetch, and offsets of transactions that are still open."""

from __future__ import annotations

from millstream.coordinator.group.offsets.records import (
    offset_commit_record,
    offset_commit_tombstone,
)
from millstream.coordinator.group.shard import GroupShard
from millstream.coordinator.record import CoordinatorRecord
from millstream.coordinator.result import NODE_ITSELF
from millstream.model import Offset, ProducerId, Uuid
from millstream.protocol.generated.group_records import OffsetCommitValue
from millstream.protocol.generated.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
)
from millstream.runtime import Instant
from tests.support.coordinators.classic_group import SimGroup

UNSTABLE_OFFSET_COMMIT = 88
FIRST, SECOND = Uuid(b"1" * 16), Uuid(b"2" * 16)
PRODUCER = ProducerId(7)


def answers(
    group: SimGroup, topics: dict[str, list[int]] | None, **options: object
) -> list[tuple[str, int, int, int]]:
    (response,) = group.answer(group.fetch(topics, **options)).groups
    assert response.error_code == 0
    return [
        (t.name, p.partition_index, p.committed_offset, p.error_code)
        for t in response.topics
        for p in t.partitions
    ]


def test_partitions_without_a_commit_answer_minus_one(group: SimGroup) -> None:
    group.commit({("t", 0): 5})
    assert answers(group, {"t": [0, 1], "u": [0]}) == [
        ("t", 0, 5, 0),
        ("t", 1, -1, 0),
        ("u", 0, -1, 0),
    ]


def test_an_unknown_group_has_committed_nothing(group: SimGroup) -> None:
    assert answers(group, {"t": [0]}) == [("t", 0, -1, 0)]
    assert answers(group, None) == []


def test_all_topics_can_be_asked_for(group: SimGroup) -> None:
    group.commit({("t", 1): 6, ("u", 0): 7})
    group.commit({("t", 0): 5})
    assert sorted(answers(group, None)) == [("t", 0, 5, 0), ("t", 1, 6, 0), ("u", 0, 7, 0)]


def test_an_offset_of_a_topic_that_was_created_again_is_not_given_out(group: SimGroup) -> None:
    group.commit({("t", 0): 5}, topic_id=FIRST)
    assert answers(group, {"t": [0]}, topic_id=SECOND) == [("t", 0, -1, 0)]
    assert answers(group, {"t": [0]}, topic_id=FIRST) == [("t", 0, 5, 0)]


def test_who_asks_by_name_means_the_topic_that_has_the_name_now(group: SimGroup) -> None:
    now = group.coordinator.shard.image.topics.by_name["t"].topic_id
    group.commit({("t", 0): 5}, topic_id=FIRST)
    group.commit({("t", 1): 6}, topic_id=now)
    group.commit({("of no topic", 0): 7}, topic_id=SECOND)
    group.commit({("of whatever topic", 0): 8})
    assert answers(group, {"t": [0, 1]}) == [("t", 0, -1, 0), ("t", 1, 6, 0)]
    assert answers(group, {"of no topic": [0]}) == [("of no topic", 0, -1, 0)]
    assert answers(group, None) == [("t", 1, 6, 0), ("of whatever topic", 0, 8, 0)]


def test_what_is_only_staged_is_listed_for_who_has_to_wait_for_it(group: SimGroup) -> None:
    """Kafka leaves it out for both, and who asks for stable offsets then believes that there are none."""
    transactional(group.coordinator.shard, 9, at=0)
    assert answers(group, None) == []
    assert answers(group, None, require_stable=True) == [("t", 0, -1, UNSTABLE_OFFSET_COMMIT)]


def transactional(
    shard: GroupShard, offset: int, *, at: int, producer: ProducerId = PRODUCER
) -> None:
    record = offset_commit_record("group", "t", 0, OffsetCommitValue(offset=offset))
    shard.replay(Offset(at), CoordinatorRecord(record.key, record.value, 4, producer))


def position(shard: GroupShard, *, require_stable: bool = False) -> tuple[int, int]:
    request = OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group_id="group", topics=None)],
        require_stable=require_stable,
    )
    (reply,) = shard.handle(request, NODE_ITSELF, Instant(0, 0)).replies
    assert isinstance(reply.outcome, OffsetFetchResponse)
    (answer,) = reply.outcome.groups[0].topics[0].partitions
    return answer.committed_offset, answer.error_code


def test_an_open_transaction_hides_its_offset_and_warns_who_asks_for_stability(
    group: SimGroup,
) -> None:
    group.commit({("t", 0): 5})
    shard = group.coordinator.shard
    transactional(shard, 9, at=1)
    assert position(shard) == (5, 0)
    assert position(shard, require_stable=True) == (-1, UNSTABLE_OFFSET_COMMIT)


def test_the_offset_of_a_transaction_counts_when_it_commits(group: SimGroup) -> None:
    shard = group.coordinator.shard
    transactional(shard, 9, at=1)
    shard.replay_end_transaction(PRODUCER, committed=True)
    assert position(shard, require_stable=True) == (9, 0)


def test_the_offset_of_an_aborted_transaction_is_gone(group: SimGroup) -> None:
    group.commit({("t", 0): 5})
    shard = group.coordinator.shard
    transactional(shard, 9, at=1)
    shard.replay_end_transaction(PRODUCER, committed=False)
    assert position(shard, require_stable=True) == (5, 0)


def test_a_later_plain_commit_beats_the_transaction_that_wrote_earlier(group: SimGroup) -> None:
    shard = group.coordinator.shard
    transactional(shard, 9, at=0)
    record = offset_commit_record("group", "t", 0, OffsetCommitValue(offset=20))
    shard.replay(Offset(1), record)
    shard.replay_end_transaction(PRODUCER, committed=True)
    assert position(shard) == (20, 0)


def test_a_place_is_unstable_until_the_last_of_its_transactions_ends(group: SimGroup) -> None:
    shard = group.coordinator.shard
    transactional(shard, 9, at=0)
    transactional(shard, 10, at=1, producer=ProducerId(8))
    shard.replay_end_transaction(PRODUCER, committed=True)
    assert position(shard, require_stable=True) == (-1, UNSTABLE_OFFSET_COMMIT)
    shard.replay_end_transaction(ProducerId(8), committed=True)
    assert position(shard, require_stable=True) == (10, 0)


def test_a_tombstone_takes_open_transactions_with_it(group: SimGroup) -> None:
    shard = group.coordinator.shard
    transactional(shard, 9, at=0)
    shard.replay(Offset(1), offset_commit_tombstone("group", "t", 0))
    shard.replay_end_transaction(PRODUCER, committed=True)
    assert shard.offsets.of_group("group") == {}
