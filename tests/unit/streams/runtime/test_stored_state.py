"""When the stores on a disk are what restoring goes on from, and when they are deleted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from millstream.model import Uuid
from millstream.streams.runtime.committed import CommittedPosition
from millstream.streams.runtime.logs import ReadableLog
from millstream.streams.runtime.stored_state import TOMBSTONES_KEPT_MS, StoredState, StoreMarker

TOPIC = "app-counts-changelog"
ID, OTHER_ID = Uuid(bytes(15) + b"\x05"), Uuid(bytes(15) + b"\x06")
WRITTEN_MS = 1_000_000
MARKER = StoreMarker({TOPIC: str(ID)}, {"in": 7}, WRITTEN_MS)
STORED = StoredState(MARKER, {TOPIC: 20}, is_logged=True)
LOG = ReadableLog(ID, 10, 30)


def why(stored: StoredState, log: ReadableLog = LOG, now_ms: int = WRITTEN_MS + 1) -> str | None:
    return stored.why_unusable({TOPIC: log}, CommittedPosition({"in": 7}), now_ms)


@pytest.mark.parametrize("offset", [10, 20, 30])
def test_rows_within_the_changelog_are_gone_on_from(offset: int) -> None:
    assert why(replace(STORED, restored_to={TOPIC: offset})) is None


@pytest.mark.parametrize(
    ("stored", "log", "expected"),
    [
        (STORED, ReadableLog(OTHER_ID, 10, 30), "was made anew"),
        (replace(STORED, restored_to={TOPIC: 31}), LOG, "ahead of topic app-counts-changelog"),
        (replace(STORED, restored_to={TOPIC: 9}), LOG, "begins at 10, and they end at 9"),
        (replace(STORED, marker=None), LOG, "written by another version"),
        (replace(STORED, marker=StoreMarker()), LOG, "was made anew"),
        (replace(STORED, has_uncounted_rows=True), LOG, "have lost the offset"),
        (replace(STORED, other_layouts=("w",)), LOG, "retention of before: w"),
    ],
    ids=[
        "another topic",
        "ahead",
        "behind what is kept",
        "no marker",
        "empty marker",
        "no offset",
        "another layout",
    ],
)
def test_rows_that_the_changelog_has_not_gone_through_are_deleted(
    stored: StoredState, log: ReadableLog, expected: str
) -> None:
    assert expected in (why(stored, log) or "")


def test_rows_that_may_have_missed_deletions_are_deleted() -> None:
    late_ms = WRITTEN_MS + TOMBSTONES_KEPT_MS + 1
    assert "older than the deletions" in (why(STORED, now_ms=late_ms) or "")
    assert why(replace(STORED, restored_to={TOPIC: 30}), now_ms=late_ms) is None


def test_new_stores_have_nothing_to_be_deleted() -> None:
    assert why(StoredState(None, {TOPIC: None}, is_logged=True)) is None


def test_a_store_without_a_changelog_must_cover_what_is_committed() -> None:
    unlogged = replace(STORED, is_logged=False)
    assert why(unlogged) is None
    behind = replace(unlogged, marker=replace(MARKER, offsets={"in": 6}))
    assert "lacks input" in (why(behind) or "")


def test_a_store_without_a_changelog_must_be_of_the_topic_that_is_there() -> None:
    """The cluster or the topic was made anew, and the application has come to the same offset in it, on another machine."""

    def why_of(marker: StoreMarker, id_: Uuid) -> str | None:
        unlogged = replace(STORED, is_logged=False, marker=marker)
        return unlogged.why_unusable(
            {TOPIC: LOG}, CommittedPosition({"in": 7}), WRITTEN_MS + 1, {"in": str(id_)}
        )

    noted = replace(MARKER, topic_ids={TOPIC: str(ID), "in": str(ID)})
    assert why_of(noted, ID) is None
    assert "has counted another topic in" in (why_of(noted, OTHER_ID) or "")
    assert why_of(MARKER, OTHER_ID) is None, "of a release that did not note it"


def test_inputs_that_are_not_read_any_more_do_not_count() -> None:
    both = replace(MARKER, offsets={"in": 7, "gone": 3})
    unlogged = StoredState(both, {TOPIC: 20}, is_logged=False)
    assert "lacks input" in (why(unlogged) or "")
    assert why(unlogged.of_inputs(["in", "new"])) is None
    assert why(StoredState(None, {TOPIC: None}, is_logged=True).of_inputs([])) is None


def test_a_marker_comes_back_as_it_was_written() -> None:
    assert StoreMarker.decode(MARKER.encode()) == MARKER


@pytest.mark.parametrize("text", [None, "batch 17", "{}x", '{"offsets": {}, "seen": {}}'])
def test_the_marker_of_another_version_is_none(text: str | None) -> None:
    assert StoreMarker.decode(text) is None
