"""The tests that a suite leaves out on a cluster of three nodes exist: pytest says nothing of a name that it does not find."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.oracle.clients.run import OF_ONE_NODE, SUITE

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("left_out", OF_ONE_NODE)
def test_a_test_that_is_left_out_exists(left_out: str) -> None:
    file, _, name = left_out.partition("::")
    assert f"def {name}" in (ROOT / SUITE / file).read_text()
