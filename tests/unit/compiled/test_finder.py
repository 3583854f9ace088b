"""Which modules are imported compiled: all of them, as long as they were built of the sources that are here, or none."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from pathlib import Path

import pytest

from millstream.compiled.finder import (
    CONSTANTS_FROM,
    MODULES,
    CompiledFinder,
    digest,
    extension_name,
    library_name,
    source_path,
)
from tests.patience import LONG_ENOUGH_S

_SUFFIX = EXTENSION_SUFFIXES[0]


def below(root: Path, name: str) -> Path:
    return root / f"{name.replace('.', '/')}{_SUFFIX}"


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A tree with sources, and a file for everything that a build makes of them."""
    for module in (*MODULES, *CONSTANTS_FROM):
        source = tmp_path / source_path(module)
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(f'"""{module}"""\n')
    built_from = digest(str(tmp_path))
    (tmp_path / "millstream/compiled").mkdir()
    below(tmp_path, library_name(built_from)).touch()
    for module in MODULES:
        below(tmp_path, extension_name(module, built_from)).touch()
    return tmp_path


def test_every_module_is_found_in_its_file(built: Path) -> None:
    finder = CompiledFinder(str(built))
    built_from = digest(str(built))
    for module in MODULES:
        spec = finder.find_spec(module, None)
        assert spec is not None
        assert spec.origin == str(below(built, extension_name(module, built_from)))
        assert isinstance(spec.loader, ExtensionFileLoader)


def test_other_modules_are_left_to_others(built: Path) -> None:
    assert CompiledFinder(str(built)).find_spec("millstream.log", None) is None


@pytest.mark.parametrize("changed", [*MODULES, *CONSTANTS_FROM])
def test_a_changed_source_leaves_all_of_them_interpreted(built: Path, changed: str) -> None:
    with (built / source_path(changed)).open("a") as source:
        source.write("# one line more\n")
    finder = CompiledFinder(str(built))
    assert [module for module in MODULES if finder.find_spec(module, None)] == []


def test_the_order_of_bytes_counts_across_sources(built: Path) -> None:
    """A line that moves from the end of one source to the start of the next is a change."""
    before = digest(str(built))
    first, second = (built / source_path(module) for module in MODULES[:2])
    line = "# moved\n"
    first.write_text(first.read_text() + line)
    there = digest(str(built))
    first.write_text(first.read_text().removesuffix(line))
    second.write_text(line + second.read_text())
    assert len({before, there, digest(str(built))}) == 3


@pytest.mark.parametrize("missing", [*MODULES, None])
def test_a_missing_file_leaves_all_of_them_interpreted(built: Path, missing: str | None) -> None:
    built_from = digest(str(built))
    name = library_name(built_from) if missing is None else extension_name(missing, built_from)
    below(built, name).unlink()
    finder = CompiledFinder(str(built))
    assert [module for module in MODULES if finder.find_spec(module, None)] == []


def test_without_sources_nothing_is_compiled(tmp_path: Path) -> None:
    assert CompiledFinder(str(tmp_path)).find_spec(MODULES[0], None) is None


def loaded(pure: str) -> list[str]:
    """What a process says: whether modules are compiled, and the suffixes of the files they came from."""
    asked = (
        "import importlib, os, sys\n"
        "from millstream.compiled.finder import MODULES, are_compiled\n"
        "files = [importlib.import_module(module).__file__ for module in MODULES]\n"
        "print(are_compiled(), *sorted({os.path.splitext(file)[1] for file in files}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", asked],
        env={**os.environ, "MILLSTREAM_PURE": pure},
        capture_output=True, text=True, timeout=LONG_ENOUGH_S, check=True,
    )  # fmt: skip
    return done.stdout.split()


def test_the_sources_are_run_where_pure_python_is_asked_for() -> None:
    assert loaded("1") == ["False", ".py"]


def test_all_come_from_one_build_or_from_the_sources() -> None:
    assert loaded("0") in (["True", _SUFFIX[_SUFFIX.rindex(".") :]], ["False", ".py"])
