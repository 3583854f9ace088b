"""The share coordinator's shard: who may read and write share state, and what is written for it (KIP-932)."""

from __future__ import annotations

import pytest

from millstream.coordinator.share.context import (
    DeleteState,
    InitializeState,
    ReadState,
    ReadStateSummary,
    TopicIdsDeleted,
    WriteState,
)
from millstream.coordinator.share.persistence import UNINITIALIZED
from millstream.coordinator.share.state import SharePartitionKey, StateChange
from millstream.coordinator.share.state_batch import StateBatch
from millstream.errors import (
    FencedLeaderEpoch,
    FencedStateEpoch,
    InvalidRequest,
    KafkaError,
    UnknownTopicOrPartition,
)
from millstream.metadata.image import MetadataImage
from millstream.protocol.generated.share_records import ShareSnapshotValue, ShareUpdateValue
from tests.support.coordinators.coordinator import topics_image
from tests.support.coordinators.share_state import SimShareState

ORDERS = topics_image({"orders": 2}).by_name["orders"].topic_id
KEY = SharePartitionKey("workers", ORDERS, 0)
OTHER = SharePartitionKey("workers", ORDERS, 1)
COLD_MS = 300_000


def initialize(
    world: SimShareState, epoch: int = 1, start: int = 0, key: SharePartitionKey = KEY
) -> None:
    world.ask(InitializeState(key, epoch, start))


def write(
    world: SimShareState,
    *batches: tuple[int, int, int, int],
    start: int = 0,
    state_epoch: int = 1,
    leader_epoch: int = 0,
    key: SharePartitionKey = KEY,
) -> None:
    change = StateChange(leader_epoch, start, 0, tuple(StateBatch(*batch) for batch in batches))
    world.ask(WriteState(key, state_epoch, change))


def read(world: SimShareState, leader_epoch: int = 0) -> object:
    return world.ask(ReadState(KEY, leader_epoch))


def kinds(world: SimShareState) -> list[str]:
    names = {ShareSnapshotValue: "snapshot", ShareUpdateValue: "update"}
    return [
        "tombstone" if record.value is None else names[type(record.value)] for record in world.log
    ]


def test_what_was_initialised_is_read(world: SimShareState) -> None:
    initialize(world, epoch=3, start=17)
    state = world.state(KEY)
    assert (state.state_epoch, state.start_offset, state.delivery_complete_count) == (3, 17, 0)
    assert read(world) == state
    assert kinds(world) == ["snapshot"], "a leader of the epoch that is known changes nothing"


def test_without_a_start_offset_nobody_has_counted(world: SimShareState) -> None:
    initialize(world, start=-1)
    assert world.state(KEY).delivery_complete_count == -1


def test_initialising_again_forgets_the_batches_and_counts_the_snapshot(
    world: SimShareState,
) -> None:
    initialize(world)
    write(world, (0, 4, 0, 1))
    initialize(world, epoch=2, start=9)
    state = world.state(KEY)
    assert (state.batches, state.snapshot_epoch, state.leader_epoch) == ((), 1, 0)


def test_an_older_state_epoch_is_fenced(world: SimShareState) -> None:
    initialize(world, epoch=5)
    with pytest.raises(FencedStateEpoch):
        initialize(world, epoch=4)
    with pytest.raises(FencedStateEpoch):
        write(world, (0, 4, 0, 1), state_epoch=4)


def test_a_new_leader_fences_those_before_it(world: SimShareState) -> None:
    initialize(world)
    read(world, leader_epoch=7)
    assert world.state(KEY).leader_epoch == 7
    with pytest.raises(FencedLeaderEpoch):
        read(world, leader_epoch=6)
    with pytest.raises(FencedLeaderEpoch):
        write(world, (0, 4, 0, 1), leader_epoch=6)
    assert kinds(world) == ["snapshot", "update"]


def test_somebody_who_does_not_lead_may_look(world: SimShareState) -> None:
    initialize(world)
    read(world, leader_epoch=7)
    assert read(world, leader_epoch=-1) == world.state(KEY)


def test_writes_are_combined(world: SimShareState) -> None:
    initialize(world)
    write(world, (0, 9, 0, 1))
    write(world, (4, 5, 2, 1), start=2)
    assert world.state(KEY).batches == (
        StateBatch(2, 3, 0, 1),
        StateBatch(4, 5, 2, 1),
        StateBatch(6, 9, 0, 1),
    )


def test_a_write_that_was_given_up_and_comes_late_takes_no_start_offset_back(
    world: SimShareState,
) -> None:
    """Its leader has read the state again meanwhile, and gone on: what is finished since is given to nobody again."""
    initialize(world)
    write(world, (12, 12, 0, 1), start=10)
    later = (12, 12, 2, 1), (13, 20, 2, 1), (21, 25, 0, 1)
    write(world, *later, start=12)
    write(world, (21, 25, 0, 1), start=21)
    write(world, (11, 11, 0, 1), (12, 12, 0, 1), (21, 22, 2, 1), start=11)
    state = world.state(KEY)
    assert state.start_offset == 21
    assert state.batches == (StateBatch(21, 22, 2, 1), StateBatch(23, 25, 0, 1))


