"""Numbers in requests and answers that have names, where both ends of a connection use them."""

from __future__ import annotations

from enum import IntEnum


class CoordinatorType(IntEnum):
    """Key types of FindCoordinator."""

    GROUP = 0
    TRANSACTION = 1
    SHARE = 2
