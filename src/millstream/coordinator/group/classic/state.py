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
_REMOVED: Final = "the group is deleted, or holds nothing any more"

TRANSITIONS: Final[Mapping[GroupState, Mapping[GroupState, str]]] = MappingProxyType(
    {
        _S.EMPTY: {
            _S.PREPARING_REBALANCE: "a member joins",
            _S.DEAD: _REMOVED,
        },
        _S.PREPARING_REBALANCE: {
            _S.COMPLETING_REBALANCE: "all members have joined, or their time to join is over",
            _S.EMPTY: "the time to join is over and no member has joined",
            _S.DEAD: _REMOVED,
        },
        _S.COMPLETING_REBALANCE: {
            _S.STABLE: "the assignment of the leader is stored",
            _S.PREPARING_REBALANCE: "a member joins, leaves or falls silent, or the assignment cannot be stored",
            _S.DEAD: _REMOVED,
        },
        _S.STABLE: {
            _S.PREPARING_REBALANCE: "a member joins, leaves or falls silent, or its leader joins again",
            _S.DEAD: _REMOVED,
        },
        _S.DEAD: {_S.DEAD: _REMOVED},
    }
)
"""What leads from each state to each that may follow."""


def can_prepare_rebalance(state: GroupState) -> bool:
    return _S.PREPARING_REBALANCE in TRANSITIONS[state]
