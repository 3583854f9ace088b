"""How a newer account of delivery states goes over an older one (KIP-932, "Share-group state")."""

from __future__ import annotations

import pytest

from millstream.coordinator.share.state_batch import NO_START_OFFSET, StateBatch, combined

AVAILABLE, ACKNOWLEDGED, ARCHIVED = 0, 2, 4


def batches(*each: tuple[int, int, int, int]) -> tuple[StateBatch, ...]:
    return tuple(StateBatch(*batch) for batch in each)


CASES = {
    "apart": (
        batches((0, 9, AVAILABLE, 1)),
        batches((20, 29, AVAILABLE, 1)),
        batches((0, 9, AVAILABLE, 1), (20, 29, AVAILABLE, 1)),
    ),
    "side by side and alike: one": (
        batches((0, 9, AVAILABLE, 1)),
        batches((10, 19, AVAILABLE, 1)),
        batches((0, 19, AVAILABLE, 1)),
    ),
    "side by side, another count": (
        batches((0, 9, AVAILABLE, 1)),
        batches((10, 19, AVAILABLE, 2)),
        batches((0, 9, AVAILABLE, 1), (10, 19, AVAILABLE, 2)),
    ),
    "more deliveries win in the middle": (
        batches((0, 9, AVAILABLE, 1)),
        batches((3, 5, AVAILABLE, 2)),
        batches((0, 2, AVAILABLE, 1), (3, 5, AVAILABLE, 2), (6, 9, AVAILABLE, 1)),
    ),
    "the higher state wins with equal counts": (
        batches((0, 9, AVAILABLE, 1)),
        batches((5, 14, ACKNOWLEDGED, 1)),
        batches((0, 4, AVAILABLE, 1), (5, 14, ACKNOWLEDGED, 1)),
    ),
    "what is older does not come back": (
        batches((0, 9, ARCHIVED, 3)),
        batches((0, 9, AVAILABLE, 2)),
        batches((0, 9, ARCHIVED, 3)),
    ),
    "the end of one begins the other": (
        batches((0, 5, AVAILABLE, 1)),
        batches((5, 9, AVAILABLE, 1)),
        batches((0, 9, AVAILABLE, 1)),
    ),
    "the same range from both sides": (
        batches((0, 9, AVAILABLE, 1), (5, 14, AVAILABLE, 3)),
        batches((2, 6, ACKNOWLEDGED, 2)),
        batches((0, 1, AVAILABLE, 1), (2, 4, ACKNOWLEDGED, 2), (5, 14, AVAILABLE, 3)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_later_delivery_counts_where_two_accounts_overlap(case: str) -> None:
    current, newer, expected = CASES[case]
    assert combined(current, newer, NO_START_OFFSET) == expected


def test_what_lies_below_the_start_is_left_out() -> None:
    current = batches((0, 4, ACKNOWLEDGED, 1), (5, 9, AVAILABLE, 1))
    assert combined(current, (), 7) == batches((7, 9, AVAILABLE, 1))
    assert combined(current, (), 10) == ()
