"""What goes into the archive for executors, and how its Python is found."""

from __future__ import annotations

import os
import subprocess
import tarfile
from importlib.metadata import distribution
from pathlib import Path

import pytest

from millstream.errors import ConfigError
from millstream.spark import packing
from millstream.spark.packing import (
    Requirement,
    closure,
    files_of,
    launcher,
    pack,
    parse_requirement,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("click>=8.1", Requirement("click", (), None, False)),
        ('pandas<3,>=2.2; extra == "spark"', Requirement("pandas", (), "spark", False)),
        ("uvloop>=0.21; sys_platform != 'win32'", Requirement("uvloop", (), None, True)),
        ("a[b, c] (>=1) ; python_version < '3' and extra == 'd'", Requirement("a", ("b", "c"), "d", True)),
    ],
)  # fmt: skip
def test_requirements_are_read(text: str, expected: Requirement) -> None:
    assert parse_requirement(text) == expected


def test_the_closure_of_pipelines_has_what_executors_import_and_no_pyspark() -> None:
    names = {
        each.metadata["Name"].lower() for each in closure([parse_requirement("millstream[spark]")])
    }
    assert {"millstream", "pyarrow", "pandas", "numpy", "rocksdict", "crc32c", "orjson"} <= names
    assert not names & {"pyspark", "py4j", "pytest", "starlette"}


def test_all_packages_of_ours_are_packed_without_what_only_a_build_needs() -> None:
    paths = {str(path) for path, _ in files_of(distribution("millstream"))}
    assert {"millstream/spark/packing.py", "pyspark_millstream/__init__.py"} <= paths
    assert not [path for path in paths if path.endswith((".pyc", ".c"))]


def test_what_is_missing_is_named() -> None:
    with pytest.raises(ConfigError, match="no-such-thing is needed on executors and is not insta"):
        closure([parse_requirement("no-such-thing")])
    assert closure([parse_requirement("no-such-thing; sys_platform == 'win32'")]) == []


def test_an_archive_is_there_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "environment.tar.gz"
    target.write_bytes(b"earlier")
    monkeypatch.setattr(packing, "closure", lambda _: closure([parse_requirement("click")]))
    with pytest.raises(ConfigError):
        pack(target, ["no name"])
    assert target.read_bytes() == b"earlier"
    told: list[tuple[int, int]] = []
    pack(target, tell=lambda done, total: told.append((done, total)))
    with tarfile.open(target) as archive:
        names = archive.getnames()
        sizes = [each.size for each in archive.getmembers() if each.name.startswith("lib/")]
    assert told == [(sum(sizes[:number]), sum(sizes)) for number in range(len(sizes))]
    assert {"bin/python", "lib/click/core.py"} <= set(names)
    assert os.listdir(tmp_path) == ["environment.tar.gz"]


def test_what_is_no_file_is_not_replaced_by_one(tmp_path: Path) -> None:
    """As root that would be the end of /dev/null."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(ConfigError, match="is no file, and would be replaced by one"):
        pack(pipe)
    assert pipe.is_fifo()


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """An unpacked archive that was packed with Python 3.11, on a machine with a Python of another version."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").write_text(launcher("/nonexistent/python3", (3, 11)))
    other = tmp_path / "path" / "python3"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\nexit 1\n")
    for each in (tmp_path / "bin" / "python", other):
        each.chmod(0o755)
    return tmp_path


def started(environment: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    path = f"{environment / 'path'}:/usr/bin:/bin"
    return subprocess.run(
        ["bin/python", "-m", "told"], cwd=environment, env={"PATH": path} | variables,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_launcher_takes_the_python_of_its_version_and_puts_its_packages_first(
    environment: Path,
) -> None:
    python = environment / "path" / "python3.11"
    python.write_text('#!/bin/sh\n[ "$1" = -c ] || echo "$PYTHONPATH" "$@"\n')
    python.chmod(0o755)
    done = started(environment, PYTHONPATH="spark.zip")
    assert done.stdout == f"{environment}/lib:spark.zip -m told\n"


def test_the_launcher_says_which_python_is_missing(environment: Path) -> None:
    done = started(environment, PATH=f"{environment / 'path'}:{environment}/tools")
    assert done.returncode == 1
    assert "packed with Python 3.11, which is not on the PATH" in done.stderr