def test_after_so_many_updates_comes_a_snapshot_that_says_all(world: SimShareState) -> None:
    initialize(world)
    for first in (0, 10, 20):
        write(world, (first, first + 4, 0, 1))
    assert kinds(world) == ["snapshot", "update", "update", "snapshot"]
    value = world.log[-1].value
    assert isinstance(value, ShareSnapshotValue)
    assert (value.snapshot_epoch, [b.first_offset for b in value.state_batches]) == (1, [0, 10, 20])
    write(world, (30, 34, 0, 1))
    assert kinds(world)[-1] == "update"


def test_a_partition_that_was_never_initialised_is_refused(world: SimShareState) -> None:
    with pytest.raises(InvalidRequest, match="uninitialized"):
        read(world)
    with pytest.raises(InvalidRequest, match="uninitialized"):
        write(world, (0, 4, 0, 1))


@pytest.mark.parametrize(("number", "error"), [(-1, InvalidRequest), (2, UnknownTopicOrPartition)])
def test_a_partition_that_does_not_exist_is_refused(
    world: SimShareState, number: int, error: type[KafkaError]
) -> None:
    key = KEY._replace(partition=number)
    with pytest.raises(error):
        initialize(world, key=key)
    with pytest.raises(error):
        world.ask(DeleteState(key))
    with pytest.raises(error):
        world.ask(ReadStateSummary(key, -1))


def test_deleted_state_is_gone_and_deleting_again_writes_nothing(world: SimShareState) -> None:
    initialize(world)
    for _ in range(2):
        world.ask(DeleteState(KEY))
    assert kinds(world) == ["snapshot", "tombstone"]
    assert world.shard.state(KEY) is None


def test_state_of_deleted_topics_goes(world: SimShareState) -> None:
    initialize(world)
    initialize(world, key=OTHER)
    world.ask(TopicIdsDeleted({ORDERS}))
    assert kinds(world) == ["snapshot"] * 2 + ["tombstone"] * 2


def test_a_summary_of_what_nobody_has_read(world: SimShareState) -> None:
    request = ReadStateSummary(KEY, -1)
    assert world.ask(request) == UNINITIALIZED
    initialize(world, start=4)
    assert world.ask(request) == world.state(KEY)


# --- pruning


def test_the_log_is_needed_from_the_oldest_last_snapshot_on(world: SimShareState) -> None:
    initialize(world)
    initialize(world, key=OTHER)
    for _ in range(3):
        write(world, (0, 4, 0, 1))
    assert world.shard.first_needed_offset == 1, "the other partition has not been written since"
    for _ in range(3):
        write(world, (0, 4, 0, 1), key=OTHER)
    assert world.shard.first_needed_offset == 4
    assert world.replayed(first=4).state(KEY) == world.state(KEY)


def test_when_all_is_deleted_nothing_is_needed(world: SimShareState) -> None:
    initialize(world)
    world.ask(DeleteState(KEY))
    assert world.shard.first_needed_offset == 1


def test_a_cold_partition_is_snapshotted_once(world: SimShareState) -> None:
    initialize(world)
    for _ in range(3):
        world.elapsed_ms += COLD_MS
        result = world.shard.handle_timer("cold partitions", world.now)
        assert [timer.deadline_ms for timer in result.timers] == [world.elapsed_ms + COLD_MS]  # type: ignore[union-attr]  # started
        world.write(result)
    assert kinds(world) == ["snapshot", "snapshot"]
    assert world.state(KEY).is_cold


def test_a_partition_that_is_written_is_not_cold(world: SimShareState) -> None:
    initialize(world)
    world.elapsed_ms += COLD_MS - 1
    world.write(world.shard.handle_timer("cold partitions", world.now))
    assert kinds(world) == ["snapshot"]


def test_the_timer_of_cold_partitions_starts_with_the_shard(world: SimShareState) -> None:
    (timer,) = world.shard.handle_loaded(world.now).timers
    assert timer.key == "cold partitions"


# --- replay


def test_an_update_without_its_snapshot_is_of_a_partition_deleted_since(
    world: SimShareState,
) -> None:
    initialize(world)
    write(world, (0, 4, 0, 1))
    assert world.replayed(first=1).state(KEY) is None


def test_a_topic_is_known_by_its_id(world: SimShareState) -> None:
    initialize(world)
    world.shard.apply_image(MetadataImage(topics=topics_image({"other": 1})))
    with pytest.raises(UnknownTopicOrPartition):
        write(world, (0, 4, 0, 1))
