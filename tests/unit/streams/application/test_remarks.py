"""A member outlives what the coordinator remarks about a group, but for what will not pass."""

from __future__ import annotations

import pytest

from millstream.errors import TopicAuthorizationFailed
from millstream.protocol.generated.streams_group_heartbeat import Status
from millstream.streams.application.group.remarks import GroupRemarks, ShutdownRequested
from millstream.streams.errors import TopologyError

MISSING = [Status(1, "Source topics t are missing.")]


def test_source_topics_may_be_missing_for_two_heartbeats() -> None:
    remarks = GroupRemarks()
    remarks.heed(MISSING, 5_000, now_ms=100)
    assert not remarks.is_ready
    remarks.heed(MISSING, 5_000, now_ms=10_099)
    with pytest.raises(
        TopologyError,
        match=r"^Source topics t are missing: create the source topics before the application is started$",
    ):
        remarks.heed(MISSING, 5_000, now_ms=10_100)


def test_topics_that_came_in_between_are_not_missing_any_more() -> None:
    remarks = GroupRemarks()
    remarks.heed(MISSING, 5_000, now_ms=0)
    remarks.heed([], 5_000, now_ms=9_000)
    assert remarks.is_ready
    remarks.heed(MISSING, 5_000, now_ms=18_000)
    assert not remarks.is_ready


def test_internal_topics_that_are_being_created_are_waited_for() -> None:
    remarks = GroupRemarks()
    remarks.heed([Status(3, "Internal topics are missing: a")], 5_000, now_ms=0)
    assert not remarks.is_ready


def test_internal_topics_that_the_user_may_not_have_created_are_not_waited_for() -> None:
    remarks = GroupRemarks()
    detail = "Internal topics are missing: [a]; Unauthorized to CREATE on topics a."
    with pytest.raises(
        TopicAuthorizationFailed, match=r"missing: \[a\]; .*its user needs .* CREATE"
    ):
        remarks.heed([Status(3, detail)], 5_000, now_ms=0)


def test_topics_that_do_not_fit_and_a_wanted_end_are_raised() -> None:
    remarks = GroupRemarks()
    with pytest.raises(TopologyError, match="not the same"):
        remarks.heed([Status(2, "not the same")], 5_000, now_ms=0)
    with pytest.raises(ShutdownRequested):
        remarks.heed([Status(4, "")], 5_000, now_ms=0)
