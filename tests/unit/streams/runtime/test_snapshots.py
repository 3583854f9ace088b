"""Snapshots of a task's stores in a directory: whole or not there, whoever dies or writes beside."""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import pytest

from millstream.streams.runtime.snapshots.description import DESCRIPTION, Description, NoSnapshot
from millstream.streams.runtime.snapshots.files import SnapshotDirectory
from millstream.streams.runtime.snapshots.tasks import remove_leftovers
from millstream.streams.runtime.steps import SnapshotStep
from millstream.streams.runtime.stored_state import StoredState, StoreMarker

ROWS = {"000009.sst": b"first rows", "000012.sst": b"more rows", "CURRENT": b"MANIFEST-000005\n"}


class Killed(BaseException):
    """Nothing of the writer runs any more."""


class Killing:
    """Kills the writer when it has done a step for the `times`th time."""

    def __init__(self, step: SnapshotStep, times: int = 1) -> None:
        self._step, self._times = step, times

    def __call__(self, step: SnapshotStep) -> None:
        if step is self._step:
            self._times -= 1
            if not self._times:
                raise Killed


def state(offset: int) -> StoredState:
    marker = StoreMarker({"app-s-changelog": "id"}, {"in": offset}, 1_700_000_000_000 + offset)
    return StoredState(marker, {"app-s-changelog": offset}, is_logged=True)


def database(path: Path, files: dict[str, bytes]) -> Path:
    path.mkdir(parents=True)
    for name, data in files.items():
        (path / name).write_bytes(data)
    return path


def offsets(directory: SnapshotDirectory) -> list[int]:
    return [each.description.state.records for each in directory.newest_first()]


def read_back(directory: SnapshotDirectory, target: Path) -> dict[str, bytes]:
    directory.fetch(directory.newest_first()[0], target)
    return {each.name: each.read_bytes() for each in target.iterdir()}


def test_a_snapshot_holds_the_files_and_what_the_stores_say_of_themselves(tmp_path: Path) -> None:
    directory = SnapshotDirectory(tmp_path / "shared")
    directory.write(database(tmp_path / "db", ROWS), state(7))
    assert [each.description.state for each in directory.newest_first()] == [state(7)]
    assert read_back(directory, tmp_path / "fetched") == ROWS


def test_a_directory_that_is_not_there_has_no_snapshots(tmp_path: Path) -> None:
    assert SnapshotDirectory(tmp_path / "shared").newest_first() == []


def test_the_last_two_are_kept(tmp_path: Path) -> None:
    directory = SnapshotDirectory(tmp_path / "shared")
    files = database(tmp_path / "db", ROWS)
    for offset in (1, 2, 3):
        directory.write(files, state(offset))
    assert offsets(directory) == [3, 2]
    assert len(list((tmp_path / "shared").iterdir())) == 2


def test_files_that_are_there_already_are_linked(tmp_path: Path) -> None:
    directory = SnapshotDirectory(tmp_path / "shared")
    directory.write(database(tmp_path / "db", ROWS), state(1))
    directory.write(database(tmp_path / "later", ROWS | {"000013.sst": b"new"}), state(2))
    later, first = (each.path for each in directory.newest_first())
    same = {
        each.name: each.stat().st_ino == (first / each.name).stat().st_ino
        for each in later.iterdir()
        if (first / each.name).exists() and each.name != DESCRIPTION
    }
    assert same == dict.fromkeys(ROWS, True)
    assert read_back(directory, tmp_path / "fetched") == ROWS | {"000013.sst": b"new"}


def test_a_file_of_the_same_name_and_size_from_another_database_is_copied(tmp_path: Path) -> None:
    directory = SnapshotDirectory(tmp_path / "shared")
    directory.write(database(tmp_path / "db", ROWS), state(1))
    other = ROWS | {"000009.sst": b"other rows"}
    directory.write(database(tmp_path / "made anew", other), state(2))
    assert read_back(directory, tmp_path / "fetched") == other


@pytest.mark.parametrize(
    ("step", "counts"),
    [
        (SnapshotStep.FILE_COPIED, [1]),
        (SnapshotStep.COPIED, [1]),
        (SnapshotStep.DESCRIBED, [1]),
        (SnapshotStep.NAMED, [2, 1]),
        (SnapshotStep.PRUNED, [2, 1]),
    ],
)
def test_a_writer_that_dies_leaves_the_old_or_the_new_snapshot_whole(
    tmp_path: Path, step: SnapshotStep, counts: list[int]
) -> None:
    shared = tmp_path / "shared"
    SnapshotDirectory(shared).write(database(tmp_path / "db", ROWS), state(1))
    later = ROWS | {"000013.sst": b"new", "000014.sst": b"newer"}
    with pytest.raises(Killed):
        SnapshotDirectory(shared, Killing(step)).write(
            database(tmp_path / "later", later), state(2)
        )

    survivor = SnapshotDirectory(shared)
    assert offsets(survivor) == counts
    assert read_back(survivor, tmp_path / "fetched") == (later if counts[0] == 2 else ROWS)
    survivor.write(database(tmp_path / "last", ROWS), state(3))
    assert [each.name for each in shared.iterdir() if each.name.startswith(".")] == []
    assert offsets(survivor) == [3, counts[0]]


