"""Speed in turns with real processes and a real repository: what a side answers, and which commits are the same product."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.turns import checkouts
from benchmarks.turns.checkouts import CannotBuild
from benchmarks.turns.cpu_clock import session_processes
from benchmarks.turns.rounds import Checkouts, measure_group
from benchmarks.turns.rows import Row
from benchmarks.turns.side import Side, SideFailed

ROOT = Path(__file__).parents[3]
HERE = Checkouts(code=ROOT, base=ROOT / "src", new=ROOT / "src")
PASS_THROUGH = Row("kernel", "pass-through", "record", slices=3)
UNKNOWN = Row("kernel", "as fast as light", "record")


def test_a_round_has_slices_of_both_sides_and_goes_on_after_a_row_that_fails() -> None:
    outcomes = dict(measure_group(HERE, [UNKNOWN, PASS_THROUGH], number=1))
    assert str(outcomes[UNKNOWN]) == "base: KeyError: 'as fast as light'"
    measured = outcomes[PASS_THROUGH]
    assert len(measured.base) == len(measured.new) == 3
    assert {each.units for each in (*measured.base, *measured.new)} == {200_000}
    assert all(each.cpu_s > 0 for each in (*measured.base, *measured.new))


def test_a_side_without_its_product_says_so(tmp_path: Path) -> None:
    with (
        Side("new", ROOT, tmp_path, "kernel", number=1) as side,
        pytest.raises(SideFailed, match=rf"new: RuntimeError: .* not from {tmp_path}"),
    ):
        side.answer()


def test_a_side_takes_along_what_it_has_started() -> None:
    with Side("base", ROOT, HERE.base, "clients", number=1) as side:
        side.order(prepare="produce by record")
        side.answer()
        assert len(session_processes(side.pid)) == 2  # itself and a broker
    assert session_processes(side.pid) == []


def test_the_clock_of_a_session_is_without_the_process_that_is_left_out() -> None:
    script = (
        "import os; from benchmarks.turns.cpu_clock import session_cpu_s as read; "
        "print(read(os.getpid()), read(0) > 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT, check=True, capture_output=True, text=True, start_new_session=True,
    )  # fmt: skip
    assert done.stdout.split() == ["0.0", "True"]


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Path]:
    git(tmp_path, "init", "--quiet")
    for name in ("src/millstream/log.py", "setup.py", "docs/page.md"):
        write(tmp_path, name, "one\n")
    return commit(tmp_path)


def git(root: Path, *arguments: str) -> str:
    return checkouts.run("git", *arguments, cwd=root)


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def commit(root: Path) -> Path:
    git(root, "add", "--all")
    who = ("-c", "user.name=Tester", "-c", "user.email=tester@example.com")
    git(root, *who, "commit", "--quiet", "--message", "change")
    return root


def test_the_working_tree_has_what_is_not_committed_and_leaves_the_index_alone(
    repository: Path,
) -> None:
    write(repository, "src/millstream/log.py", "two\n")
    write(repository, "src/millstream/new.py", "new\n")
    status = git(repository, "status", "--porcelain")
    tree = checkouts.working_tree(repository)
    assert git(repository, "show", f"{tree}:src/millstream/log.py") == "two"
    assert git(repository, "show", f"{tree}:src/millstream/new.py") == "new"
    assert git(repository, "status", "--porcelain") == status
    assert tree != checkouts.commit_of(repository, "HEAD")


def test_commits_share_a_product_when_they_differ_in_nothing_it_is_built_from(
    repository: Path,
) -> None:
    before = checkouts.product_key(repository, "HEAD")
    write(repository, "docs/page.md", "two\n")
    assert checkouts.product_key(commit(repository), "HEAD") == before
    write(repository, "src/millstream/log.py", "two\n")
    assert checkouts.product_key(commit(repository), "HEAD") != before


def test_a_commit_that_is_not_there_is_named_with_what_to_do(repository: Path) -> None:
    with pytest.raises(CannotBuild, match="no commit 'v9' here; in a shallow clone run"):
        checkouts.commit_of(repository, "v9")
