"""What the cleaner of stores is told of tasks."""

from __future__ import annotations

from pathlib import Path

from millstream.runtime.system import SystemRandom
from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.application.state_cleaner import ObsoleteTasks, StateCleaner
from millstream.streams.application.state_directory import StateDirectory
from tests.unit.streams.application.manual_clock import MovedClock


def test_the_state_of_an_application_is_no_business_of_other_users(tmp_path: Path) -> None:
    """KAFKA-10705."""
    directory = StateDirectory(str(tmp_path / "state"), "app", SystemRandom())
    directory.lock()
    assert directory.path.stat().st_mode & 0o027 == 0
    directory.unlock()


def test_directories_are_named_only_where_the_tasks_have_changed(tmp_path: Path) -> None:
    """It is told of them after each commit of each thread."""
    named: list[StreamsTaskId] = []

    def directory_of(task: StreamsTaskId) -> str:
        named.append(task)
        return f"in_{task.partition}"

    cleaner = StateCleaner(
        StateDirectory(str(tmp_path), "app", SystemRandom()),
        ObsoleteTasks(100, 0),
        directory_of,
        MovedClock(),
        "client",
    )
    first, second = StreamsTaskId(0, 0), StreamsTaskId(0, 1)
    for _ in range(3):
        cleaner.note(frozenset({first}))
    assert named == [first]
    cleaner.note(frozenset({second}))
    assert named == [first, second]
