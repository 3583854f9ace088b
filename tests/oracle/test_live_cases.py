"""Which recorded cases one run of `make oracle-spark` takes."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from live_cases.running import chosen_cases

CASES = [{"id": f"{kind}_{number}"} for kind in ("fk", "join") for number in range(5)]


def test_portions_of_one_seed_are_every_case_once() -> None:
    portions = [chosen_cases(CASES, 7, first, 4, []) for first in (0, 4, 8, 12)]
    assert [len(portion) for portion in portions] == [4, 4, 2, 0]
    taken = [case["id"] for portion in portions for case in portion]
    assert sorted(taken) == [case["id"] for case in CASES]
    assert taken != [case["id"] for case in CASES], "a portion has cases of all kinds"


def test_without_a_count_cases_come_in_their_own_order() -> None:
    taken = chosen_cases(CASES, 7, 3, None, ["fk_*"])
    assert [case["id"] for case in taken] == ["fk_3", "fk_4"]
