"""The states of a classic group, and which may follow which."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from millstream.protocol.enums import GroupState

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
