"""A directory goes once its task has been away for the delay, and not before."""

from __future__ import annotations

from pathlib import Path

from millstream.runtime.system import SystemRandom
from millstream.streams.application.state_cleaner import ObsoleteTasks
from millstream.streams.application.state_directory import StateDirectory


def test_a_directory_goes_when_its_task_was_away_for_the_delay() -> None:
    obsolete = ObsoleteTasks(100, now_ms=1_000)
    obsolete.note({"in_0", "in_1"}, 1_010)
    assert obsolete.names(["in_0", "in_1", "in_2"], 1_099) == []
    assert obsolete.names(["in_0", "in_1", "in_2"], 1_100) == ["in_2"]
    obsolete.note({"in_1"}, 1_500)
    assert obsolete.names(["in_0", "in_1"], 1_599) == []
    assert obsolete.names(["in_0", "in_1"], 1_600) == ["in_0"]


def test_a_task_that_returns_within_the_delay_keeps_its_directory() -> None:
    obsolete = ObsoleteTasks(100, now_ms=0)
    obsolete.note({"in_0"}, 0)
    obsolete.note(set(), 50)
    obsolete.note({"in_0"}, 120)
    assert obsolete.names(["in_0"], 10_000) == []


def test_directories_of_tasks_are_set_aside_and_deleted_and_others_stay(tmp_path: Path) -> None:
    directory = StateDirectory(str(tmp_path), "app", SystemRandom())
    directory.lock()
    for name in ("in_0", "in_1", "global"):
        (directory.path / name / "store").mkdir(parents=True)
    assert directory.tasks() == ["in_0", "in_1"]
    directory.set_aside("in_0")
    assert directory.tasks() == ["in_1"]
    directory.delete_what_is_set_aside()
    directory.unlock()
    assert sorted(each.name for each in directory.path.iterdir() if each.is_dir()) == [
        "global",
        "in_1",
    ]
