"""What stands in `__consumer_offsets`, byte for byte as Kafka 4.3.1 writes it, and what a new coordinator makes of it."""

from __future__ import annotations

import pytest

from millstream.coordinator.group.shard import GroupShard
from millstream.coordinator.record import CoordinatorRecord
from millstream.errors import UnknownMemberId
from millstream.model import Offset
from millstream.protocol.enums import GroupState
from millstream.protocol.generated.group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    LegacyOffsetCommitKey,
    MemberMetadata,
)
from millstream.protocol.record_frames import decode_group_record
from tests.support.coordinators.classic_group import SimGroup
from tests.support.coordinators.coordinator import START_WALL_MS, LogEntry


def values(group: SimGroup) -> list[object]:
    return [decode_group_record(*written)[1] for written in log(group)]


def log(group: SimGroup) -> list[tuple[bytes, bytes | None]]:
    return [(e.key, e.value) for e in group.coordinator.log if isinstance(e, LogEntry)]


def test_a_new_group_is_a_record_without_type_protocol_and_members(group: SimGroup) -> None:
    group.join()
    assert log(group) == [
        (
            bytes.fromhex("0002 0005") + b"group",
            bytes.fromhex("0003 0000 00000000 ffff ffff")
            + START_WALL_MS.to_bytes(8, "big")
            + bytes(4),
        )
    ]


def test_an_assignment_is_a_record_of_the_whole_group(group: SimGroup) -> None:
    (member,) = group.form()
    assert values(group)[1:] == [
        GroupMetadataValue(
            protocol_type="consumer",
            generation=1,
            protocol="range",
            leader=member,
            current_state_timestamp=START_WALL_MS,
            members=[
                MemberMetadata(
                    member_id=member,
                    group_instance_id=None,
                    client_id="client",
                    client_host="/127.0.0.1",
                    rebalance_timeout=30_000,
                    session_timeout=10_000,
                    subscription=b"metadata",
                    assignment=b"for 0",
                )
            ],
        )
    ]
    assert (log(group)[1][1] or b"")[:2] == b"\x00\x03"


def test_an_emptied_group_is_a_record_of_the_next_generation(group: SimGroup) -> None:
    (member,) = group.form()
    group.leave((member, None))
    assert values(group)[-1] == GroupMetadataValue(
        protocol_type="consumer",
        generation=2,
        protocol=None,
        leader=None,
        current_state_timestamp=START_WALL_MS,
    )


def test_an_offset_is_a_record_of_version_4(group: SimGroup) -> None:
    group.commit({("t", 3): 5}, metadata="m")
    assert log(group) == [
        (
            bytes.fromhex("0001 0005")
            + b"group"
            + bytes.fromhex("0001")
            + b"t"
            + bytes.fromhex("00000003"),
            bytes.fromhex("0004 0000000000000005 ffffffff 02")
            + b"m"
            + START_WALL_MS.to_bytes(8, "big")
            + b"\x00",
        )
    ]


def test_a_new_coordinator_goes_on_with_the_stored_generation(group: SimGroup) -> None:
    leader, follower = group.form(2)
    group.commit({("t", 0): 5}, member_id=leader, generation=2)
    after = SimGroup(group.coordinator.restarted())
    assert after.state.state is GroupState.STABLE
    assert after.answer(after.heartbeat(follower, 2)).error_code == 0
    assert after.answer(after.sync(follower, 2)).assignment == b"for 1"
    assert after.answer(after.join(follower)).generation_id == 2
    assert (
        after.answer(after.fetch({"t": [0]})).groups[0].topics[0].partitions[0].committed_offset
        == 5
    )


def test_a_new_coordinator_gives_every_member_one_session_to_show_itself(group: SimGroup) -> None:
    group.form(2)
    after = SimGroup(group.coordinator.restarted())
    after.coordinator.pass_time(9_999)
    assert len(after.state.members) == 2
    after.coordinator.pass_time(1)
    assert after.state.state is GroupState.EMPTY


def test_a_rebalance_that_was_not_stored_is_forgotten(group: SimGroup) -> None:
    leader, _ = group.form(2)
    newcomer, _ = group.enter()
    after = SimGroup(group.coordinator.restarted())
    assert after.answer(after.heartbeat(leader, 2)).error_code == 0
    with pytest.raises(UnknownMemberId):
        after.answer(after.join(newcomer))


def test_static_members_are_known_to_a_new_coordinator(group: SimGroup) -> None:
    old = group.answer(group.join(instance_id="i")).member_id
    group.sync(old, 1, {old: b"mine"}, instance_id="i")
    new = group.answer(group.join(instance_id="i")).member_id
    after = SimGroup(group.coordinator.restarted())
    assert after.answer(after.sync(new, 1, instance_id="i")).assignment == b"mine"


def test_a_rebalance_timeout_missing_in_an_old_record_is_the_session_timeout(
    group: SimGroup,
) -> None:
    member = MemberMetadata(member_id="m", session_timeout=7_000)
    value = GroupMetadataValue("consumer", 3, "range", "m", -1, [member])
    shard = GroupShard(group.coordinator.config, group.coordinator._random)
    shard.replay(Offset(0), CoordinatorRecord(GroupMetadataKey("old"), value))
    assert shard.groups.get("old").rebalance_timeout_ms == 7_000


def test_records_of_types_that_are_not_served_are_passed_over(group: SimGroup) -> None:
    shard = group.coordinator.shard
    shard.replay(Offset(0), CoordinatorRecord(LegacyOffsetCommitKey("g", "t", 0), None))
    assert list(shard.groups) == []
