from __future__ import annotations

import pytest

from millstream.broker.handlers import offset_for_leader_epoch
from millstream.errors import FencedLeaderEpoch, UnknownTopicOrPartition
from millstream.metadata.image import PartitionImage
from millstream.protocol.generated.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)


def ask(plane, leader_epoch: int, *, partition=0, current_leader_epoch=-1) -> tuple[int, int, int]:
    """Error code, epoch, end offset."""
    asked = OffsetForLeaderPartition(partition, current_leader_epoch, leader_epoch)
    request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic("t", [asked])])
    (told,) = plane.ask(offset_for_leader_epoch, request, 4).topics[0].partitions
    return told.error_code, told.leader_epoch, told.end_offset


def lead(plane, leader_epoch: int) -> None:
    plane.hosted["t", 0].apply(
        PartitionImage(partition=0, replicas=(1,), isr=(1,), leader=1, leader_epoch=leader_epoch),
        plane.clock.now(),
    )


@pytest.mark.parametrize(
    ("asked", "told"),
    [(-5, (-1, -1)), (-1, (-1, -1)), (2, (2, 0)), (3, (3, 2)), (5, (3, 2)), (6, (6, 3)), (7, (6, 3)), (8, (8, 3)), (9, (-1, -1))],
)  # fmt: skip
async def test_an_epoch_ends_where_the_next_one_begins(plane, asked, told):
    """Epoch 3 wrote two records, 6 one; the leader is at 8 and has written nothing yet."""
    plane.hosted["t", 0].append(plane.batch(b"a", b"b"), plane.clock.now())
    lead(plane, 6)
    plane.hosted["t", 0].append(plane.batch(b"c"), plane.clock.now())
    lead(plane, 8)
    assert ask(plane, asked) == (0, *told)


@pytest.mark.parametrize(
    ("asked", "told"), [(-1, (-1, -1)), (0, (0, 0)), (3, (3, 0)), (4, (-1, -1))]
)
async def test_in_an_empty_log_every_epoch_ends_at_its_start(plane, asked, told):
    assert ask(plane, asked) == (0, *told)


async def test_who_asks_with_an_old_epoch_or_for_nothing_is_told_so(plane):
    assert ask(plane, 0, current_leader_epoch=2) == (FencedLeaderEpoch.code, -1, -1)
    assert ask(plane, 0, partition=9) == (UnknownTopicOrPartition.code, -1, -1)
