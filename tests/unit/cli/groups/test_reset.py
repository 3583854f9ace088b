from __future__ import annotations

from contextlib import nullcontext

import click
import pytest
from click.testing import CliRunner

from millstream.cli.cluster_options import ClusterOptions
from millstream.cli.groups import offsets
from millstream.cli.groups.command import groups
from millstream.cli.groups.offsets import planned_deletion
from millstream.cli.groups.reset import (
    KnownOffsets,
    Reset,
    new_offsets,
    parse_plan,
    parse_targets,
    plan_text,
    within,
)
from millstream.clients.admin import (
    GroupDescription,
    GroupMemberDescription,
    GroupState,
    GroupType,
    Results,
)
from millstream.errors import GroupSubscribedToTopic, NonEmptyGroup
from millstream.model import TopicPartition

A, B = TopicPartition("a", 0), TopicPartition("a", 1)
KNOWN = KnownOffsets(
    beginning={A: 10, B: 0},
    end={A: 100, B: 50},
    committed={A: 40},
    at_time=lambda time_ms: {A: 60, B: 50},
)


@pytest.mark.parametrize(
    ("reset", "expected"),
    [
        (Reset("earliest"), {A: 10, B: 0}),
        (Reset("latest"), {A: 100, B: 50}),
        (Reset("offset", 60), {A: 60, B: 50}),
        (Reset("offset", 5), {A: 10, B: 5}),
        (Reset("time", 1), {A: 60, B: 50}),
        (Reset("current"), {A: 40, B: 50}),
    ],
)
def test_new_offsets_stay_within_the_partition(reset: Reset, expected: dict[TopicPartition, int]) -> None:  # fmt: skip
    assert new_offsets(reset, [A, B], KNOWN, lambda _: None) == expected


@pytest.mark.parametrize(("distance", "expected"), [(5, 45), (-5, 35), (-500, 10), (500, 100)])
def test_a_shift_starts_from_what_is_committed(distance: int, expected: int) -> None:
    assert new_offsets(Reset("shift", distance), [A], KNOWN, lambda _: None) == {A: expected}


def test_what_is_not_committed_cannot_be_shifted() -> None:
    with pytest.raises(click.ClickException, match="no offset is committed for a-1"):
        new_offsets(Reset("shift", 1), [A, B], KNOWN, lambda _: None)


def test_an_offset_that_a_partition_does_not_have_is_told() -> None:
    told: list[str] = []
    assert new_offsets(Reset("offset", 60), [A, B], KNOWN, told.append) == {A: 60, B: 50}
    assert within({A: 5, B: 50}, KNOWN, told.append) == {A: 10, B: 50}
    assert told == [
        "a-1: offset 60 is behind the end of the partition; 50 is taken instead",
        "a-0: offset 5 is before the first record; 10 is taken instead",
    ]


def test_topics_are_named_whole_or_by_partition() -> None:
    assert parse_targets(["a", "b:0,2", "b:5"]) == {"a": None, "b": {0, 2, 5}}
    with pytest.raises(click.BadParameter, match="is not like TOPIC:0,1"):
        parse_targets(["a:x"])


def test_a_plan_is_read_as_it_was_exported() -> None:
    assert plan_text({A: 7, B: 8}) == "a,0,7\na,1,8\n"
    assert parse_plan("a,0,7\ngroup,a,1,8\n") == {A: 7, B: 8}
    with pytest.raises(click.ClickException, match="is not TOPIC,PARTITION,OFFSET"):
        parse_plan("a,x,7")


def test_a_deletion_that_is_tried_tells_what_would_go_and_what_a_member_reads() -> None:
    """As the broker decides it: nothing goes of a topic that a member is subscribed to."""
    elsewhere = TopicPartition("b", 0)
    member = GroupMemberDescription("m", None, "c", "/h", [B])
    group = GroupDescription(
        "g", GroupState.STABLE, "consumer", "range", [member], GroupType.CONSUMER, 1
    )
    results, errors = planned_deletion(group, [A, elsewhere], {A})
    assert results == {elsewhere: "has no offset"}
    assert isinstance(errors[A], GroupSubscribedToTopic)
    results, errors = planned_deletion(group._replace(members=[]), [A, elsewhere], {A})
    assert results == {A: "would be deleted", elsewhere: "has no offset"}
    assert errors == {}


def test_a_share_group_with_members_refuses_all() -> None:
    """As the broker does, whatever its members read."""
    member = GroupMemberDescription("m", None, "c", "/h", [B])
    group = GroupDescription(
        "g", GroupState.STABLE, "share", "simple", [member], GroupType.SHARE, 1
    )
    elsewhere = TopicPartition("b", 0)
    results, errors = planned_deletion(group, [elsewhere], {elsewhere})
    assert results == {}
    assert isinstance(errors[elsewhere], NonEmptyGroup)
    assert planned_deletion(group._replace(members=[]), [elsewhere], {elsewhere})[1] == {}


def test_a_member_without_partitions_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a rebalance nobody has any, and the broker goes by what members are subscribed to."""
    member = GroupMemberDescription("m", None, "c", "/h", [])
    group = GroupDescription("g", GroupState.PREPARING_REBALANCE, "consumer", "", [member])
    monkeypatch.setattr(ClusterOptions, "admin", lambda _: nullcontext())
    monkeypatch.setattr(offsets, "_partitions", lambda *_: [A])
    monkeypatch.setattr(offsets, "described_groups", lambda *_: Results({"g": group}))
    monkeypatch.setattr(offsets, "with_near_groups", lambda _, found: found)
    monkeypatch.setattr(offsets, "current_offsets", lambda *_, **__: {A: 1})
    done = CliRunner().invoke(groups, ["delete-offsets", "g", "--topic", "a", "--dry-run"])
    assert (done.exit_code, "would be deleted" in done.stdout) == (0, True)
    assert done.stderr.startswith("1 member of g without partitions, perhaps until a rebalance")
