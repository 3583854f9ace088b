"""The states of a classic group, and which may follow which."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class GroupState(StrEnum):
    """Values are the names Kafka's tools print."""

    EMPTY = "Empty"
    """No members; may still hold committed offsets."""
    PREPARING_REBALANCE = "PreparingRebalance"
    """Waits for members to join the next generation."""
    COMPLETING_REBALANCE = "CompletingRebalance"
    """The generation has begun; waits for the leader's assignment."""
    STABLE = "Stable"
    """Everyone can have an assignment."""
    DEAD = "Dead"
    """Deleted; members that still ask are sent to look for the coordinator again."""


_S = GroupState

VALID_PREVIOUS: Final[Mapping[GroupState, frozenset[GroupState]]] = MappingProxyType(
    {
        _S.EMPTY: frozenset({_S.PREPARING_REBALANCE}),
        _S.PREPARING_REBALANCE: frozenset({_S.EMPTY, _S.STABLE, _S.COMPLETING_REBALANCE}),
        _S.COMPLETING_REBALANCE: frozenset({_S.PREPARING_REBALANCE}),
        _S.STABLE: frozenset({_S.COMPLETING_REBALANCE}),
        _S.DEAD: frozenset(_S),
    }
)


def can_prepare_rebalance(state: GroupState) -> bool:
    return state in VALID_PREVIOUS[_S.PREPARING_REBALANCE]
