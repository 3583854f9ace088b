"""Tests that fail now and then are few, named with a reason, and reported; those that a suite leaves out exist."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.oracle.clients.run import OF_ONE_NODE, SUITE
from tests.oracle.dataframes import BEHIND_A_DOOR, SPARK
from tests.quarantine import QUARANTINED
from tests.tidy.test_assertions import every_test, name_of
from tests.tidy.test_source_rules import ROOT

LEFT_OUT = [
    *(f"{SUITE}/{each}" for each in OF_ONE_NODE),
    *(f"{SPARK}/{each}" for each in BEHIND_A_DOOR),
]
QUARANTINED_MAX = 3
REASON_CHARACTERS_MIN = 40
"""What fails, and what is needed to mend it, takes a sentence."""

FLAKY = """
import pytest

@pytest.mark.parametrize("holds", [True, False])
def test_now_and_then(holds):
    assert holds

def test_broken():
    assert not "mended"
"""
CONFTEST = """
from tests.quarantine import quarantine

def pytest_collection_modifyitems(items):
    quarantine(items, {"test_flaky.py::test_now_and_then": "the reason"})
"""


def test_few_tests_are_quarantined_and_each_says_why() -> None:
    assert len(QUARANTINED) <= QUARANTINED_MAX, "mend one before another is put here"
    curt = [name for name, reason in QUARANTINED.items() if len(reason) < REASON_CHARACTERS_MIN]
    assert curt == []


def test_what_is_quarantined_exists() -> None:
    assert set(QUARANTINED) - {name_of(path, function) for path, function in every_test()} == set()


def test_a_quarantined_failure_is_reported_with_its_reason_and_another_fails_the_run(
    tmp_path: Path,
) -> None:
    (tmp_path / "test_flaky.py").write_text(FLAKY)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    command = [sys.executable, "-m", "pytest", "-ra", "-p", "no:cacheprovider", "-c", "/dev/null", "test_flaky.py"]  # fmt: skip
    done = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    summary = [line for line in done.stdout.splitlines() if line.startswith("X")]
    assert summary == [
        "XFAIL test_flaky.py::test_now_and_then[False] - quarantined: the reason",
        "XPASS test_flaky.py::test_now_and_then[True] - quarantined: the reason",
    ]
    assert "FAILED test_flaky.py::test_broken" in done.stdout
    assert done.returncode == 1


def test_continuous_integration_runs_no_failure_again() -> None:
    commands = [
        line for line in (ROOT / ".ci/run").read_text().splitlines() if line.startswith("make")
    ]
    assert commands == ["make check", "make test"]
    assert "--last-failed" not in (ROOT / "Makefile").read_text()
    assert "reruns" not in (ROOT / "pyproject.toml").read_text()


@pytest.mark.parametrize("left_out", LEFT_OUT)
def test_a_test_that_is_left_out_on_kafka_exists(left_out: str) -> None:
    """pytest says nothing of a name that it does not find."""
    file, _, name = left_out.partition("::")
    assert f"def {name}" in (ROOT / file).read_text()
