"""What input a standby covers: the offsets of a commit, once its changelogs are restored to where they ended after it."""

from __future__ import annotations

from millstream.streams.queries.result import last_offsets
from millstream.streams.runtime.tasks.standby_task import CoveredInput


def test_a_commit_is_covered_once_all_changelogs_are_restored_to_their_ends() -> None:
    covered = CoveredInput()
    covered.note_restored({"log": 9})
    assert covered.offsets == {}
    assert not covered.is_waiting
    covered.note({"in": 5}, {"log": 10, "other": 3})
    covered.note_restored({"log": 10, "other": 2})
    covered.note_restored({"log": 10})
    assert covered.is_waiting
    assert covered.offsets == {}
    covered.note_restored({"log": 12, "other": 3})
    assert covered.offsets == {"in": 5}
    assert not covered.is_waiting


def test_the_last_commit_stays_covered_while_the_next_is_awaited() -> None:
    covered = CoveredInput()
    covered.note({"in": 5}, {})
    covered.note_restored({})
    covered.note({"in": 8}, {"log": 1})
    covered.note_restored({"log": 0})
    assert covered.offsets == {"in": 5}


def test_a_position_is_the_last_offset_that_was_seen() -> None:
    assert last_offsets({"in": 5, "new": 0}, 2) == {"in": {2: 4}}
