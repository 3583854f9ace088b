"""What expires, and when (KIP-211). Offsets live for one minute here and are looked at every second."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from millstream.coordinator.group.context import TopicsDeleted
from millstream.coordinator.group.offsets import expiry as offset_expiry
from millstream.protocol.generated.consumer_protocol import ConsumerProtocolSubscription
from tests.support.coordinators.classic_group import JoinSettings, SimGroup

MINUTE_MS = 60_000


@pytest.fixture
def brief(group_with: Callable[..., SimGroup]) -> SimGroup:
    return group_with(offsets_retention_ms=MINUTE_MS, offsets_retention_check_interval_ms=1_000)


def subscription(*topics: str, version: int = 0) -> bytes:
    out = bytearray(version.to_bytes(2, "big"))
    ConsumerProtocolSubscription(topics=list(topics)).encode(out, 0)
    return bytes(out)


def topics_of(group: SimGroup) -> set[str]:
    return set(group.coordinator.shard.offsets.of_group(group.group_id))


def member_reading(group: SimGroup, metadata: bytes) -> str:
    settings = JoinSettings({"range": metadata}, session_timeout_ms=MINUTE_MS * 10)
    member, _ = group.enter(settings=settings)
    group.sync(member, group.state.generation, {member: b""})
    return member


def test_a_simple_group_forgets_an_offset_when_nobody_commits_it_again(brief: SimGroup) -> None:
    brief.commit({("t", 0): 1, ("u", 0): 1})
    brief.coordinator.pass_time(MINUTE_MS - 1)
    brief.commit({("u", 0): 2})
    brief.coordinator.pass_time(1_000)
    assert topics_of(brief) == {"u"}


def test_a_group_without_offsets_and_members_goes(brief: SimGroup) -> None:
    brief.commit({("t", 0): 1})
    brief.coordinator.pass_time(MINUTE_MS + 1_000)
    assert brief.coordinator.shard.groups.find("group") is None
    assert brief.coordinator.restarted().shard.groups.find("group") is None


def test_a_group_that_had_members_keeps_everything_until_it_was_empty_for_long(
    brief: SimGroup,
) -> None:
    member = member_reading(brief, subscription("t"))
    brief.commit({("t", 0): 1}, member_id=member, generation=1)
    brief.coordinator.pass_time(MINUTE_MS)
    brief.leave((member, None))
    brief.coordinator.pass_time(MINUTE_MS - 1)
    assert topics_of(brief) == {"t"}
    brief.coordinator.pass_time(1_000)
    assert topics_of(brief) == set()


def test_a_group_in_use_lets_go_of_topics_it_no_longer_reads(brief: SimGroup) -> None:
    member = member_reading(brief, subscription("t"))
    brief.commit({("t", 0): 1, ("old", 0): 1}, member_id=member, generation=1)
    brief.coordinator.pass_time(MINUTE_MS + 1_000)
    assert topics_of(brief) == {"t"}


@pytest.mark.parametrize("metadata", [b"", b"\x00", b"\x00\x01\xff\xff\xff\xff", b"garbage"])
def test_a_subscription_that_cannot_be_read_keeps_everything(
    brief: SimGroup, metadata: bytes
) -> None:
    member = member_reading(brief, metadata)
    brief.commit({("t", 0): 1}, member_id=member, generation=1)
    brief.coordinator.pass_time(MINUTE_MS + 1_000)
    assert topics_of(brief) == {"t"}


def test_a_subscription_may_be_shorter_than_its_version_says(brief: SimGroup) -> None:
    """Some clients write version 3 and stop after the fields of version 0."""
    member = member_reading(brief, subscription("t", version=3))
    brief.commit({("t", 0): 1, ("old", 0): 1}, member_id=member, generation=1)
    brief.coordinator.pass_time(MINUTE_MS + 1_000)
    assert topics_of(brief) == {"t"}


def test_a_time_of_expiry_given_by_the_client_decides(brief: SimGroup) -> None:
    brief.commit({("t", 0): 1}, version=4, retention_time_ms=2_500)
    brief.coordinator.pass_time(2_000)
    assert topics_of(brief) == {"t"}
    brief.coordinator.pass_time(1_000)
    assert topics_of(brief) == set()


def test_a_group_whose_new_member_has_not_joined_yet_stays(brief: SimGroup) -> None:
    pending = brief.answer(brief.join()).member_id
    brief.coordinator.pass_time(5_000)
    assert brief.answer(brief.join(pending)).error_code == 0


def test_much_to_remove_is_removed_in_several_batches(
    brief: SimGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offset_expiry, "TOMBSTONES_MAX", 4)
    brief.commit({("t", p): 1 for p in range(10)})
    before = len(brief.coordinator.log)
    brief.coordinator.pass_time(MINUTE_MS + 1_000)
    assert topics_of(brief) == set()
    assert len(brief.coordinator.log) == before + 10 + 1


def test_offsets_of_deleted_topics_go_at_once(brief: SimGroup) -> None:
    brief.commit({("t", 0): 1, ("u", 0): 1})
    brief.coordinator.send(TopicsDeleted(["t"]), version=0)
    assert topics_of(brief) == {"u"}
