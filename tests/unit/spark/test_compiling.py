"""Bytecode in the archives that Spark gives its Python workers."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from millstream.cli.main import main
from millstream.errors import ConfigError
from millstream.spark.compiling import archives, compile_archive

SOURCES = {
    "package/__init__.py": "",
    "package/module.py": "WHERE = __file__\nCACHED = __cached__\n",
    "package/tests/test_module.py": "1 +",
    "package/words.txt": "words",
}


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "python" / "lib" / "pyspark.zip"
    path.parent.mkdir(parents=True)
    with zipfile.ZipFile(path, "w") as written:
        for name, text in SOURCES.items():
            written.writestr(name, text)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    return path


def loaded_from(archive: Path) -> str:
    command = [sys.executable, "-c", "import package.module as m; print(m.__spec__.origin)"]
    found = subprocess.run(
        command, env={"PYTHONPATH": str(archive)}, capture_output=True, text=True, check=True
    )
    return found.stdout.strip()


def test_modules_are_loaded_from_their_bytecode(archive: Path) -> None:
    assert loaded_from(archive) == f"{archive}/package/module.py"
    assert compile_archive(archive) == 2
    assert loaded_from(archive) == f"{archive}/package/module.pyc"


def test_everything_that_was_there_is_there(archive: Path) -> None:
    """Sources are for tracebacks, and for workers of another Python."""
    archive.chmod(0o640)
    compile_archive(archive)
    with zipfile.ZipFile(archive) as compiled:
        assert {name: compiled.read(name).decode() for name in SOURCES} == SOURCES
    assert archive.stat().st_mode & 0o777 == 0o640
    assert list(archive.parent.iterdir()) == [archive]


def test_it_tells_how_far_it_is(archive: Path) -> None:
    told: list[tuple[int, int]] = []
    compile_archive(archive, lambda done, total: told.append((done, total)))
    assert told == [(number, len(SOURCES)) for number in range(len(SOURCES))]


def test_what_is_compiled_is_left_alone(archive: Path) -> None:
    compile_archive(archive)
    before = archive.stat()
    assert compile_archive(archive) == 0
    assert archive.stat() == before


def test_bytecode_of_another_python_is_replaced(archive: Path) -> None:
    with zipfile.ZipFile(archive, "a") as written:
        written.writestr("package/module.pyc", b"\0\0\0\0 of another Python")
    assert loaded_from(archive) == f"{archive}/package/module.py"
    assert compile_archive(archive) == 2
    assert loaded_from(archive) == f"{archive}/package/module.pyc"


def test_what_is_no_archive_is_an_error_that_names_it(archive: Path) -> None:
    archive.write_bytes(b"no archive")
    with pytest.raises(ConfigError, match=r"pyspark\.zip cannot be compiled"):
        compile_archive(archive)


def test_a_directory_without_spark_is_an_error_that_says_what_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    with pytest.raises(ConfigError, match="SPARK_HOME"):
        archives()


def test_the_installed_pyspark_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_HOME", raising=False)
    assert [path.name.partition("-")[0].partition(".")[0] for path in archives()] == [
        "py4j",
        "pyspark",
    ]


def test_the_command_compiles_every_archive(archive: Path) -> None:
    result = CliRunner().invoke(main, ["pipeline", "compile-pyspark"])
    assert result.exit_code == 0, result.output
    assert result.output.split() == ["ARCHIVE", "COMPILED", str(archive), "2"]
