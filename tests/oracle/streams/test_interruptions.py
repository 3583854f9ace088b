"""A task that ends after every record goes on as if nothing had been: one recorded case of each topology."""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from run_cases import load_cases, load_specs
from streams.case_runner import CaseRunner
from streams.interrupted_driver import BereavedDriver, RestartedDriver

HERE = Path(__file__).parent
KNOWN = frozenset({"table_lru"})
"""What a restart changes: the order in which rows of a bounded store were used is known to its memory alone."""


@cache
def specs() -> dict[str, dict]:
    return load_specs([HERE])


def can_be_interrupted(name: str) -> bool:
    """Counts of dropped records and schedules of punctuations end with their task."""
    return "count_emit" not in json.dumps(specs()[name])


CASES = {
    case["spec"]: case
    for case in load_cases([HERE / "cases.jsonl.gz"])
    if can_be_interrupted(case["spec"])
}


class Restarted(CaseRunner):
    driver = RestartedDriver


class Bereaved(CaseRunner):
    driver = BereavedDriver


def differences(runner: type[CaseRunner], spec: str) -> list[str]:
    case = CASES[spec]
    expect = {field: rows for field, rows in case["expect"].items() if field != "dropped"}
    found = runner({**case, "expect": expect}, specs()[spec]).differences()
    return [line for line in found if not line.startswith("not supported: ")]


@pytest.mark.parametrize("spec", sorted(set(CASES) - KNOWN)[::2])
def test_a_task_that_is_restarted_after_every_record_gives_the_same(spec: str) -> None:
    assert differences(Restarted, spec) == []


@pytest.mark.parametrize("spec", sorted(CASES)[1::2])
def test_a_task_that_loses_its_stores_after_every_record_gives_the_same(spec: str) -> None:
    assert differences(Bereaved, spec) == []
