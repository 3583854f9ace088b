"""What members of a group have, as their clients show it."""

from __future__ import annotations

from collections.abc import Iterable


def is_disjoint(assigned: Iterable[Iterable[int]]) -> bool:
    """Whether no partition is shown by two members. A client may show what it has given up until it is polled again."""
    shown = [partition for each in assigned for partition in each]
    return len(shown) == len(set(shown))