def test_a_writer_that_is_overtaken_disturbs_nobody(tmp_path: Path) -> None:
    """Its task has moved, and it does not know that it is fenced."""
    shared = tmp_path / "shared"
    here = SnapshotDirectory(shared)

    class Meanwhile:
        def __call__(self, step: SnapshotStep) -> None:
            if step is SnapshotStep.DESCRIBED:
                here.write(database(tmp_path / "here", ROWS), state(9))

    fenced = SnapshotDirectory(shared, Meanwhile())
    with pytest.raises(OSError, match="No such file"):
        fenced.write(database(tmp_path / "there", {"000001.sst": b"older"}), state(5))
    assert offsets(here) == [9]

    SnapshotDirectory(shared).write(tmp_path / "there", state(5))
    assert offsets(here) == [9, 5]
    assert read_back(here, tmp_path / "fetched") == ROWS


def test_a_damaged_file_is_found_and_the_snapshot_before_is_left(tmp_path: Path) -> None:
    directory = SnapshotDirectory(tmp_path / "shared")
    directory.write(database(tmp_path / "db", ROWS), state(1))
    directory.write(database(tmp_path / "later", ROWS | {"000013.sst": b"new"}), state(2))
    damaged = directory.newest_first()[0]
    (damaged.path / "000013.sst").write_bytes(b"nEw")
    with pytest.raises(NoSnapshot, match=r"its file 000013\.sst is not the one that was written"):
        directory.fetch(damaged, tmp_path / "target")
    assert offsets(directory) == [1]
    assert read_back(directory, tmp_path / "fetched") == ROWS


def test_a_file_that_is_cut_off_or_gone_is_found(tmp_path: Path) -> None:
    directory = SnapshotDirectory(tmp_path / "shared")
    directory.write(database(tmp_path / "db", ROWS), state(1))
    only = directory.newest_first()[0]
    (only.path / "000009.sst").write_bytes(b"first")
    with pytest.raises(NoSnapshot):
        directory.fetch(only, tmp_path / "target")
    directory.write(database(tmp_path / "again", ROWS), state(2))
    only = directory.newest_first()[0]
    (only.path / "000009.sst").unlink()
    with pytest.raises(FileNotFoundError):
        directory.fetch(only, tmp_path / "another target")


def described(**changed: object) -> bytes:
    facts = json.loads(Description(state(1), {}).encode().partition(b"\n")[2])
    body = json.dumps(facts | changed).encode()
    return sha256(body).hexdigest().encode() + b"\n" + body


@pytest.mark.parametrize(
    ("description", "why"),
    [
        (b"", "its description is damaged"),
        (Description(state(1), {}).encode()[:-20], "its description is damaged"),
        (described(layout=2), "it has layout 2, and this version reads 1"),
        (
            described(files={"../CURRENT": {"size": 1, "digest": ""}}),
            "it names '../CURRENT', which is no file of a database",
        ),
        (described(files=[]), "its description cannot be read"),
    ],
)
def test_what_is_no_snapshot_is_left_aside_with_a_reason(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, description: bytes, why: str
) -> None:
    directory = SnapshotDirectory(tmp_path / "shared")
    directory.write(database(tmp_path / "db", ROWS), state(1))
    directory.write(tmp_path / "db", state(2))
    (directory.newest_first()[0].path / DESCRIPTION).unlink()
    newest = max((tmp_path / "shared").iterdir())
    (newest / DESCRIPTION).write_bytes(description)
    assert offsets(directory) == [1]
    assert f"{newest} is left aside" in caplog.text
    assert why in caplog.text


def test_no_part_of_a_checkpoint_that_is_removed_while_it_is_copied_passes_for_a_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task comes back before the copier has come to its last checkpoint."""
    stores = tmp_path / "in_0"
    checkpoint = database(tmp_path / "in_0.checkpoint-1", ROWS)
    directory = SnapshotDirectory(tmp_path / "shared")
    remove, copied = shutil.rmtree, list[Path]()

    def remove_step_by_step(path: Path, *, ignore_errors: bool = False) -> None:
        if not copied:
            copied.append(path)
            (path / "000009.sst").unlink()
            with suppress(OSError):
                directory.write(checkpoint, state(7))
        remove(path, ignore_errors=ignore_errors)

    monkeypatch.setattr(shutil, "rmtree", remove_step_by_step)
    remove_leftovers(stores)
    assert copied
    assert directory.newest_first() == []
    assert [each.name for each in tmp_path.iterdir()] == ["shared"]
