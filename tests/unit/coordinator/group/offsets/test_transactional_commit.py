"""TxnOffsetCommit: who may commit offsets in a transaction, and when they count (KIP-98, KIP-447)."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.coordinator.group.context import TransactionalCommit
from millstream.errors import (
    FencedInstanceId,
    IllegalGeneration,
    OffsetMetadataTooLarge,
    UnknownMemberId,
    UnknownTopicOrPartition,
    UnstableOffsetCommit,
)
from millstream.model import ProducerId, Uuid
from millstream.protocol.enums import GroupState
from millstream.protocol.generated.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.support.coordinators.classic_group import SimGroup
from tests.support.coordinators.coordinator import LogEntry

PRODUCER = ProducerId(7)


def commit(
    group: SimGroup, offset: int, *, metadata: str = "", topic_id: Uuid | None = None, **who: Any
) -> int:
    """The error code of the one partition. Any: the fields of the request that say who commits."""
    partition = TxnOffsetCommitRequestPartition(0, offset, -1, metadata)
    request = TxnOffsetCommitRequest(
        "x",
        group.group_id,
        PRODUCER,
        0,
        topics=[TxnOffsetCommitRequestTopic("t", [partition])],
        **who,
    )
    named = topic_id or group.coordinator.shard.image.topics.by_name["t"].topic_id
    token = group.coordinator.send(TransactionalCommit(request, {"t": named}), version=3)
    return int(group.answer(token).topics[0].partitions[0].error_code)


def end(group: SimGroup, *, committed: bool) -> None:
    group.coordinator.end_transaction(PRODUCER, committed=committed)


def stored(group: SimGroup, *, require_stable: bool = False) -> tuple[int, int]:
    """(error code, offset)."""
    token = group.fetch({"t": [0]}, require_stable=require_stable)
    (answer,) = group.answer(token).groups[0].topics[0].partitions
    return answer.error_code, answer.committed_offset


def test_an_offset_counts_when_its_transaction_is_committed(group: SimGroup) -> None:
    assert commit(group, 5) == 0
    assert stored(group) == (0, -1)
    end(group, committed=True)
    assert stored(group) == (0, 5)


def test_an_offset_of_an_aborted_transaction_is_forgotten(group: SimGroup) -> None:
    commit(group, 5)
    end(group, committed=True)
    commit(group, 9)
    end(group, committed=False)
    assert stored(group) == (0, 5)


def test_who_needs_a_stable_offset_waits_for_the_end(group: SimGroup) -> None:
    commit(group, 5)
    assert stored(group, require_stable=True) == (UnstableOffsetCommit.code, -1)
    end(group, committed=True)
    assert stored(group, require_stable=True) == (0, 5)


def test_the_record_belongs_to_the_producer_and_says_of_which_topic_it_is(group: SimGroup) -> None:
    commit(group, 5, metadata="mine")
    end(group, committed=True)
    found = group.coordinator.shard.offsets.find(group.group_id, "t", 0)
    assert found is not None
    assert (found.value.offset, found.value.metadata) == (5, "mine")
    assert found.value.topic_id == group.coordinator.shard.image.topics.by_name["t"].topic_id
    (written, _) = group.coordinator.log
    assert isinstance(written, LogEntry)
    assert written.producer_id == PRODUCER


def test_metadata_that_is_too_long_is_that_partition_s_error(group: SimGroup) -> None:
    assert commit(group, 5, metadata="x" * 5_000) == OffsetMetadataTooLarge.code


def test_a_group_that_does_not_exist_has_no_generation(group: SimGroup) -> None:
    with pytest.raises(IllegalGeneration):
        commit(group, 5, generation_id=1, member_id="m")


def test_a_producer_that_names_its_member_is_held_to_it(group: SimGroup) -> None:
    (member,) = group.form()
    generation = group.state.generation
    assert commit(group, 5, generation_id=generation, member_id=member) == 0
    with pytest.raises(IllegalGeneration):
        commit(group, 5, generation_id=generation + 1, member_id=member)
    with pytest.raises(UnknownMemberId):
        commit(group, 5, generation_id=generation, member_id="another")
    with pytest.raises((UnknownMemberId, FencedInstanceId)):
        commit(group, 5, generation_id=generation, member_id=member, group_instance_id="i")


def test_a_producer_that_names_no_member_may_always_commit(group: SimGroup) -> None:
    """Before KIP-447 it did not know for whom it commits."""
    group.form()
    assert commit(group, 5) == 0


def test_a_member_may_commit_its_transaction_during_a_rebalance(group: SimGroup) -> None:
    """Other than with a plain commit: what it has written cannot be taken back without the offsets."""
    (member,) = group.form()
    group.enter()
    group.join(member)
    assert group.state.state is GroupState.COMPLETING_REBALANCE
    generation = group.state.generation
    assert commit(group, 5, generation_id=generation, member_id=member) == 0


def test_a_topic_that_was_deleted_while_the_commit_was_on_its_way_is_unknown(
    group: SimGroup,
) -> None:
    """Another topic may have its name by now, whose records the offset would skip."""
    assert commit(group, 5, topic_id=Uuid(b"deleted meanwhi."[:16])) == UnknownTopicOrPartition.code
    assert stored(group, require_stable=True) == (0, -1)
