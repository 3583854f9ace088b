"""The tests that a suite leaves out on Apache Kafka exist: pytest says nothing of a name that it does not find."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.oracle.clients.run import OF_ONE_NODE, SUITE
from tests.oracle.dataframes import BEHIND_A_DOOR, SPARK

ROOT = Path(__file__).parents[2]
LEFT_OUT = [
    *(f"{SUITE}/{each}" for each in OF_ONE_NODE),
    *(f"{SPARK}/{each}" for each in BEHIND_A_DOOR),
]


@pytest.mark.parametrize("left_out", LEFT_OUT)
def test_a_test_that_is_left_out_exists(left_out: str) -> None:
    file, _, name = left_out.partition("::")
    assert f"def {name}" in (ROOT / file).read_text()
